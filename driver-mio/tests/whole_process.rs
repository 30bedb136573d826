//! What concerns a process as a whole: its threads, its descriptors, its children. The test harness has threads of its
//! own and runs other tests meanwhile, so this test has none; and its program is also the server.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use rustix::process::{Resource, getrlimit, setrlimit};
use sans_mcp_mio::{Call, Clock, Connection, Output, Server, Time};

/// More than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("fixture-server") {
        return sans_mcp_fixtures::Server::new(["fixture-server"]).run(arguments);
    }
    if !cfg!(target_os = "linux") {
        println!("whole_process: only Linux tells these counts in /proc");
        return ExitCode::SUCCESS;
    }
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(128);
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    l19_three_servers_are_served_by_one_thread();
    l18_cycles_leave_nothing("close", |host, now| host.close(now));
    l18_cycles_leave_nothing("crash", |host, now| {
        let exit = Call::new("exit", r#"{"code":9}"#);
        host.call(now, exit, 2).expect("accepted");
    });
    l18_dropped_connections_leave_nothing();
    ExitCode::SUCCESS
}

/// Threads, descriptors and children of this process.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    threads: usize,
    descriptors: usize,
    children: usize,
}

impl Holdings {
    fn count() -> Holdings {
        let entries = |folder: &str| fs::read_dir(folder).expect("Linux").count();
        let children = fs::read_to_string("/proc/thread-self/children").expect("Linux");
        Holdings {
            threads: entries("/proc/self/task"),
            descriptors: entries("/proc/self/fd"),
            children: children.split_ascii_whitespace().count(),
        }
    }
}

/// Connections by their number, in one poll.
struct Host {
    poll: Poll,
    events: Events,
    clock: Clock,
    connections: BTreeMap<usize, Connection<u32>>,
}

impl Host {
    fn new() -> Host {
        let poll = Poll::new().expect("a poll");
        Host { poll, events: Events::with_capacity(16), clock: Clock::start(), connections: BTreeMap::new() }
    }

    fn connect(&mut self, number: usize) {
        let program = std::env::current_exe().expect("a test has a file");
        let server = Server::new("fixture", program.to_str().expect("a path in UTF-8")).arg("fixture-server");
        let registry = self.poll.registry().try_clone().expect("a registry");
        let first = Token(number * Connection::<u32>::TOKENS);
        let mut connection = Connection::new(server, registry, first).expect("valid");
        connection.connect(self.clock.now(), 0).expect("accepted");
        self.connections.insert(number, connection);
    }

    /// Turns until every connection has completed the operation `key` without an error, or is closed where that is
    /// `None`.
    fn run(&mut self, key: Option<u32>) {
        let start = Instant::now();
        let mut waiting: Vec<usize> = self.connections.keys().copied().collect();
        while !waiting.is_empty() {
            assert!(start.elapsed() < LIMIT, "{key:?} of {waiting:?} did not come");
            let now = self.clock.now();
            let timeouts = self.connections.values().filter_map(|connection| connection.timeout(now));
            self.poll.poll(&mut self.events, timeouts.min().or(Some(LIMIT))).expect("a working poll");
            let now = self.clock.now();
            for (number, connection) in &mut self.connections {
                for event in &self.events {
                    connection.handle_event(event);
                }
                connection.pump(now, |output| {
                    let comes = match output {
                        Output::Complete(done) => Some(done.token) == key && done.outcome.is_ok(),
                        Output::Closed(end) => key.is_none() && end.gone(),
                        _ => false,
                    };
                    if comes {
                        waiting.retain(|waiting| waiting != number);
                    }
                });
            }
        }
    }
}

fn l19_three_servers_are_served_by_one_thread() {
    let mut host = Host::new();
    (0..3).for_each(|number| host.connect(number));
    host.run(Some(0));
    for connection in host.connections.values_mut() {
        for key in (1..=50).rev() {
            let call = Call::new("echo", r#"{"value":"x","delay":2}"#);
            connection.call(host.clock.now(), call, key).expect("accepted");
        }
    }
    host.run(Some(1));
    assert_eq!(Holdings::count().threads, 1);
    let now = host.clock.now();
    host.connections.values_mut().for_each(|connection| connection.close(now));
    host.run(None);
    assert_eq!(Holdings::count().threads, 1);
    println!("l19_three_servers_are_served_by_one_thread ... ok");
}

fn l18_cycles_leave_nothing(how: &str, end: impl Fn(&mut Connection<u32>, Time)) {
    let mut host = Host::new();
    let mut after_the_fifth = None;
    for cycle in 1..=200 {
        host.connect(0);
        host.run(Some(0));
        let now = host.clock.now();
        host.connections.values_mut().for_each(|connection| {
            connection.call(now, Call::new("echo", r#"{"value":"x"}"#), 1).expect("accepted");
        });
        host.run(Some(1));
        host.connections.values_mut().for_each(|connection| end(connection, now));
        host.run(None);
        host.connections.clear();
        if cycle == 5 {
            after_the_fifth = Some(Holdings::count());
        }
    }
    assert_eq!(Some(Holdings::count()), after_the_fifth, "{how}");
    println!("l18_cycles_leave_nothing ({how}) ... ok");
}

fn l18_dropped_connections_leave_nothing() {
    let mut host = Host::new();
    let before = Holdings::count();
    for _ in 0..10 {
        (0..3).for_each(|number| host.connect(number));
        host.run(Some(0));
        host.connections.clear();
    }
    assert_eq!(Holdings::count(), before);
    assert_eq!(before.children, 0);
    println!("l18_dropped_connections_leave_nothing ... ok");
}
