//! Simulates a machine whose noise goes on in time, and the servers on it.

use crate::statistics::simulations::{Machine, REAL};

/// Noise of a machine and of the servers on it, as shares of a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    /// Standard deviation over one second that neighbouring seconds do not share. Over more time, it
    /// falls with the root of the time.
    pub(super) second: f64,
    /// Standard deviation of the machine's speed, which both targets share and which wanders about a
    /// mean (an Ornstein–Uhlenbeck process).
    pub(super) speed: f64,
    /// Time in s after which the correlation of the speed has fallen to 1 / e.
    pub(super) lasts_s: f64,
    /// Standard deviation of the change of the machine's speed within one second that stays (a random
    /// walk).
    pub(super) walk: f64,
    /// Mean time in s from one disturbance to the next. A disturbance lasts 3 s, and slows the machine by
    /// 10 % on average.
    pub(super) undisturbed_s: f64,
    /// Standard deviation of what each start of a server brings with it.
    pub(super) start: f64,
}

/// Noise that neighbours make on a shared machine with two cores. There, in the same minute, the 95 %
/// intervals of the ratio of two servers were ±5.3 to 7.1 % wide from 60 slices of 300 ms, and ±9.3 to 23 %
/// from 5 slices of 5 s: `the_noise_is_that_of_a_shared_machine` checks that this noise gives the same.
/// Starts of a server differed by 1 to 2 %.
pub(super) const NEIGHBOURS: Noise = Noise {
    second: 0.09,
    speed: 0.12,
    lasts_s: 5.0,
    walk: 0.0,
    undisturbed_s: f64::INFINITY,
    start: 0.015,
};

/// The noise [`REAL`] of rounds of 3 s, spread over time: 3 % of a round are 1.5 % of a start and 2.6 % of
/// three seconds; the speed changes by 2 % in the six seconds from one round to the next; and one round
/// in forty is disturbed.
pub(super) const QUIET: Noise = Noise {
    second: 0.045,
    speed: 0.0,
    lasts_s: 1.0,
    walk: 0.008,
    undisturbed_s: 120.0,
    start: 0.015,
};

/// Resolution of time, in s.
const STEP: f64 = 0.05;

/// Two equal targets on a machine whose speed changes as time passes.
pub(super) struct Time {
    random: Machine,
    noise: Noise,
    speed: f64,
    walked: f64,
    /// Time until the next disturbance, or, if it is negative, since the beginning of the present one.
    disturbed_in: f64,
    slowdown: f64,
}

impl Time {
    pub(super) fn new(seed: u64, noise: Noise) -> Self {
        let random = Machine::new(seed, REAL);
        let mut time =
            Self { random, noise, speed: 0.0, walked: 0.0, disturbed_in: 0.0, slowdown: 0.0 };
        time.speed = noise.speed * time.random.normal();
        time.await_disturbance();
        time
    }

    /// Returns an exponentially distributed random number with the mean 1.
    fn exponential(&mut self) -> f64 {
        (self.random.normal().powi(2) + self.random.normal().powi(2)) / 2.0
    }

    fn await_disturbance(&mut self) {
        self.disturbed_in = self.noise.undisturbed_s * self.exponential();
        self.slowdown = 0.1 * self.exponential();
    }

    /// Lets time pass, and returns the mean logarithm of the machine's speed over this time.
    pub(super) fn pass(&mut self, seconds: f64) -> f64 {
        const DISTURBANCE: f64 = 3.0;
        let Noise { speed, lasts_s, walk, .. } = self.noise;
        let kept = (-STEP / lasts_s).exp();
        let steps = (seconds / STEP).round().max(1.0) as u32;
        let mut sum = 0.0;
        for _ in 0..steps {
            if speed > 0.0 {
                let new = speed * (1.0 - kept * kept).sqrt() * self.random.normal();
                self.speed = kept * self.speed + new;
            }
            if walk > 0.0 {
                self.walked += walk * STEP.sqrt() * self.random.normal();
            }
            self.disturbed_in -= STEP;
            if self.disturbed_in < 0.0 {
                sum -= self.slowdown;
            }
            if self.disturbed_in < -DISTURBANCE {
                self.await_disturbance();
            }
            sum += self.speed + self.walked;
        }
        sum / f64::from(steps)
    }

    /// Loads a target for this time, and returns the logarithm of its rate.
    pub(super) fn load(&mut self, seconds: f64) -> f64 {
        self.pass(seconds) + self.noise.second / seconds.sqrt() * self.random.normal()
    }

    /// Returns what a start of a server brings with it.
    pub(super) fn start(&mut self) -> f64 {
        self.noise.start * self.random.normal()
    }
}
