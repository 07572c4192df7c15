//! Tells which parts of an answer a step inspects.

use crate::scenario::{Source, Step};

/// Whether the step expects `status`.
#[must_use]
pub(crate) fn is_expected(step: &Step, status: u16) -> bool {
    step.expect.status.map_or((200..400).contains(&status), |expected| status == expected)
}

/// Whether the step inspects the body of its answer.
#[must_use]
pub(crate) fn reads_body(step: &Step) -> bool {
    let captured = |source| !matches!(source, &Source::Header(_));
    checks_body(step) || step.captures.iter().any(|capture| captured(&capture.source))
}

/// Whether the step inspects the headers of its answer.
#[must_use]
pub(crate) fn reads_headers(step: &Step) -> bool {
    step.captures.iter().any(|capture| matches!(capture.source, Source::Header(_)))
}

pub(crate) fn checks_body(step: &Step) -> bool {
    step.expect.body.is_some() || reads_json(step)
}

pub(crate) fn reads_json(step: &Step) -> bool {
    !step.expect.json.is_empty() || !step.counters.is_empty()
}
