//! Helpers of the tests of access logs.

use super::{Options, draft};
use crate::Draft;
use crate::testing::checked_with_rows;

/// Returns the draft of a log, which must be a scenario.
#[track_caller]
pub(super) fn drafted(log: &str) -> Draft {
    let draft = draft(log.as_bytes(), &Options::default()).unwrap();
    checked_with_rows(&draft);
    draft
}

/// Returns a line of the Combined Log Format, `second` after the start of the log.
pub(super) fn combined(second: u64, request: &str, status: u16) -> String {
    let (hour, minute, second) = (6 + second / 3_600, second / 60 % 60, second % 60);
    format!(
        "203.0.113.9 - ann [28/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \"{request} HTTP/1.1\" \
         {status} 512 \"https://shop.example/referer\" \"Mozilla/5.0 (X11)\"\n"
    )
}
