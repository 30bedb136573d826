//! Notifications of the server: bounded by rate, gated by capability, never an answer (row L27).

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Caller, Machine, Owner, Step};
use crate::error::{Cause, PeerFault};
use crate::output::DiagnosticKind;
use crate::wire::id;

impl<T> Machine<T> {
    pub(super) fn on_notification(&mut self, text: &str, method: &str, params: Option<Range<usize>>) {
        // What costs nothing and must not be lost is done before the rate is looked at.
        if method == "notifications/tools/list_changed" && self.negotiated(method).is_some() {
            self.tools.changed();
        }
        let size = method.len() + params.as_ref().map_or(0, Range::len);
        if !self.notifications.admit(self.now, size) {
            self.counters.dropped_notifications += 1;
            if self.server.settings.limits.end_on_notification_flood {
                self.fault(Cause::Peer(PeerFault::NotificationFlood));
            } else {
                self.diagnose(DiagnosticKind::NotificationFlood);
            }
            return;
        }
        let raw = params.clone().and_then(|span| text.get(span));
        match method {
            "notifications/progress" => self.on_progress(raw, params),
            "notifications/cancelled" => self.on_peer_cancelled(raw),
            _ => match self.negotiated(method) {
                Some(method) => {
                    self.counters.notifications += 1;
                    self.ready.push_back(Step::Notification { method, params });
                }
                None => {
                    self.counters.ignored_notifications += 1;
                    let sample = self.sample(method.as_bytes());
                    self.diagnose(DiagnosticKind::IgnoredNotification(sample));
                }
            },
        }
    }

    fn on_progress(&mut self, raw: Option<&str>, params: Option<Range<usize>>) {
        let token = raw.and_then(|raw| serde_json::from_str::<Progressed<'_>>(raw).ok());
        let number = token.and_then(|progressed| id::number(progressed.progress_token.get()));
        let open = number.filter(|number| self.is_on_wire(*number));
        let (Some(id), Some(params)) = (open, params) else {
            self.counters.ignored_notifications += 1;
            return;
        };
        self.counters.notifications += 1;
        self.pending.extend(id, self.now);
        if let Some(Owner::Caller(Caller { wants_progress: true, .. })) =
            self.pending.get(id).map(|e| &e.owner)
        {
            self.ready.push_back(Step::Progress { id, params });
        }
    }

    /// A notification method that may reach the host, because the server offered what it belongs to.
    fn negotiated(&self, method: &str) -> Option<&'static str> {
        let offers = &self.peer.as_ref()?.capabilities;
        let (offered, name) = match method {
            "notifications/message" => (offers.logging, "notifications/message"),
            "notifications/tools/list_changed" => (offers.tools, "notifications/tools/list_changed"),
            "notifications/prompts/list_changed" => (offers.prompts, "notifications/prompts/list_changed"),
            "notifications/resources/list_changed" => {
                (offers.resources, "notifications/resources/list_changed")
            }
            "notifications/resources/updated" => {
                (offers.resources_subscribe, "notifications/resources/updated")
            }
            "notifications/tasks/status" => (offers.tasks, "notifications/tasks/status"),
            _ => return None,
        };
        offered.then_some(name)
    }
}

#[derive(Deserialize)]
struct Progressed<'a> {
    #[serde(rename = "progressToken", borrow)]
    progress_token: &'a RawValue,
}
