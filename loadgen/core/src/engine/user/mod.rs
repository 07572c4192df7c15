//! Runs one user, from its first request to its last.

mod once;

use std::borrow::Cow;
use std::pin::pin;
use std::time::Instant;

use tokio::task::yield_now;

use super::alarm::{Alarm, Rang};
use super::chance::Chance;
use super::check::Check;
use super::countdown::{Countdown, OneLess};
use super::gate::{Admitted, Gate, Visitor};
use super::plan::Plan;
use super::rows::{Supply, Turn};
use super::transport::{Failure, Link, Transport};
use crate::measure::{Ending, ErrorKind, Outcome, Recorder};
use crate::scenario::{Data, OnError, Secrets, Step, ThinkTime};

/// Number of a user's first iteration in the warm-up. The number is far from the numbers of counted
/// iterations, so that the data of counted iterations does not depend on how far the warm-up came.
const WARMUP: u64 = 1 << 39;

/// State that all users of a process share.
pub(super) struct Shared {
    pub plan: Plan,
    pub checks: Vec<Check>,
    pub gate: Gate,
    /// Number of users that have not finished their iterations.
    pub iterating: Countdown,
    pub supply: Supply,
    pub recorder: Recorder,
    pub secrets: Secrets,
    pub transport: Transport,
}

/// A running user.
struct User<'a> {
    shared: &'a Shared,
    visitor: Visitor<'a>,
    data: Data,
    chance: Chance,
    link: Link<'a>,
    alarm: Alarm<'a>,
    counters: Vec<u64>,
    /// Think time before the next request; `None` for none, as before the first request.
    thinks: Option<&'a ThinkTime>,
    /// Last clock reading after a request or a pause. A request needs only two readings: one
    /// before it and one after it.
    now: Instant,
}

impl Shared {
    /// Runs the user with the number `local` in this process, from its first request to its last.
    pub(super) async fn run_user(&self, local: u32) {
        let now = Instant::now();
        let number = self.plan.share.number(local);
        let mut user = User {
            shared: self,
            visitor: Visitor::new(number),
            data: Data::new(self.plan.seed, number.global),
            chance: Chance::new(self.plan.seed, number.global),
            link: self.transport.link(number),
            alarm: Alarm::new(self.gate.round_end(), now),
            counters: Vec::new(),
            thinks: None,
            now,
        };
        user.run().await;
    }
}

impl<'a> User<'a> {
    async fn run(&mut self) {
        let shared: &'a Shared = self.shared;
        let iterating = OneLess(&shared.iterating);
        let (start, stop) = (shared.plan.scenario.start_steps(), shared.plan.scenario.stop_steps());
        // Boxed, like the stop below, so that users without such steps do not
        // carry the memory for them.
        let started = match start.is_empty() {
            true => shared.supply.take_at_start(&mut self.data),
            false => Box::pin(self.start(start)).await,
        };
        if started {
            self.iterations().await;
        }
        drop(iterating);
        if started && !stop.is_empty() {
            Box::pin(self.stop(stop)).await;
        }
    }

    /// Runs one iteration after another, until the gate allows no more iterations.
    async fn iterations(&mut self) {
        let gate: &'a Gate = &self.shared.gate;
        let (mut begun, mut warmed) = (0, WARMUP);
        while let Some(admitted) =
            gate.admit(&mut self.visitor, begun, self.now, &mut self.alarm).await
        {
            let Admitted { counted, due } = admitted;
            let count = if counted { &mut begun } else { &mut warmed };
            self.data.set_iteration(*count);
            let turn = match due {
                Some(due) => Turn::Arrival(due.number),
                None => Turn::Iteration(*count % WARMUP),
            };
            if !self.shared.supply.take(turn, counted, &mut self.data) {
                gate.run_out(admitted);
                break;
            }
            *count += 1;
            if !self.iterate(counted, due.map(|due| due.planned)).await {
                break;
            }
        }
    }

    /// Runs one iteration: sends the steps in order. Returns `false` if the
    /// end of the round cut the iteration short.
    async fn iterate(&mut self, counted: bool, planned: Option<Instant>) -> bool {
        let Shared { plan, gate, .. }: &'a Shared = self.shared;
        let steps = &plan.scenario.steps;
        let first = plan.scenario.start_steps().end;
        for group in plan.scenario.groups() {
            let planned = planned.filter(|_| group.start == first);
            if planned.is_none() && !self.think().await {
                return false;
            }
            // A later step that would begin after the end is not a planned
            // request, so it is not sent.
            if group.start > first && gate.is_closed(self.now) {
                return false;
            }
            let index = match group.len() {
                1 => group.start,
                _ => {
                    let weights = steps[group.clone()].iter().filter_map(|step| step.weight);
                    group.start + self.chance.pick(weights)
                }
            };
            let step = &steps[index];
            match self.attempt(index, step, counted, planned).await {
                Went::Well => {}
                Went::Wrong if plan.scenario.on_error == OnError::Continue => {}
                Went::Wrong => break,
                Went::Cut => return false,
            }
        }
        true
    }

    /// Waits for the user's think time before its next request. Returns
    /// `false` if the round ends first.
    async fn think(&mut self) -> bool {
        let Some(time) = self.thinks else { return true };
        let until = self.now + self.chance.think(time);
        let gate = &self.shared.gate;
        let went_on = self.alarm.sleep_until(gate.end().map_or(until, |end| end.min(until))).await;
        self.now = Instant::now();
        went_on && !gate.is_closed(self.now)
    }

    /// Sends one step, waits for the answer, and counts the request exactly once. Without a
    /// `planned` time, the request is planned for the moment at which it is sent.
    async fn attempt(
        &mut self,
        index: usize,
        step: &'a Step,
        counted: bool,
        planned: Option<Instant>,
    ) -> Went {
        self.counters.clear();
        if let Err(failure) = self.link.render(index, &mut self.data) {
            return self.give_up(index, counted, planned, failure).await;
        }
        let sent = Instant::now();
        let result = {
            let exchange = pin!(self.link.exchange(step));
            self.alarm.guard(sent, step.timeout, exchange).await
        };
        self.now = Instant::now();
        self.thinks =
            step.think_time.as_ref().or(self.shared.plan.scenario.load.think_time.as_ref());
        let has_failed = matches!(result, Ok(Err(_)));
        let (check, secrets) = (&self.shared.checks[index], &self.shared.secrets);
        let message: Cow<'static, str>;
        let (ending, went) = match result {
            Err(Rang::Halted) => (Ending::Cancelled, Went::Cut),
            Err(Rang::Drained) => (Ending::Unanswered, Went::Cut),
            Err(Rang::Deadline) => {
                message = format!("no complete response within {:?}", step.timeout).into();
                (Ending::Failed(ErrorKind::Timeout, &message), Went::Wrong)
            }
            Ok(Err(failure)) => {
                message = secrets.hidden(failure.message);
                (Ending::Failed(failure.kind, &message), Went::Wrong)
            }
            Ok(Ok(answer)) => {
                let latency = Some(self.now - planned.unwrap_or(sent));
                match check.take(&answer, latency, &mut self.counters, &mut self.data) {
                    Ok(()) => (Ending::Answered, Went::Well),
                    Err(wrong) => {
                        message = secrets.hidden(wrong.sentence());
                        (Ending::Failed(wrong.kind, &message), Went::Wrong)
                    }
                }
            }
        };
        self.record(index, counted, planned, sent, self.link.received(), ending);
        if has_failed {
            // This machine's kernel may refuse a connection at once, without any wait. Other tasks
            // of the thread must get their turn, among them the one that ends the round.
            yield_now().await;
        }
        self.link.settle().await;
        went
    }

    /// Counts a failed request that could not be made from the user's captured values.
    async fn give_up(
        &mut self,
        index: usize,
        counted: bool,
        planned: Option<Instant>,
        failure: Failure,
    ) -> Went {
        // This path awaits nothing else: other users of the thread must get their turn.
        yield_now().await;
        self.now = Instant::now();
        let message = self.shared.secrets.hidden(failure.message);
        self.record(index, counted, planned, self.now, 0, Ending::Failed(failure.kind, &message));
        Went::Wrong
    }

    fn record(
        &self,
        step: usize,
        counted: bool,
        planned: Option<Instant>,
        sent: Instant,
        bytes: u64,
        ending: Ending<'_>,
    ) {
        let outcome = Outcome {
            step,
            counted,
            planned: planned.unwrap_or(sent),
            sent: self.shared.gate.is_open().then_some(sent),
            done: self.now,
            bytes,
            ending,
            counters: &self.counters,
        };
        match self.alarm.has_grace() {
            false => self.shared.recorder.record(&outcome),
            true => self.shared.recorder.record_stop(&outcome),
        }
    }
}

/// Result of a request, which decides how the user continues.
enum Went {
    Well,
    Wrong,
    Cut,
}
