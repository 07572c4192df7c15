//! What a user sends once: before its first iteration, and after its last one.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{User, WARMUP, Went};
use crate::measure::Ending;

/// The numbers under which data for these steps is drawn: those of no iteration.
const START: u64 = WARMUP + (1 << 38);
const STOP: u64 = START + (1 << 37);

/// From a failed start to the next attempt.
const AGAIN: Duration = Duration::from_secs(1);

/// After so many failed starts a user gives up where iterations end the round: it would not end if
/// no start ever went well.
const MOST_ATTEMPTS: u64 = 10;

/// How long after the last iteration of all users they may send what they send at their stop.
const GRACE: Duration = Duration::from_secs(3);

impl User<'_> {
    /// Sends the steps of the start at the user's turn, and again a little later when one of them
    /// fails; `false` when the user must not begin its iterations.
    pub(super) async fn start(&mut self, steps: Range<usize>) -> bool {
        let shared = self.shared;
        let gate = &shared.gate;
        for attempt in 0.. {
            let turn = gate.turn_to_start(&mut self.visitor, self.now, &mut self.alarm).await;
            let Some(counted) = turn else { return false };
            self.now = Instant::now();
            // Not before its turn, which may never come.
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

    /// The steps one after another, as far as they go well.
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

    /// Sends the steps of the stop, once no user of the process is within an iteration any more:
    /// all of them, also where one fails. What does not end in time is cut.
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
