//! Reads events that are the messages of a gRPC call, each after a prefix of five bytes: whether the message is
//! compressed, and its length.

use super::Fault;
use crate::grpc::PREFIX;

/// Reads messages from pieces of any size. Keeps no message.
#[derive(Debug, Default)]
pub(super) struct Messages {
    prefix: [u8; PREFIX],
    /// Number of bytes of the prefix that have come.
    come: usize,
    /// Number of bytes of the message that are still to come.
    left: u32,
}

impl Messages {
    /// Reads the next bytes, and calls `each` for each message that they complete.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), Fault> {
        loop {
            while self.come < PREFIX {
                let Some((first, rest)) = bytes.split_first() else { return Ok(()) };
                self.prefix[self.come] = *first;
                self.come += 1;
                bytes = rest;
                if self.come == PREFIX {
                    let [flag, length @ ..] = self.prefix;
                    match flag {
                        0 => self.left = u32::from_be_bytes(length),
                        1 => return Err(Fault::CompressedMessage),
                        _ => return Err(Fault::NoMessage),
                    }
                }
            }
            let here = bytes.len().min(self.left as usize);
            bytes = &bytes[here..];
            // No more than what is left.
            self.left -= here as u32;
            if self.left > 0 {
                return Ok(());
            }
            self.come = 0;
            each(&[]);
        }
    }

    /// Whether the end of the body is the end of a message, too.
    pub(super) fn is_whole(&self) -> bool {
        self.come == 0
    }

    /// Drops what the last body left.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
