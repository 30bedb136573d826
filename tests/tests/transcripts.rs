//! Recorded conversations with real servers, played to the machine again.

#[cfg(test)]
mod transcripts {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use sans_mcp::{Call, Code, PeerReply, Request, Server, Settings};
    use sans_mcp_tests::link::LinkOptions;
    use sans_mcp_tests::runner::{Outcome, Runner};
    use sans_mcp_tests::trace::Trace;
    use sans_mcp_tests::transcript::{Replay, Transcript, Turn};
    use serde_json::Value;

    /// What a turn asks of the session; `None`: it refuses that itself.
    fn ask(runner: &mut Runner, turn: &Turn) -> Option<u64> {
        let (method, _) = turn.request().unwrap();
        let params = turn.said.as_ref().unwrap().get("params").map(Value::to_string);
        let asked = match method {
            "tools/call" => {
                let name = turn.parameter("name").and_then(Value::as_str).unwrap_or_default();
                let arguments = turn.parameter("arguments").map_or_else(|| "{}".to_owned(), Value::to_string);
                runner.call(Call::new(name, arguments))
            }
            method => {
                let request = Request::new(method);
                runner.request(match params {
                    Some(params) if method != "ping" => request.params(params),
                    _ => request,
                })
            }
        };
        asked.ok()
    }

    fn server() -> Server {
        let mut settings = Settings::default();
        settings.capabilities.roots = true;
        settings.capabilities.sampling = true;
        settings.capabilities.elicitation = true;
        // The recorder did not check arguments: some servers were asked for what their schemas do not allow.
        settings.check_arguments = false;
        settings.check_results = false;
        Server::new("recorded", "recorded").settings(settings)
    }

    fn answer_requests(runner: &mut Runner) {
        runner.settle();
        while let Some(request) = runner.take_request() {
            runner.respond(request.handle, PeerReply::Result(r#"{"roots":[]}"#)).unwrap();
        }
        runner.settle();
    }

    /// Plays a transcript, and gives what came of each of its requests that the session did not refuse.
    fn replay(transcript: &Transcript, options: LinkOptions) -> (Trace, BTreeMap<u64, String>) {
        // A first run without the requests says which of them the session would refuse.
        let turns = transcript.requests();
        let mut dry = Runner::new(server(), Replay::new(transcript, &[]), LinkOptions::default());
        dry.connected();
        let accepted: Vec<&Turn> = turns.into_iter().filter(|turn| ask(&mut dry, turn).is_some()).collect();

        let mut runner = Runner::new(server(), Replay::new(transcript, &accepted), options);
        let connected = runner.connected();
        assert!(
            matches!(runner.outcome(connected), Some(Outcome::Connected)),
            "{}: {}",
            transcript.name,
            runner.trace()
        );
        let mut outcomes = BTreeMap::new();
        for turn in accepted {
            let token = ask(&mut runner, turn).unwrap();
            runner.run_until(|runner| runner.outcome(token).is_some());
            answer_requests(&mut runner);
            let recorded = transcript.answer(turn.request().unwrap().1).unwrap();
            let known = turn
                .parameter("name")
                .and_then(Value::as_str)
                .is_none_or(|name| runner.session().catalog().get(name).is_some());
            let outcome = runner.outcome(token).unwrap();
            if known || turn.request().unwrap().0 != "tools/call" {
                compare(transcript, turn, outcome, &recorded);
            } else {
                // The catalog was stale, and still has no such tool.
                assert_eq!(outcome.code(), Some(Code::UNKNOWN_TOOL), "{}", transcript.name);
            }
            outcomes.insert(token, format!("{:?}", turn.request()));
        }
        compare_tools(transcript, &runner);
        // Whatever is found full takes what is left.
        runner.run_for(Duration::from_secs(1));
        assert!(runner.closed().gone(), "{}", transcript.name);
        (runner.trace(), outcomes)
    }

    fn compare(transcript: &Transcript, turn: &Turn, outcome: &Outcome, recorded: &Value) {
        let name = format!("{} {:?}", transcript.name, turn.request());
        match (outcome, recorded.get("result"), recorded.get("error")) {
            (Outcome::Answer(answer), Some(result), None) => {
                // Equal as text is what holds for the bytes; the recording holds them in a string, so compare as values.
                assert_eq!(serde_json::from_str::<Value>(answer).unwrap(), *result, "{name}");
            }
            (Outcome::Failed(failure), None, Some(error)) => {
                let remote = failure.remote().unwrap_or_else(|| panic!("{name}: {failure}"));
                assert_eq!(
                    (Some(remote.code), remote.message.as_str()),
                    (error["code"].as_i64(), error["message"].as_str().unwrap()),
                    "{name}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The catalog has the tools that were recorded.
    fn compare_tools(transcript: &Transcript, runner: &Runner) {
        let listed = transcript
            .answer_to("tools/list")
            .and_then(|answer| answer["result"]["tools"].as_array().cloned());
        let recorded: Vec<String> =
            listed.unwrap_or_default().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        let catalog = runner.session().catalog();
        let tools: Vec<String> = catalog.tools().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(tools, recorded, "{}", transcript.name);
        assert_eq!(catalog.set_aside_count(), 0, "{}", transcript.name);
    }

    #[test]
    fn every_legacy_recording_completes_with_its_own_answers_and_tools() {
        let transcripts = Transcript::legacy().unwrap();
        let mut requests = 0;
        for transcript in &transcripts {
            requests += replay(transcript, LinkOptions::default()).1.len();
        }
        assert!(transcripts.len() >= 40, "{} recordings", transcripts.len());
        assert!(requests >= 300, "{requests} requests");
    }

    #[test]
    fn w01_recordings_in_any_pieces_give_the_same_traces() {
        for transcript in Transcript::legacy().unwrap() {
            let (whole, _) = replay(&transcript, LinkOptions::default());
            for options in [LinkOptions { blocks: false, ..LinkOptions::rough(11) }, LinkOptions::bytewise()]
            {
                let (cut, _) = replay(&transcript, options);
                assert_eq!(whole.difference(&cut), None, "{}", transcript.name);
            }
        }
    }

    #[test]
    fn w04_what_is_written_to_recorded_servers_is_the_same_whatever_is_blocked() {
        for transcript in Transcript::legacy().unwrap() {
            let lines = |options| -> Vec<String> {
                replay(&transcript, options).0.wire.into_iter().map(|(_, line)| line).collect()
            };
            assert_eq!(lines(LinkOptions::default()), lines(LinkOptions::rough(12)), "{}", transcript.name);
        }
    }
}
