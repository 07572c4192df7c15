//! Tells the server of some requests to which trace they belong, and keeps how these ended.

use super::Shared;
use crate::tracing::{Chooser, Tracing};
use loadgen_measure::{Outcome, Recorder, TraceContext};

/// Traces some of a user's requests.
pub(super) struct Tracer<'a> {
    tracing: &'a Tracing,
    recorder: &'a Recorder,
    chooser: Chooser,
    /// Trace of the request in progress, with the status of its response; `None` if it is not traced.
    current: Option<(TraceContext, Option<u16>)>,
}

impl<'a> Tracer<'a> {
    /// Creates the tracer of the user with this number in the whole test; `None` if no request is traced.
    pub(super) fn of(shared: &'a Shared, user: u32) -> Option<Self> {
        let tracing = shared.tracing.as_ref()?;
        let chooser = tracing.chooser(user);
        Some(Self { tracing, recorder: &shared.recorder, chooser, current: None })
    }

    /// Begins a request of the step at this index. Returns its trace, which the server must be told; `None` if the
    /// request is not traced.
    pub(super) fn begin(&mut self, step: usize) -> Option<TraceContext> {
        let is_traced =
            self.tracing.can_trace(step) && self.chooser.chooses() && self.recorder.may_trace();
        let context = is_traced.then(|| self.chooser.context());
        self.current = context.map(|context| (context, None));
        context
    }

    /// Notes the status of the response.
    pub(super) fn answered(&mut self, status: u16) {
        if let Some((_, of)) = &mut self.current {
            *of = Some(status);
        }
    }

    /// Ends the request, which was counted. `is_stop` tells whether it is of a stop step.
    pub(super) fn end(&mut self, outcome: &Outcome<'_>, is_stop: bool) {
        if let Some((context, status)) = self.current.take() {
            self.recorder.keep_traced(outcome, context, status, is_stop);
        }
    }
}
