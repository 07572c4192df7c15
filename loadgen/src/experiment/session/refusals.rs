//! Notices that a server which loadgen did not start is gone.

use std::time::Instant;

use crate::lab::GONE_AFTER;
use crate::measure::{ErrorKind, Snapshot};

/// Least number of refused connections that show that a server is gone.
const FEWEST: u64 = 10;

/// Beginning of the message for a connection that the server's machine refused: that of the operating system. A message
/// about another host, such as a proxy, begins with that host.
const REFUSED: &str = "Connection refused";

/// Connections that were refused since the last request that went otherwise.
#[derive(Debug, Default)]
pub struct Refusals {
    since: Option<Instant>,
    count: u64,
}

impl Refusals {
    /// Adds one process's new results, which were reported at `now`. Returns whether the server is
    /// gone.
    pub fn is_gone(&mut self, snapshot: &Snapshot, now: Instant) -> bool {
        for counts in snapshot.intervals.iter().flat_map(|interval| &interval.steps) {
            let failed = counts.errors.get(&ErrorKind::Connect).copied().unwrap_or(0);
            // Connections also fail where this machine has no ports or files left.
            let example = counts.examples.get(&ErrorKind::Connect);
            let is_refused = example.is_some_and(|example| example.starts_with(REFUSED));
            let refused = if is_refused { failed } else { 0 };
            if counts.requests() > refused {
                *self = Self::default();
            } else if refused > 0 {
                self.since.get_or_insert(now);
                self.count = self.count.saturating_add(refused);
            }
        }
        let lasts = self.since.is_some_and(|since| now.duration_since(since) >= GONE_AFTER);
        lasts && self.count >= FEWEST
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::{Counts, Interval, Phase};

    fn snapshot(refused: u64, reset: u64) -> Snapshot {
        failed(refused, reset, "Connection refused (os error 111)")
    }

    fn failed(connects: u64, resets: u64, example: &str) -> Snapshot {
        let errors = [(ErrorKind::Connect, connects), (ErrorKind::Reset, resets)].into();
        let examples = [(ErrorKind::Connect, example.to_owned())].into();
        let steps = vec![Counts { errors, examples, ..Counts::default() }];
        let interval = Interval { phase: Phase::Hold, steps, ..Interval::default() };
        Snapshot::new(0, vec![interval])
    }

    #[test]
    fn only_lasting_refusals_of_all_connections_count() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut refusals = Refusals::default();
        assert!(!refusals.is_gone(&snapshot(100, 0), at(0)));
        assert!(!refusals.is_gone(&snapshot(100, 0), at(4)));
        assert!(refusals.is_gone(&snapshot(100, 0), at(5)));
        assert!(!refusals.is_gone(&snapshot(100, 1), at(6)), "another result begins anew");
        assert!(!refusals.is_gone(&snapshot(0, 0), at(20)), "without requests, nothing is known");
        assert!(!refusals.is_gone(&snapshot(5, 0), at(21)));
        assert!(!refusals.is_gone(&snapshot(4, 0), at(30)), "nine are too few");
        assert!(refusals.is_gone(&snapshot(1, 0), at(31)));
    }

    #[test]
    fn another_host_than_the_server_may_refuse() {
        let start = Instant::now();
        for other in ["the proxy 127.0.0.1:9", "127.0.0.1:9, to which the server redirects"] {
            let mut refusals = Refusals::default();
            let of_other = failed(100, 0, &format!("{other}: Connection refused (os error 111)"));
            let gone = |at| refusals.is_gone(&of_other, start + Duration::from_secs(at));
            assert_eq!([0, 4, 8].map(gone), [false; 3]);
        }
    }

    #[test]
    fn a_lack_of_local_ports_is_no_refusal() {
        let start = Instant::now();
        let mut refusals = Refusals::default();
        let lack = failed(100, 0, "Cannot assign requested address (os error 99)");
        let gone = |at| refusals.is_gone(&lack, start + Duration::from_secs(at));
        assert_eq!([0, 4, 8].map(gone), [false; 3]);
    }
}
