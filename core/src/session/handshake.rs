//! `initialize`, and what the server said in it (row L23).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::lifecycle::Event;
use super::{Machine, Owner, Waiting};
use crate::error::{Cause, FailureKind, HandshakeFault};
use crate::output::DiagnosticKind;
use crate::protocol::Version;
use crate::rpc::{Entry, Stage, Timing};
use crate::sample::{bounded, escaped};
use crate::tool::raw;
use crate::wire::encode::{self, OneLine};

/// Text of the server that is kept from the handshake.
const TEXT: usize = 64 << 10;
/// A version that is quoted in an error.
const QUOTED: usize = 64;

/// What the server said about itself, at most 256 bytes of each.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
    /// Its name for people, if it has another one.
    pub title: Option<String>,
}

/// What the server offers. A capability that is there but not of the right shape counts as plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// `tools`.
    pub tools: bool,
    /// `tools.listChanged`.
    pub tools_list_changed: bool,
    /// `prompts`.
    pub prompts: bool,
    /// `prompts.listChanged`.
    pub prompts_list_changed: bool,
    /// `resources`.
    pub resources: bool,
    /// `resources.subscribe`.
    pub resources_subscribe: bool,
    /// `resources.listChanged`.
    pub resources_list_changed: bool,
    /// `logging`.
    pub logging: bool,
    /// `completions`; the first revision has the method without the capability.
    pub completions: bool,
    /// `tasks`.
    pub tasks: bool,
}

/// What was agreed in the handshake.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Peer {
    pub(super) version: Version,
    pub(super) info: ServerInfo,
    pub(super) capabilities: ServerCapabilities,
    pub(super) instructions: Option<String>,
}

/// Members of an object by name; of one that stands there twice the last one counts.
type Members<'a> = BTreeMap<Cow<'a, str>, &'a str>;

impl<T> Machine<T> {
    pub(super) fn send_initialize(&mut self) {
        let id = self.issue_id();
        let params = OneLine::new(self.initialize_params());
        self.link.send(id, params.len());
        let timing = Timing::until(self.now, None);
        let entry = Entry {
            owner: Owner::Initialize,
            handle: id,
            method: Cow::Borrowed("initialize"),
            timing,
            stage: Stage::Queued(Some(params)),
        };
        self.pending.insert(id, entry);
        self.initialize = Some(id);
    }

    fn initialize_params(&self) -> String {
        let settings = &self.server.settings;
        let version = settings.versions.iter().max().copied().unwrap_or(Version::V2025_11_25);
        let mut capabilities = serde_json::Map::new();
        if settings.capabilities.roots {
            capabilities.insert("roots".to_owned(), serde_json::json!({ "listChanged": true }));
        }
        if settings.capabilities.sampling {
            capabilities.insert("sampling".to_owned(), serde_json::json!({}));
        }
        if settings.capabilities.elicitation && version >= Version::V2025_06_18 {
            capabilities.insert("elicitation".to_owned(), serde_json::json!({}));
        }
        serde_json::json!({
            "protocolVersion": version.as_str(),
            "capabilities": capabilities,
            "clientInfo": { "name": settings.client.name, "version": settings.client.version },
        })
        .to_string()
    }

    pub(super) fn send_initialized(&mut self) {
        let mut frame = Vec::new();
        encode::push_notification(&mut frame, "notifications/initialized", None);
        self.link.notify(frame.into());
    }

    /// `initialize` was answered with a result.
    pub(super) fn on_initialized(&mut self, result: &str) {
        match self.read_initialize(result) {
            Ok(peer) => {
                let lists = peer.capabilities.tools && self.server.settings.list_on_connect;
                self.peer = Some(peer);
                self.event(Event::Initialized);
                self.schedule_health();
                if lists {
                    self.start_walk();
                } else {
                    self.finish_connecting();
                }
            }
            Err(fault) => self.fault(Cause::Handshake(fault)),
        }
    }

    /// `initialize` was answered, but not with a result.
    pub(super) fn handshake_failed(&mut self, kind: FailureKind) {
        let fault = match kind {
            FailureKind::Remote(error) => HandshakeFault::Refused(error),
            FailureKind::TooLarge { limit } => HandshakeFault::TooLarge(limit),
            FailureKind::InvalidResponse(why) => HandshakeFault::Response(why),
            _ => HandshakeFault::Invalid("result"),
        };
        self.fault(Cause::Handshake(fault));
    }

    fn read_initialize(&mut self, result: &str) -> Result<Peer, HandshakeFault> {
        let answer = members(result).ok_or(HandshakeFault::Invalid("result"))?;
        let offered = text(&answer, "protocolVersion").ok_or(HandshakeFault::Invalid("protocolVersion"))?;
        let accepted = &self.server.settings.versions;
        let version =
            Version::from_name(&offered).filter(|version| accepted.contains(version)).ok_or_else(|| {
                HandshakeFault::Version {
                    offered: escaped(&offered, QUOTED),
                    accepted: accepted.iter().map(|version| version.as_str()).collect(),
                }
            })?;
        let info = answer.get("serverInfo").and_then(|raw| members(raw));
        let named = info
            .as_ref()
            .and_then(|info| Some((text(info, "name")?, text(info, "version")?, text(info, "title"))));
        let (name, server_version, title) = named.ok_or(HandshakeFault::Invalid("serverInfo"))?;
        let capabilities = answer.get("capabilities").and_then(|raw| members(raw));
        let capabilities = capabilities.ok_or(HandshakeFault::Invalid("capabilities"))?;
        Ok(Peer {
            version,
            info: ServerInfo {
                name: bounded(&name, QUOTED * 4).0,
                version: bounded(&server_version, QUOTED * 4).0,
                title: title.map(|title| bounded(&title, QUOTED * 4).0),
            },
            capabilities: self.read_capabilities(&capabilities),
            instructions: text(&answer, "instructions").map(|instructions| bounded(&instructions, TEXT).0),
        })
    }

    fn read_capabilities(&mut self, offered: &Members<'_>) -> ServerCapabilities {
        let mut found = ServerCapabilities::default();
        for (name, raw) in offered {
            let members = members(raw);
            let mut odd = members.is_none();
            let members = members.unwrap_or_default();
            let mut flag = |name: &str| match members.get(name).copied() {
                Some("true") => true,
                Some("false") | None => false,
                Some(_) => {
                    odd = true;
                    false
                }
            };
            match name.as_ref() {
                "tools" => {
                    found.tools = true;
                    found.tools_list_changed = flag("listChanged");
                }
                "prompts" => {
                    found.prompts = true;
                    found.prompts_list_changed = flag("listChanged");
                }
                "resources" => {
                    found.resources = true;
                    found.resources_list_changed = flag("listChanged");
                    found.resources_subscribe = flag("subscribe");
                }
                "logging" => found.logging = true,
                "completions" => found.completions = true,
                "tasks" => found.tasks = true,
                _ => {}
            }
            if odd {
                let name = self.sample(name.as_bytes());
                self.diagnose(DiagnosticKind::OddCapability(name));
            }
        }
        found
    }

    /// Connecting is over: everyone who waited for it is told.
    pub(super) fn finish_connecting(&mut self) {
        self.connecting = false;
        for id in self.waiting(|waiting| matches!(waiting, Waiting::Connected)) {
            if let Some(entry) = self.pending.take(id) {
                let step = self.succeed(id, entry, super::Given::Connected);
                self.ready.extend(step);
            }
        }
    }
}

fn text<'a>(members: &Members<'a>, name: &str) -> Option<Cow<'a, str>> {
    members.get(name).and_then(|raw| raw::string(raw))
}

fn members(json: &str) -> Option<Members<'_>> {
    let mut found = Members::new();
    raw::members(json, |name, value| {
        found.insert(name, value);
    })
    .then_some(found)
}
