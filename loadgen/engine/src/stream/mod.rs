//! Measures a body that arrives as a stream of events: when each event arrived, and whether all came.
//!
//! The parsers take pieces of any size and use no socket and no clock, so that tests and fuzzers can
//! feed any bytes. [`Meter`] gives the events of each piece the time at which the piece was read.

mod buffer;
mod events;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod lines;
mod messages;
mod meter;

use self::buffer::{Buffer, TooLong};
use self::events::Events;
use self::lines::Lines;
use self::messages::Messages;
pub use self::meter::{Meter, Streamed};
use loadgen_scenario::StreamFormat;

/// Reads the events of one body after another.
#[derive(Debug)]
enum Parser {
    Events(Events),
    Lines(Lines),
    Messages(Messages),
}

/// Reason why the events of a stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The body is compressed, so that its events cannot be read as they arrive.
    Compressed,
    /// An event is longer than the limit.
    TooLong,
    /// A message of gRPC is compressed, although loadgen accepts no compression.
    CompressedMessage,
    /// A message of gRPC begins with another byte than 0 and 1.
    NoMessage,
    /// The stream ends within a message.
    CutOff,
}

impl From<TooLong> for Fault {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

impl Parser {
    fn new(format: StreamFormat) -> Self {
        match format {
            StreamFormat::Events => Self::Events(Events::default()),
            StreamFormat::Lines => Self::Lines(Lines::default()),
            StreamFormat::Messages => Self::Messages(Messages::default()),
        }
    }

    fn format(&self) -> StreamFormat {
        match self {
            Self::Events(_) => StreamFormat::Events,
            Self::Lines(_) => StreamFormat::Lines,
            Self::Messages(_) => StreamFormat::Messages,
        }
    }

    /// Reads the next bytes of a body, and calls `each` with the data of each event that they
    /// complete.
    fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Fault> {
        match self {
            Self::Events(events) => Ok(events.push(bytes, &mut each)?),
            Self::Lines(lines) => Ok(lines.push(bytes, &mut each)?),
            Self::Messages(messages) => messages.push(bytes, &mut each),
        }
    }

    /// Reads the end of a body.
    fn end(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), Fault> {
        match self {
            Self::Events(_) => {}
            Self::Lines(lines) => lines.end(&mut each),
            Self::Messages(messages) if !messages.is_whole() => return Err(Fault::CutOff),
            Self::Messages(_) => {}
        }
        Ok(())
    }

    /// Drops what the last body left.
    fn clear(&mut self) {
        match self {
            Self::Events(events) => events.clear(),
            Self::Lines(lines) => lines.clear(),
            Self::Messages(messages) => messages.clear(),
        }
    }
}

#[cfg(test)]
mod tests;
