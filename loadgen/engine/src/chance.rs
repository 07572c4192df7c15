//! Draws a user's random choices besides its data: think times and weighted steps.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use loadgen_scenario::{Repeat, ThinkTime};

/// Random choices of one user, which depend only on the seed and the user,
/// not on the random data in the user's requests.
pub(super) struct Chance {
    seed: u64,
    user: u32,
    /// Random generator, created at the first draw, because most scenarios make no random choices.
    stream: Option<Box<ChaCha8Rng>>,
}

/// Number of the first random stream for choices. The streams with lower
/// numbers, one per user, generate the users' data.
const STREAMS: u64 = 1 << 32;

impl Chance {
    /// Creates the random choices of the user with the number `user` in the whole test.
    pub(super) fn new(seed: u64, user: u32) -> Self {
        Self { seed, user, stream: None }
    }

    /// Draws the user's think time before its next request.
    pub(super) fn think(&mut self, time: &ThinkTime) -> Duration {
        match time {
            ThinkTime::Fixed(time) => *time,
            ThinkTime::Uniform { min, max } => self.stream().random_range(*min..=*max),
            // The inverse of the distribution function (Devroye 1986, chapter 2.2).
            ThinkTime::Exponential { mean } => {
                mean.mul_f64(-(1.0 - self.stream().random::<f64>()).ln())
            }
        }
    }

    /// Draws the number of times that an iteration sends a step.
    pub(super) fn times(&mut self, repeat: Repeat) -> u32 {
        let Repeat { min, max } = repeat;
        if min == max { min } else { self.stream().random_range(min..=max) }
    }

    /// Picks an index into `weights` at random, in proportion to the
    /// weights. The sum of the weights must not be zero.
    pub(super) fn pick(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let sum: u64 = weights.clone().map(u64::from).sum();
        let mut left = self.stream().random_range(0..sum.max(1));
        for (index, weight) in weights.map(u64::from).enumerate() {
            if left < weight {
                return index;
            }
            left -= weight;
        }
        0
    }

    fn stream(&mut self) -> &mut ChaCha8Rng {
        self.stream.get_or_insert_with(|| {
            let mut stream = ChaCha8Rng::seed_from_u64(self.seed);
            stream.set_stream(STREAMS | u64::from(self.user));
            Box::new(stream)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn mean(time: &ThinkTime) -> f64 {
        let mut chance = Chance::new(1, 1);
        (0..20_000).map(|_| chance.think(time).as_secs_f64() * 1e3).sum::<f64>() / 20_000.0
    }

    #[test]
    fn think_times_have_their_mean() {
        assert_eq!(mean(&ThinkTime::Fixed(7 * MS)), 7.0);
        let uniform = mean(&ThinkTime::Uniform { min: 10 * MS, max: 30 * MS });
        assert!((uniform - 20.0).abs() < 0.2, "{uniform}");
        let exponential = mean(&ThinkTime::Exponential { mean: 20 * MS });
        assert!((exponential - 20.0).abs() < 0.6, "{exponential}");
    }

    #[test]
    fn each_choice_is_as_frequent_as_its_weight() {
        let mut chance = Chance::new(1, 1);
        let mut found = [0_i32; 3];
        (0..10_000).for_each(|_| found[chance.pick([7, 0, 3].into_iter())] += 1);
        assert!((found[0] - 7_000).abs() < 200 && found[1] == 0, "{found:?}");
    }

    #[test]
    fn choices_follow_from_seed_and_user() {
        let throws = |seed, user| {
            let mut chance = Chance::new(seed, user);
            [(); 20].map(|()| chance.pick([1, 1, 1, 1].into_iter()))
        };
        assert_eq!(throws(1, 1), throws(1, 1));
        assert_ne!(throws(1, 1), throws(1, 2));
        assert_ne!(throws(1, 1), throws(2, 1));
    }
}
