//! Measures the streams of one user, one after another.

use std::time::Instant;

use super::{Fault, Parser};
use crate::content_encoding::is_encoded;
use loadgen_measure::StreamTimes;
use loadgen_scenario::{ExpectedStream, StreamFormat};

/// Number of gaps for which a user retains memory from one stream to the next.
const RETAINED: usize = 4 << 10;

/// Measures the streams of one user, one after another.
#[derive(Debug, Default)]
pub struct Meter {
    parser: Option<Parser>,
    /// Whether the current stream has a parser, because bytes of its body have arrived.
    is_open: bool,
    came: Streamed,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Time of the last read.
    read: Option<Instant>,
    /// Times between successive events that came with different reads, in µs.
    gaps_us: Vec<u32>,
    /// Number of events that came with the same read as the event before. They need no memory: an
    /// endless stream may have millions.
    together: u64,
    /// Whether loadgen ended the stream before the server did.
    closed: bool,
}

/// Result of reading a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Streamed {
    /// Number of events before the end marker.
    events: u64,
    /// Whether the end marker came, or the event at which loadgen ends the stream.
    has_ended: bool,
    /// Format as which the body was read, if it follows from the media type.
    assumed: Option<StreamFormat>,
    fault: Option<Fault>,
}

impl Meter {
    /// Begins another stream of a user, whose meter is created with its first stream.
    pub fn begin(of_user: &mut Option<Box<Self>>) -> &mut Self {
        let meter = of_user.get_or_insert_default();
        meter.is_open = false;
        meter.came = Streamed::default();
        (meter.first, meter.last, meter.read) = (None, None, None);
        meter.together = 0;
        meter.closed = false;
        meter.gaps_us.clear();
        meter.gaps_us.shrink_to(RETAINED);
        meter
    }

    /// Reads the next bytes of the body, which were read from the connection at `at`. `header` returns
    /// the value of the response's first header with a name.
    pub fn read<'a>(
        &mut self,
        stream: &ExpectedStream,
        header: impl Fn(&str) -> Option<&'a [u8]>,
        at: Instant,
        bytes: &[u8],
    ) {
        if !self.is_open && !bytes.is_empty() {
            self.open(stream, header);
        }
        self.read = Some(at);
        self.parse(stream, at, |parser, each| parser.push(bytes, each));
    }

    /// Whether loadgen ends the stream here, although the response goes on.
    pub fn is_at_close(&self, stream: &ExpectedStream) -> bool {
        stream.closes && self.came.has_ended
    }

    /// Notes that loadgen ends the stream before the server does.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Reads the end of the body, which ends its last line at the time of the last read. Returns the
    /// result.
    pub fn end(&mut self, stream: &ExpectedStream) -> Streamed {
        if let Some(at) = self.read {
            self.parse(stream, at, |parser, each| parser.end(each));
        }
        self.came
    }

    /// Returns the times of the events so far.
    pub fn times(&self) -> StreamTimes<'_> {
        StreamTimes {
            events: self.came.events,
            first: self.first,
            gaps_us: &self.gaps_us,
            together: self.together,
            closed: self.closed,
        }
    }

    fn open<'a>(&mut self, stream: &ExpectedStream, header: impl Fn(&str) -> Option<&'a [u8]>) {
        self.is_open = true;
        if header("content-encoding").is_some_and(is_encoded) {
            self.came.fault = Some(Fault::Compressed);
        }
        let of_type = || format_of(header("content-type").unwrap_or_default());
        self.came.assumed = stream.format.is_none().then(of_type);
        let format = stream.format.or(self.came.assumed).unwrap_or(StreamFormat::Lines);
        match &mut self.parser {
            Some(parser) if parser.format() == format => parser.clear(),
            other => *other = Some(Parser::new(format)),
        }
    }

    /// Lets the parser `read`, and counts the events. After a fault or the end marker, no event
    /// counts.
    fn parse(
        &mut self,
        stream: &ExpectedStream,
        at: Instant,
        read: impl FnOnce(&mut Parser, &mut dyn FnMut(&[u8])) -> Result<(), Fault>,
    ) {
        let Self {
            parser: Some(parser), is_open: true, came, first, last, gaps_us, together, ..
        } = self
        else {
            return;
        };
        if came.fault.is_some() || came.has_ended {
            return;
        }
        let read = read(parser, &mut |data| {
            if came.has_ended {
                return;
            }
            if stream.end.as_ref().is_some_and(|end| end.is(data)) {
                came.has_ended = true;
                return;
            }
            came.events += 1;
            came.has_ended = stream.last_event() == Some(came.events);
            first.get_or_insert(at);
            if let Some(before) = last.replace(at) {
                if before == at {
                    *together += 1;
                    return;
                }
                let us = at.saturating_duration_since(before).as_micros();
                gaps_us.push(u32::try_from(us).unwrap_or(u32::MAX));
            }
        });
        came.fault = read.err();
    }
}

/// Returns the format that fits the media type of a response.
fn format_of(media_type: &[u8]) -> StreamFormat {
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    match essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream") {
        true => StreamFormat::Events,
        false => StreamFormat::Lines,
    }
}

impl Streamed {
    /// Compares the stream with the expected one. Returns what came instead, in words.
    pub fn compare(&self, stream: &ExpectedStream) -> Result<(), String> {
        let Self { events, has_ended, assumed, fault } = *self;
        let lacks_end = stream.end.is_some() && !has_ended;
        let counted = |events: u64| {
            let counted = match events {
                1 => "1 event".to_owned(),
                n => format!("{n} events"),
            };
            let read_as = match assumed {
                None => "",
                Some(StreamFormat::Events) => ", read as server-sent events",
                Some(StreamFormat::Lines) => ", read as lines",
                Some(StreamFormat::Messages) => ", read as messages",
            };
            counted + read_as
        };
        match fault {
            Some(Fault::Compressed) => Err("a compressed body".to_owned()),
            Some(Fault::TooLong) => Err("an event of more than 16 MiB".to_owned()),
            Some(Fault::CompressedMessage) => {
                Err("a compressed message, but loadgen accepts no compression".to_owned())
            }
            Some(Fault::NoMessage) => Err("bytes that are no message".to_owned()),
            Some(Fault::CutOff) => Err("its end within a message".to_owned()),
            None if lacks_end && stream.events.has(events) => {
                Err(format!("its end after {}, without the end marker", counted(events)))
            }
            None if lacks_end || !stream.events.has(events) => {
                Err(format!("its end after {}", counted(events)))
            }
            None => Ok(()),
        }
    }
}
