//! Draws the order in which the targets of a round are measured.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Returns the order in which to measure the targets of a round, as a list of indices. Rounds count
/// from 1. The same seed and round give the same order.
///
/// The orders are counterbalanced (Williams 1949): over a block of as many rounds as there are
/// targets, each target has each place once, and comes once right after each other target of its
/// round. With an odd number of targets a block has twice as many rounds, and each occurs twice. An
/// effect of the place, such as a machine that warms up, then favours no target. Wherever possible, a
/// round begins with the target that ended the round before, so that the effect that a target leaves
/// behind meets itself as often as the others: two targets are measured as AB, BA, AB, BA. The seed
/// decides only which target is which.
pub fn order(targets: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut names: Vec<usize> = (0..targets).collect();
    names.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let block = block(targets);
    let round = round.saturating_sub(1) as usize % block.len();
    block[round].iter().map(|name| names[*name]).collect()
}

/// Returns the orders of a block of rounds.
fn block(targets: usize) -> Vec<Vec<usize>> {
    let mut left: Vec<Vec<usize>> = (0..targets.max(1)).map(|by| row(targets, by)).collect();
    if targets % 2 == 1 && targets > 1 {
        left.extend(left.clone().into_iter().map(|row| row.into_iter().rev().collect()));
    }
    let mut block: Vec<Vec<usize>> = Vec::new();
    while !left.is_empty() {
        let last = block.last().and_then(|row| row.last());
        let next = left.iter().position(|row| row.first() == last).unwrap_or_default();
        block.push(left.remove(next));
    }
    block
}

/// Returns a row of Williams' design. The first row takes the targets from both ends in turn, as in
/// 0, 3, 1, 2; another one adds `by` to all of them.
fn row(targets: usize, by: usize) -> Vec<usize> {
    let place = |at: usize| match at % 2 {
        0 => at / 2,
        _ => targets - 1 - at / 2,
    };
    (0..targets).map(|at| (place(at) + by) % targets).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn orders_for_a_seed_do_not_change_between_versions() {
        let orders: Vec<Vec<usize>> = (1..=4).map(|round| order(4, 7, round)).collect();
        assert_eq!(orders, [[0, 2, 3, 1], [1, 3, 2, 0], [3, 0, 1, 2], [2, 1, 0, 3]]);
    }

    #[test]
    fn two_targets_are_measured_as_ab_ba() {
        let orders = |seed| -> Vec<Vec<usize>> { (1..=4).map(|it| order(2, seed, it)).collect() };
        let one = [[0, 1], [1, 0], [0, 1], [1, 0]];
        let other = [[1, 0], [0, 1], [1, 0], [0, 1]];
        let begins = (0..1_000).filter(|seed| match orders(*seed) {
            drawn if drawn == one => true,
            drawn if drawn == other => false,
            drawn => panic!("{drawn:?}"),
        });
        let begins = begins.count();
        assert!((400..600).contains(&begins), "{begins} of 1,000 begin with the first target");
    }

    #[test]
    fn a_round_begins_with_the_target_that_ended_the_round_before() {
        for targets in [2, 3, 5, 7, 9] {
            let orders: Vec<Vec<usize>> = (1..100).map(|it| order(targets, 1, it)).collect();
            assert!(orders.windows(2).all(|two| two[0].last() == two[1].first()), "{orders:?}");
        }
    }

    /// Returns how often each target has each place, and how often each comes after each other one.
    fn counts(orders: &[Vec<usize>]) -> [BTreeMap<(usize, usize), usize>; 2] {
        let (mut places, mut after) = (BTreeMap::new(), BTreeMap::new());
        for order in orders {
            for (place, target) in order.iter().enumerate() {
                *places.entry((*target, place)).or_default() += 1;
            }
            for pair in order.windows(2) {
                *after.entry((pair[0], pair[1])).or_default() += 1;
            }
        }
        [places, after]
    }

    proptest! {
        #[test]
        fn every_target_has_one_turn_in_an_order_set_by_the_seed(
            targets in 0..20_usize, seed: u64, round: u32,
        ) {
            let drawn = order(targets, seed, round);
            prop_assert_eq!(&drawn, &order(targets, seed, round));
            let mut sorted = drawn;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..targets).collect::<Vec<_>>());
        }

        #[test]
        fn a_block_has_each_place_and_each_succession_equally_often(
            targets in 2..12_usize, seed: u64, block in 0..5_u32,
        ) {
            let rounds = super::block(targets).len() as u32;
            let orders: Vec<Vec<usize>> =
                (1..=rounds).map(|it| order(targets, seed, block * rounds + it)).collect();
            let [places, after] = counts(&orders);
            let times = rounds as usize / targets;
            prop_assert!(places.len() == targets * targets, "{:?}", places);
            prop_assert!(places.values().all(|n| *n == times), "{:?}", places);
            prop_assert!(after.len() == targets * (targets - 1), "{:?}", after);
            prop_assert!(after.values().all(|n| *n == times), "{:?}", after);
        }
    }
}
