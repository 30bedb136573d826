//! `check`: every step of a conversation, timed, with what is odd about it.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sans_mcp::{Catalog, Cause, End, Exit, Server, Tree};
use serde_json::json;

use super::console::Console;
use super::interrupt::Interrupt;
use super::status::Status;
use super::{report, server_options, show, text, visit};
use crate::{CallError, Client};

/// Tools that are named one by one in a problem.
const NAMED: usize = 5;

pub(super) async fn check(
    console: &Arc<Console>,
    interrupt: &mut Interrupt,
    server: Server,
    as_json: bool,
) -> Status {
    let directory = server.working_directory.clone();
    let bound = server.settings.timeouts.close_bound();
    let client = match Client::builder(server).build() {
        Ok(client) => client,
        Err(error) => {
            console.note(&server_options::config(&error));
            return Status::Usage;
        }
    };
    let mut report = Report::default();
    let interrupted = tokio::select! {
        () = report.examine(console, &client, directory.as_deref()) => None,
        signal = interrupt.next() => Some(signal),
    };
    let began = Instant::now();
    let Some(end) = visit::close(interrupt, &client).await else {
        return interrupted.unwrap_or(Status::Interrupted);
    };
    match interrupted {
        // How a server ends that was not listened to to the end says nothing about it.
        Some(_) => report.interrupted = true,
        None => report.judge_end(&end, began, bound),
    }
    report.judge_conduct(&client);
    let shown = if as_json { report.to_json() } else { report.to_text() };
    tokio::select! {
        printed = console.result(shown) => {
            let done = printed.map_or_else(|status| status, |()| report.status);
            interrupted.unwrap_or(done)
        }
        signal = interrupt.next() => signal,
    }
}

struct Report {
    steps: Vec<Step>,
    problems: Vec<String>,
    /// Of the first step that failed.
    status: Status,
    /// Not every step was done.
    interrupted: bool,
}

struct Step {
    name: &'static str,
    ok: bool,
    ms: f64,
    detail: String,
}

impl Default for Report {
    fn default() -> Report {
        Report { steps: Vec::new(), problems: Vec::new(), status: Status::Fine, interrupted: false }
    }
}

impl Report {
    /// Connects, lists and pings.
    async fn examine(&mut self, console: &Console, client: &Client, directory: Option<&Path>) {
        let began = Instant::now();
        if let Err(error) = visit::connect(console, client).await {
            let (text, status) = report::connect(&error, directory);
            console.note(&text);
            self.step("connect", began, Err((error.to_string(), status)));
            return;
        }
        self.step("connect", began, Ok(show::server(client)));

        let began = Instant::now();
        if client.capabilities().is_some_and(|offers| offers.tools) {
            let listed = match client.list_tools().await {
                Ok(catalog) => {
                    self.judge_catalog(&catalog);
                    Ok(format!("{} tool{}", catalog.len(), if catalog.len() == 1 { "" } else { "s" }))
                }
                Err(error) => Err(told(console, &error)),
            };
            self.step("list", began, listed);
        } else {
            self.step("list", began, Ok("it offers no tools".to_owned()));
        }

        let began = Instant::now();
        let pinged = match client.ping().await {
            Ok(_) => Ok(String::new()),
            Err(error) => Err(told(console, &error)),
        };
        self.step("ping", began, pinged);
    }

    fn step(&mut self, name: &'static str, began: Instant, outcome: Result<String, (String, Status)>) {
        let ms = text::millis(began.elapsed());
        let ok = outcome.is_ok();
        let detail = match outcome {
            Ok(detail) => detail,
            Err((detail, status)) => {
                if self.status == Status::Fine {
                    self.status = status;
                }
                detail
            }
        };
        self.steps.push(Step { name, ok, ms, detail: text::one_line(&detail, 2 * text::LINE) });
    }

    fn judge_catalog(&mut self, catalog: &Catalog) {
        for set_aside in catalog.set_aside().iter().take(NAMED) {
            self.problems
                .push(format!("{set_aside}: correct its definition, until then it cannot be called"));
        }
        let more = catalog.set_aside_count().saturating_sub(NAMED);
        if more > 0 {
            self.problems.push(format!("{more} more tools were set aside"));
        }
        if let Some(fault) = catalog.incomplete() {
            self.problems.push(format!("the list of tools is not complete: {fault}"));
        }
        let unchecked: Vec<_> =
            catalog.tools().filter_map(|tool| Some((tool, tool.schema_note()?))).collect();
        for (tool, note) in unchecked.iter().take(NAMED) {
            self.problems
                .push(format!("calls of tool `{}` are not checked against its schema: {note}", tool.name()));
        }
        let more = unchecked.len().saturating_sub(NAMED);
        if more > 0 {
            self.problems.push(format!("calls of {more} more tools are not checked"));
        }
    }

    fn judge_end(&mut self, end: &End, began: Instant, bound: Duration) {
        let closed = match end.exit {
            // The first step has said why nothing runs.
            None if self.status != Status::Fine => Ok("nothing was running".to_owned()),
            None => Err(("how the process ended was not seen".to_owned(), Status::Reported)),
            Some(exit) => Ok(exit.to_string()),
        };
        self.step("close", began, closed);
        match end.exit {
            Some(Exit::Signal(signal)) if end.cause == Cause::Closed => {
                self.problems.push(format!(
                    "it did not leave when its input was closed and was ended by signal {signal}: let it exit at the end of stdin"
                ));
            }
            Some(Exit::Code(code)) if code != 0 && end.cause == Cause::Closed => {
                self.problems
                    .push(format!("it left with exit code {code} although it was asked to: exit with 0"));
            }
            _ => {}
        }
        let began = Instant::now();
        let gone = match end.tree {
            Tree::Gone => Ok("no process left".to_owned()),
            _ => Err((format!("{end}; looked for {} ms", bound.as_millis()), Status::Reported)),
        };
        self.step("gone", began, gone);
    }

    fn judge_conduct(&mut self, client: &Client) {
        let counters = client.counters();
        if counters.noise_lines > 0 {
            let sample = client.noise_samples().first().map(|sample| format!(", such as `{sample}`"));
            self.problems.push(format!(
                "lines of its output that are no messages: {}{}; print them on stderr",
                counters.noise_lines,
                sample.unwrap_or_default()
            ));
        }
        for (count, problem, advice) in [
            (
                counters.malformed,
                "malformed responses",
                "each needs `jsonrpc` and either `result` or `error`",
            ),
            (counters.near_misses, "answers with the id in another form", "try --id-matching decimal"),
            (counters.unknown, "answers with an id that was never sent", "send the id of the request"),
            (counters.duplicate, "answers that came twice", "answer once"),
            (counters.uncorrelated, "errors that name no request", "send the id of the request"),
            (counters.long_lines, "lines over the limit", "raise --max-line"),
            (counters.batches, "batches", "send one message a line"),
        ] {
            if count > 0 {
                self.problems.push(format!("{problem}: {count}; {advice}"));
            }
        }
    }

    fn failed(&self) -> usize {
        self.steps.iter().filter(|step| !step.ok).count()
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for Step { name, ok, ms, detail } in &self.steps {
            let outcome = if *ok { "ok" } else { "FAILED" };
            let line = format!("{name:<8} {outcome:<6} {ms:>9.1} ms  {detail}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {}", text::one_line(problem, 4 * text::LINE));
        }
        let problems = match self.problems.len() {
            0 => "no problems".to_owned(),
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        let _ = match self.failed() {
            _ if self.interrupted => {
                writeln!(text, "interrupted after {} of its steps, {problems} so far", self.steps.len())
            }
            0 => writeln!(text, "works, {problems}"),
            count => {
                writeln!(text, "does not work: {count} of {} steps failed, {problems}", self.steps.len())
            }
        };
        text
    }

    fn to_json(&self) -> String {
        let steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| json!({ "step": step.name, "ok": step.ok, "ms": step.ms, "detail": step.detail }))
            .collect();
        let ok = self.failed() == 0 && !self.interrupted;
        format!("{}\n", json!({ "ok": ok, "steps": steps, "problems": self.problems }))
    }
}

fn told(console: &Console, error: &CallError) -> (String, Status) {
    let (text, status) = report::call(error, None);
    console.note(&text);
    (error.to_string(), status)
}
