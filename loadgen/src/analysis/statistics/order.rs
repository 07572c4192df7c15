//! Draws the order in which the targets of a round are measured.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Returns a random order in which to measure the targets of a round, as a list of indices. Each
/// round has a new order: an effect of the position, such as a machine that warms up, then becomes
/// random noise and favours no target. The same seed and round give the same order.
pub(super) fn order(targets: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(round));
    let mut order: Vec<usize> = (0..targets).collect();
    order.shuffle(&mut random);
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn orders_for_a_seed_do_not_change_between_versions() {
        let orders: Vec<Vec<usize>> = (1..=3).map(|round| order(4, 7, round)).collect();
        assert_eq!(orders, [[0, 3, 2, 1], [3, 2, 0, 1], [1, 2, 0, 3]]);
    }

    #[test]
    fn each_target_comes_first_about_as_often() {
        let mut first = [0; 3];
        (1..=3_000).for_each(|round| first[order(3, 1, round)[0]] += 1);
        assert!(first.iter().all(|n| (900..1_100).contains(n)), "{first:?}");
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
    }
}
