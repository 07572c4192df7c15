//! Where a body lies that came in one piece.

use std::ops::Range;

/// The only piece of the body so far, where it lies in the input at hand: most bodies come in one
/// piece, and need not be copied to be looked at.
#[derive(Default)]
pub struct Piece(pub Option<Range<usize>>);

impl Piece {
    /// Moves the piece to what is kept, before another one comes.
    pub fn keep_apart(&mut self, input: &[u8], kept: &mut Vec<u8>) {
        if let Some(range) = self.0.take() {
            kept.extend_from_slice(&input[range]);
        }
    }
}
