//! What one user does, from its first request to its last.

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
use crate::scenario::{Data, OnError, Secrets, Step};

/// The number of a user's first iteration in the warm-up: far from those that count, so that what
/// these send doesn't depend on how far the warm-up came.
const WARMUP: u64 = 1 << 39;

/// What all users of a process share.
pub struct Shared {
    pub plan: Plan,
    pub checks: Vec<Check>,
    pub gate: Gate,
    /// The users that have iterations before them.
    pub iterating: Countdown,
    pub supply: Supply,
    pub recorder: Recorder,
    pub secrets: Secrets,
    pub transport: Transport,
}

/// A user at work.
struct User<'a> {
    shared: &'a Shared,
    visitor: Visitor<'a>,
    data: Data,
    chance: Chance,
    link: Link<'a>,
    alarm: Alarm<'a>,
    counters: Vec<u64>,
    /// Whether it has had an answer to think about.
    thinks: bool,
    /// What the clock showed last: read before each request and after it, and nowhere else.
    now: Instant,
}

impl Shared {
    /// Runs the user number `local` of this process until the gate lets it through no more.
    pub async fn run_user(&self, local: u32) {
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
            thinks: false,
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
        // Apart, as is the stop, so that users without such steps don't carry the memory for them.
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

    /// One iteration after another, until the gate lets it through no more.
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

    /// One pass over the steps; `false` when the end of the round cut it.
    async fn iterate(&mut self, counted: bool, planned: Option<Instant>) -> bool {
        let Shared { plan, gate, .. } = self.shared;
        let steps = &plan.scenario.steps;
        let first = plan.scenario.start_steps().end;
        for group in plan.scenario.groups() {
            let planned = planned.filter(|_| group.start == first);
            if planned.is_none() && !self.think().await {
                return false;
            }
            // A step that would begin after the end is no planned request.
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

    /// Waits as long as the user thinks before its next request; `false` when the round has ended
    /// first.
    async fn think(&mut self) -> bool {
        let Some(time) = &self.shared.plan.scenario.load.think_time else { return true };
        if !self.thinks {
            return true;
        }
        let until = self.now + self.chance.think(time);
        let gate = &self.shared.gate;
        let went_on = self.alarm.sleep_until(gate.end().map_or(until, |end| end.min(until))).await;
        self.now = Instant::now();
        went_on && !gate.is_closed(self.now)
    }

    /// Sends one step, waits for its answer, and counts it, in exactly one place. Where it was not
    /// `planned` for another time, it is for now.
    async fn attempt(
        &mut self,
        index: usize,
        step: &Step,
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
        self.thinks = true;
        let has_failed = matches!(result, Ok(Err(_)));
        let (check, secrets) = (&self.shared.checks[index], &self.shared.secrets);
        let message: Cow<'static, str>;
        let (ending, went) = match result {
            Err(Rang::Halted) => (Ending::Cancelled, Went::Cut),
            Err(Rang::Drained) => (Ending::Unanswered, Went::Cut),
            Err(Rang::Deadline) => {
                message = format!("no whole answer within {:?}", step.timeout).into();
                (Ending::Failed(ErrorKind::Timeout, &message), Went::Wrong)
            }
            Ok(Err(failure)) => {
                message = secrets.hidden(failure.message);
                (Ending::Failed(failure.kind, &message), Went::Wrong)
            }
            Ok(Ok(answer)) => match check.take(&answer, &mut self.counters, &mut self.data) {
                Ok(()) => (Ending::Answered, Went::Well),
                Err(wrong) => {
                    message = secrets.hidden(wrong.sentence());
                    (Ending::Failed(wrong.kind, &message), Went::Wrong)
                }
            },
        };
        self.record(index, counted, planned, sent, self.link.received(), ending);
        if has_failed {
            // A connection may be refused by this machine's own kernel at once, before anything was
            // waited for: others of the thread must come to their turn, the end of the round among them.
            yield_now().await;
        }
        self.link.settle().await;
        went
    }

    /// Counts a request that could not be made of what the user has captured.
    async fn give_up(
        &mut self,
        index: usize,
        counted: bool,
        planned: Option<Instant>,
        failure: Failure,
    ) -> Went {
        // Nothing is waited for: other users of the thread must come to their turn.
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

/// How a request went, as far as the user that sent it is concerned.
enum Went {
    Well,
    Wrong,
    Cut,
}
