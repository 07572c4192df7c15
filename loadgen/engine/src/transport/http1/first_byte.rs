//! Remembers when the first byte of an answer was read.

use std::time::Instant;

use super::response::Reader;

/// Time when the first byte of an answer was read, if the rest came with later reads.
///
/// The clock is read only after a read that leaves the answer incomplete. An answer that comes with
/// one read needs no time of its own, because its end is timed anyway.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FirstByte {
    /// The time, and the number of interim responses (1xx) before the response of the byte.
    read: Option<(Instant, u32)>,
}

impl FirstByte {
    /// Notes a read that left the answer incomplete. `reader` has consumed the bytes.
    pub(super) fn note(&mut self, reader: &Reader) {
        let Some(interim) = reader.begun() else { return };
        // A response that has turned out to be interim is not the answer.
        if self.read.is_none_or(|(_, before)| before != interim) {
            self.read = Some((Instant::now(), interim));
        }
    }

    /// Returns the time; `None` if the first byte came with the last read, or never. `reader` has
    /// consumed all bytes.
    pub(super) fn at(&self, reader: &Reader) -> Option<Instant> {
        let (at, interim) = self.read?;
        (reader.begun() == Some(interim)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Keep, Progress};

    /// Returns the number of the piece, from 0, at which the time of the first byte is taken; `None`
    /// if no time is taken.
    fn timed_at(pieces: &[&str]) -> Option<usize> {
        let (mut reader, mut first, mut times) =
            (Reader::default(), FirstByte::default(), Vec::new());
        reader.begin(false);
        for piece in pieces {
            match reader.feed(piece.as_bytes(), |_| Keep::Nothing).unwrap() {
                Progress::Partial => first.note(&reader),
                Progress::Whole { .. } => break,
            }
            times.push(first.at(&reader));
        }
        let at = first.at(&reader)?;
        times.iter().position(|time| *time == Some(at))
    }

    #[test]
    fn the_first_byte_is_timed_only_if_more_bytes_follow() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(timed_at(&[&format!("{HEAD}ok")]), None);
        assert_eq!(timed_at(&[HEAD, "o", "k"]), Some(0));
        assert_eq!(timed_at(&["H", &HEAD[1..], "ok"]), Some(0));
    }

    #[test]
    fn interim_responses_are_not_the_answer() {
        const EARLY: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";
        const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
        let answer = format!("{HEAD}ok");
        assert_eq!(timed_at(&[EARLY, &answer]), None);
        assert_eq!(timed_at(&[EARLY, HEAD, "ok"]), Some(1));
        assert_eq!(timed_at(&["HTTP/1.1 1", &EARLY[10..], HEAD, "ok"]), Some(2));
        let both = format!("{}{}", &EARLY[10..], &HEAD[..9]);
        assert_eq!(timed_at(&["HTTP/1.1 1", &both, &HEAD[9..], "ok"]), Some(1));
        assert_eq!(timed_at(&["HTTP/1.1 1", &format!("{}{answer}", &EARLY[10..])]), None);
    }
}
