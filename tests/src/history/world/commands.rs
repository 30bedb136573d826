//! What the host of a history asks for, and what a driver says that is not so.

use std::time::Duration;

use sans_mcp::{Call, Exit, Handle, PeerReply, Refused, Request, Signalled, StartFailure, Time, Tree};

use super::World;
use crate::Token;
use crate::history::{CALL, Lie, Step};
use crate::invariants::{Asked, Checked, MARKER};
use crate::model::{self, Model};

impl World {
    pub(super) fn command(&mut self, step: Step) -> Checked {
        let (now, token) = (self.now, self.tokens + 1);
        let default = Some(now + CALL);
        match step {
            Step::Connect => {
                let accepted = self.session.connect(now, token);
                self.verdict(&accepted, |model| model.connect(token))?;
                self.accepted(token, accepted, Asked::Waiting, None)
            }
            Step::Call { tool, timeout, progress, size } => {
                let filling = "a".repeat(usize::from(size) * 16);
                let arguments = format!(r#"{{"{MARKER}":{token},"filling":"{filling}"}}"#);
                let tool = format!("tool{}", tool % 4);
                let mut call = Call::new(tool.clone(), arguments.clone());
                let own = Duration::from_millis(u64::from(timeout));
                let timeout_of_model = if timeout > 0 { own } else { CALL };
                if timeout > 0 {
                    call = call.timeout(Some(own));
                }
                if progress {
                    call = call.progress().reset_on_progress();
                }
                let deadline = if timeout > 0 { Some(now + own) } else { default };
                let accepted = self.session.call(now, call, token);
                let call = model::Call { tool, arguments, timeout: timeout_of_model, progress };
                self.verdict(&accepted, |model| model.call(token, call))?;
                self.accepted(token, accepted, Asked::Call, deadline.filter(|_| !progress))
            }
            Step::Request(which) => {
                let method = match which % 3 {
                    0 => "resources/list",
                    1 => "prompts/list",
                    _ => "vendor/x",
                };
                let accepted = self.session.request(now, Request::new(method), token);
                self.verdict(&accepted, |model| model.request(token, method, CALL))?;
                self.accepted(token, accepted, Asked::Request, default)
            }
            Step::Ping(timeout) => {
                let own = (timeout > 0).then(|| Duration::from_millis(u64::from(timeout)));
                let accepted = self.session.ping(now, own, token);
                self.verdict(&accepted, |model| model.request(token, "ping", own.unwrap_or(CALL)))?;
                self.accepted(token, accepted, Asked::Request, own.map_or(default, |own| Some(now + own)))
            }
            Step::List => {
                let accepted = self.session.list_tools(now, token);
                self.verdict(&accepted, |model| model.list(token))?;
                self.accepted(token, accepted, Asked::Waiting, default)
            }
            Step::Notify => {
                let (method, params) = ("notifications/vendor", r#"{"a": 1}"#);
                let accepted = self.session.notify(now, method, Some(params));
                let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
                let accepted = accepted.map_err(|refusal| refusal.code().as_str());
                self.answer(&accepted, |model| model.notify(method, line.len() + 1))
            }
            Step::Cancel(which) => {
                let place = usize::from(which) % self.handles.len().max(1);
                let Some(handle) = self.handles.iter().rev().nth(place) else { return Ok(()) };
                let handle = *handle;
                let was_open = self.session.cancel(now, handle, "by the history");
                self.answer(&was_open, |model| model.cancel(handle.number()))?;
                self.invariants.cancelled(handle, was_open)
            }
            Step::Respond(which) => {
                if self.requests.is_empty() {
                    return Ok(());
                }
                let handle = self.requests.remove(usize::from(which) % self.requests.len());
                let result = if which % 2 == 0 { r#"{"roots":[]}"# } else { "[" };
                let number = handle.number();
                let answered = self.session.respond(now, handle, PeerReply::Result(result));
                let is = match &answered {
                    Ok(()) => Ok(()),
                    Err(refused) => Err(refused.refusal.code().as_str()),
                };
                self.answer(&is, |model| model.respond(number, result))?;
                if let Err(Refused { value, .. }) = answered {
                    self.requests.push(value);
                }
                Ok(())
            }
            Step::Shutdown(grace) => {
                let grace = Duration::from_millis(u64::from(grace));
                self.session.shutdown(now, grace);
                self.fact(|model| model.shutdown(grace));
                Ok(())
            }
            _ => {
                self.session.close(now);
                self.fact(Model::close);
                Ok(())
            }
        }
    }

    fn accepted(
        &mut self,
        token: Token,
        accepted: Result<Handle, Refused<Token>>,
        asked: Asked,
        deadline: Option<Time>,
    ) -> Checked {
        match accepted {
            Ok(handle) => {
                self.tokens = token;
                if self.traces {
                    self.trace.push(format!("accepted {token} as {handle}"));
                }
                self.handles.push(handle);
                self.invariants.accepted(token, handle, asked, deadline)
            }
            Err(refused) => {
                if self.traces {
                    self.trace.push(format!("refused {token}: {refused}"));
                }
                self.invariants.refused(token, refused.value)
            }
        }
    }

    pub(super) fn lie(&mut self, lie: Lie) {
        let now = self.now;
        match lie {
            Lie::Spawned => self.session.handle_spawned(now, 8),
            Lie::SpawnFailed => self.session.handle_spawn_failed(now, StartFailure::BadWorkingDirectory),
            Lie::Exited => self.session.handle_exit(now, Exit::Code(0)),
            Lie::Reaped => self.session.handle_reaped(now, Exit::Code(0)),
            Lie::Gone => self.session.handle_tree(now, Tree::Gone),
            Lie::Left => self.session.handle_tree(now, Tree::Alive(1)),
            Lie::InputClosed => self.session.handle_stdin_closed(now),
            Lie::OutputEnded => self.session.handle_eof(now),
            Lie::Written(count) => self.session.handle_written(now, usize::from(count)),
            Lie::Writable => self.session.handle_writable(now),
            Lie::NotPermitted => self.session.handle_signalled(now, Signalled::NotPermitted),
            Lie::Read(count) => {
                self.session.read_space();
                self.session.handle_read(now, usize::from(count));
            }
            Lie::Earlier => self.session.handle_timeout(Time::ZERO),
        }
    }
}
