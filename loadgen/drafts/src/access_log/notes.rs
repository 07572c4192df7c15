//! Sentences about what a draft has of its log, and what it lacks.

use std::time::Duration;

use loadgen_text::{count, counted, duration};

use super::lines;
use super::paths::Folded;
use super::segment::encoded;
use super::steps::{Steps, share};
use super::tally::Tally;

/// Most names that a sentence lists.
const MOST_NAMES: usize = 10;

/// Part of the requests that the steps of a draft stand for.
pub(super) struct Coverage {
    /// Number of steps.
    pub paths: usize,
    /// Requests of the sample that have these paths.
    pub covered: usize,
    /// Requests of the sample whose paths can be sent again.
    pub requests: usize,
    /// Whether the sample has all requests that count.
    pub is_whole: bool,
}

/// Returns the comments at the top of the file.
pub(super) fn about(
    tally: &Tally,
    coverage: &Coverage,
    folded: &Folded,
    steps: &Steps,
) -> Vec<String> {
    let mut about = vec![
        format!("Drafted from {}. {}", source(tally), covered(tally, coverage)),
        "The log has neither headers nor cookies: add those that the server needs, such as a token of \
         the API."
            .to_owned(),
    ];
    about.extend(gaps(tally, folded, steps));
    about.extend(files(steps));
    about
}

/// Returns the sentences for the terminal.
pub(super) fn notes(
    tally: &Tally,
    coverage: &Coverage,
    folded: &Folded,
    steps: &Steps,
    load: &[String],
) -> Vec<String> {
    let source = source(tally);
    let mut notes = vec![format!("The log has {source}."), covered(tally, coverage)];
    notes.extend(unread(tally));
    notes.extend(gaps(tally, folded, steps));
    notes.extend(files(steps));
    notes.extend(load.iter().cloned());
    notes
}

fn source(tally: &Tally) -> String {
    let lines = counted(tally.lines + tally.too_long, "line");
    let span = match tally.timeline.span() {
        0 => "without times".to_owned(),
        span => format!("over {}", duration(Duration::from_secs(span.unsigned_abs()))),
    };
    format!("{lines} in {}, {span}", tally.format.name())
}

fn covered(tally: &Tally, coverage: &Coverage) -> String {
    let Coverage { paths, covered, requests, is_whole } = *coverage;
    let share = share(covered as u64, requests as u64);
    let verb = if paths == 1 { "covers" } else { "cover" };
    let paths = counted(paths as u64, "path");
    if is_whole {
        let requests = counted(requests as u64, "request");
        return format!("{paths} {verb} {share} of the {requests} that count.");
    }
    let (sample, all) = (count(requests as u64), counted(tally.counted, "request"));
    format!("{paths} {verb} {share} of a random sample of {sample} of the {all} that count.")
}

/// Returns what was not read.
fn unread(tally: &Tally) -> Vec<String> {
    let mut notes = Vec::new();
    if tally.unknown > 0 {
        notes.push(format!(
            "{} of {} {} no access log: the first one is line {}.",
            count(tally.unknown),
            counted(tally.lines, "line"),
            if tally.unknown == 1 { "is" } else { "are" },
            tally.first_unknown
        ));
    }
    if tally.foreign > 0 {
        notes.push(format!(
            "{} in other formats {} left out, as they may be the same requests, from another server.",
            counted(tally.foreign, "line"),
            were(tally.foreign),
        ));
    }
    if tally.too_long > 0 {
        notes.push(format!(
            "{} longer than {} KiB {} skipped.",
            counted(tally.too_long, "line"),
            lines::LONGEST >> 10,
            were(tally.too_long)
        ));
    }
    let timed = tally.timeline.total();
    if timed > 0 && timed < tally.counted {
        let untimed = counted(tally.counted - timed, "request");
        notes.push(format!("{untimed} without a time: the rates do not include them."));
    }
    notes
}

/// Returns the requests that do not count, with the reasons.
pub(super) fn left_out(tally: &Tally) -> String {
    let reasons = [
        (tally.writing, "with other methods than GET and HEAD"),
        (tally.failed, "that did not succeed"),
        (tally.files, "for static files"),
        (tally.odd, "without a path, or with one of over 2,000 bytes"),
    ];
    let reasons = reasons.into_iter().filter(|(number, _)| *number > 0).map(|(number, reason)| {
        format!("{} ({}) {reason}", count(number), share(number, tally.requests))
    });
    reasons.collect::<Vec<_>>().join(", ")
}

/// Returns what the steps lack.
fn gaps(tally: &Tally, folded: &Folded, steps: &Steps) -> Vec<String> {
    let mut gaps = Vec::new();
    let left_out = left_out(tally);
    if !left_out.is_empty() {
        let all = counted(tally.requests, "request");
        gaps.push(format!("Left out of {all}: {left_out}."));
    }
    if !tally.format.has_raw_targets() {
        gaps.push(format!("{} has no queries: the steps have none.", capital(tally.format.name())));
    }
    let total = folded.usable + folded.unusable + folded.private;
    for (number, reason) in [
        (folded.unusable, "has paths that are not UTF-8 or not normal, and is left out"),
        (folded.private, "has paths that may hold a secret, and is left out"),
    ] {
        if number > 0 {
            gaps.push(format!("{} of what counts {reason}.", share(number as u64, total as u64)));
        }
    }
    if !steps.secret_names.is_empty() {
        let names = steps.secret_names.iter().take(MOST_NAMES);
        let names: Vec<String> =
            names.map(|name| encoded(name).chars().take(40).collect()).collect();
        let more = steps.secret_names.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        gaps.push(format!(
            "Left out of queries, as their values may be secret or personal: {}{more}.",
            names.join(", ")
        ));
    }
    gaps
}

fn files(steps: &Steps) -> Option<String> {
    let (number, verb) = match steps.rows.len() {
        0 => return None,
        1 => ("1 file of rows", "has"),
        many => (&*format!("{many} files of rows"), "have"),
    };
    Some(format!("{number} {verb} values from the log: read them before you share them."))
}

fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
