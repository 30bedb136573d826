//! Random orders of what a host and a server can do to one session: every operation ends once, and every process is gone.

use std::collections::BTreeMap;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Call, Code, Server};
use sans_mcp_tests::random::Random;

use crate::holdings::{assert_gone, children};
use crate::host::{CONNECT, Client, Host, assert_over, mode};

const CASES: u64 = 1_000;
/// They wait most of the time.
const HOSTS: usize = 4;
/// Far above the most that a case takes.
const WATCHDOG: Duration = Duration::from_secs(20);

/// `SANS_MCP_CASES` says how many, and `SANS_MCP_SEED` plays one alone.
pub(crate) fn run<H: Host>() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match number("SANS_MCP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SANS_MCP_CASES").unwrap_or(CASES),
    };
    let all = seeds.end - seeds.start;
    let (seeds, ends) = (Mutex::new(seeds), Mutex::default());
    let next = || seeds.lock().expect("no panic").next();
    thread::scope(|scope| {
        (0..HOSTS).for_each(|_| drop(scope.spawn(|| play_all::<H>(next, &ends))));
    });
    let ends = ends.into_inner().expect("no panic");
    assert_eq!(children(), Vec::<i32>::new(), "children are left");
    println!("{all} cases, ends of operations: {ends:?}");
    // Otherwise they show little.
    let expected =
        ["ok", "CLIENT_CLOSED", "MCP_ABORTED", "MCP_PROCESS_EXIT", "MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT"];
    assert!(all < CASES || expected.iter().all(|end| ends.contains_key(end)), "{ends:?}");
}

/// How often operations ended how.
type Ends = BTreeMap<&'static str, u64>;

fn play_all<H: Host>(next: impl Fn() -> Option<u64>, ends: &Mutex<Ends>) {
    let watchdog = Watchdog::start();
    let mut host = H::new();
    while let Some(seed) = next() {
        let _case = watchdog.watch(seed);
        play(&mut host, seed, ends);
    }
}

fn play<H: Host>(host: &mut H, seed: u64, ends: &Mutex<Ends>) {
    let mut random = Random::new(seed);
    let client = host.open(server(&mut random));
    let mut case = Case { host, client, process: None, random, operations: vec![CONNECT] };
    case.host.connect(client, CONNECT);
    if !case.random.one_in(4) {
        case.end_of(CONNECT, ends);
    }
    case.let_pass();
    for _ in 0..case.random.below(10) {
        case.step();
        case.let_pass();
    }
    match case.random.below(5) {
        0 => case.host.drop_client(client),
        1 => case.host.drop_loop_then_client(client),
        _ => {
            case.host.close(client);
            for operation in std::mem::take(&mut case.operations) {
                case.end_of(operation, ends);
            }
            assert_over(&case.host.end(client));
            case.host.drop_client(client);
        }
    }
    if let Some(process) = case.process {
        assert_gone(process, &format!("seed {seed}"));
    }
}

/// One that behaves, or does not in one way. None leaves its process group: who did is looked for among all processes, for
/// a time that is too short on a machine with far more to do than it can.
fn server(random: &mut Random) -> Server {
    const MODES: [&str; 15] = [
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "stubborn",
        "stop-reading",
        "never",
        "exit3",
        "half-exit",
        "close-stdout",
        "close-stdin-early",
        "grandchild-exit",
        "grandchild-close",
        "init-never",
    ];
    let mut server = mode(MODES[random.below(MODES.len())]);
    let timeouts = &mut server.settings.timeouts;
    timeouts.connect = Some(Duration::from_millis(if random.one_in(8) { 3 } else { 250 }));
    timeouts.end_of_input = Duration::from_millis(20);
    timeouts.terminate = Duration::from_millis(10);
    server
}

struct Case<'a, H: Host> {
    host: &'a mut H,
    client: Client,
    process: Option<u32>,
    random: Random,
    /// Those whose end was not taken.
    operations: Vec<u32>,
}

impl<H: Host> Case<'_, H> {
    fn step(&mut self) {
        match self.random.below(12) {
            0..=4 => {
                let delay = if self.random.one_in(2) { 0 } else { self.random.below(4) };
                self.call(Call::new("echo", format!(r#"{{"value":"x","delay":{delay}}}"#)));
            }
            5 | 6 => self.call(Call::without_arguments("never")),
            7 => self.call(Call::new("exit", r#"{"code":5}"#)),
            8 if !self.operations.is_empty() => {
                let any = self.operations[self.random.below(self.operations.len())];
                self.host.cancel(self.client, any);
            }
            9 => self.signal(Signal::KILL),
            10 => self.signal(Signal::STOP),
            _ if self.random.one_in(3) => self.host.close(self.client),
            _ => {}
        }
    }

    fn call(&mut self, call: Call) {
        let timeout = Duration::from_millis(self.random.below(8) as u64);
        let call = if self.random.one_in(2) { call.timeout(Some(timeout)) } else { call };
        let key = 1 + self.operations.len() as u32;
        self.operations.push(key);
        self.host.call(self.client, call, key);
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(process) = self.host.process_id(self.client) {
            // It may be dead, and cannot be reaped by anybody else.
            let _ = kill_process(Pid::from_raw(process.cast_signed()).expect("not zero"), signal);
        }
    }

    fn let_pass(&mut self) {
        self.process = self.host.process_id(self.client).or(self.process);
        let micros = if self.random.one_in(2) { 0 } else { self.random.below(1_500) };
        self.host.turn(Duration::from_micros(micros as u64));
        self.process = self.host.process_id(self.client).or(self.process);
    }

    fn end_of(&mut self, operation: u32, ends: &Mutex<Ends>) {
        self.operations.retain(|other| *other != operation);
        let outcome = self.host.outcome(self.client, operation);
        let mut ends = ends.lock().expect("no panic");
        *ends.entry(outcome.map_or_else(Code::as_str, |_| "ok")).or_default() += 1;
    }
}

/// Ends the process if a case does not end.
struct Watchdog(Arc<AtomicU64>);

/// Between two cases.
const NONE: u64 = u64::MAX;

impl Watchdog {
    fn start() -> Watchdog {
        let seed = Arc::new(AtomicU64::new(NONE));
        let watched = seed.clone();
        thread::spawn(move || {
            let mut last = NONE;
            loop {
                thread::sleep(WATCHDOG);
                let seed = watched.load(Ordering::SeqCst);
                if seed != NONE && seed == last {
                    println!("seed {seed} does not end; {}", replay(seed));
                    exit(1);
                }
                last = seed;
            }
        });
        Watchdog(seed)
    }

    fn watch(&self, seed: u64) -> Watched<'_> {
        self.0.store(seed, Ordering::SeqCst);
        Watched { watchdog: self, seed }
    }
}

struct Watched<'a> {
    watchdog: &'a Watchdog,
    seed: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.watchdog.0.store(NONE, Ordering::SeqCst);
        if thread::panicking() {
            println!("seed {} failed; {}", self.seed, replay(self.seed));
        }
    }
}

fn replay(seed: u64) -> String {
    let (target, name) = (env!("CARGO_CRATE_NAME"), std::env::args().next_back().unwrap_or_default());
    format!("again: SANS_MCP_SEED={seed} cargo test -p sans-mcp-tests --test {target} {name}")
}
