//! Notices that a server which loadgen did not start is gone.

use std::time::{Duration, Instant};

use crate::measure::{ErrorKind, Snapshot};

/// Least number of refused connections that show that a server is gone.
const FEWEST: u64 = 10;

/// Beginning of the message for a connection that the server's machine refused: that of the operating system. A message
/// about another host, such as a proxy, begins with that host.
const REFUSED: &str = "Connection refused";

/// Time without a connection after which a server is gone: longer than most restarts.
pub const GONE_AFTER: Duration = Duration::from_secs(5);

/// Time without a connection at the end of a round after which a server is gone. The rest of its outage, if it ends at
/// all, is in no round.
pub const GONE_AT_END: Duration = Duration::from_secs(1);

/// Greatest age of the last report of a refusal: processes report once a second.
const RECENT: Duration = Duration::from_secs(2);

/// Connections that were refused since the last request that went otherwise.
#[derive(Debug, Default)]
pub struct Refusals {
    /// When the first and the last of them were reported.
    reported: Option<(Instant, Instant)>,
    count: u64,
}

impl Refusals {
    /// Adds one process's new results, which were reported at `now`.
    pub fn add(&mut self, snapshot: &Snapshot, now: Instant) {
        for counts in snapshot.intervals.iter().flat_map(|interval| &interval.steps) {
            let failed = counts.errors.get(&ErrorKind::Connect).copied().unwrap_or(0);
            // Connections also fail where this machine has no ports or files left.
            let example = counts.examples.get(&ErrorKind::Connect);
            let is_refused = example.is_some_and(|example| example.starts_with(REFUSED));
            let refused = if is_refused { failed } else { 0 };
            if counts.requests() > refused {
                *self = Self::default();
            } else if refused > 0 {
                self.reported = Some((self.reported.map_or(now, |(first, _)| first), now));
                self.count = self.count.saturating_add(refused);
            }
        }
    }

    /// Returns for how long the server has accepted no connection until `now`, if that is at least this time, and if
    /// connections were refused until now.
    pub fn lasting(&self, now: Instant, least: Duration) -> Option<Duration> {
        let (first, last) = self.reported.filter(|_| self.count >= FEWEST)?;
        let is_recent = now.duration_since(last) <= RECENT;
        Some(last.duration_since(first)).filter(|lasting| is_recent && *lasting >= least)
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
        let mut lasting = |snapshot, second| {
            refusals.add(&snapshot, at(second));
            refusals.lasting(at(second), GONE_AT_END).map(|lasting| lasting.as_secs())
        };
        assert_eq!(lasting(snapshot(100, 0), 0), None);
        assert_eq!(lasting(snapshot(100, 0), 4), Some(4));
        assert_eq!(lasting(snapshot(100, 1), 6), None, "another result begins anew");
        assert_eq!(lasting(snapshot(0, 0), 20), None, "without requests, nothing is known");
        assert_eq!(lasting(snapshot(5, 0), 21), None);
        assert_eq!(lasting(snapshot(4, 0), 30), None, "nine are too few");
        assert_eq!(lasting(snapshot(1, 0), 31), Some(10));
        assert_eq!(refusals.lasting(at(32), GONE_AFTER), Some(Duration::from_secs(10)));
        assert_eq!(refusals.lasting(at(32), Duration::from_secs(11)), None);
        assert_eq!(refusals.lasting(at(34), GONE_AFTER), None, "nothing was sent any more");
    }

    #[test]
    fn another_host_than_the_server_may_refuse() {
        let start = Instant::now();
        for other in ["the proxy 127.0.0.1:9", "127.0.0.1:9, to which the server redirects"] {
            let mut refusals = Refusals::default();
            let of_other = failed(100, 0, &format!("{other}: Connection refused (os error 111)"));
            [0, 4, 8]
                .iter()
                .for_each(|at| refusals.add(&of_other, start + Duration::from_secs(*at)));
            assert_eq!(refusals.lasting(start + Duration::from_secs(8), GONE_AT_END), None);
        }
    }

    #[test]
    fn a_lack_of_local_ports_is_no_refusal() {
        let start = Instant::now();
        let mut refusals = Refusals::default();
        let lack = failed(100, 0, "Cannot assign requested address (os error 99)");
        [0, 4, 8].iter().for_each(|at| refusals.add(&lack, start + Duration::from_secs(*at)));
        assert_eq!(refusals.lasting(start + Duration::from_secs(8), GONE_AT_END), None);
    }
}
