//! Measures a body that arrives as a stream of events: when each event arrived, and whether all came.
//!
//! The parsers take pieces of any size and use no socket and no clock, so that tests and fuzzers can
//! feed any bytes. [`Meter`] gives the events of each piece the time at which the piece was read.

mod buffer;
mod events;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod lines;
mod meter;

use self::buffer::{Buffer, TooLong};
use self::events::Events;
use self::lines::Lines;
pub use self::meter::{Meter, Streamed};
use loadgen_scenario::StreamFormat;

/// Reads the events of one body after another.
#[derive(Debug)]
enum Parser {
    Events(Events),
    Lines(Lines),
}

impl Parser {
    fn new(format: StreamFormat) -> Self {
        match format {
            StreamFormat::Events => Self::Events(Events::default()),
            StreamFormat::Lines => Self::Lines(Lines::default()),
        }
    }

    fn format(&self) -> StreamFormat {
        match self {
            Self::Events(_) => StreamFormat::Events,
            Self::Lines(_) => StreamFormat::Lines,
        }
    }

    /// Reads the next bytes of a body, and calls `each` with the data of each event that they
    /// complete.
    fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLong> {
        match self {
            Self::Events(events) => events.push(bytes, &mut each),
            Self::Lines(lines) => lines.push(bytes, &mut each),
        }
    }

    /// Reads the end of a body.
    fn end(&mut self, mut each: impl FnMut(&[u8])) {
        match self {
            Self::Events(_) => {}
            Self::Lines(lines) => lines.end(&mut each),
        }
    }

    /// Drops what the last body left.
    fn clear(&mut self) {
        match self {
            Self::Events(events) => events.clear(),
            Self::Lines(lines) => lines.clear(),
        }
    }
}

#[cfg(test)]
mod tests;
