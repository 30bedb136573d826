//! Many clients after another: nothing of one is left for the next.

use std::thread;
use std::time::{Duration, Instant};

use sans_mcp::Call;

use crate::holdings::{Holdings, assert_gone};
use crate::host::{Client, Host, assert_over, echo, mode};

const CYCLES: u32 = 200;
/// By now what is made once, for the first client, is there.
const WARM: u32 = 5;

pub(crate) fn cycles_of_close<H: Host>() {
    cycles(|host: &mut H, client| host.close(client));
}

pub(crate) fn cycles_of_crash<H: Host>() {
    cycles(|host: &mut H, client| host.call(client, Call::new("exit", r#"{"code":9}"#), 2));
}

fn cycles<H: Host>(end: impl Fn(&mut H, Client)) {
    let mut host = H::new();
    let mut warm = None;
    for cycle in 1..=CYCLES {
        let client = host.connected(mode("plain"));
        let process = host.process_id(client).expect("it runs");
        assert_eq!(host.ask(client, echo("x"), 1).as_deref(), Ok("x"));
        end(&mut host, client);
        assert_over(&host.end(client));
        assert_gone(process, &format!("cycle {cycle}"));
        host.drop_client(client);
        if cycle == WARM {
            warm = Some(settled(&host, None));
        }
    }
    println!("after {CYCLES}: {:?}", settled(&host, warm.as_ref()));
}

/// The holdings, as soon as they are `wanted`; a task of a runtime with threads ends a moment after its session.
fn settled(host: &impl Host, wanted: Option<&Holdings>) -> Holdings {
    let start = Instant::now();
    loop {
        let holdings = Holdings::count(host.tasks());
        let (tasks, bound) = (wanted.map_or(0, |wanted| wanted.tasks), Duration::from_secs(5));
        if holdings.tasks == tasks && wanted.is_none_or(|wanted| *wanted == holdings) {
            return holdings;
        }
        assert!(start.elapsed() < bound, "{holdings:?} instead of {wanted:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn drops<H: Host>() {
    let mut host = H::new();
    let before = settled(&host, None);
    for round in 0..20 {
        let name = if round % 2 == 0 { "plain" } else { "stubborn" };
        let clients = [(); 3].map(|()| host.connected(mode(name)));
        for client in clients {
            host.call(client, Call::without_arguments("never"), 1);
            let process = host.process_id(client).expect("it runs");
            host.drop_client(client);
            assert_gone(process, &format!("round {round}"));
        }
    }
    settled(&host, Some(&before));
}

/// Three servers at a time, in a process of so many threads.
pub(crate) fn three_servers<H: Host, const THREADS: usize>() {
    let mut host = H::new();
    let clients = [(); 3].map(|()| host.connected(mode("plain")));
    let calls = 1..=50;
    for client in clients {
        for key in calls.clone() {
            host.call(client, Call::new("echo", r#"{"value":"x","delay":2}"#), key);
        }
    }
    for client in clients {
        for key in calls.clone().rev() {
            assert_eq!(host.outcome(client, key).as_deref(), Ok("x"));
        }
    }
    assert_eq!(Holdings::count(0).threads, THREADS);
    for client in clients {
        assert_over(&host.leave(client));
    }
    assert_eq!(Holdings::count(0).threads, THREADS);
}
