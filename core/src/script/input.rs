//! Bytes of a script to its lines: bounded, and linear in the bytes whatever the chunking.

use memchr::{memchr, memchr_iter};

use super::command::BadLine;

/// Lines that were read and not carried out yet.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here the next line has no end.
    scanned: usize,
    /// Whole lines that wait.
    waiting: usize,
    /// The line that is being read is over the limit: its bytes are not kept.
    too_long: bool,
    ended: bool,
    number: u64,
}

/// One line, and which one it is, counted from 1.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) text: Result<&'a str, BadLine>,
}

impl Input {
    /// 16 MiB: parameters of the largest call that can be allowed fit with what is around them.
    pub(super) const LINE: usize = 16 << 20;

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        // Of a line over the limit only the end is kept; once that has come, what follows belongs to other lines.
        let kept = match memchr(b'\n', bytes) {
            _ if !self.too_long || self.waiting > 0 => bytes,
            Some(end) => bytes.get(end..).unwrap_or_default(),
            None => &[],
        };
        self.waiting += memchr_iter(b'\n', bytes).count();
        self.bytes.extend_from_slice(kept);
        if self.waiting == 0 && self.bytes.len() > Input::LINE {
            self.too_long = true;
            self.bytes.clear();
            self.scanned = 0;
        }
    }

    /// No more bytes come; a last line without an end counts.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether nothing more can be taken before more bytes come.
    pub(super) fn is_hungry(&self) -> bool {
        self.waiting == 0 && !self.ended
    }

    /// Whether every line was taken and none will come.
    pub(super) fn is_exhausted(&self) -> bool {
        self.ended && self.waiting == 0 && self.start == self.bytes.len() && !self.too_long
    }

    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        let unread = self.bytes.get(self.scanned..).unwrap_or_default();
        let (end, next) = match memchr(b'\n', unread) {
            Some(at) => {
                self.waiting -= 1;
                (self.scanned + at, self.scanned + at + 1)
            }
            None if self.ended && !self.is_exhausted() => (self.bytes.len(), self.bytes.len()),
            None => {
                self.scanned = self.bytes.len();
                return None;
            }
        };
        let line = self.bytes.get(self.start..end).unwrap_or_default();
        let was_too_long = std::mem::take(&mut self.too_long);
        (self.start, self.scanned) = (next, next);
        self.number += 1;
        let text = if was_too_long || line.len() > Input::LINE {
            Err(BadLine::TooLong)
        } else {
            str::from_utf8(line).map_err(|error| BadLine::Utf8 { column: error.valid_up_to() + 1 })
        };
        Some(Line { number: self.number, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<(u64, Result<String, BadLine>)> {
        let mut input = Input::default();
        let mut seen = Vec::new();
        let mut take = |input: &mut Input| {
            while let Some(line) = input.next() {
                seen.push((line.number, line.text.map(str::to_owned)));
            }
        };
        for chunk in chunks {
            input.push(chunk);
            take(&mut input);
        }
        input.end();
        take(&mut input);
        assert!(input.is_exhausted());
        seen
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = "one\n\ntwo é\nlast".as_bytes();
        let expected = ["one", "", "two é", "last"].map(|line| Ok(line.to_owned()));
        let expected: Vec<_> = (1..).zip(expected).collect();
        assert_eq!(lines(&[text]), expected);
        for at in 0..text.len() {
            assert_eq!(lines(&[&text[..at], &text[at..]]), expected, "split at {at}");
        }
        assert_eq!(lines(&text.chunks(1).collect::<Vec<_>>()), expected);
        assert_eq!(lines(&[b"a\n"]), [(1, Ok("a".to_owned()))]);
        assert_eq!(lines(&[]), []);
    }

    #[test]
    fn a_line_over_the_limit_is_told_once_and_not_kept() {
        let piece = vec![b'x'; 1 << 20];
        let mut chunks = vec![&piece[..]; 40];
        chunks.push(b"yy\nnext\n");
        assert_eq!(lines(&chunks), [(1, Err(BadLine::TooLong)), (2, Ok("next".to_owned()))]);
        assert_eq!(lines(&vec![&piece[..]; 40]), [(1, Err(BadLine::TooLong))]);

        let mut input = Input::default();
        for _ in 0..40 {
            input.push(&piece);
            assert!(input.bytes.len() <= Input::LINE);
        }
        input.push(b"its last bytes\n");
        assert_eq!(input.bytes, b"\n");
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_however_it_is_cut() {
        for (length, fits) in [(Input::LINE, true), (Input::LINE + 1, false)] {
            let line = [vec![b'x'; length], b"\n".to_vec()].concat();
            for cut in [1, length - 1, length, length + 1] {
                let seen = lines(&[&line[..cut], &line[cut..], b"y"]);
                let told: Vec<_> = seen.iter().map(|(number, text)| (*number, text.is_ok())).collect();
                assert_eq!(told, [(1, fits), (2, true)], "{length} cut at {cut}");
            }
        }
    }

    /// What follows a line over the limit is kept, however it comes and whenever that line is taken.
    #[test]
    fn lines_behind_one_over_the_limit_are_kept_before_that_is_taken() {
        let mut input = Input::default();
        for piece in [&[b'x'; Input::LINE + 1][..], b"rest", b"\n{\"op\":", b"\"counters\"}\n", b"more\n"] {
            input.push(piece);
        }
        let mut told = Vec::new();
        while let Some(line) = input.next() {
            told.push((line.number, line.text.ok().map(str::to_owned)));
        }
        let wanted = [None, Some("{\"op\":\"counters\"}"), Some("more")].map(|text| text.map(str::to_owned));
        assert_eq!(told, (1..=3).zip(wanted).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_that_is_not_utf_8_is_told_with_its_column() {
        assert_eq!(lines(&[b"ab\xff\nc"]), [(1, Err(BadLine::Utf8 { column: 3 })), (2, Ok("c".to_owned()))]);
    }

    #[test]
    fn input_is_wanted_when_no_whole_line_waits() {
        let mut input = Input::default();
        assert!(input.is_hungry());
        input.push(b"a\nb");
        assert!(!input.is_hungry());
        assert!(input.next().is_some());
        assert!(input.is_hungry());
        input.end();
        assert!(!input.is_hungry() && !input.is_exhausted());
        assert!(input.next().is_some());
        assert!(input.is_exhausted() && input.next().is_none());
    }
}
