//! The open model: requests arrive when the clock says so, however the server performs.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::profile::LoadProfile;
use crate::plan::Plan;
use crate::takeover::{Deal, Takeover};
use loadgen_scenario::{Arrivals, Model, Until};

/// Due times of the iterations of one process in the open model, in order: the arrivals.
///
/// Every process computes the arrivals of the whole test, and takes its share of the arrivals in
/// turn. The load is therefore the same on any number of workers.
#[derive(Debug, Clone)]
pub struct Open {
    /// Arrivals per second. The area under the profile is the number of arrivals.
    rate: LoadProfile,
    /// Mean number of requests in an iteration.
    requests: f64,
    warmup: Duration,
    end: Option<Duration>,
    /// Index of this process among those to which the arrivals are dealt.
    index: u32,
    deal: Deal,
    next: Cursor,
    /// State of `next` before the latest arrival was taken, to take the arrival back.
    before: Cursor,
}

/// A position among the arrivals of the whole test. The position contains no times, so a change of
/// the rate does not change which process takes which arrival.
#[derive(Debug, Clone)]
struct Cursor {
    /// Number of counted arrivals still to come; `None` unless their number ends the test.
    left: Option<u64>,
    /// Number of arrivals before this position.
    gone: u64,
    /// Area under the `rate` profile at which the next arrival is due.
    area: f64,
    /// Generator of random distances between arrivals; `None` if arrivals are evenly spaced.
    chance: Option<ChaCha8Rng>,
}

/// An iteration that is due at a certain time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Due time, from the beginning of the warm-up.
    pub due: Duration,
    /// Whether the iteration counts; iterations of the warm-up do not.
    pub counted: bool,
    /// Number among the arrivals of the whole test, from 0.
    pub number: u64,
}

/// Number of the random stream for arrivals, which is higher than the stream numbers of all users.
const STREAM: u64 = u64::MAX;

impl Open {
    /// Creates the arrivals of the process that runs `plan`; `None` if the plan's model is closed.
    ///
    /// The rate of a plan counts requests: iterations of *n*
    /// requests each arrive at 1/*n* of that rate.
    #[must_use]
    pub fn new(plan: &Plan) -> Option<Self> {
        let load = &plan.scenario.load;
        let Model::Open(open) = load.model else { return None };
        let requests = plan.scenario.requests_per_iteration();
        let left = match load.until {
            Until::Iterations(iterations) => Some(iterations),
            _ => None,
        };
        let mut chance = (open.arrivals == Arrivals::Poisson).then(|| {
            let mut chance = ChaCha8Rng::seed_from_u64(plan.seed);
            chance.set_stream(STREAM);
            chance
        });
        let area = chance.as_mut().map_or(0.0, exponential);
        let next = Cursor { left, gone: 0, area, chance };
        Some(Self {
            rate: LoadProfile::new(plan.warmup, &load.stages(), 1.0 / requests),
            requests,
            warmup: plan.warmup,
            end: plan.length(),
            index: plan.share.index,
            // A process without a user sends nothing.
            deal: Deal::new(plan.share.of.min(load.users)),
            before: next.clone(),
            next,
        })
    }

    /// Replaces the planned rate by `rate` requests per second from `at` on.
    pub fn change(&mut self, at: Duration, rate: f64) {
        self.rate = self.rate.changed(at, rate / self.requests);
    }

    /// From the time of each takeover on, deals the arrivals of the lost process to the others.
    pub fn take_over(&mut self, takeovers: &[Takeover]) {
        self.deal.learn(takeovers);
    }

    /// Takes back the latest arrival, so that the iterator returns this arrival again, at another
    /// time if the rate was changed in between.
    pub fn take_back(&mut self) {
        self.next.clone_from(&self.before);
    }

    /// Returns the next arrival of the whole test, whichever process takes the arrival.
    fn next_of_all(&mut self) -> Option<Arrival> {
        let due = Duration::try_from_secs_f64(self.rate.when_area_reaches(self.next.area)?).ok()?;
        if self.end.is_some_and(|end| due >= end) {
            return None;
        }
        let counted = due >= self.warmup;
        if let Some(left) = self.next.left.as_mut().filter(|_| counted) {
            *left = left.checked_sub(1)?;
        }
        self.next.area += self.next.chance.as_mut().map_or(1.0, exponential);
        let number = self.next.gone;
        self.next.gone += 1;
        Some(Arrival { due, counted, number })
    }
}

/// Draws the area under the rate from one arrival of a Poisson process to the next.
/// The mean of this area is 1, even where the rate changes (Çinlar 1975,
/// "Introduction to Stochastic Processes", chapter 4.7).
fn exponential(chance: &mut ChaCha8Rng) -> f64 {
    -(1.0 - chance.random::<f64>()).ln()
}

impl Iterator for Open {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.before.clone_from(&self.next);
        loop {
            let arrival = self.next_of_all()?;
            if self.deal.owner(arrival.number, arrival.due) == self.index {
                return Some(arrival);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Share;
    use crate::takeover::tests::takeovers;
    use loadgen_scenario as scenario;
    use proptest::prelude::*;

    fn plan(load: &str, warmup_ms: u64, share: Share) -> Plan {
        let text = format!("[load]\nmodel = \"open\"\n{load}\n[[step]]\nget = \"/\"");
        Plan {
            scenario: scenario::parse("test", "test.toml", &text).unwrap(),
            base_url: "http://127.0.0.1".to_owned(),
            warmup: Duration::from_millis(warmup_ms),
            seed: 1,
            known: Vec::new(),
            first_user: 0,
            trace_one_in: None,
            share,
        }
    }

    fn arrivals(load: &str, warmup_ms: u64) -> Vec<Arrival> {
        Open::new(&plan(load, warmup_ms, Share::WHOLE)).unwrap().collect()
    }

    fn shares(load: &str, of: u32) -> Vec<Arrival> {
        let of_one = |index| Open::new(&plan(load, 100, Share { index, of })).unwrap();
        let mut all: Vec<Arrival> = (0..of).flat_map(of_one).collect();
        all.sort_by_key(|arrival| arrival.due);
        all
    }

    #[test]
    fn even_arrivals_are_evenly_spaced() {
        let due: Vec<u128> = arrivals("rate = 4\nduration = \"1s\"", 500)
            .iter()
            .map(|arrival| arrival.due.as_millis())
            .collect();
        assert_eq!(due, [0, 250, 500, 750, 1_000, 1_250]);
    }

    #[test]
    fn iterations_count_from_the_warm_up_on() {
        let all = arrivals("rate = 10\niterations = 3", 200);
        assert_eq!(
            all.iter().map(|a| a.counted).collect::<Vec<_>>(),
            [false, false, true, true, true]
        );
        assert_eq!(all[4].due, Duration::from_millis(400));
    }

    #[test]
    fn a_rate_counts_requests_and_not_iterations() {
        let mut plan = plan("rate = 30\nduration = \"1s\"", 0, Share::WHOLE);
        let step = plan.scenario.steps[0].clone();
        plan.scenario.steps.extend([step.clone(), step]);
        plan.scenario.flows[0].steps = 0..3;
        assert_eq!(Open::new(&plan).unwrap().count(), 10);
    }

    #[test]
    fn stages_have_as_many_arrivals_as_the_area_under_them() {
        let stages = "stages = [{ rate = 100, over = \"2s\" }, { rate = 100, over = \"1s\" }, \
                      { rate = 300, over = \"0s\" }, { rate = 300, over = \"1s\" }, \
                      { rate = 0, over = \"1s\" }]";
        let all = arrivals(stages, 0);
        let within = |from: u64, to: u64| {
            let range = Duration::from_secs(from)..Duration::from_secs(to);
            all.iter().filter(|a| range.contains(&a.due)).count()
        };
        assert_eq!([within(0, 2), within(2, 3), within(3, 4), within(4, 5)], [100, 100, 300, 150]);
    }

    #[test]
    fn poisson_arrivals_have_exponential_distances() {
        let all = arrivals("rate = 1000\narrivals = \"poisson\"\nduration = \"100s\"", 0);
        // 100,000 ± four standard deviations of √100,000.
        assert!(all.len().abs_diff(100_000) < 1_265, "{}", all.len());
        let distances = all.windows(2).map(|pair| (pair[1].due - pair[0].due).as_secs_f64() * 1e3);
        let beyond = distances.filter(|ms| *ms > 1.0).count() as f64 / all.len() as f64;
        // A share of 1/e of exponential distances exceeds their mean.
        assert!((beyond - (-1.0_f64).exp()).abs() < 0.01, "{beyond}");
    }

    #[test]
    fn the_closed_model_has_no_arrivals() {
        let mut plan = plan("rate = 1", 0, Share::WHOLE);
        plan.scenario.load.model = Model::Closed;
        assert!(Open::new(&plan).is_none());
    }

    /// Returns the arrivals that a process sends if the process learns at
    /// `told` that the rate changes to `rate` at `at`.
    fn changed(mut open: Open, told: Duration, at: Duration, rate: f64) -> Vec<Arrival> {
        let mut sent = Vec::new();
        loop {
            match open.next() {
                Some(arrival) if arrival.due <= told => sent.push(arrival),
                _ => break,
            }
        }
        open.change(at, rate);
        open.take_back();
        sent.extend(open);
        sent
    }

    #[test]
    fn a_change_replaces_the_planned_rate() {
        let (told, at) = (Duration::from_millis(1_500), Duration::from_secs(2));
        let within = |load: &str, rate| {
            let open = Open::new(&plan(load, 0, Share::WHOLE)).unwrap();
            let all = changed(open, told, at, rate);
            let early = all.iter().filter(|arrival| arrival.due < at).count();
            (early, all.len() - early)
        };
        assert_eq!(within("rate = 100\nduration = \"4s\"", 300.0), (200, 600));
        assert_eq!(within("rate = 100\nduration = \"4s\"", 10.0), (200, 20));
        // Without the change, no arrival would be left.
        assert_eq!(within("rate = 0.1\nduration = \"4s\"", 1_000.0), (1, 2_000));
        let up = "stages = [{ rate = 100, over = \"2s\" }, { rate = 0, over = \"2s\" }]";
        assert_eq!(within(up, 50.0), (100, 100));
        assert_eq!(within("rate = 100\niterations = 500", 1_000.0), (200, 300));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn workers_together_equal_one_after_a_change(
            rate in 1u32..2_000, to in 1u32..2_000, of in 1u32..9, at in 100u64..900, poisson: bool,
            told in prop::collection::vec(0u64..100, 9), iterations in prop::option::of(1u32..500),
        ) {
            let kind = if poisson { "poisson" } else { "even" };
            let end = iterations.map_or("duration = \"500ms\"".to_owned(), |n| format!("iterations = {n}"));
            let load = format!("rate = {rate}\narrivals = \"{kind}\"\nramp_up = \"300ms\"\n{end}");
            let share = |index, of| {
                let open = Open::new(&plan(&load, 200, Share { index, of })).unwrap();
                // Each process hears of the change at another time, but
                // before the change takes effect.
                let told = Duration::from_millis(told[index as usize].min(at));
                changed(open, told, Duration::from_millis(at), to.into())
            };
            let mut all: Vec<Arrival> = (0..of).flat_map(|index| share(index, of)).collect();
            all.sort_by_key(|arrival| arrival.due);
            prop_assert_eq!(all, share(0, 1));
        }

        #[test]
        fn those_left_send_the_arrivals_of_the_lost(
            rate in 1u32..2_000, of in 2u32..9, poisson: bool, order in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
            told in prop::collection::vec(0u64..100, 9),
        ) {
            let kind = if poisson { "poisson" } else { "even" };
            let load = format!("rate = {rate}\narrivals = \"{kind}\"\nduration = \"900ms\"");
            let takeovers = takeovers(of, &order);
            let takeovers: Vec<Takeover> =
                takeovers.into_iter().map(|takeover| Takeover { at: takeover.at / 5, ..takeover }).collect();
            // A process is lost when others take over from it: what it sends later never arrives.
            let share = |index: u32| {
                let mut open = Open::new(&plan(&load, 0, Share { index, of })).unwrap();
                let (mut sent, mut known) = (Vec::new(), 0);
                while known < takeovers.len() {
                    // Each process hears of a takeover at another time before it.
                    let at = takeovers[known].at;
                    let heard = at - Duration::from_millis(told[(index as usize + known) % told.len()].min(100));
                    match open.next() {
                        Some(arrival) if arrival.due < heard => sent.push(arrival),
                        _ => {
                            known += 1;
                            open.take_over(&takeovers[..known]);
                            open.take_back();
                        }
                    }
                }
                sent.extend(open);
                let lost = takeovers.iter().find(|takeover| takeover.lost == index);
                sent.retain(|arrival| lost.is_none_or(|lost| arrival.due < lost.at));
                sent
            };
            let mut all: Vec<Arrival> = (0..of).flat_map(share).collect();
            all.sort_by_key(|arrival| arrival.number);
            prop_assert_eq!(all, arrivals(&load, 0));
        }

        #[test]
        fn an_arrival_taken_back_comes_again(rate in 1u32..2_000, of in 1u32..9, poisson: bool, back in prop::collection::vec(any::<bool>(), 400)) {
            let kind = if poisson { "poisson" } else { "even" };
            let load = format!("rate = {rate}\narrivals = \"{kind}\"\nduration = \"200ms\"");
            let mut open = Open::new(&plan(&load, 0, Share { index: 0, of })).unwrap();
            let expected: Vec<Arrival> = open.clone().collect();
            let mut found = Vec::new();
            let mut back = back.iter().cycle();
            while let Some(arrival) = open.next() {
                if *back.next().unwrap() {
                    open.take_back();
                    prop_assert_eq!(open.next(), Some(arrival));
                }
                found.push(arrival);
            }
            prop_assert_eq!(found, expected);
        }
        #[test]
        fn the_number_of_arrivals_is_exact(rate in 1u32..5_000, ms in 1u32..3_000) {
            let load = format!("rate = {rate}\nduration = \"{ms}ms\"");
            let exact = f64::from(rate) * f64::from(ms) / 1e3;
            let found = arrivals(&load, 0).len() as f64;
            // The first arrival comes at once; an arrival due at the very end does not come.
            prop_assert!((found - exact.ceil()).abs() <= 1.0 && found >= exact.floor(), "{found} {exact}");
        }

        #[test]
        fn workers_together_send_the_arrivals_of_one(
            rate in 1u32..2_000, of in 1u32..9, users in 1u32..9, poisson: bool, iterations in prop::option::of(1u32..500),
        ) {
            let kind = if poisson { "poisson" } else { "even" };
            let end = iterations.map_or("duration = \"500ms\"".to_owned(), |n| format!("iterations = {n}"));
            let load = format!("rate = {rate}\nusers = {users}\narrivals = \"{kind}\"\n{end}");
            prop_assert_eq!(shares(&load, of), shares(&load, 1));
        }
    }
}
