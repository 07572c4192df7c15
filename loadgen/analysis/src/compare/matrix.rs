//! Selects the pairs to compare where targets have several numbers of server workers, replicas or
//! users.

use crate::record::{Comparison, Pair};

/// One combination of target and numbers of server workers, replicas and users.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// Name of the combination in the comparison, such as `sanic ×2, 500 users`.
    pub name: &'a str,
    /// Name of the target.
    pub target: &'a str,
    /// Number of server worker processes.
    pub server_workers: u32,
    /// Number of replicas behind a load balancer; `None` without a balancer.
    pub replicas: Option<u32>,
    /// Number of users that loaded the target.
    pub users: u32,
}

impl Comparison {
    /// Keeps only the useful pairs if targets were measured with several numbers of server workers,
    /// replicas or users. Different targets are compared only with the same numbers. Each target is
    /// compared with itself: most server workers with fewest, and likewise replicas and users.
    #[must_use]
    pub fn of_matrix(mut self, cells: &[Cell<'_>]) -> Self {
        let cell = |name: &str| cells.iter().find(|cell| cell.name == name);
        let both = |pair: &Pair| Some((cell(&pair.better)?, cell(&pair.worse)?));
        let are_rivals = |pair: &Pair| both(pair).is_some_and(|(a, b)| a.is_rival_of(b));
        let scales = |pair: &&Pair| both(pair).is_some_and(|(a, b)| a.scales_to(b, cells));
        // Sorts by target, and within a target puts pairs that differ in workers first, whichever
        // cell is better.
        let place = |pair: &Pair| {
            let (one, other) = both(pair)?;
            let nth = |cell: &Cell<'_>| cells.iter().position(|known| known.name == cell.name);
            let target = cells.iter().position(|known| known.target == one.target);
            Some((target, one.size() == other.size(), nth(one).min(nth(other))))
        };
        self.scaling = self.pairs.iter().filter(scales).cloned().collect();
        self.scaling.sort_by_key(place);
        self.pairs.retain(are_rivals);
        self.cpu_pairs.retain(are_rivals);
        self.latency_pairs.retain(|it| are_rivals(&it.pair));
        self.corrected()
    }
}

impl Cell<'_> {
    fn is_rival_of(&self, other: &Self) -> bool {
        self.target != other.target && self.is_like(other)
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.size(), self.users) == (other.size(), other.users)
    }

    /// Returns the numbers of server workers and of replicas.
    fn size(&self) -> (u32, Option<u32>) {
        (self.server_workers, self.replicas)
    }

    /// Returns whether two cells show how a target scales. The cells must belong to the same
    /// target, and differ in one number of server workers, replicas or users, of which they have the
    /// fewest and the most.
    fn scales_to(&self, other: &Self, cells: &[Self]) -> bool {
        let are_ends = |of: fn(&Self) -> u32| {
            let all = || cells.iter().map(of);
            let (one, two) = (of(self), of(other));
            all().min() == Some(one.min(two)) && all().max() == Some(one.max(two)) && one != two
        };
        let differ = [
            self.server_workers != other.server_workers,
            self.replicas != other.replicas,
            self.users != other.users,
        ];
        self.target == other.target
            && match differ {
                [true, false, false] => are_ends(|cell| cell.server_workers),
                [false, true, false] => are_ends(|cell| cell.replicas.unwrap_or(0)),
                [false, false, true] => are_ends(|cell| cell.users),
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::compare;
    use super::*;

    /// Returns the comparison of two targets with 1, 2 and 4 server workers under 10 and 50 users.
    /// Only target `a` becomes faster with more server workers.
    fn matrix() -> Comparison {
        let mut ways = Vec::new();
        for target in ["a", "b"] {
            for server_workers in [1, 2, 4] {
                for users in [10, 50] {
                    let name = format!("{target} ×{server_workers}, {users} users");
                    ways.push((name, target, server_workers, users));
                }
            }
        }
        let rates: Vec<(String, BTreeMap<u32, f64>)> = ways
            .iter()
            .map(|(name, target, server_workers, users)| {
                let gain = if *target == "a" { f64::from(*server_workers) } else { 0.9 };
                let noise = |round: u32| 1.0 + 0.001 * f64::from(round * users % 7);
                (name.clone(), (1..=5).map(|round| (round, 100.0 * gain * noise(round))).collect())
            })
            .collect();
        let cells: Vec<Cell<'_>> = ways
            .iter()
            .map(|(name, target, server_workers, users)| Cell {
                name,
                target,
                server_workers: *server_workers,
                replicas: None,
                users: *users,
            })
            .collect();
        compare(&rates).of_matrix(&cells)
    }

    #[test]
    fn targets_are_compared_within_a_cell_and_scale_within_a_target() {
        let comparison = matrix();
        assert_eq!(comparison.ranking.len(), 12);
        assert_eq!(comparison.pairs.len(), 6, "two targets in six cells");
        // By workers under each of two loads, by users with each of three numbers of workers.
        assert_eq!(comparison.scaling.len(), 2 * (2 + 3));
        let pair = &comparison.scaling[1];
        let named = (pair.better.as_str(), pair.worse.as_str());
        assert_eq!((named, pair.shown), (("a ×4, 50 users", "a ×1, 50 users"), true));
        assert!((pair.ratio.unwrap() - 4.0).abs() < 1e-9);
        assert!(
            comparison
                .scaling
                .iter()
                .all(|pair| !pair.better.contains("×2") || pair.worse.contains("×2"))
        );
    }

    #[test]
    fn holm_counts_only_the_compared_pairs() {
        let comparison = matrix();
        let all = || comparison.pairs.iter().chain(&comparison.scaling);
        assert_eq!(all().filter(|pair| pair.p_holm.is_some()).count(), 16);
        let p_values = || all().filter_map(|pair| pair.p_value.filter(|p| *p > 0.0));
        let least = p_values().fold(1.0, f64::min);
        let adjusted = all().find(|pair| pair.p_value == Some(least)).unwrap().p_holm.unwrap();
        assert!(least < adjusted && adjusted <= least * 16.0, "{least} {adjusted}");
    }
}
