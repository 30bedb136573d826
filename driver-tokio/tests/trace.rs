//! What is told to `tracing`. It has a program of its own: tests beside it would share the state of `tracing`.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};

use sans_mcp_tokio::{Client, Server};
use serde_json::json;
use tokio::runtime::Builder;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// Writes down everything, at every level: a line for each span, record and event.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<String>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Notebook {
    fn line(&self, of: &str, record: impl FnOnce(&mut Line<'_>)) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push_str(of);
        record(&mut Line(&mut notes));
        notes.push('\n');
    }
}

impl Subscriber for Notebook {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sans_mcp")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.line(span.metadata().name(), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        self.line("record", |line| values.record(line));
    }

    fn event(&self, event: &Event<'_>) {
        self.line("event", |line| event.record(line));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

#[test]
fn l29_connect_call_and_close_are_traced_without_parameters_or_results() {
    let notebook = Notebook::default();
    with_default(notebook.clone(), || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let docs_server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server");
            let client = Client::connect(Server::new("docs", docs_server)).await.unwrap();
            let search = client.call_tool("search", json!({ "query": "confidential" })).await.unwrap();
            assert_eq!(search.text(), "found confidential");
            client.call_tool("confidential", ()).await.unwrap_err();
            client.close().await;
        });
    });
    let notes = notebook.0.lock().unwrap();
    let has = |parts: &[&str]| notes.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["connect", "server=\"docs\"", "instance="]), "{notes}");
    assert!(has(&["event", "connected", "code=\"OK\"", "elapsed_us="]), "{notes}");
    assert!(has(&["request", "method=\"tools/call\""]), "{notes}");
    assert!(has(&["record", "tool=\"search\""]), "{notes}");
    assert!(has(&["event", "settled", "code=\"OK\"", "elapsed_us="]), "{notes}");
    assert!(has(&["event", "refused", "code=\"MCP_UNKNOWN_TOOL\""]), "{notes}");
    assert!(has(&["event", "closed", "code=\"CLIENT_CLOSED\"", "gone=true"]), "{notes}");
    assert!(!notes.contains("confidential") && !notes.contains("found"), "{notes}");
}
