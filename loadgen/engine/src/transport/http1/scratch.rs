//! Lends a read buffer per thread rather than per connection: 5,000 connections don't need 5,000
//! buffers, and the thread's buffer stays in the CPU cache.

use std::cell::Cell;
use std::mem;
use std::ops::{Deref, DerefMut};

/// Maximum number of bytes per read.
pub(super) const SIZE: usize = 64 << 10;

thread_local!(static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });

/// The thread's read buffer, borrowed until this value is dropped. If a task holds the buffer
/// across an `.await`, another user of the thread allocates a second buffer.
#[derive(Debug)]
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// Borrows the thread's buffer: [`SIZE`] bytes with arbitrary contents.
    pub fn take() -> Self {
        let spare = SPARE.take();
        Self(if spare.is_empty() { vec![0; SIZE] } else { spare })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let buffer = mem::take(&mut self.0);
        // A thread that ends no longer needs the buffer.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_reuses_its_buffer() {
        let first = Scratch::take().as_ptr();
        let again = Scratch::take();
        assert_eq!((again.as_ptr(), again.len()), (first, SIZE));
    }

    #[test]
    fn two_simultaneous_users_get_two_buffers() {
        let (mut one, mut two) = (Scratch::take(), Scratch::take());
        (one[0], two[0]) = (1, 2);
        assert_eq!((one[0], one.len(), two[0], two.len()), (1, SIZE, 2, SIZE));
    }

    #[test]
    fn a_buffer_can_be_dropped_on_another_thread() {
        let scratch = Scratch::take();
        std::thread::spawn(move || drop(scratch)).join().unwrap();
        assert_eq!(Scratch::take().len(), SIZE);
    }
}
