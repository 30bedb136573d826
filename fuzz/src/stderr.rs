//! Secrets, and standard error output: nothing of a secret is shown, and what is shown is harmless (rows L22, W05).
//!
//! Two secrets that 0xff ends, a byte for the limit of the tail, one for how the output is cut, and the output. It is also
//! what the server writes on its standard output, where each line is noise.

use sans_mcp::{Secret, Server, Settings, StderrMode};
use sans_mcp_tests::random::{Chunking, Random};

use crate::source::{BETWEEN, Source, texts};
use crate::stage::Stage;

/// What stands where a secret stood.
const MARK: &[u8] = b"[secret]";

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut source = Source::new(data);
    let secrets = texts(&mut source, 2);
    let limit = 16 + 4 * usize::from(source.byte());
    let mut random = Random::new(u64::from(source.byte()));
    let output: Vec<u8> =
        source.rest().iter().copied().filter(|byte| *byte != BETWEEN || limit % 8 == 0).collect();
    let mut settings = Settings::default();
    settings.limits.stderr_tail = limit;
    let mut server = Server::new("stderr", "stderr").settings(settings).stderr(StderrMode::Events);
    for (at, secret) in secrets.iter().enumerate().filter(|(_, secret)| !secret.is_empty()) {
        server = server.secret(format!("SECRET_{at}"), Secret::new(secret.clone()));
    }
    let Some(mut whole) = Stage::new(server.clone()) else { return };
    let Some(mut pieces) = Stage::new(server.clone()) else { return };
    whole.session.handle_stderr(whole.now, &output);
    whole.settle();
    let mut rest = &output[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(Chunking::Pieces.size(&mut random, rest.len()));
        pieces.session.handle_stderr(pieces.now, piece);
        pieces.settle();
        rest = after;
    }

    let clean = without_secrets(&output, &forms(&secrets));
    let text = String::from_utf8_lossy(&clean).into_owned();
    for stage in [&mut whole, &mut pieces] {
        let tail = stage.session.stderr();
        assert!(tail.as_str().len() <= limit, "{} bytes, {limit} are kept", tail.as_str().len());
        // What is replaced at the cut may differ; a text without that is a part of what was written.
        if std::str::from_utf8(&clean).is_ok() {
            assert!(text.contains(tail.as_str()), "{tail:?} of {text:?}");
            assert!(tail.is_truncated() || text.starts_with(tail.as_str()), "{tail:?} of {text:?}");
        }
        let shown = tail.to_string();
        assert!(!shown.chars().any(|c| acts(c) && !"\n\t".contains(c)), "{shown:?}");
        stage.session.close(stage.now);
        stage.finish();
        assert_eq!(String::from_utf8_lossy(&stage.stderr), text, "given piece by piece");
    }
    assert_eq!(whole.session.stderr(), pieces.session.stderr(), "in pieces, and at once");
    check_samples(server, &output, &secrets);
}

/// The samples of lines that are no message.
fn check_samples(server: Server, output: &[u8], secrets: &[String]) {
    let limit = server.settings.limits.noise_sample;
    let Some(mut stage) = Stage::connected(server, "2025-11-25") else { return };
    for line in output.split(|byte| *byte == b'\n').take(40) {
        // What may be stripped before a message is the business of another target.
        let plain = line.first().is_some_and(u8::is_ascii_alphanumeric) && !line.contains(&b'{');
        if !plain || line.ends_with(b"\r") {
            continue;
        }
        let before = stage.session.noise_samples().len();
        stage.hear(line);
        stage.hear(b"\n");
        let samples = stage.session.noise_samples();
        let Some(sample) = samples.get(before) else { return };
        assert!(sample.len() <= limit && !sample.contains(acts), "{sample:?}");
        let clean = without_secrets(line, &forms(secrets));
        let shows = sample.strip_suffix('…').unwrap_or(sample);
        if clean.iter().all(|byte| (b' '..=b'~').contains(byte)) {
            assert!(
                clean.starts_with(shows.as_bytes()),
                "{sample:?} of {:?}",
                String::from_utf8_lossy(&clean)
            );
            let is_whole = shows.len() == clean.len();
            assert_eq!(is_whole, shows.len() == sample.len(), "the mark of a cut: {sample:?}");
        }
    }
}

/// Every form in which a secret is looked for.
fn forms(secrets: &[String]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        forms.push(secret.clone().into_bytes());
        let quoted = serde_json::to_string(secret).unwrap_or_default();
        forms.extend(quoted.get(1..quoted.len().saturating_sub(1)).map(|inner| inner.as_bytes().to_vec()));
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= 8);
        forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    }
    forms
}

/// Marks every byte of every occurrence, and puts the mark where marked bytes begin.
fn without_secrets(bytes: &[u8], forms: &[Vec<u8>]) -> Vec<u8> {
    let mut secret = vec![false; bytes.len()];
    for form in forms {
        for at in 0..bytes.len() {
            if bytes.get(at..at + form.len()) == Some(form) {
                secret.iter_mut().skip(at).take(form.len()).for_each(|byte| *byte = true);
            }
        }
    }
    let mut clean = Vec::new();
    let mut inside = false;
    for (byte, secret) in bytes.iter().zip(secret) {
        if !secret {
            clean.push(*byte);
        } else if !inside {
            clean.extend_from_slice(MARK);
        }
        inside = secret;
    }
    clean
}

/// Whether a character acts on a terminal, or on the text around it, instead of being seen.
fn acts(c: char) -> bool {
    let formats = [
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0000}'..='\u{e007f}',
    ];
    c.is_control() || formats.iter().any(|range| range.contains(&c))
}
