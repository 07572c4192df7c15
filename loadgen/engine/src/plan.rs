//! Describes the work of one process in one round.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use loadgen_scenario::{Order, Scenario, ServerUrl, Sharing};

/// Everything that a process needs to know to put its share of the load on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Requests to send, and the load of the whole test.
    pub scenario: Scenario,
    /// URL of the server, which [`ServerUrl`] parses; the paths of the steps are appended.
    pub base_url: String,
    /// Time for which the round runs before anything counts.
    pub warmup: Duration,
    /// Values that steps sent once for the round have captured, by name. Each user has them from its start on.
    #[serde(default)]
    pub known: Vec<(String, String)>,
    /// Seed of generated data: the sum of the run's seed and the round's number.
    pub seed: u64,
    /// Number of the first user, in generated data and rows; not 0 where another plan runs at the same
    /// time, whose users have the numbers before it.
    pub first_user: u32,
    /// One request in so many is traced, on average; `None` if none is. See [`loadgen_measure::TraceContext`].
    pub trace_one_in: Option<NonZeroU32>,
    /// This process's share of the test.
    pub share: Share,
}

impl Plan {
    /// Parses the URL of the server.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the URL.
    pub fn server(&self) -> Result<ServerUrl, String> {
        let url = &self.base_url;
        ServerUrl::parse(url).map_err(|what| format!("{url}: {what}"))
    }

    /// Returns the plan for the process with this `share`. Data rows that are used only
    /// once are distributed over the processes. The last such row of a file goes to no
    /// process, because the verification sends this row.
    #[must_use]
    pub fn part(&self, share: Share) -> Self {
        let mut part = Self { share, ..self.clone() };
        for rows in part.scenario.rows.iter_mut().filter(|rows| rows.order == Order::Once) {
            let count = rows.len().saturating_sub(1);
            *rows = rows.dealt(share.rows(count, self.scenario.load.users));
        }
        part
    }

    /// Returns the length of the ramp-up, over which users start. Zero if iterations end the round,
    /// because iterations count from the first one on.
    #[must_use]
    pub fn ramp_up(&self) -> Duration {
        self.scenario.load.before_hold()
    }

    /// Returns the time from the common start to the first snapshot. Snapshots follow each second,
    /// so that each snapshot is a whole number of seconds away from the end of the warm-up.
    #[must_use]
    pub fn first_snapshot(&self) -> Duration {
        Duration::from_secs(1) + Duration::from_nanos(self.warmup.subsec_nanos().into())
    }

    /// Returns the length of the round from the common start; `None` if
    /// iterations, not time, end the round.
    #[must_use]
    pub fn length(&self) -> Option<Duration> {
        let load = &self.scenario.load;
        load.held().map(|held| self.warmup + load.ramp_up + held)
    }
}

/// Numbers that identify a user, each from 0.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    /// Number among the users of the process.
    pub local: u32,
    /// Number among the users of the whole test.
    pub global: u32,
}

/// One of `of` equal parts of a test. Each process computes its own part; together the
/// parts are the whole test.
///
/// Users are dealt in turn, like cards, so that a ramp rises evenly on every worker. If there are
/// fewer users than workers, the workers without a user take no iterations either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of this part, from 0.
    pub index: u32,
    /// Number of parts, at least 1.
    pub of: u32,
}

impl Share {
    /// The whole test as one part.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Returns how many of `users` users belong to this part.
    #[must_use]
    pub fn users(&self, users: u32) -> u32 {
        // The result is never more than `users`, so it fits.
        self.deal(users.into(), self.of) as u32
    }

    /// Returns how many connections this part of `users` users shares; `None` if each user has its own.
    ///
    /// # Errors
    /// A sentence, if the part gets too few of the connections for its users.
    pub fn connections(&self, sharing: Sharing, users: u32) -> Result<Option<u32>, String> {
        let here = self.users(users);
        let Some(all) = sharing.connections else {
            return Ok(sharing.streams.map(|streams| here.div_ceil(streams)));
        };
        // The result is never more than `all`, so it fits.
        let connections = self.deal(all.into(), self.of) as u32;
        let (worker, of) = (self.index + 1, self.of);
        if connections == 0 && here > 0 {
            return Err(format!(
                "connections = {all} is fewer than the {of} workers, each of which needs a connection: \
                 use fewer workers, or more connections"
            ));
        }
        if let Some(streams) = sharing.streams {
            let most = u64::from(connections) * u64::from(streams);
            if most < u64::from(here) {
                return Err(format!(
                    "worker {worker} of {of} has {here} of the users, but its {connections} of the \
                     connections with streams = {streams} carry only {most} requests at a time: use a \
                     number of connections that the number of workers divides"
                ));
            }
        }
        Ok(Some(connections))
    }

    /// Returns both numbers of the user with the number `local` in this part.
    #[must_use]
    pub fn number(&self, local: u32) -> Number {
        Number { local, global: local * self.of + self.index }
    }

    /// Returns how many of `iterations` iterations, shared by `users` users, belong to this part.
    #[must_use]
    pub fn iterations(&self, iterations: u64, users: u32) -> u64 {
        self.deal(iterations, self.of.min(users))
    }

    /// Returns the indexes of those of `count` data rows that belong to this part. Each row is used
    /// once, by one of the `users` users of the whole test.
    pub fn rows(&self, count: usize, users: u32) -> impl Iterator<Item = usize> + use<> {
        let hands = self.of.min(users);
        let first = if self.index < hands { self.index as usize } else { count };
        (first..count).step_by(hands.max(1) as usize)
    }

    fn deal(&self, total: u64, hands: u32) -> u64 {
        if self.index >= hands {
            return 0;
        }
        total / u64::from(hands) + u64::from(total % u64::from(hands) > u64::from(self.index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn shares_sum_to_the_whole(users in 1u32..500, iterations in 0u64..100_000, of in 1u32..40) {
            let shares: Vec<Share> = (0..of).map(|index| Share { index, of }).collect();
            prop_assert_eq!(shares.iter().map(|s| s.users(users)).sum::<u32>(), users);
            prop_assert_eq!(
                shares.iter().map(|s| s.iterations(iterations, users)).sum::<u64>(),
                iterations
            );
            for share in &shares {
                prop_assert!(share.users(users) > 0 || share.iterations(iterations, users) == 0);
            }
        }

        #[test]
        fn connections_carry_all_users_and_sum_to_the_whole(
            users in 1u32..500,
            connections in proptest::option::of(1u32..100),
            streams in proptest::option::of(1u32..100),
            of in 1u32..40,
        ) {
            let sharing = Sharing { connections, streams };
            let shares = (0..of).map(|index| Share { index, of });
            let all: Result<Vec<_>, _> =
                shares.clone().map(|share| share.connections(sharing, users)).collect();
            let Ok(all) = all else {
                prop_assert!(connections.is_some_and(|n| n < of || streams.is_some()));
                return Ok(());
            };
            for (share, here) in shares.zip(&all) {
                let most = here.map(|n| streams.map_or(u32::MAX, |streams| n.saturating_mul(streams)));
                prop_assert!(most.is_none_or(|most| most >= share.users(users)));
            }
            if sharing.is_set() {
                let sum: u32 = all.into_iter().flatten().sum();
                prop_assert_eq!(sum.min(users), sharing.connections_of(users, of).min(users));
            }
        }

        #[test]
        fn every_row_is_assigned_once(count in 0usize..500, users in 1u32..50, of in 1u32..40) {
            let shares = (0..of).map(|index| Share { index, of });
            let mut dealt: Vec<usize> = Vec::new();
            for share in shares {
                let rows: Vec<usize> = share.rows(count, users).collect();
                prop_assert!(share.users(users) > 0 || rows.is_empty());
                dealt.extend(rows);
            }
            dealt.sort_unstable();
            prop_assert_eq!(dealt, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn every_user_is_assigned_once(users in 1u32..500, of in 1u32..40) {
            let dealt: Vec<u32> = (0..of)
                .map(|index| Share { index, of })
                .flat_map(|s| (0..s.users(users)).map(move |local| s.number(local).global))
                .collect();
            let all: BTreeSet<u32> = dealt.iter().copied().collect();
            prop_assert_eq!(dealt.len(), users as usize);
            prop_assert_eq!(all, (0..users).collect::<BTreeSet<_>>());
        }
    }
}
