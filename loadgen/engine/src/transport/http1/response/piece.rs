//! Holds the position of a body that arrived in one piece.

use std::ops::Range;

/// Position of the body in the current input, if only one piece of the body has arrived so far.
/// Most bodies arrive in one piece, and can be read without a copy.
#[derive(Default)]
pub(super) struct Piece(pub Option<Range<usize>>);

impl Piece {
    /// Copies the piece to `kept`, before another piece arrives.
    pub(super) fn keep_apart(&mut self, input: &[u8], kept: &mut Vec<u8>) {
        if let Some(range) = self.0.take() {
            kept.extend_from_slice(&input[range]);
        }
    }
}
