use std::collections::BTreeMap;

use super::*;

/// A link with requests of a given size each, as the pending table would hold them.
struct Wire {
    link: Link,
    waiting: BTreeMap<u64, OneLine>,
}

impl Wire {
    fn new() -> Wire {
        let mut link = Link::new(1 << 10);
        link.open();
        Wire { link, waiting: BTreeMap::new() }
    }

    fn send(&mut self, id: u64, bytes: usize) {
        let params = OneLine::new(format!(r#"{{"p":"{}"}}"#, "x".repeat(bytes)));
        self.link.send(id, params.len());
        self.waiting.insert(id, params);
    }

    fn fill(&mut self) {
        let waiting = &mut self.waiting;
        self.link.fill(|id, out| {
            let params = waiting.remove(&id)?;
            encode::push_request(out, id, "m", Some(&params));
            Some(params.len())
        });
    }

    fn abandon(&mut self, id: u64) -> Delivery {
        let waiting = self.waiting.remove(&id).map(|params| params.len());
        self.link.abandon(id, waiting, Some(Abandoned::Cancelled))
    }

    /// Writes everything, `step` bytes at a time.
    fn write_all(&mut self, step: usize) -> String {
        let mut written = Vec::new();
        loop {
            self.fill();
            if !self.link.has_offer() {
                return String::from_utf8(written).unwrap();
            }
            let count = self.link.offer().len().min(step);
            written.extend_from_slice(&self.link.offer()[..count]);
            self.link.written(count);
        }
    }
}

fn ids(text: &str) -> Vec<u64> {
    text.lines()
        .map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            message["id"].as_u64().or(message["params"]["requestId"].as_u64()).unwrap()
        })
        .collect()
}

/// L12, L16: what is given up before its first byte leaves no trace, wherever it waits.
#[test]
fn l16_given_up_before_its_first_byte_it_never_appears() {
    let mut wire = Wire::new();
    for id in 1..=5 {
        wire.send(id, 10);
    }
    assert_eq!(wire.abandon(2), Delivery::NotSent, "still in the queue");
    wire.fill();
    let first = String::from_utf8(wire.link.offer()[..3].to_vec()).unwrap();
    wire.link.written(3);
    assert_eq!(wire.abandon(4), Delivery::NotSent, "encoded, but not begun");
    assert_eq!(wire.abandon(5), Delivery::NotSent);
    let rest = wire.write_all(usize::MAX);
    assert_eq!(ids(&(first + &rest)), [1, 3], "and no cancel notice for what never left");
    assert!(wire.link.is_idle());
    assert_eq!(wire.link.queued_bytes(), 0);
}

/// L12: one that has begun is finished, and its cancel notice follows it, before any new request.
#[test]
fn l12_a_cancel_follows_its_request_and_precedes_new_ones() {
    for step in [1, 7, 1000] {
        let mut wire = Wire::new();
        wire.send(1, 20);
        wire.send(2, 20);
        wire.fill();
        let first = String::from_utf8(wire.link.offer()[..5].to_vec()).unwrap();
        wire.link.written(5);
        assert_eq!(wire.link.delivery(1), Delivery::Partial);
        assert_eq!(wire.abandon(1), Delivery::Partial);
        wire.send(3, 20);
        let text = first + &wire.write_all(step);
        assert_eq!(ids(&text), [1, 2, 1, 3], "{text}");
        assert!(text.lines().nth(2).unwrap().contains("notifications/cancelled"));
        assert_eq!(wire.link.delivery(1), Delivery::Sent);
    }
}

/// L19: after a write that would block nothing is offered before the input takes bytes again, and the queue keeps its order.
#[test]
fn l19_a_full_pipe_is_not_offered_again_before_it_is_writable() {
    let mut wire = Wire::new();
    wire.send(1, 10);
    wire.fill();
    wire.link.written(0);
    assert!(!wire.link.has_offer());
    wire.send(2, 10);
    wire.fill();
    assert!(!wire.link.has_offer());
    wire.link.writable();
    assert_eq!(ids(&wire.write_all(3)), [1, 2]);
}

/// L19: small frames share one write; a burst is bounded.
#[test]
fn l19_small_frames_share_one_write() {
    let mut wire = Wire::new();
    for id in 1..=64 {
        wire.send(id, 10);
    }
    wire.fill();
    assert_eq!(wire.link.offer().iter().filter(|byte| **byte == b'\n').count(), 64);
    for id in 65..=4_000 {
        wire.send(id, 10);
    }
    wire.link.written(wire.link.offer().len());
    wire.fill();
    assert!((BURST..BURST + 200).contains(&wire.link.offer().len()));
}

/// L26: replies come through while calls wait, and the other way round; past the reserve they are given back.
#[test]
fn l26_replies_have_a_reserve_and_a_share() {
    let mut wire = Wire::new();
    let pong = || QueuedReply::Pong("\"p\"".into());
    while wire.link.replies.push(pong()).is_ok() {}
    let accepted = wire.link.replies.bytes();
    assert!((1 << 10) - 64 < accepted && accepted <= 1 << 10, "{accepted}");
    wire.send(1, 10);
    let text = wire.write_all(usize::MAX);
    assert_eq!(text.len() - text.lines().find(|line| line.contains("\"m\"")).unwrap().len() - 1, accepted);
    assert_eq!(wire.link.replies.bytes(), 0);
    assert!(wire.link.replies.push(pong()).is_ok());
}

/// L16: when the input is gone, what had begun stays partly sent, what had left stays sent, and the rest is not sent.
#[test]
fn l16_a_closed_input_keeps_the_truth_about_what_left() {
    let mut wire = Wire::new();
    for id in 1..=3 {
        wire.send(id, 10);
    }
    wire.fill();
    let first = wire.link.offer().iter().position(|byte| *byte == b'\n').unwrap() + 1;
    wire.link.written(first + 4);
    wire.link.close();
    let deliveries = [1, 2, 3].map(|id| wire.link.delivery(id));
    assert_eq!(deliveries, [Delivery::Sent, Delivery::Partial, Delivery::NotSent]);
    wire.fill();
    assert!(!wire.link.has_offer());
    assert_eq!(wire.abandon(1), Delivery::Sent, "and no notice is queued for it");
    assert!(wire.link.is_idle());
}

/// L19: ids of settled calls do not pile up in the queue.
#[test]
fn l19_dead_ids_are_forgotten() {
    let mut wire = Wire::new();
    wire.link.written(0);
    wire.link.notify((*b"kept").into());
    for id in 1..=10_000 {
        wire.send(id, 1);
        wire.abandon(id);
        wire.link.compact(|_| false);
        assert!(wire.link.queue.len() < 200);
    }
    assert_eq!(wire.link.queued_bytes(), "kept".len());
}

/// L17: a shutdown waits for each kind of thing that is still to be written.
#[test]
fn l17_a_link_is_idle_only_when_nothing_of_any_kind_waits() {
    let begun = || {
        let mut wire = Wire::new();
        wire.send(1, 10);
        wire.fill();
        wire.link.written(3);
        wire
    };
    let mut wire = begun();
    assert!(!wire.link.is_idle(), "the rest of a request");
    wire.link.written(wire.link.offer().len());
    assert!(wire.link.is_idle());
    wire.abandon(1);
    assert!(!wire.link.is_idle(), "a cancel notice");
    wire.write_all(usize::MAX);
    assert!(wire.link.replies.push(QueuedReply::Pong("1".into())).is_ok());
    assert!(!wire.link.is_idle(), "a reply");
    wire.write_all(usize::MAX);
    wire.link.notify((*b"{}\n").into());
    assert!(!wire.link.is_idle(), "a notification");
    wire.write_all(usize::MAX);
    wire.send(2, 10);
    assert!(!wire.link.is_idle(), "a request");
    wire.abandon(2);
    assert!(wire.link.is_idle(), "nothing that is still wanted");
}

/// L20: after something large the buffer is small again.
#[test]
fn l20_the_commit_buffer_comes_back_to_its_size() {
    let mut wire = Wire::new();
    wire.send(1, 1 << 20);
    assert!(wire.write_all(usize::MAX).len() > 1 << 20);
    wire.fill();
    assert!(wire.link.commit.between_requests().capacity() <= 2 * BURST);
}

/// L26: replies take half of a burst while requests wait.
#[test]
fn l26_a_flood_of_replies_leaves_room_for_requests() {
    let mut wire = Wire::new();
    wire.link = Link::new(1 << 20);
    wire.link.open();
    let pong = || QueuedReply::Pong(format!("\"{}\"", "p".repeat(90)).into());
    while wire.link.replies.push(pong()).is_ok() {}
    wire.send(1, 10);
    wire.fill();
    let offer = std::str::from_utf8(wire.link.offer()).unwrap();
    let before = offer.find("\"m\"").unwrap();
    assert!((BURST / 2 - 200..BURST / 2 + 200).contains(&before), "{before}");
    assert!(offer.len() > BURST - 200, "{}", offer.len());
}
