//! Decides which failed requests are sent again.

use std::borrow::Cow;
use std::time::Duration;

use super::failure::{Failure, Work};
use loadgen_scenario::Step;

/// Least idle time of a connection that may explain why the server closed it.
const IDLE: Duration = Duration::from_millis(100);

/// Whether the request in flight was, or may be, sent again. A request is sent again once, as browsers do, if that
/// changes nothing but the time: if the server has not processed it (RFC 9113, section 8.7), or if a connection that has
/// carried other requests ended before the first byte of a response, and the method is idempotent (RFC 9110, section
/// 9.2.2; RFC 9112, section 9.3.1).
#[derive(Debug)]
pub(super) struct Resend {
    is_wanted: bool,
    was_sent_again: bool,
}

impl Resend {
    /// Creates the state of a user before its first request. `is_wanted` is the choice of the scenario.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, was_sent_again: false }
    }

    /// Begins another request.
    pub(super) fn begin(&mut self) {
        self.was_sent_again = false;
    }

    /// Whether the request that has failed is to be sent again. If so, it counts as sent again.
    pub(super) fn again(&mut self, failure: &Failure, is_idempotent: bool) -> bool {
        let is_safe = match failure.work {
            Work::None => true,
            Work::Unanswered => is_idempotent,
            Work::Possible => false,
        };
        let again = is_safe && self.is_wanted && !self.was_sent_again;
        self.was_sent_again |= again;
        again
    }

    /// Whether the request was sent again.
    pub(super) fn was_sent_again(&self) -> bool {
        self.was_sent_again
    }
}

impl Failure {
    /// Returns the description of the failed request of `step`. If the server may have closed the connection as
    /// idle, says so; `idle` is the time for which the user sent nothing before.
    pub fn explained(self, step: &Step, idle: Duration) -> Cow<'static, str> {
        if self.work != Work::Unanswered || step.method.is_idempotent() {
            return self.message;
        }
        let (message, method) = (self.message, &step.method);
        let idle = match idle < IDLE {
            true => String::new(),
            false => format!(
                ", after {:.1} s without a request: if the server closes idle connections after that time, let users \
                 think for less, or let the server wait for longer",
                idle.as_secs_f64()
            ),
        };
        let again =
            format!("a {method} is not sent again, because the server may have carried it out");
        format!("{message}{idle} ({again})").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::ErrorKind;
    use loadgen_scenario::{Method, Scenario, parse};

    fn step(method: &str) -> Step {
        let text = format!("[[step]]\n{method} = \"/\"");
        let Scenario { mut steps, .. } = parse("test", "test.toml", &text).unwrap();
        steps.remove(0)
    }

    fn failure(work: Work) -> Failure {
        Failure::new(ErrorKind::Reset, "closed").with(work)
    }

    #[test]
    fn only_what_is_safe_is_sent_again() {
        for (method, work, expected) in [
            ("get", Work::None, true),
            ("get", Work::Unanswered, true),
            ("get", Work::Possible, false),
            ("head", Work::Unanswered, true),
            ("put", Work::Unanswered, true),
            ("delete", Work::Unanswered, true),
            ("options", Work::Unanswered, true),
            ("post", Work::None, true),
            ("post", Work::Unanswered, false),
            ("patch", Work::Unanswered, false),
        ] {
            let (is_idempotent, failure) = (step(method).method.is_idempotent(), failure(work));
            assert!(!Resend::new(false).again(&failure, is_idempotent), "{method}, {work:?}");
            let mut resend = Resend::new(true);
            assert_eq!(resend.again(&failure, is_idempotent), expected, "{method}, {work:?}");
            assert_eq!(resend.was_sent_again(), expected);
            assert!(!resend.again(&failure, is_idempotent), "only once");
            resend.begin();
            assert!(!resend.was_sent_again());
        }
    }

    #[test]
    fn unknown_methods_are_not_idempotent() {
        assert!(!Method::POST.is_idempotent());
        assert!(Method::OPTIONS.is_idempotent());
    }

    #[test]
    fn a_request_that_is_not_sent_again_says_why() {
        let said = |work, idle_ms, method| {
            failure(work).explained(&step(method), Duration::from_millis(idle_ms)).into_owned()
        };
        assert_eq!(said(Work::Unanswered, 5_000, "get"), "closed");
        assert_eq!(said(Work::Possible, 5_000, "post"), "closed");
        assert_eq!(
            said(Work::Unanswered, 0, "post"),
            "closed (a POST is not sent again, because the server may have carried it out)"
        );
        assert_eq!(
            said(Work::Unanswered, 1_040, "post"),
            "closed, after 1.0 s without a request: if the server closes idle connections after that time, let \
             users think for less, or let the server wait for longer (a POST is not sent again, because the server \
             may have carried it out)"
        );
    }
}
