//! Sums over the lines of a log.

use std::borrow::Cow;

use super::format;
use super::logged::{Format, Logged, Method};
use super::sample::{Request, Sample};
use super::sessions::Sessions;
use super::text;
use super::timeline::Timeline;
use crate::static_files;

/// Longest target that is sent again, in bytes.
const LONGEST: usize = 2_000;

/// Counts of lines and requests.
#[derive(Debug)]
pub(super) struct Tally {
    /// Format of the log.
    pub format: Format,
    /// Lines that are not empty, without those that are too long.
    pub lines: u64,
    /// Lines that are too long to be read.
    pub too_long: u64,
    /// Lines in no known format.
    pub unknown: u64,
    /// Those among them that might be requests: all known formats have quotation marks.
    pub unreadable: u64,
    /// Number of the first line in no known format.
    pub first_unknown: u64,
    /// Lines in another format than most.
    pub foreign: u64,
    /// Lines that are requests.
    pub requests: u64,
    /// Requests with a method that may write.
    pub writing: u64,
    /// Requests with another status than 2xx and 3xx.
    pub failed: u64,
    /// Requests for static files.
    pub files: u64,
    /// Requests without a path, or with one that is too long.
    pub odd: u64,
    /// Requests that count.
    pub counted: u64,
    /// A sample of the requests that count.
    pub sample: Sample,
    /// Times of the requests that count, if the log has times.
    pub timeline: Timeline,
    /// Pauses of people between the requests that count, if the log names people.
    pub sessions: Sessions,
}

impl Tally {
    /// Counts of nothing.
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            lines: 0,
            too_long: 0,
            unknown: 0,
            unreadable: 0,
            first_unknown: 0,
            foreign: 0,
            requests: 0,
            writing: 0,
            failed: 0,
            files: 0,
            odd: 0,
            counted: 0,
            sample: Sample::default(),
            timeline: Timeline::default(),
            sessions: Sessions::default(),
        }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, number: u64, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.lines += 1;
        match format::read(&text::without_colors(line)) {
            None => {
                self.unknown += 1;
                self.unreadable += u64::from(memchr::memchr(b'"', line).is_some());
                if self.unknown == 1 {
                    self.first_unknown = number;
                }
            }
            Some((format, _)) if format != self.format => self.foreign += 1,
            Some((_, logged)) => self.add_request(&logged),
        }
    }

    fn add_request(&mut self, logged: &Logged<'_>) {
        self.requests += 1;
        if logged.method == Method::Other {
            self.writing += 1;
        } else if !(200..400).contains(&logged.status) {
            self.failed += 1;
        } else if is_static(&logged.target) {
            self.files += 1;
        } else if !logged.target.starts_with(b"/") || logged.target.len() > LONGEST {
            self.odd += 1;
        } else {
            self.counted += 1;
            if let Some(time) = logged.time {
                self.timeline.add(time);
                if let Some(person) = &logged.person {
                    self.sessions.add(person, time);
                }
            }
            self.sample.add(|| Request {
                head: logged.method == Method::Head,
                status: logged.status,
                target: target(self.format, &logged.target),
            });
        }
    }
}

/// Returns a target as text. Bytes that are not UTF-8 are percent-encoded, as in a request.
fn target(format: Format, logged: &[u8]) -> Box<str> {
    let target = if format.is_escaped() { text::unescape(logged) } else { Cow::Borrowed(logged) };
    let mut text = String::with_capacity(target.len());
    for chunk in target.utf8_chunks() {
        text += chunk.valid();
        chunk
            .invalid()
            .iter()
            .for_each(|byte| text += percent_encoding::percent_encode_byte(*byte));
    }
    if !format.has_raw_targets() {
        // A percent sign is one of the path here, and a question mark, too.
        text = text.replace('%', "%25").replace('?', "%3F");
    }
    text.into()
}

fn is_static(target: &[u8]) -> bool {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    static_files::is_static(&String::from_utf8_lossy(path))
}
