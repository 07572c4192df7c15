//! Remembers the last body that passed its check. Many servers answer a step identically each time,
//! and a body that passed once needs no second check.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of the longest body that is kept for comparison, in bytes.
const LONGEST: usize = 4 << 10;

thread_local!(static LAST: RefCell<Last> = const {
    RefCell::new(Last { check: 0, codings: String::new(), body: Vec::new(), counters: Vec::new() })
});

/// The last body that passed its check on this thread, and the values of the body's counters.
struct Last {
    check: u64,
    /// Value of the `content-encoding` header.
    codings: String,
    /// The body as received.
    body: Vec<u8>,
    counters: Vec<u64>,
}

/// Identity of a check, to tell whether the kept body passed this check or another one.
#[derive(Debug)]
pub(super) struct Known(u64);

impl Known {
    /// Creates a new identity, for a check that has kept no body yet.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether the last body that passed on this thread passed this check and equals
    /// `body`, in the same `codings`. If so,
    /// appends the values of the body's counters to `counters`.
    pub(super) fn has(&self, codings: &str, body: &[u8], counters: &mut Vec<u64>) -> bool {
        LAST.with_borrow(|last| {
            let same = last.check == self.0 && last.codings == codings && last.body == body;
            if same {
                counters.extend_from_slice(&last.counters);
            }
            same
        })
    }

    /// Keeps a body that passed this check, with the values of its
    /// counters, unless the body is longer than 4 KiB.
    pub(super) fn keep(&self, codings: &str, body: &[u8], counters: &[u64]) {
        if body.len() > LONGEST {
            return;
        }
        LAST.with_borrow_mut(|last| {
            last.check = self.0;
            last.codings.clear();
            last.codings.push_str(codings);
            last.body.clear();
            last.body.extend_from_slice(body);
            last.counters.clear();
            last.counters.extend_from_slice(counters);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_recognizes_only_its_own_last_body() {
        let (one, other) = (Known::new(), Known::new());
        let read = |known: &Known, body: &[u8]| {
            let mut counters = Vec::new();
            known.has("", body, &mut counters).then_some(counters)
        };
        assert_eq!(read(&one, b""), None);
        one.keep("", b"seven", &[7]);
        assert_eq!(read(&one, b"seven"), Some(vec![7]));
        assert_eq!(read(&one, b"seve"), None);
        assert_eq!(read(&other, b"seven"), None);
        assert!(!one.has("gzip", b"seven", &mut Vec::new()));
        other.keep("", b"eight", &[8]);
        assert_eq!(read(&one, b"seven"), None);
        other.keep("", &[b'x'; LONGEST + 1], &[9]);
        assert_eq!(read(&other, b"eight"), Some(vec![8]));
    }
}
