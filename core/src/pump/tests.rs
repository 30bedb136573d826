use super::*;
use crate::{Cause, Server, State};

/// A server of few words.
#[derive(Default)]
struct Fake {
    output: Written,
    read: usize,
    exit: Option<Exit>,
    exits_at_end_of_input: bool,
    /// What is left of its group once it was looked at.
    later: Option<Tree>,
    looked_at: bool,
    signals_after: usize,
    /// How often it was told of a long line.
    long: usize,
    /// How much of standard error was read, if that never ends.
    complaints: Option<usize>,
}

#[derive(Clone, Copy, Default)]
enum Written {
    #[default]
    Nothing,
    /// The end of its output, to be read once.
    End,
    /// Lines of which something comes, without an end.
    Flood,
    /// One line, of which so many bytes are to come, its end included.
    Line(usize),
}

impl Pipes for Fake {
    fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
        Ok(4242)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        match self.output {
            Written::Nothing => Moved::Blocked,
            Written::End => {
                self.output = Written::Nothing;
                Moved::Ended
            }
            Written::Line(left) => {
                let count = left.min(space.len());
                space[..count].fill(b'x');
                self.output = Written::Line(left - count);
                if left == count {
                    space[count - 1] = b'\n';
                    self.output = Written::Nothing;
                }
                Moved::Bytes(count)
            }
            Written::Flood => {
                self.read += space.len();
                let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
                space.iter_mut().zip(line.iter().cycle()).for_each(|(byte, text)| *byte = *text);
                Moved::Bytes(space.len())
            }
        }
    }

    fn long_line(&mut self) {
        self.long += 1;
    }

    fn read_stderr(&mut self, chunk: &mut [u8]) -> Moved {
        let Some(complaints) = &mut self.complaints else { return Moved::Blocked };
        chunk.fill(b'e');
        *complaints += chunk.len();
        Moved::Bytes(chunk.len())
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        Moved::Bytes(bytes.len())
    }

    fn take_writable(&mut self) -> bool {
        false
    }

    fn close_stdin(&mut self) {
        if self.exits_at_end_of_input {
            self.exit = Some(Exit::Code(0));
        }
    }

    fn signal(&mut self, _: Signal) -> Signalled {
        self.signals_after += usize::from(self.looked_at);
        Signalled::Delivered
    }

    fn exit(&mut self) -> Option<Exit> {
        self.exit
    }

    fn reap(&mut self) -> Exit {
        self.exit.unwrap_or(Exit::Unknown)
    }

    fn probe(&mut self) -> Tree {
        let later = self.later.unwrap_or(Tree::Gone);
        if mem::replace(&mut self.looked_at, true) { later } else { Tree::Gone }
    }
}

fn connecting(server: &str) -> Session<()> {
    let mut session = Session::new(Server::new(server, server)).unwrap();
    session.connect(Time::ZERO, ()).unwrap();
    session
}

/// One run; how it ended, and how many outputs the host got.
fn run(session: &mut Session<()>, fake: &mut Fake, now: Time, budget: usize) -> (Pumped, usize) {
    let mut outputs = 0;
    let pumped = pump(session, fake, now, budget, |_| outputs += 1);
    (pumped, outputs)
}

/// A leader that has exited, while a descendant of it writes for ever: its exit is told however small the budget of a run
/// is, and no run does more than its budget allows, so that a driver can stop after each output.
#[test]
fn l15_a_busy_output_does_not_hide_an_exit() {
    for budget in [1, 4 << 10, 256 << 10, 16 << 20] {
        let mut session = connecting("flooded");
        let exit = Some(Exit::Code(0));
        let mut fake = Fake { output: Written::Flood, exit, ..Fake::default() };
        // An output costs 64, and a line of 39 bytes may come to one.
        let most = 10 + 2 * LAST_WORDS / budget.clamp(64, LAST_WORDS);
        let mut runs = 0;
        while session.state() != State::Closing {
            let (_, outputs) = run(&mut session, &mut fake, Time::ZERO, budget);
            assert!(outputs <= budget.div_ceil(64), "budget {budget}: {outputs} outputs in one run");
            runs += 1;
            assert!(runs <= most, "budget {budget}: {} bytes read and no exit told", fake.read);
        }
        assert!(
            fake.read >= LAST_WORDS,
            "budget {budget}: an exit is told before the last words, {}",
            fake.read
        );
        assert!(fake.read <= LAST_WORDS + budget + (128 << 10), "budget {budget}: {}", fake.read);
    }
}

/// W03: a run that ended for its budget says so, whatever it did before: the rest would otherwise wait for something to happen.
#[test]
fn w03_a_run_that_was_ended_by_its_budget_says_so() {
    for budget in [1, 4 << 10, 64 << 10, 1 << 20] {
        let mut session = connecting("flooded");
        let mut fake = Fake { output: Written::Flood, ..Fake::default() };
        for number in 0..20 {
            let (pumped, _) = run(&mut session, &mut fake, Time::ZERO, budget);
            assert!(pumped.starved, "budget {budget}, run {number}");
        }
    }
}

/// W03: of a line without an end no run reads more than its budget, and one piece.
#[test]
fn w03_a_line_without_an_end_does_not_keep_a_run_going() {
    const LINE: usize = 64 << 20;
    for budget in [1, 64 << 10, 1 << 20] {
        let mut session = connecting("endless");
        let mut fake = Fake { output: Written::Line(LINE), ..Fake::default() };
        let mut left = LINE;
        for _ in 0..5 {
            assert!(run(&mut session, &mut fake, Time::ZERO, budget).0.starved);
            let Written::Line(now_left) = fake.output else { panic!("it was read to the end") };
            assert!(left - now_left <= budget + (128 << 10), "budget {budget}: {}", left - now_left);
            left = now_left;
        }
    }
}

/// L22: standard error is read to its end before output is judged, unless it has none.
#[test]
fn l22_standard_error_without_an_end_does_not_keep_a_run_going() {
    let mut session = connecting("complaining");
    let mut fake = Fake { complaints: Some(0), ..Fake::default() };
    let read = (0..50).find_map(|_| {
        run(&mut session, &mut fake, Time::ZERO, 1);
        fake.complaints.filter(|read| *read > 0)
    });
    assert_eq!(read, Some(COMPLAINTS));
}

/// L15: a host that was kept from running for longer than an end of output waits for its exit is still told of that.
#[test]
fn l15_an_exit_at_hand_explains_an_end_of_output_however_late() {
    let mut session = connecting("late");
    let mut fake = Fake { output: Written::End, ..Fake::default() };
    assert_eq!(run(&mut session, &mut fake, Time::ZERO, usize::MAX).0.why, Why::Loss);
    fake.exit = Some(Exit::Code(3));
    assert!(run(&mut session, &mut fake, Time::from_micros(10_000_000), usize::MAX).0.closed);
    assert_eq!(session.end().unwrap().cause, Cause::ExitedInHandshake(Exit::Code(3)));
}

/// The group is empty when it is looked at first, and alive when it is looked at again: the number is another's by then.
#[test]
fn c129_nothing_is_signalled_once_the_group_was_seen_empty() {
    let mut session = connecting("late");
    let exit = Some(Exit::Code(3));
    let mut fake = Fake { output: Written::End, exit, later: Some(Tree::Alive(1)), ..Fake::default() };
    for second in 0..10 {
        let now = Time::from_micros(second * 1_000_000);
        let (pumped, _) = run(&mut session, &mut fake, now, usize::MAX);
        assert_eq!((pumped.closed, fake.looked_at, fake.signals_after), (true, true, 0));
        session.close(now);
        session.close(now);
    }
    assert!(session.end().unwrap().gone());
}

/// L17: what a run itself brings about is seen in that run.
#[test]
fn l17_a_server_that_leaves_at_the_end_of_its_input_is_gone_in_the_same_run() {
    let mut session = connecting("brief");
    let mut fake = Fake { exits_at_end_of_input: true, ..Fake::default() };
    run(&mut session, &mut fake, Time::ZERO, usize::MAX);
    session.close(Time::ZERO);
    assert!(run(&mut session, &mut fake, Time::ZERO, usize::MAX).0.closed);
}

/// Only while one is read: a larger pipe is for those who need it.
#[test]
fn pipes_are_told_of_a_long_line_before_each_further_read_of_it() {
    const READ: usize = 64 << 10;
    let mut session = connecting("wordy");
    let mut fake = Fake::default();
    for (bytes, told) in [(READ, 0), (READ + 1, 1), (READ, 1), (3 * READ + 1, 4)] {
        fake.output = Written::Line(bytes);
        run(&mut session, &mut fake, Time::ZERO, usize::MAX);
        assert_eq!(fake.long, told, "{bytes} bytes");
    }
}
