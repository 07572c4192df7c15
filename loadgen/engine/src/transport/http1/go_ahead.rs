//! Waits for the server's word before a body is sent (`expect: 100-continue`; RFC 9110, section 10.1.1).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use loadgen_scenario::Step;

/// Time after which the body is sent nevertheless: a server need not know the expectation. As long as curl waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait of a request whose body has not begun.
pub(super) struct GoAhead {
    /// Number of bytes of the head that are still to be sent.
    pub(super) left: usize,
    /// Ends the wait; `None` before the head is sent.
    patience: Option<Pin<Box<Sleep>>>,
}

impl GoAhead {
    /// Returns the wait of a request of `step`, whose head has `head` bytes; `None` if the step asks for none.
    pub(super) fn of(step: &Step, head: impl FnOnce() -> usize) -> Option<Box<Self>> {
        step.body.as_ref()?;
        let asks = step.headers.iter().any(|(name, value)| {
            let is_it = |text: &str| text.eq_ignore_ascii_case("100-continue");
            name == "expect" && value.as_constant().is_some_and(is_it)
        });
        asks.then(|| Box::new(Self { left: head(), patience: None }))
    }

    /// Ready when the server has been waited for long enough. Call only after the head is sent.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        patience.as_mut().poll(context)
    }
}
