//! The tools of the server: walked page by page, replaced as a whole, marked stale by the server (rows L24, L33).

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::settle::Taken;
use super::{Given, Machine, Owner, Waiting};
use crate::error::{FailureKind, Refusal, WalkFault};
use crate::link::Abandoned;
use crate::output::DiagnosticKind;
use crate::rpc::{Entry, Stage, Timing};
use crate::time::Time;
use crate::tool::{Call, Catalog, Draft};
use crate::wire::encode::OneLine;

/// The catalog, and the walk that makes the next one.
#[derive(Debug, Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Tools {
    pub(super) catalog: Arc<Catalog>,
    freshness: Freshness,
    walk: Option<Walk>,
    /// The request for the first page of the newest walk.
    first_page: Option<u64>,
    /// Calls whose catalog is there and which are to be made, one a step, since each may have a schema to check.
    resuming: VecDeque<u64>,
}

/// What the catalog is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Freshness {
    /// Nothing was listed yet.
    #[default]
    Unlisted,
    Fresh,
    /// The server said that its list has changed.
    Stale,
}

/// A walk over all pages. It keeps its place in the pending table, and has one deadline over all pages.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
struct Walk {
    request: u64,
    began: Time,
    draft: Draft,
    /// The list changed meanwhile: the result is stale from the start.
    changed: bool,
}

impl Tools {
    /// The server said that its list has changed.
    pub(super) fn changed(&mut self) {
        if self.freshness == Freshness::Fresh {
            self.freshness = Freshness::Stale;
        }
        if let Some(walk) = &mut self.walk {
            walk.changed = true;
        }
    }

    /// The request that tells how far the newest walk came.
    pub(super) fn first_page(&self) -> Option<u64> {
        self.first_page
    }

    /// Whether calls wait to be made whose catalog is there.
    pub(super) fn is_resuming(&self) -> bool {
        !self.resuming.is_empty()
    }

    pub(super) fn is_stale(&self) -> bool {
        self.freshness != Freshness::Fresh
    }
}

impl<T> Machine<T> {
    /// Begins a walk, unless one is under way.
    pub(super) fn start_walk(&mut self) {
        if self.tools.walk.is_some() {
            return;
        }
        let timing = Timing::until(self.now, self.server.settings.timeouts.call);
        let draft = Draft::new(&self.server.settings.limits);
        let request = self.ask_page(None, timing);
        self.tools.first_page = Some(request);
        self.tools.walk = Some(Walk { request, began: self.now, draft, changed: false });
        if self.link.is_closed() {
            // It can never be asked for.
            self.fail_unsent();
        }
    }

    fn ask_page(&mut self, cursor: Option<&str>, timing: Timing) -> u64 {
        let id = self.issue_id();
        let params = cursor.map(|cursor| OneLine::new(format!(r#"{{"cursor":{cursor}}}"#)));
        self.link.send(id, params.as_deref().map_or(0, str::len));
        let entry = Entry {
            owner: Owner::Page,
            handle: id,
            method: Cow::Borrowed("tools/list"),
            timing,
            stage: Stage::Queued(params),
        };
        self.pending.insert(id, entry);
        id
    }

    /// A page came. Later pages have the deadline of the first.
    pub(super) fn on_page(&mut self, result: &str, timing: Timing) {
        let Some(mut walk) = self.tools.walk.take() else { return };
        match walk.draft.page(result) {
            Ok(Some(cursor)) => {
                walk.request = self.ask_page(Some(&cursor), timing);
                self.tools.walk = Some(walk);
                if self.link.is_closed() {
                    self.fail_unsent();
                }
            }
            Ok(None) => self.finish_walk(walk.draft.finish(None), walk.changed),
            // What was listed so far is worth more than nothing; a first page without a list is not a list.
            Err(fault) if fault != WalkFault::NoList(1) => {
                self.diagnose(DiagnosticKind::IncompleteCatalog(fault));
                self.finish_walk(walk.draft.finish(Some(fault)), walk.changed);
            }
            Err(fault) => {
                self.tools.walk = Some(walk);
                self.walk_failed(&FailureKind::Walk(fault));
            }
        }
    }

    fn finish_walk(&mut self, catalog: Catalog, changed: bool) {
        for tool in catalog.set_aside() {
            let name = self.sample(tool.name.as_bytes());
            self.diagnose(DiagnosticKind::ToolSetAside { name, reason: tool.reason });
        }
        self.tools.catalog = Arc::new(catalog);
        self.tools.freshness = if changed { Freshness::Stale } else { Freshness::Fresh };
        for id in self.waiting(|waiting| matches!(waiting, Waiting::Listed)) {
            if let Some(entry) = self.pending.take(id) {
                let step = self.succeed(id, entry, Given::Listed);
                self.ready.extend(step);
            }
        }
        self.finish_connecting();
        self.tools.resuming = self.waiting(|waiting| matches!(waiting, Waiting::Tool(_))).into();
    }

    /// The walk ended without a catalog: the old one stays, and those who waited for a new one are told why.
    pub(super) fn walk_failed(&mut self, kind: &FailureKind) {
        let Some(walk) = self.tools.walk.take() else { return };
        // Who joined a walk that was under way has time left when that walk has none.
        let timed_out = matches!(kind, FailureKind::Walk(WalkFault::TimedOut(_))) && !self.link.is_closed();
        let joined = |entry: &Taken<T>| timed_out && entry.timing.accepted > walk.began;
        let mut again = false;
        for id in self.waiting(|waiting| matches!(waiting, Waiting::Listed | Waiting::Tool(_))) {
            if self.pending.get(id).is_some_and(joined) {
                again = true;
            } else if let Some(entry) = self.pending.take(id) {
                let step = self.fail(id, entry, kind.clone(), None);
                self.ready.extend(step);
            }
        }
        if !self.waiting(|waiting| matches!(waiting, Waiting::Connected)).is_empty() {
            let why = self.sample(kind.to_string().as_bytes());
            self.diagnose(DiagnosticKind::ListFailed(why));
            self.finish_connecting();
        }
        if again {
            self.start_walk();
        }
    }

    /// Makes the next call that waited for the catalog, if there is one.
    pub(super) fn resume_next(&mut self) -> bool {
        match self.tools.resuming.pop_front() {
            Some(id) => {
                self.resume_call(id);
                true
            }
            None => false,
        }
    }

    fn resume_call(&mut self, id: u64) {
        // It may have ended meanwhile.
        let Some(mut entry) = self.pending.take(id) else { return };
        let call = match std::mem::replace(&mut entry.stage, Stage::Encoded) {
            Stage::Waiting(Waiting::Tool(call)) => call,
            other => {
                entry.stage = other;
                self.pending.insert(id, entry);
                return;
            }
        };
        self.waiting_bytes = self.waiting_bytes.saturating_sub(size_of(&call));
        entry.stage = Stage::Queued(None);
        let failure = match self.tools.catalog.get(call.tool()).cloned() {
            None => FailureKind::UnknownTool,
            Some(tool) => match call.prepare(&tool, &self.server.settings) {
                Err(refused) => match refused.refusal {
                    Refusal::Arguments { problem, .. } => FailureKind::InvalidArguments(problem.into()),
                    other => FailureKind::InvalidArguments(other.to_string().into()),
                },
                Ok(call) => {
                    let wire = self.issue_id();
                    let token = call.options().asks_progress().then_some(wire);
                    match call.parameters(token, self.server.settings.limits.parameters) {
                        Err(refusal) => FailureKind::InvalidArguments(refusal.to_string().into()),
                        Ok(params) => {
                            if let Owner::Caller(caller) = &mut entry.owner {
                                caller.tool = Some(tool);
                            }
                            self.link.send(wire, params.len());
                            self.renamed.insert(entry.handle, wire);
                            self.settled.record(entry.handle, crate::rpc::SettledAs::NeverSent);
                            entry.stage = Stage::Queued(Some(params));
                            self.pending.insert(wire, entry);
                            if self.link.is_closed() {
                                self.fail_unsent();
                            }
                            return;
                        }
                    }
                }
            },
        };
        entry.stage = Stage::Waiting(Waiting::Nothing);
        let step = self.fail(id, entry, failure, None);
        self.ready.extend(step);
    }

    /// Gives a walk up that nobody waits for any more.
    pub(super) fn drop_idle_walk(&mut self) {
        let Some(walk) = &self.tools.walk else { return };
        let request = walk.request;
        if self.pending.waiting().next().is_none() {
            self.tools.walk = None;
            if let Some(entry) = self.pending.take(request) {
                self.fail(request, entry, FailureKind::Cancelled(Box::default()), Some(Abandoned::Cancelled));
            }
        }
    }

    /// Entries that wait for something of this kind, oldest first.
    pub(super) fn waiting(&self, which: impl Fn(&Waiting) -> bool) -> Vec<u64> {
        self.pending.waiting().filter(|(_, waiting)| which(waiting)).map(|(id, _)| id).collect()
    }
}

/// Bytes that a call holds while it waits for a catalog.
pub(super) fn size_of(call: &Call) -> usize {
    call.tool().len() + call.arguments().len()
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Tools { catalog, freshness, walk, first_page, resuming } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Walk { request, began, draft, changed } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Freshness: Freshness::Fresh, Freshness::Stale);
