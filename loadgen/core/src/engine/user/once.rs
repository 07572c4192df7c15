//! Sends the steps that a user sends once: before its first iteration, and after its last one.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{User, WARMUP, Went};
use crate::measure::Ending;

/// Iteration numbers under which the data of these steps is drawn: no iteration has them.
const START: u64 = WARMUP + (1 << 38);
const STOP: u64 = START + (1 << 37);

/// Delay from a failed start to the next attempt.
const AGAIN: Duration = Duration::from_secs(1);

/// Number of failed starts after which a user gives up, if iterations end the round. Without this
/// limit the round would not end if every start failed.
const MOST_ATTEMPTS: u64 = 10;

/// Time for the stop steps, from the end of the last iteration of all users of the process.
const GRACE: Duration = Duration::from_secs(3);

impl User<'_> {
    /// Sends the start steps at the user's turn, and again a little later if one of them fails.
    /// Returns `false` if the user must not begin its iterations.
    pub(super) async fn start(&mut self, steps: Range<usize>) -> bool {
        let shared = self.shared;
        let gate = &shared.gate;
        for attempt in 0.. {
            let turn = gate.turn_to_start(&mut self.visitor, self.now, &mut self.alarm).await;
            let Some(counted) = turn else { return false };
            self.now = Instant::now();
            // The user takes rows at its turn and not before, because its turn may never come.
            if attempt == 0 && !self.shared.supply.take_at_start(&mut self.data) {
                return false;
            }
            self.data.set_iteration(START + attempt);
            match self.attempt_all(steps.clone(), counted).await {
                Went::Well => return true,
                Went::Cut => return false,
                Went::Wrong => {}
            }
            if gate.end().is_none() && attempt + 1 == MOST_ATTEMPTS {
                return false;
            }
            let again = self.now + AGAIN;
            if !self.alarm.sleep_until(gate.end().map_or(again, |end| end.min(again))).await {
                return false;
            }
            self.now = Instant::now();
        }
        false
    }

    /// Sends the steps one after another, until one does not go well.
    async fn attempt_all(&mut self, steps: Range<usize>, counted: bool) -> Went {
        let shared = self.shared;
        for index in steps {
            if !self.think().await || shared.gate.is_closed(self.now) {
                return Went::Cut;
            }
            let step = &shared.plan.scenario.steps[index];
            match self.attempt(index, step, counted, None).await {
                Went::Well => {}
                other => return other,
            }
        }
        Went::Well
    }

    /// Sends the stop steps, once no user of the process is within an iteration any more: all of
    /// them, even if one fails. Cuts requests that do not end in time.
    pub(super) async fn stop(&mut self, steps: Range<usize>) {
        let shared = self.shared;
        shared.iterating.wait().await;
        self.now = Instant::now();
        self.alarm.grant(self.now + GRACE);
        self.data.set_iteration(STOP);
        let mut cut = false;
        for index in steps {
            if cut {
                self.record(index, true, None, self.now, 0, Ending::Cancelled);
                continue;
            }
            let step = &shared.plan.scenario.steps[index];
            cut = matches!(self.attempt(index, step, true, None).await, Went::Cut);
        }
    }
}
