//! Keeps the part of an event that has arrived.

/// Longest event, in bytes.
const LONGEST: usize = 16 << 20;

/// Memory that a buffer retains between events, in bytes.
const RETAINED: usize = 16 << 10;

/// An event is longer than 16 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// Bytes of an event so far, at most 16 MiB.
#[derive(Debug, Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Appends bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.0.len() + bytes.len() > LONGEST {
            return Err(TooLong);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the bytes so far, followed by `last`. Copies nothing if there are no bytes so far.
    pub(super) fn joined<'a>(&'a mut self, last: &'a [u8]) -> Result<&'a [u8], TooLong> {
        if self.0.is_empty() && last.len() <= LONGEST {
            return Ok(last);
        }
        self.extend(last)?;
        Ok(&self.0)
    }

    /// Returns the bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Removes all bytes. Frees the memory of a long event, so that many users don't each retain as
    /// much.
    pub(super) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(RETAINED);
    }
}
