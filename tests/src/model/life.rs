//! From the start of the process to the proof that it is gone.

use std::time::Duration;

use super::{Model, What};
use crate::Token;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    New,
    Spawning,
    /// Closed before the process was there.
    Aborting,
    Handshake,
    Ready,
    Draining,
    /// Exited, or its output ended: the other is waited for.
    Losing,
    Leaving,
    Terminating,
    Killing,
    Reaping,
    Probing,
    Closed,
}

const LOSS: Duration = Duration::from_millis(100);
const GONE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const INPUT_LOST: Duration = Duration::from_secs(1);

impl Life {
    const fn state(self) -> &'static str {
        match self {
            Life::New => "New",
            Life::Spawning | Life::Handshake => "Connecting",
            Life::Ready => "Ready",
            Life::Draining => "Draining",
            Life::Closed => "Closed",
            _ => "Closing",
        }
    }
}

impl Model {
    fn enter(&mut self, life: Life, until: Option<Duration>) {
        if life.state() != self.life.state() {
            self.told.push(format!("state {}", life.state()));
        }
        self.life = life;
        self.until = until.map(|until| self.now + until);
        if matches!(life, Life::Killing | Life::Reaping | Life::Probing) {
            let gone_by = *self.gone_by.get_or_insert(self.now + GONE);
            self.until = Some(gone_by);
        }
        if life == Life::Closed {
            self.probe_at = None;
            self.told.push("closed".to_owned());
        }
    }

    fn tell(&mut self, what: &[&str]) {
        self.told.extend(what.iter().map(|what| (*what).to_owned()));
    }

    /// Everything that is open ends, because the session does.
    fn settle(&mut self) {
        for asked in std::mem::take(&mut self.asked) {
            self.told.push(format!("unasked {}", asked.number));
        }
        let code = self.closing_code();
        while let Some(id) = self.open.keys().next().copied() {
            self.fail(id, code);
        }
        self.walk = None;
        self.writing.forget_requests();
    }

    pub(super) fn begin(&mut self) {
        self.enter(Life::Spawning, self.settings.timeouts.connect);
        self.tell(&["spawn"]);
    }

    pub(crate) fn spawned(&mut self) {
        self.writing.open();
        if self.life == Life::Aborting {
            self.writing.close();
            self.enter(Life::Killing, None);
            self.tell(&["close input", "signal Kill"]);
            return;
        }
        let until = self.until;
        self.enter(Life::Handshake, None);
        self.until = until;
        self.initialize = self.add(What::Initialize, 0, None, None);
        self.writing.request(self.initialize, "initialize", 0);
        self.due();
    }

    pub(crate) fn spawn_failed(&mut self) {
        if self.life == Life::Spawning {
            self.cause.get_or_insert("MCP_NOT_PERMITTED");
        }
        self.settle();
        self.enter(Life::Closed, None);
    }

    /// The answer to `initialize` is good.
    pub(super) fn initialized(&mut self) {
        self.connected = true;
        self.enter(Life::Ready, None);
        self.healthy();
        self.writing.notification("notifications/initialized", 0);
        self.start_walk();
    }

    /// The server is alive; it is asked again when the interval has passed.
    pub(super) fn healthy(&mut self) {
        self.health_at = self.settings.timeouts.health_interval.map(|interval| self.now + interval);
    }

    pub(super) fn check_health(&mut self) {
        if self.health_at.is_none_or(|at| at > self.now) {
            return;
        }
        self.health_at = None;
        if self.life == Life::Ready && !self.writing.is_closed() {
            let deadline = self.settings.timeouts.health.map(|timeout| self.now + timeout);
            let id = self.add(What::Health, 0, deadline, None);
            self.writing.request(id, "ping", 0);
        }
    }

    pub(crate) fn close(&mut self) {
        if self.life != Life::Losing {
            self.cause.get_or_insert("CLIENT_CLOSED");
        }
        match self.life {
            Life::New => {
                self.settle();
                self.enter(Life::Closed, None);
            }
            Life::Spawning => {
                self.settle();
                self.enter(Life::Aborting, None);
            }
            Life::Handshake | Life::Ready | Life::Draining => self.leave(),
            _ => {}
        }
        self.due();
    }

    pub(crate) fn shutdown(&mut self, grace: Duration) {
        match self.life {
            Life::Ready => {
                self.enter(Life::Draining, Some(grace));
                self.due();
            }
            Life::New | Life::Spawning | Life::Handshake => self.close(),
            _ => {}
        }
    }

    fn leave(&mut self) {
        self.settle();
        self.enter(Life::Leaving, Some(self.settings.timeouts.end_of_input));
        self.tell(&["close input"]);
    }

    /// The server did what ends the session.
    pub(super) fn fault(&mut self, code: &'static str) {
        if !matches!(self.life, Life::Spawning | Life::Handshake | Life::Ready | Life::Draining) {
            return;
        }
        self.cause.get_or_insert(code);
        self.end_by_force();
    }

    fn end_by_force(&mut self) {
        self.settle();
        match self.life {
            Life::Spawning => self.enter(Life::Aborting, None),
            Life::Handshake => {
                self.writing.close();
                self.enter(Life::Killing, None);
                self.tell(&["close input", "signal Kill"]);
            }
            _ => {
                self.writing.close();
                self.enter(Life::Terminating, Some(self.settings.timeouts.terminate));
                self.tell(&["close input", "signal Terminate"]);
            }
        }
    }

    pub(crate) fn ended(&mut self) {
        let rest = std::mem::take(&mut self.unread);
        self.line(&rest);
        self.output_ended = true;
        self.noticed_loss();
    }

    pub(crate) fn exited(&mut self) {
        self.exited = true;
        if matches!(self.life, Life::Leaving | Life::Terminating | Life::Killing) {
            self.enter(Life::Reaping, None);
            self.tell(&["signal Kill", "reap"]);
        }
        self.noticed_loss();
    }

    fn noticed_loss(&mut self) {
        if matches!(self.life, Life::Handshake | Life::Ready | Life::Draining) {
            self.enter(Life::Losing, Some(LOSS));
        }
        self.due();
    }

    fn lose(&mut self) {
        self.cause.get_or_insert("MCP_PROCESS_EXIT");
        if self.exited {
            self.settle();
            self.writing.close();
            self.enter(Life::Reaping, None);
            self.tell(&["close input", "signal Kill", "reap"]);
        } else {
            self.leave();
        }
    }

    pub(crate) fn input_closed(&mut self) {
        self.writing.close();
        if matches!(self.life, Life::Ready | Life::Draining) {
            self.fail_unsent();
        }
        let unwritten = self.open.contains_key(&self.initialize)
            && self.writing.delivery(self.initialize) != sans_mcp::Delivery::Sent;
        if self.life == Life::Handshake && unwritten && !self.input_lost {
            self.input_lost = true;
            let until = self.now + INPUT_LOST;
            self.until = Some(self.until.map_or(until, |connect| connect.min(until)));
        }
        self.listen();
    }

    pub(crate) fn reaped(&mut self) {
        if self.life == Life::Reaping {
            self.enter(Life::Probing, None);
            self.tell(&["probe"]);
        }
    }

    pub(crate) fn looked(&mut self, gone: bool) {
        if self.life != Life::Probing {
            return;
        }
        if gone {
            self.enter(Life::Closed, None);
        } else {
            self.probe_at = Some(self.now + LOOK_AGAIN);
        }
    }

    /// What time and quiet bring on.
    pub(super) fn live(&mut self) {
        if self.life == Life::Losing && self.exited && self.output_ended {
            self.lose();
        }
        if self.until.is_some_and(|until| until <= self.now) {
            self.until = None;
            match self.life {
                Life::Spawning | Life::Handshake => {
                    let code = if self.input_lost { "MCP_HANDSHAKE_FAILED" } else { "MCP_CONNECT_TIMEOUT" };
                    self.cause.get_or_insert(code);
                    self.end_by_force();
                }
                Life::Draining => {
                    self.cause.get_or_insert("CLIENT_CLOSED");
                    self.leave();
                }
                Life::Losing => self.lose(),
                Life::Leaving => {
                    self.enter(Life::Terminating, Some(self.settings.timeouts.terminate));
                    self.tell(&["signal Terminate"]);
                }
                Life::Terminating => {
                    self.enter(Life::Killing, None);
                    self.tell(&["signal Kill"]);
                }
                _ => self.enter(Life::Closed, None),
            }
        }
        let awaited = self.open.values().any(|open| open.what.is_callers());
        if self.life == Life::Draining && !awaited && self.writing.is_idle() {
            self.cause.get_or_insert("CLIENT_CLOSED");
            self.leave();
        }
        if self.life == Life::Probing && self.probe_at.is_some_and(|at| at <= self.now) {
            self.probe_at = None;
            self.tell(&["probe"]);
        }
    }

    /// Lines that are offered; an error says what should be.
    pub(crate) fn offered(&mut self, labels: &[String]) -> Result<(), Vec<String>> {
        let only_replies = self.puts_replies_first();
        self.writing.offered(labels, only_replies).map_or(Ok(()), Err)
    }

    /// Whether there is something that an input which takes bytes should have got.
    pub(crate) fn has_lines(&self) -> bool {
        !self.writing.is_idle() && !self.writing.is_stuck()
    }

    /// The input is full, or takes bytes again.
    pub(crate) fn full(&mut self, full: bool) {
        self.writing.fill(full);
        self.listen();
    }

    pub(crate) fn written(&mut self, whole: usize, part: bool) {
        self.writing.written(whole, part);
        self.listen();
    }

    /// What the caller with this token is told.
    pub(super) fn tell_progress(&mut self, token: Token) {
        self.told.push(format!("progress {token}"));
    }
}
