//! Computes the common start of a round: measures the round-trip time of each worker, and computes
//! the start skew that remains.
//!
//! Clocks are not compared. A worker starts a delay after the command reaches it. The manager
//! subtracts from this delay the travel time of the command: half of the worker's round trip
//! (F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). Of
//! several round trips the shortest counts, since queues only lengthen round trips (RFC 5905,
//! section 10). A path that takes longer in one direction than in the other leaves an error of
//! at most half of its round trip.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::error::ClusterError;
use crate::messages::Command;
use loadgen_engine::StartSkew;

/// Most pings to each worker before a round; `SPACING` is the least time from one ping to the next.
const PINGS: u32 = 8;
const SPACING: Duration = Duration::from_millis(10);
/// Time for the pings before a round. A thousand workers get four pings each in this time.
const PINGING: Duration = Duration::from_secs(2);
/// Time from a command to one worker until the command to the next: several times the CPU time that a command
/// and its answer take. Commands that wait for each other measure the manager.
const PACE: Duration = Duration::from_micros(500);
/// Time limit for a worker to answer a ping.
const PING_LIMIT: Duration = Duration::from_secs(3);

/// A worker that has acknowledged the command to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledged {
    /// Measured round-trip time to the worker. The command's delay before the start was
    /// shortened by half of the round-trip time.
    pub round_trip: Duration,
    /// Time from sending the command to receiving the acknowledgement.
    pub took: Duration,
}

impl Acknowledged {
    /// Returns a lower and an upper bound, in seconds, of how much later than planned
    /// the worker had to start; negative if earlier. Assumes that a message takes at
    /// least `each_way` in each direction.
    fn late(&self, each_way: Duration) -> (f64, f64) {
        let half = self.round_trip.as_secs_f64() / 2.0;
        let (took, each_way) = (self.took.as_secs_f64(), each_way.as_secs_f64());
        (each_way - half, took - each_way - half)
    }
}

/// Returns upper bounds of the time between the starts of any two of these workers.
#[must_use]
pub(super) fn start_skew(workers: &[Acknowledged]) -> StartSkew {
    // A symmetric path is assumed to need this time in each direction: half of the time of the
    // shortest ping, or of the command and its acknowledgement if these were faster.
    let shortest = |worker: &Acknowledged| worker.round_trip.min(worker.took) / 2;
    StartSkew {
        any_path: apart(workers.iter().map(|worker| worker.late(Duration::ZERO))),
        symmetric: apart(workers.iter().map(|worker| worker.late(shortest(worker)))),
    }
}

/// Returns the maximum possible difference of two values, given a lower and an upper bound of each
/// value in seconds. Zero if there are fewer than two values.
fn apart(bounds: impl Iterator<Item = (f64, f64)>) -> Duration {
    let mut bounds: Vec<(f64, f64)> = bounds.collect();
    bounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let earliest = |but: usize| bounds.get(usize::from(but == 0)).map(|other| other.0);
    let apart = (0..).zip(&bounds).filter_map(|(n, (_, latest))| Some(latest - earliest(n)?));
    Duration::try_from_secs_f64(apart.fold(0.0, f64::max)).unwrap_or_default()
}

/// Returns the time between two pings to a worker of `workers`, and the number of pings to each.
fn pings(workers: usize) -> (Duration, u32) {
    let spacing = SPACING.max(sending(workers));
    let fitting = (1..=PINGS).rev().find(|count| spacing * *count <= PINGING);
    (spacing, fitting.unwrap_or(1))
}

/// Returns the time in which the manager sends a command to each of `workers` workers, one after another.
pub(super) fn sending(workers: usize) -> Duration {
    // A cluster has at most as many workers as fit a `u32`.
    PACE * workers as u32
}

impl Cluster {
    /// Measures the round-trip time of each present worker: the shortest of several pings. A worker
    /// that answers no ping gets an error.
    pub(super) async fn round_trips(&self) -> BTreeMap<u32, Result<Duration, ClusterError>> {
        let present = self.present();
        let (spacing, count) = pings(present.len());
        let mut pings = JoinSet::new();
        for (place, worker) in (0..).zip(&present) {
            for ping in 0..count {
                let due = spacing * ping + spacing * place / present.len().max(1) as u32;
                let (bus, worker) = (self.bus.clone(), *worker);
                pings.spawn(async move {
                    sleep(due).await;
                    let sent = Instant::now();
                    let answered = bus.command(worker, "a ping", &Command::Ping, PING_LIMIT).await;
                    (worker, answered.map(|()| sent.elapsed()))
                });
            }
        }
        let mut shortest = BTreeMap::new();
        // None of these tasks panics or is cancelled.
        while let Some(Ok((worker, trip))) = pings.join_next().await {
            let trip = match (shortest.remove(&worker), trip) {
                (Some(Ok(known)), Ok(trip)) => Ok(trip.min(known)),
                (Some(Ok(trip)), Err(_)) | (_, Ok(trip)) => Ok(trip),
                (_, Err(error)) => Err(error),
            };
            shortest.insert(worker, trip);
        }
        shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn worker(round_trip: u64, took: u64) -> Acknowledged {
        Acknowledged { round_trip: ms(round_trip), took: ms(took) }
    }

    #[test]
    fn the_start_skew_is_bounded_by_the_asymmetry_of_the_path() {
        let skew = start_skew(&[worker(0, 0), worker(400, 400)]);
        assert_eq!(skew, StartSkew { any_path: ms(200), symmetric: ms(0) });
        // The command or its acknowledgement was delayed.
        let skew = start_skew(&[worker(2, 5), worker(400, 430)]);
        assert_eq!(skew, StartSkew { any_path: ms(231), symmetric: ms(30) });
        assert_eq!(start_skew(&[worker(400, 450)]), StartSkew::default(), "one is not apart");
        assert_eq!(start_skew(&[]), StartSkew::default());
    }

    #[test]
    fn pings_to_many_workers_do_not_wait_for_each_other() {
        assert_eq!(pings(1), (ms(10), 8));
        assert_eq!(pings(20), (ms(10), 8));
        assert_eq!(pings(200), (ms(100), 8));
        assert_eq!(pings(1_000), (ms(500), 4));
        assert_eq!(pings(10_000), (ms(5_000), 1));
    }

    proptest! {
        /// Checks paths with any travel times in the two directions. A worker starts when its
        /// command has arrived and its delay has passed.
        #[test]
        fn no_two_workers_start_further_apart_than_the_skew(
            // For the ping and the command: times there and back in µs.
            paths in prop::collection::vec((0u64..9_000, 0u64..9_000, 0u64..9_000, 0u64..9_000), 2..6),
        ) {
            let us = Duration::from_micros;
            let acknowledged: Vec<Acknowledged> = paths
                .iter()
                .map(|(a, b, c, d)| Acknowledged { round_trip: us(a + b), took: us(c + d) })
                .collect();
            let starts: Vec<f64> =
                paths.iter().map(|(a, b, there, _)| *there as f64 - (a + b) as f64 / 2.0).collect();
            let (least, most) = starts.iter().fold((f64::MAX, f64::MIN), |(l, m), s| (l.min(*s), m.max(*s)));
            let skew = start_skew(&acknowledged);
            prop_assert!(skew.any_path.as_secs_f64() * 1e6 >= most - least - 1e-3);
            prop_assert!(skew.symmetric <= skew.any_path);
        }

        /// Checks paths with equal travel times in both directions, where only queues delay
        /// some messages more than others.
        #[test]
        fn on_symmetric_paths_only_queues_separate_the_starts(
            // In µs: the path each way, and the queueing times of the
            // command and of its acknowledgement.
            paths in prop::collection::vec((0u64..9_000, 0u64..900, 0u64..900), 2..6),
        ) {
            let us = Duration::from_micros;
            let acknowledged: Vec<Acknowledged> = paths
                .iter()
                .map(|(way, a, b)| Acknowledged { round_trip: us(2 * way), took: us(2 * way + a + b) })
                .collect();
            let waited = || paths.iter().map(|(_, there, _)| *there);
            let apart = waited().max().unwrap_or(0) - waited().min().unwrap_or(0);
            let symmetric = start_skew(&acknowledged).symmetric;
            prop_assert!(symmetric + Duration::from_nanos(1) >= us(apart));
            prop_assert!(symmetric <= us(1_800));
        }
    }
}
