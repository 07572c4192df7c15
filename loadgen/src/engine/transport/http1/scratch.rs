//! What is read goes through a buffer of the thread, not of the connection: 5,000 connections need
//! no 5,000 buffers, and the one that there is stays in the processor's cache.

use std::cell::Cell;
use std::mem;
use std::ops::{Deref, DerefMut};

/// Bytes that one read can take.
pub const SIZE: usize = 64 << 10;

thread_local!(static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });

/// The thread's buffer, lent until it is dropped. Whoever holds one across an `.await` makes
/// another user of the thread allocate its own.
#[derive(Debug)]
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// Borrows the thread's buffer, [`SIZE`] bytes of anything.
    pub fn take() -> Self {
        let spare = SPARE.take();
        Self(if spare.is_empty() { vec![0; SIZE] } else { spare })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let buffer = mem::take(&mut self.0);
        // A thread that ends has no use for it any more.
        let _ = SPARE.try_with(|spare| spare.set(buffer));
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
