//! Chooses the requests that are traced, and draws their IDs.

use std::num::NonZeroU32;

use rand::rngs::SysRng;
use rand::{RngExt, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;

use loadgen_measure::TraceContext;
use loadgen_scenario::{Scenario, Step};

/// Settings of tracing that all users of a process share.
pub(super) struct Tracing {
    one_in: NonZeroU32,
    /// Seed of the IDs of this process. Not that of the run, whose traces would have the same IDs each time.
    seed: u64,
    /// For each step, whether its requests can be traced.
    steps: Vec<bool>,
}

/// Chooses one user's requests.
pub(super) struct Chooser {
    random: ChaCha8Rng,
    one_in: NonZeroU32,
    /// Number of requests before the next one that is traced.
    before: u64,
}

impl Tracing {
    /// Returns what is traced of a scenario; `None` if nothing is.
    pub(super) fn new(one_in: Option<NonZeroU32>, scenario: &Scenario) -> Option<Self> {
        let one_in = one_in?;
        // A system without random numbers runs no TLS either.
        let seed = SysRng.try_next_u64().ok()?;
        let steps = scenario.steps.iter().map(Step::can_be_traced);
        Some(Self { one_in, seed, steps: steps.collect() })
    }

    /// Creates the chooser of the user with this number in the whole test.
    pub(super) fn chooser(&self, user: u32) -> Chooser {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(user.into());
        let mut chooser = Chooser { random, one_in: self.one_in, before: 0 };
        chooser.before = chooser.gap();
        chooser
    }

    /// Whether requests of the step at this index can be traced.
    pub(super) fn can_trace(&self, step: usize) -> bool {
        self.steps.get(step).copied().unwrap_or(false)
    }
}

impl Chooser {
    /// Returns whether the next request is chosen.
    pub(super) fn chooses(&mut self) -> bool {
        if let Some(before) = self.before.checked_sub(1) {
            self.before = before;
            return false;
        }
        self.before = self.gap();
        true
    }

    /// Draws the IDs of another trace.
    pub(super) fn context(&mut self) -> TraceContext {
        TraceContext { trace_id: self.random.random(), span_id: self.random.random() }
    }

    /// Draws the number of requests before the next one. The chance of a request does not depend on those before it, so
    /// that no step of a journey is preferred: the distribution is geometric (Devroye 1986, chapter 10.2).
    fn gap(&mut self) -> u64 {
        if self.one_in.get() == 1 {
            return 0;
        }
        let not_chosen = 1.0 - 1.0 / f64::from(self.one_in.get());
        let drawn = (1.0 - self.random.random::<f64>()).ln() / not_chosen.ln();
        // Neither negative nor larger than a few billion times 40.
        drawn as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn tracing(one_in: u32) -> Tracing {
        let text =
            "[[step]]\nget = \"/a\"\n[[step]]\nget = \"/b\"\nheaders = { traceparent = \"own\" }\n";
        let scenario = loadgen_scenario::parse("test", "test.toml", text).unwrap();
        Tracing::new(NonZeroU32::new(one_in), &scenario).unwrap()
    }

    #[test]
    fn one_request_in_so_many_is_chosen_at_any_place_of_a_journey() {
        let tracing = tracing(50);
        // By 20 users with journeys of 10 steps, in which a fixed distance would always choose the same steps.
        let mut chosen = [0_u32; 10];
        for user in 0..20 {
            let mut chooser = tracing.chooser(user);
            for nth in 0..50_000 {
                chosen[nth % 10] += u32::from(chooser.chooses());
            }
        }
        // 2,000 each: within six standard deviations.
        assert!(chosen.iter().all(|n| n.abs_diff(2_000) < 270), "{chosen:?}");
    }

    #[test]
    fn each_trace_has_an_id_of_its_own() {
        let [one, other] = [tracing(1), tracing(1)];
        let mut ids = BTreeSet::new();
        for tracing in [&one, &other] {
            for user in 0..10 {
                let mut chooser = tracing.chooser(user);
                // With 1, each request is chosen.
                assert!((0..100).all(|_| chooser.chooses()));
                ids.extend((0..100).map(|_| chooser.context().trace_id));
            }
        }
        assert_eq!(ids.len(), 2_000);
        assert_eq!([0, 1, 2].map(|step| one.can_trace(step)), [true, false, false]);
    }
}
