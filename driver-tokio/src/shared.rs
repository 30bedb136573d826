//! What the handles of one client and its I/O task share: the session, its process, and who waits for what.
//!
//! One lock guards it. Nothing foreign runs under that lock: wakers, handlers and whatever is dropped with
//! them come after it, in the [`Aftermath`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use sans_mcp::{ConfigError, End, Output, Reply, Server, Session, Settings, StartFailure, Time, pump};
use sans_mcp_process::Child;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tracing::field;

use crate::clock::{Clock, Timer};
use crate::event::{Event, Events, Notification, Subscribers};
use crate::peer::{Asked, Handlers};
use crate::pipes::Pipes;
use crate::slot::{Given, Settled, Slot};

/// What one turn of the I/O task may move, in bytes; an output for the host counts as 64. One flooding server
/// cannot starve the rest of the runtime for longer than this takes, nor hold the lock.
const BUDGET: usize = 256 << 10;

/// How long the I/O task lets callers go first that were answered together. Nothing is read or written meanwhile, and no
/// deadline is looked at.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long to wait between two looks at a group that is dying, without a runtime.
const DYING: Duration = Duration::from_millis(1);

/// Tells the sessions of this process apart in logs (row L29).
static INSTANCES: AtomicU64 = AtomicU64::new(1);

pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(crate) instance: u64,
    pub(crate) settings: Settings,
    pub(crate) handlers: Handlers,
    clock: Clock,
    inner: Mutex<Inner>,
    /// Told once, when the session is over.
    over: Notify,
}

struct Inner {
    session: Session<Arc<Slot>>,
    /// One call of it goes with a system call, beside which an indirect call is nothing.
    pipes: Box<dyn Pipes + Send>,
    /// Requests of the server that are being answered, each by a task once that is spawned.
    answering: BTreeMap<u64, Option<AbortHandle>>,
    subscribers: Subscribers,
    /// Of the I/O task, while it sleeps. Whoever takes it wakes it, so that a burst of commands wakes it
    /// once.
    sleeper: Option<Waker>,
    /// Callers that were woken together and may have something to say still. As long as one after the other does, but no
    /// longer than [`PATIENCE`], the I/O task lets the others go first, and one write takes it all.
    woken: usize,
    patient_since: Option<Time>,
    /// A command came since the last turn.
    commanded: bool,
    started: bool,
    end: Option<Arc<End>>,
}

/// How a turn of the I/O task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The task will be woken.
    Sleep,
    /// There is more to do.
    Again,
    /// There is more to do; every other task goes first, also those that the reactor and the timers have yet to wake.
    Yield,
    /// The session is over.
    Over,
}

/// What is to be done once the lock is let go.
#[derive(Default)]
pub(crate) struct Aftermath {
    pub(crate) woken: Vec<Waker>,
    asked: Vec<Asked>,
    withdrawn: Vec<AbortHandle>,
    ended: Option<Arc<End>>,
}

impl Shared {
    pub(crate) fn new(
        server: Server,
        pipes: Box<dyn Pipes + Send>,
        handlers: Handlers,
        subscribers: Subscribers,
    ) -> Result<Shared, ConfigError> {
        let instance = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let name = server.name.as_str().into();
        let settings = server.settings.clone();
        let inner = Inner {
            session: Session::new(server)?.with_instance(instance),
            pipes,
            answering: BTreeMap::new(),
            subscribers,
            sleeper: None,
            woken: 0,
            patient_since: None,
            commanded: false,
            started: false,
            end: None,
        };
        let (inner, over) = (Mutex::new(inner), Notify::new());
        Ok(Shared { name, instance, settings, handlers, clock: Clock::start(), inner, over })
    }

    /// Reads from the session.
    pub(crate) fn view<R>(&self, view: impl FnOnce(&mut Session<Arc<Slot>>) -> R) -> R {
        view(&mut self.lock().session)
    }

    /// Gives the session a command and wakes the I/O task, which carries out what follows from it.
    pub(crate) fn command<R>(&self, command: impl FnOnce(&mut Session<Arc<Slot>>, Time) -> R) -> R {
        let mut inner = self.lock();
        let answer = command(&mut inner.session, self.clock.now());
        let sleeper = inner.sleeper.take();
        inner.commanded = true;
        inner.woken = inner.woken.saturating_sub(1);
        drop(inner);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
        answer
    }

    /// Takes the right to answer a request of the server; false if that is not wanted any more.
    pub(crate) fn claim(&self, request: u64) -> bool {
        self.lock().answering.remove(&request).is_some()
    }

    pub(crate) fn subscribe(&self) -> Events {
        let mut inner = self.lock();
        let events = inner.subscribers.add();
        if let Some(end) = inner.end.clone() {
            inner.subscribers.finish(&mut Vec::new(), &end);
        }
        events
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.lock().pipes.process_id()
    }

    /// Whether this is the first start; then the I/O task is to be spawned.
    pub(crate) fn starts(&self) -> bool {
        !std::mem::replace(&mut self.lock().started, true)
    }

    /// Waits for the end of the session.
    pub(crate) async fn ended(&self) -> Arc<End> {
        loop {
            let over = self.over.notified();
            let end = self.lock().end.clone();
            match end {
                Some(end) => return end,
                None => over.await,
            }
        }
    }

    /// One turn of the I/O task: everything that can be done now, and a wake for whatever comes next.
    pub(crate) fn turn(self: &Arc<Shared>, cx: &mut Context<'_>, timer: &mut Timer) -> Turn {
        let mut after = Aftermath::default();
        let mut inner = self.lock();
        let turn = self.turn_locked(&mut inner, cx, timer, &mut after);
        drop(inner);
        self.carry_out(after);
        turn
    }

    fn turn_locked(
        &self,
        inner: &mut Inner,
        cx: &mut Context<'_>,
        timer: &mut Timer,
        after: &mut Aftermath,
    ) -> Turn {
        if inner.end.is_some() {
            return Turn::Over;
        }
        let now = self.clock.now();
        if std::mem::take(&mut inner.commanded) && inner.woken > 0 {
            let since = *inner.patient_since.get_or_insert(now);
            if now.since(since) < PATIENCE {
                return Turn::Yield;
            }
        }
        inner.patient_since = None;
        // What it says does not matter: the pump looks at everything.
        let _ = inner.pipes.poll_ready(cx);
        let pumped = inner.pump(now, BUDGET, after);
        inner.woken = after.woken.len();
        if pumped.closed {
            return Turn::Over;
        }
        if pumped.starved {
            return Turn::Yield;
        }
        if inner.pipes.poll_ready(cx).is_ready() || timer.poll(cx, self.clock, pumped.until).is_ready() {
            return Turn::Again;
        }
        inner.sleeper = Some(cx.waker().clone());
        Turn::Sleep
    }

    /// Ends the session by force: SIGKILL, reaping, and every open operation settled. It needs no runtime,
    /// and takes little more than [`Child::DROP_BOUND`] at most. Once the session is over it does nothing.
    pub(crate) fn abort(self: &Arc<Shared>) {
        let mut after = Aftermath::default();
        let mut inner = self.lock();
        if inner.end.is_none() {
            inner.abort(self.clock, &mut after);
        }
        after.woken.extend(inner.sleeper.take());
        drop(inner);
        // Nobody answers what the server asked meanwhile.
        after.asked.clear();
        self.carry_out(after);
    }

    fn carry_out(self: &Arc<Shared>, after: Aftermath) {
        after.withdrawn.iter().for_each(AbortHandle::abort);
        after.woken.into_iter().for_each(Waker::wake);
        for asked in after.asked {
            self.answer(asked);
        }
        if let Some(end) = after.ended {
            self.over.notify_waiters();
            tracing::info!(
                server = &*self.name,
                instance = self.instance,
                code = end.cause.code().as_str(),
                exit = end.exit.map(field::display),
                gone = end.gone(),
                "closed"
            );
        }
    }

    /// Has a task of its own answer a request, so that calls go on meanwhile (row L26).
    fn answer(self: &Arc<Shared>, asked: Asked) {
        let number = asked.number();
        let task = tokio::spawn(asked.answer(self.clone())).abort_handle();
        // By now it may have been answered, or cancelled by the server.
        match self.lock().answering.get_mut(&number) {
            Some(answering) => *answering = Some(task),
            None => task.abort(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves the session as it was between two steps.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Pumps, and leaves every output where it belongs.
    fn pump(&mut self, now: Time, budget: usize, after: &mut Aftermath) -> sans_mcp::Pumped {
        let Inner { session, pipes, answering, subscribers, .. } = self;
        let pumped = pump(session, &mut **pipes, now, budget, |output| match output {
            Output::Complete(completion) => {
                let slot = completion.token;
                // Otherwise its caller is gone, and the result need not even be copied.
                if Arc::strong_count(&slot) > 1 {
                    let outcome = completion.outcome.map(|reply| match reply {
                        Reply::Answer(answer) => Given::Answer(answer.take()),
                        Reply::Connected | Reply::Listed => Given::Nothing,
                    });
                    after.woken.extend(slot.settle(Settled { outcome, elapsed: completion.elapsed }));
                }
            }
            Output::Progress(progress) => after.woken.extend(progress.token.progress(progress.params)),
            Output::Request(request) => {
                answering.insert(request.handle.number(), None);
                after.asked.push(Asked::new(request));
            }
            Output::RequestCancelled(number) => after.withdrawn.extend(answering.remove(&number).flatten()),
            Output::Notification(notification) => subscribers.publish(&mut after.woken, || {
                Event::Notification(Notification::new(notification.method, notification.params))
            }),
            Output::Diagnostic(diagnostic) => {
                subscribers.publish(&mut after.woken, || Event::Diagnostic(Arc::new(diagnostic)));
            }
            Output::Stderr(bytes) => subscribers.publish(&mut after.woken, || Event::Stderr(bytes.into())),
            Output::State(state) => subscribers.publish(&mut after.woken, || Event::State(state)),
            Output::Closed(end) => after.ended = Some(Arc::new(end.clone())),
            // The pump carries these out, and they do not come here.
            Output::Spawn
            | Output::Write(_)
            | Output::CloseStdin
            | Output::Signal(_)
            | Output::Reap
            | Output::ProbeTree
            | Output::Wait { .. } => {}
        });
        if let Some(end) = &after.ended {
            self.end = Some(end.clone());
            self.subscribers.finish(&mut after.woken, end);
            after.withdrawn.extend(std::mem::take(&mut self.answering).into_values().flatten());
        }
        pumped
    }

    fn abort(&mut self, clock: Clock, after: &mut Aftermath) {
        let mut now = clock.now();
        let deadline = Instant::now() + Child::DROP_BOUND;
        self.session.close(now);
        self.pipes.abort();
        // A start that panicked was never told of; every other one was, and this changes nothing then.
        self.session.handle_spawn_failed(now, StartFailure::System { errno: 0 });
        let latest = Time::from_micros(u64::MAX);
        // Nothing more is read, so no budget is needed.
        while !self.pump(now, usize::MAX, after).closed && now < latest {
            if Instant::now() < deadline {
                std::thread::sleep(DYING);
                now = clock.now();
            } else {
                // Every wait of the close ladder is over then, so the session ends with what is known.
                now = latest;
            }
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("server", &self.name)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
