//! What has the same digest gives the same from then on.

use super::{Framed, SHORT, current};
use crate::digest::{Canonical, Digest};
use crate::{Time, Utf8};

fn digest(buffer: &impl Digest) -> Vec<u8> {
    let mut canonical = Canonical::new(Time::ZERO);
    buffer.digest(&mut canonical);
    canonical.into_bytes()
}

#[test]
fn a_clone_of_what_was_used_up_reads_on_as_it_does() {
    let mut buffer = current(b"{}\n");
    assert_eq!(buffer.next(), None);
    for mut buffer in [buffer.clone(), buffer] {
        buffer.read_space()[..3].copy_from_slice(b"[]\n");
        buffer.filled(3);
        assert_eq!((buffer.next(), buffer.bytes()), (Some(Framed::Line), &b"[]"[..]));
    }
}

#[test]
fn a_line_that_was_made_text_is_another_one() {
    for length in [1, SHORT + 1] {
        let mut buffer = current(format!("{}\n", "x".repeat(length)).as_bytes());
        let before = digest(&buffer);
        assert!(buffer.text().is_empty() && buffer.make_text(Utf8::Reject));
        assert_ne!(digest(&buffer), before);
    }
}
