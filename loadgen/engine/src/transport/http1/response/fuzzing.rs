//! Reads a response from pieces, without a socket, for tests and fuzzers.

use super::{Progress, Reader};
use crate::transport::{Failure, Keep};

/// A response as read from pieces, possibly incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Whether the response is complete.
    pub whole: bool,
    /// The status code; 0 before the head is read.
    pub status: u16,
    /// Number of body bytes that were read, whether kept or not.
    pub bytes: u64,
    /// The body bytes that were kept.
    pub body: Vec<u8>,
    /// Whether the next request may use the same connection.
    pub keep_alive: bool,
}

/// Reads a response from `pieces`. If `closes`, the connection ends after the last piece. Returns a
/// [`Failure`] if the response is malformed, is cut off by the end of the connection, or has a body
/// that is too long to be kept.
pub fn read_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    closes: bool,
    no_body: bool,
    keep: Keep,
) -> Result<Response, Failure> {
    let mut reader = Reader::default();
    reader.begin(no_body);
    let mut pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
    let (mut progress, mut last) = (Progress::Partial, &[][..]);
    while progress == Progress::Partial {
        let Some(piece) = pieces.next() else { break };
        (progress, last) = (reader.feed(piece, |_| keep)?, piece);
    }
    if progress == Progress::Partial && closes {
        progress = reader.end()?;
    }
    let mut body = reader.kept().to_vec();
    let (mut whole, mut reusable) = (false, false);
    if let Progress::Whole { body: range, keep_alive } = progress {
        body.extend_from_slice(range.map_or(&[], |range| &last[range]));
        // Further bytes prevent reuse: the owner of the connection sees them after the answer.
        (whole, reusable) = (true, keep_alive && pieces.next().is_none());
    }
    Ok(Response {
        whole,
        status: reader.status(),
        bytes: reader.bytes(),
        body,
        keep_alive: reusable,
    })
}

/// Number of bytes at the start of a fuzzer's input that say how the rest is read and split.
const SAYS: usize = 4;

/// Reads a fuzzer's input as a response, whole and in pieces.
///
/// # Panics
/// Panics if the result for a complete response depends on the pieces, if more body bytes are
/// counted than arrived, or if the kept bytes don't match the count.
pub fn read_foreign(data: &[u8]) {
    let Some((says, response)) = data.split_at_checked(SAYS) else { return };
    let (closes, no_body) = (says[0] & 1 != 0, says[0] & 2 != 0);
    let keep = [Keep::Nothing, Keep::Beginning, Keep::All][usize::from(says[0] >> 2) % 3];
    let whole = read_pieces([response], closes, no_body, keep);

    let (first, rest) = response.split_at(usize::from(says[1]).min(response.len()));
    let pieces = [first].into_iter().chain(rest.chunks(1 + usize::from(says[2])));
    let split = read_pieces(pieces, closes, no_body, keep);
    let bytewise = read_pieces(response.chunks(1), closes, no_body, keep);

    for other in [&split, &bytewise] {
        match (&whole, other) {
            (Ok(whole), Ok(other)) => assert_eq!(whole, other),
            // The pieces decide how soon a line without an end is found to be malformed.
            (Err(_), Err(_)) => {}
            (Ok(came), Err(_)) | (Err(_), Ok(came)) => assert!(!came.whole, "{came:?}"),
        }
    }
    if let Ok(came) = whole {
        assert!(came.bytes <= response.len() as u64);
        assert!(came.body.len() as u64 <= came.bytes);
        assert!(keep != Keep::All || came.body.len() as u64 == came.bytes);
    }
}
