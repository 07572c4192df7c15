//! A scenario from the access log of a server: the mix of its requests, and their rate over time.
//!
//! A log is read once, line by line, so that it may be larger than memory: a random sample keeps its
//! requests, and a timeline of limited length their times. The sample is folded into templates at the
//! end, when it is known which segments of the paths differ.

mod format;
mod json;
mod lines;
mod load;
mod logged;
mod notes;
mod paths;
mod sample;
mod segment;
mod sessions;
mod steps;
mod tally;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod timeline;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use loadgen_text::{count, counted};

use format::KNOWN;
use lines::{Lines, Next};
use logged::Format;
use paths::{Folded, Template};
use steps::Steps;
use tally::Tally;

use crate::{Draft, DraftError, Flow};

/// Lines that are read before the format is known, and their bytes.
const HEAD: (usize, usize) = (1_000, 4 << 20);

/// Most steps of a draft.
const MOST_STEPS: usize = 50;

/// Part of the requests below which a path is left out.
const LEAST_SHARE: usize = 1_000;

/// How the load follows the log.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Rate of the load, in recorded rates: from 0.001 to 1,000.
    pub speed: f64,
    /// Time over which the load runs through the log, from one second to 24 hours. Without it, the time
    /// of the log, but at most ten minutes.
    pub duration: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { speed: 1.0, duration: None }
    }
}

/// Drafts a scenario from a log in a format that the first lines show.
///
/// # Errors
///
/// Returns an error if an option is out of range, if the log cannot be read, is empty or is in no known format, if
/// none of its requests can be sent again, and if the rate of the load would be too high.
pub fn draft(log: impl BufRead, options: &Options) -> Result<Draft, DraftError> {
    load::check(options)?;
    let mut tally = read(log)?;
    if tally.lines == 0 {
        return Err(DraftError::new("the log is empty", "name a log with requests"));
    }
    // A server that writes to a terminal has its messages between the requests.
    if tally.unreadable > tally.lines - tally.unknown {
        let (unknown, lines) = (count(tally.unknown), counted(tally.lines, "line"));
        let first = tally.first_unknown;
        let message = format!(
            "{unknown} of {lines} are in no known format of access logs: the first one is line {first}"
        );
        return Err(DraftError::new(message, KNOWN));
    }
    let sample = std::mem::take(&mut tally.sample);
    let (is_whole, sample) = (sample.is_whole(), sample.shuffled());
    let folded = paths::fold(&sample);
    let requests = folded.usable;
    let kept = most_frequent(&folded);
    if kept.is_empty() {
        return Err(nothing_to_send(&tally, requests));
    }
    let mut steps = Steps::default();
    kept.iter().for_each(|template| steps.add(&sample, template, requests));
    if let [only] = steps.steps.as_mut_slice() {
        only.entries.retain(|entry| entry.key != "weight");
    }
    let (load, about_load) = load::entries(&mut tally, options)?;
    let covered = kept.iter().map(|it| it.requests.len()).sum();
    let coverage = notes::Coverage { paths: kept.len(), covered, requests, is_whole };
    Ok(Draft {
        about: notes::about(&tally, &coverage, &folded, &steps),
        description: "The requests of an access log, in their proportions".to_owned(),
        load,
        notes: notes::notes(&tally, &coverage, &folded, &steps, &about_load),
        rows: steps.rows,
        flows: vec![Flow {
            name: "requests".to_owned(),
            weight: 1,
            steps: steps.steps,
            ..Flow::default()
        }],
        ..Draft::default()
    })
}

fn nothing_to_send(tally: &Tally, requests: usize) -> DraftError {
    if requests > 0 {
        let message = "no path of the log comes often: all requests differ";
        return DraftError::new(message, "name a log of real users, not of a scanner");
    }
    let mut message = "no request of the log can be sent again".to_owned();
    let left_out = notes::left_out(tally);
    if !left_out.is_empty() {
        message += &format!(": {left_out}");
    }
    DraftError::new(message, "name a log with successful requests of the methods GET and HEAD")
}

/// Returns the templates that become steps: those with at least a thousandth of the requests, or, if
/// the log has no frequent ones, the first of all.
fn most_frequent(folded: &Folded) -> &[Template] {
    let templates = &folded.templates;
    let is_frequent = |it: &Template| it.requests.len() * LEAST_SHARE >= folded.usable;
    let frequent = templates.partition_point(is_frequent);
    let number = if frequent == 0 { templates.len() } else { frequent };
    &templates[..number.min(MOST_STEPS)]
}

/// Reads a log.
fn read(log: impl BufRead) -> Result<Tally, DraftError> {
    let mut lines = Lines::new(log);
    let mut line = Vec::new();
    let (mut head, mut bytes) = (Vec::new(), 0);
    let mut too_long = 0;
    while head.len() < HEAD.0 && bytes < HEAD.1 {
        match next(&mut lines, &mut line)? {
            Next::End => break,
            Next::TooLong => too_long += 1,
            Next::Line => {
                bytes += line.len();
                head.push((lines.number, line.clone()));
            }
        }
    }
    let Some(format) = most_common(&head) else {
        return Err(match head.iter().find(|(_, line)| !line.trim_ascii().is_empty()) {
            Some((number, _)) => DraftError::new(
                format!("line {number} is in no known format of access logs"),
                KNOWN,
            ),
            None => DraftError::new("the log is empty", "name a log with requests"),
        });
    };
    let mut tally = Tally::new(format);
    tally.too_long = too_long;
    head.iter().for_each(|(number, line)| tally.add(*number, line));
    loop {
        match next(&mut lines, &mut line)? {
            Next::End => return Ok(tally),
            Next::TooLong => tally.too_long += 1,
            Next::Line => tally.add(lines.number, &line),
        }
    }
}

fn next<R: BufRead>(lines: &mut Lines<R>, line: &mut Vec<u8>) -> Result<Next, DraftError> {
    lines.read(line).map_err(|error| {
        let message = format!("cannot read the log after line {}: {error}", lines.number);
        DraftError::new(message, "name a file that can be read")
    })
}

/// Returns the format that most lines have, so that a log in which a proxy and its application both
/// write counts no request twice.
fn most_common(head: &[(u64, Vec<u8>)]) -> Option<Format> {
    let mut counts: BTreeMap<Format, usize> = BTreeMap::new();
    for (_, line) in head {
        if let Some((format, _)) = format::read(&text::without_colors(line)) {
            *counts.entry(format).or_default() += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(format, _)| format)
}
