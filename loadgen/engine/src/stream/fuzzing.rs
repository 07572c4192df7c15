//! Reads streams from pieces, without a socket, for tests and fuzzers.

use super::Parser;
use loadgen_scenario::StreamFormat;

/// Returns the data of the events in a body that arrives in `pieces`.
pub fn read_pieces<'a>(
    format: StreamFormat,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Vec<u8>> {
    let mut parser = Parser::new(format);
    let mut all = Vec::new();
    for piece in pieces {
        if parser.push(piece, |data| all.push(data.to_vec())).is_err() {
            return all;
        }
    }
    // A stream may end within a message.
    let _ = parser.end(|data| all.push(data.to_vec()));
    all
}

/// Number of bytes at the start of a fuzzer's input that say how the rest is read and split.
const SAYS: usize = 3;

/// Reads a fuzzer's input as a stream, whole and in pieces.
///
/// # Panics
/// Panics if the events depend on the pieces, or have more bytes than the stream.
pub fn stream_foreign(data: &[u8]) {
    let Some((says, body)) = data.split_at_checked(SAYS) else { return };
    let format = match says[0] % 3 {
        0 => StreamFormat::Events,
        1 => StreamFormat::Lines,
        _ => StreamFormat::Messages,
    };
    let whole = read_pieces(format, [body]);
    let (first, rest) = body.split_at(usize::from(says[1]).min(body.len()));
    let pieces = [first].into_iter().chain(rest.chunks(1 + usize::from(says[2])));
    assert_eq!(read_pieces(format, pieces), whole);
    assert_eq!(read_pieces(format, body.chunks(1)), whole);
    let bytes: usize = whole.iter().map(Vec::len).sum();
    assert!(bytes + whole.len() <= body.len() + 1, "{} events of {bytes} bytes", whole.len());
}
