use super::*;
use crate::{Cause, Server, State};

/// A leader that has exited, while a descendant of it writes for ever.
#[derive(Default)]
struct Flooded {
    read: usize,
}

impl Pipes for Flooded {
    fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
        Ok(4242)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        self.read += space.len();
        // Something comes of nearly every line.
        for (byte, text) in
            space.iter_mut().zip(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n".iter().cycle())
        {
            *byte = *text;
        }
        Moved::Bytes(space.len())
    }

    fn read_stderr(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        Moved::Bytes(bytes.len())
    }

    fn take_writable(&mut self) -> bool {
        false
    }

    fn close_stdin(&mut self) {}

    fn signal(&mut self, _: Signal) -> Signalled {
        Signalled::Delivered
    }

    fn exit(&mut self) -> Option<Exit> {
        Some(Exit::Code(0))
    }

    fn reap(&mut self) -> Exit {
        Exit::Code(0)
    }

    fn probe(&mut self) -> Tree {
        Tree::Gone
    }
}

/// L15: an exit is told although a descendant keeps the output busy, however small the budget of a run is.
#[test]
fn l15_a_busy_output_does_not_hide_an_exit() {
    for budget in [1, 4 << 10, 256 << 10, 16 << 20] {
        let mut session = Session::<()>::new(Server::new("flooded", "flooded")).unwrap();
        let mut pipes = Flooded::default();
        session.connect(Time::ZERO, ()).unwrap();
        let mut runs = 0;
        while session.state() != State::Closing {
            let _ = pump(&mut session, &mut pipes, Time::ZERO, budget, |output| drop(output));
            runs += 1;
            assert!(runs < LAST_WORDS, "budget {budget}: {} bytes read and no exit told", pipes.read);
        }
        assert!(pipes.read <= LAST_WORDS + budget + (128 << 10), "budget {budget}: {}", pipes.read);
    }
}

/// A leader that closes its output, and exits while nobody looks. Its group is empty when it is looked at first, and alive
/// when it is looked at again: the number is another's by then.
#[derive(Default)]
struct Late {
    exited: bool,
    ended: bool,
    seen_empty: bool,
    signals_after: usize,
}

impl Pipes for Late {
    fn take_writable(&mut self) -> bool {
        false
    }

    fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
        Ok(4242)
    }

    fn read_stdout(&mut self, _: &mut [u8]) -> Moved {
        if mem::replace(&mut self.ended, true) { Moved::Blocked } else { Moved::Ended }
    }

    fn read_stderr(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        Moved::Bytes(bytes.len())
    }

    fn close_stdin(&mut self) {}

    fn signal(&mut self, _: Signal) -> Signalled {
        self.signals_after += usize::from(self.seen_empty);
        Signalled::Delivered
    }

    fn exit(&mut self) -> Option<Exit> {
        self.exited.then_some(Exit::Code(3))
    }

    fn reap(&mut self) -> Exit {
        Exit::Code(3)
    }

    fn probe(&mut self) -> Tree {
        if mem::replace(&mut self.seen_empty, true) { Tree::Alive(1) } else { Tree::Gone }
    }
}

/// L15: a host that was kept from running for longer than an end of output waits for its exit is still told of that.
#[test]
fn l15_an_exit_at_hand_explains_an_end_of_output_however_late() {
    let mut session = Session::<()>::new(Server::new("late", "late")).unwrap();
    let mut pipes = Late::default();
    session.connect(Time::ZERO, ()).unwrap();
    let waits = pump(&mut session, &mut pipes, Time::ZERO, usize::MAX, |output| drop(output));
    assert_eq!(waits.why, Why::Loss);
    pipes.exited = true;
    let late = Time::from_micros(10_000_000);
    assert!(pump(&mut session, &mut pipes, late, usize::MAX, |output| drop(output)).closed);
    assert_eq!(session.end().unwrap().cause, Cause::ExitedInHandshake(Exit::Code(3)));
}

#[test]
fn c129_nothing_is_signalled_once_the_group_was_seen_empty() {
    let mut session = Session::<()>::new(Server::new("late", "late")).unwrap();
    let mut pipes = Late { exited: true, ..Late::default() };
    session.connect(Time::ZERO, ()).unwrap();
    for second in 0..10 {
        let now = Time::from_micros(second * 1_000_000);
        let pumped = pump(&mut session, &mut pipes, now, usize::MAX, |output| drop(output));
        assert_eq!((pumped.closed, pipes.seen_empty, pipes.signals_after), (true, true, 0));
        session.close(now);
        session.close(now);
    }
    assert!(session.end().unwrap().gone());
}

/// Leaves at once when its input is closed, and nobody is told from outside.
#[derive(Default)]
struct Brief {
    exited: bool,
}

impl Pipes for Brief {
    fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
        Ok(4242)
    }

    fn read_stdout(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }

    fn read_stderr(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        Moved::Bytes(bytes.len())
    }

    fn take_writable(&mut self) -> bool {
        false
    }

    fn close_stdin(&mut self) {
        self.exited = true;
    }

    fn signal(&mut self, _: Signal) -> Signalled {
        Signalled::Delivered
    }

    fn exit(&mut self) -> Option<Exit> {
        self.exited.then_some(Exit::Code(0))
    }

    fn reap(&mut self) -> Exit {
        Exit::Code(0)
    }

    fn probe(&mut self) -> Tree {
        Tree::Gone
    }
}

/// L17: what a run itself brings about is seen in that run.
#[test]
fn l17_a_server_that_leaves_at_the_end_of_its_input_is_gone_in_the_same_run() {
    let mut session = Session::<()>::new(Server::new("brief", "brief")).unwrap();
    let mut pipes = Brief::default();
    session.connect(Time::ZERO, ()).unwrap();
    let _ = pump(&mut session, &mut pipes, Time::ZERO, 1 << 20, |output| drop(output));
    session.close(Time::ZERO);
    assert!(pump(&mut session, &mut pipes, Time::ZERO, 1 << 20, |output| drop(output)).closed);
}
