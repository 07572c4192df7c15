//! Tells which parts of an answer a step inspects.

use loadgen_scenario::{Condition, Step};

/// Whether the step expects `status`.
#[must_use]
pub(crate) fn is_expected(step: &Step, status: u16) -> bool {
    step.expect.status.has(status)
}

/// Whether the step inspects the body of its answer.
#[must_use]
pub(crate) fn reads_body(step: &Step) -> bool {
    checks_body(step) || step.captures.iter().any(|capture| capture.source.reads_body())
}

/// Whether the step inspects the headers of its answer.
#[must_use]
pub(crate) fn reads_headers(step: &Step) -> bool {
    step.headers_read().next().is_some()
}

/// Whether the step compares the body of its answer with conditions, or reads counters from it.
pub(crate) fn checks_body(step: &Step) -> bool {
    !step.counters.is_empty() || step.expect.conditions().any(|it| !it.reads_headers())
}

/// Whether the step looks for values in a JSON body, apart from captures.
pub(crate) fn reads_json(step: &Step) -> bool {
    !step.counters.is_empty() || step.expect.conditions().any(Condition::reads_json)
}
