//! Sends the steps that a user sends once: before its first iteration, and after its last one.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{User, WARMUP, Went};
use loadgen_measure::Ending;

/// Iteration numbers under which the data of start steps and stop steps is
/// generated. No real iteration has these numbers.
const START: u64 = WARMUP + (1 << 38);
const STOP: u64 = START + (1 << 37);

/// Delay from a failure of the start steps to the next attempt.
const AGAIN: Duration = Duration::from_secs(1);

/// Number of failed attempts at the start steps after which a user gives up, if iterations end the
/// round. Without this limit, the round would not end if every attempt failed.
const MOST_ATTEMPTS: u64 = 10;

/// Time limit for the stop steps, from the end of the last iteration of all users of the process.
const GRACE: Duration = Duration::from_secs(3);

impl User<'_> {
    /// Sends the start steps when the gate allows the user to start, and again a second later if
    /// one of them fails. Returns `false` if the user must not begin its iterations.
    pub(super) async fn start(&mut self, steps: Range<usize>) -> bool {
        let shared = self.shared;
        let gate = &shared.gate;
        let earlier = self.link.socket().map_or(0, |socket| socket.starts());
        for attempt in earlier.. {
            let turn = gate.turn_to_start(&mut self.visitor, self.now, &mut self.alarm).await;
            let Some(counted) = turn else { return false };
            self.now = Instant::now();
            // The user takes rows at its turn and not before, because its turn may never come.
            if attempt == 0 && !self.shared.supply.take_at_start(&mut self.data) {
                return false;
            }
            self.data.set_iteration(START + attempt);
            if let Some(socket) = self.link.socket() {
                socket.count_start();
            }
            match self.attempt_all(steps.clone(), counted).await {
                Went::Well => return true,
                Went::Cut(_) => return false,
                Went::Wrong(_) => {}
            }
            if gate.end().is_none() && attempt + 1 - earlier == MOST_ATTEMPTS {
                return false;
            }
            let again = self.now + AGAIN;
            let again = gate.end().map_or(again, |end| end.min(again));
            if !self.link.tended(self.alarm.sleep_until(again)).await {
                return false;
            }
            self.now = Instant::now();
        }
        false
    }

    /// Sends the start steps again if they open a WebSocket that is lost, and another iteration may
    /// follow the `begun` ones. Returns `false` if the user must not begin another iteration.
    pub(super) async fn has_socket(&mut self, begun: u64) -> bool {
        let Some(socket) = self.link.socket() else { return true };
        let scenario = &self.shared.plan.scenario;
        let is_last = self.shared.gate.has_none_left(begun);
        if !socket.is_lost() || !scenario.connects_at_start() || is_last {
            return true;
        }
        Box::pin(self.start(scenario.start_steps())).await
    }

    /// Sends the steps in order, until one fails or is cut off by the end of
    /// the round. Returns the result of the last step.
    async fn attempt_all(&mut self, steps: Range<usize>, counted: bool) -> Went {
        let shared = self.shared;
        for index in steps {
            if !self.think().await || shared.gate.is_closed(self.now) {
                return Went::Cut(Ending::Cancelled);
            }
            let step = &shared.plan.scenario.steps[index];
            match self.attempt(index, step, counted, None).await {
                Went::Well => {}
                other => return other,
            }
        }
        Went::Well
    }

    /// Sends the stop steps, even if one fails, after the last iteration of all users of the
    /// process. Cuts off a request at the time limit; the remaining steps then count as cancelled.
    pub(super) async fn stop(&mut self, steps: Range<usize>) {
        let shared = self.shared;
        self.link.tended(shared.iterating.wait()).await;
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
            cut = matches!(self.attempt(index, step, true, None).await, Went::Cut(_));
        }
    }
}
