//! How much a server may send.

/// The number of body bytes that a server may send before it is told of more.
pub(super) struct ReceiveWindow {
    size: u32,
    left: i64,
    /// Number of bytes that came since the server was told, and for which there is room again.
    released: u32,
}

impl ReceiveWindow {
    pub(super) fn new(size: u32) -> Self {
        Self { size, left: size.into(), released: 0 }
    }

    /// Counts bytes that have come. Returns whether the server was allowed to send them.
    pub(super) fn take(&mut self, length: u32) -> bool {
        self.left -= i64::from(length);
        self.left >= 0
    }

    /// Counts bytes for which there is room again. Returns by how much to open the window, which is `None`
    /// until a quarter of it is used: most bodies are shorter, and cost no frame.
    pub(super) fn release(&mut self, length: u32) -> Option<u32> {
        self.released += length;
        let by = self.released;
        if by < self.size / 4 {
            return None;
        }
        self.left += i64::from(by);
        self.released = 0;
        Some(by)
    }
}
