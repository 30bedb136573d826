//! The list of tools, page by page.

use std::collections::BTreeSet;

use sans_mcp::{Delivery, Time};
use serde_json::Value;

use super::{Model, Open, What};

/// A walk over the pages of the list.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    page: u64,
    began: Time,
    deadline: Time,
    pages: usize,
    tools: BTreeSet<String>,
    cursors: BTreeSet<String>,
    /// The server said meanwhile that its list has changed.
    changed: bool,
}

impl Model {
    pub(super) fn start_walk(&mut self) {
        if self.walk.is_some() {
            return;
        }
        let deadline = self.now + self.call_timeout();
        let page = self.ask_page(deadline, 0);
        self.first_page = page;
        let (tools, cursors) = (BTreeSet::new(), BTreeSet::new());
        self.walk = Some(Walk { page, began: self.now, deadline, pages: 0, tools, cursors, changed: false });
        if self.writing.is_closed() {
            self.fail_unsent();
        }
    }

    fn ask_page(&mut self, deadline: Time, size: usize) -> u64 {
        let page = self.add(What::Page, 0, Some(deadline), None);
        self.writing.request(page, "tools/list", size);
        page
    }

    pub(super) fn page(&mut self, result: &Value) {
        let Some(mut walk) = self.walk.take() else { return };
        walk.pages += 1;
        let Some(list) = result.get("tools").and_then(Value::as_array) else {
            if walk.pages > 1 {
                return self.listed(walk);
            }
            self.walk = Some(walk);
            return self.walk_failed("MCP_LIST_FAILED", false);
        };
        let names = list.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str));
        walk.tools.extend(names.map(str::to_owned));
        let cursor = result.get("nextCursor").filter(|cursor| !cursor.is_null()).map(Value::to_string);
        match cursor {
            Some(cursor) if !walk.cursors.contains(&cursor) && walk.pages < self.settings.limits.pages => {
                // The second page has the place and the deadline of the first.
                walk.page = self.ask_page(walk.deadline, r#"{"cursor":}"#.len() + cursor.len());
                walk.cursors.insert(cursor);
                self.walk = Some(walk);
                if self.writing.is_closed() {
                    self.fail_unsent();
                }
            }
            _ => self.listed(walk),
        }
    }

    /// The list is there, perhaps not all of it.
    fn listed(&mut self, walk: Walk) {
        self.tools = walk.tools;
        self.fresh = !walk.changed;
        for id in self.those(|open| open.what == What::List) {
            self.succeed(id, "listed");
        }
        self.tell_connected();
        self.to_make = self.those(|open| matches!(open.what, What::Tool(_))).into();
    }

    pub(super) fn make_calls(&mut self) {
        while self.writing.is_idle() || self.writing.is_stuck() {
            let Some(id) = self.to_make.pop_front() else { return };
            self.make(id);
            if self.writing.is_closed() {
                self.fail_unsent();
            }
        }
    }

    /// A call that waited for the list is made now, under an id of its own.
    fn make(&mut self, id: u64) {
        let Some(What::Tool(call)) = self.open.get(&id).map(|open| open.what.clone()) else { return };
        if !self.tools.contains(&call.tool) {
            return self.fail(id, "MCP_UNKNOWN_TOOL");
        }
        let wire = self.new_id();
        let size = call.size(call.token(wire));
        if size > self.settings.limits.parameters {
            return self.fail(id, "MCP_INVALID_ARGUMENTS");
        }
        if let Some(open) = self.open.remove(&id) {
            self.open.insert(wire, Open { what: What::Call(call.progress), ..open });
        }
        self.writing.request(wire, "tools/call", size);
    }

    /// The walk came to nothing. Those who joined it late begin another one, if it had no time left.
    pub(super) fn walk_failed(&mut self, code: &str, timed_out: bool) {
        let Some(walk) = self.walk.take() else { return };
        let waiting = self.those(|open| matches!(open.what, What::List | What::Tool(_)));
        let mut again = false;
        for id in waiting {
            let joined = self.open.get(&id).is_some_and(|open| open.accepted > walk.began);
            if timed_out && joined && !self.writing.is_closed() {
                again = true;
            } else {
                self.fail(id, code);
            }
        }
        if self.open.values().any(|open| open.what == What::Connect) {
            self.tell_connected();
        }
        if again {
            self.start_walk();
        }
    }

    /// A walk that nobody waits for ends.
    pub(super) fn drop_idle_walk(&mut self) {
        if self.open.values().any(|open| open.what.waits()) {
            return;
        }
        if let Some(walk) = self.walk.take() {
            self.give_up(walk.page, "MCP_ABORTED");
        }
    }

    pub(super) fn changed(&mut self) {
        self.fresh = false;
        if let Some(walk) = &mut self.walk {
            walk.changed = true;
        }
    }

    pub(super) fn tell_connected(&mut self) {
        self.connecting = false;
        for id in self.those(|open| open.what == What::Connect) {
            self.succeed(id, "connected");
        }
    }

    /// The input is closed: what has not begun to leave never will.
    pub(super) fn fail_unsent(&mut self) {
        let unsent = self.open.iter().filter(|(id, open)| match open.what {
            What::Connect | What::List => false,
            What::Tool(_) => true,
            _ => self.writing.delivery(**id) == Delivery::NotSent,
        });
        for id in unsent.map(|(id, _)| *id).collect::<Vec<_>>() {
            let is_page = self.open.get(&id).is_some_and(|open| open.what == What::Page);
            self.fail(id, "MCP_STDIN_CLOSED");
            if is_page {
                self.walk_failed("MCP_STDIN_CLOSED", false);
            }
        }
    }

    fn those(&self, which: impl Fn(&Open) -> bool) -> Vec<u64> {
        self.open.iter().filter(|(_, open)| which(open)).map(|(id, _)| *id).collect()
    }
}
