//! Runs one user, from its first request to its last.

mod once;
mod outcomes;
mod socket;
mod tracer;

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

use self::outcomes::Iteration;
use self::tracer::Tracer;
use super::alarm::{Alarm, Rang};
use super::chance::Chance;
use super::check::Check;
use super::countdown::{Countdown, OneLess};
use super::gate::{Admitted, Gate, Visitor};
use super::plan::Plan;
use super::rows::{Supply, Turn};
use super::takeover::Place;
use super::tracing::Tracing;
use super::transport::{Failure, Link, Transport};
use loadgen_measure::{Ending, ErrorKind, Recorder};
use loadgen_scenario::{Assign, Data, Model, OnError, Secrets, Step, ThinkTime};

/// Number of a user's first iteration in the warm-up. The number is far from the numbers of counted
/// iterations, so that the data of counted iterations does not depend on how far the warm-up came.
const WARMUP: u64 = 1 << 39;

/// Pause of a user after an iteration that sent nothing.
const IDLE: Duration = Duration::from_millis(10);

/// State that all users of a process share.
pub(super) struct Shared {
    pub plan: Plan,
    pub checks: Vec<Check>,
    /// Values that all users have from the start: [`Plan::known`].
    pub known: Arc<[(String, String)]>,
    pub gate: Gate,
    /// Number of users that have not finished their iterations.
    pub iterating: Countdown,
    pub supply: Supply,
    pub recorder: Recorder,
    pub secrets: Secrets,
    pub transport: Transport,
    /// `None` if no request is traced.
    pub tracing: Option<Tracing>,
}

/// A running user.
struct User<'a> {
    shared: &'a Shared,
    visitor: Visitor<'a>,
    data: Data,
    chance: Chance,
    link: Link,
    alarm: Alarm<'a>,
    counters: Vec<u64>,
    /// `None` if no request is traced.
    tracer: Option<Box<Tracer<'a>>>,
    /// Think time before the next request; `None` for none, as before the first request.
    thinks: Option<&'a ThinkTime>,
    /// Time of the send of the last request.
    sent: Instant,
    /// Time of the end of the last request.
    done: Instant,
    /// Last clock reading after a request or a pause. A request needs only two readings: one
    /// before it and one after it.
    now: Instant,
}

impl Shared {
    /// Runs the user with the number `local` in this process, from its first request to its last.
    pub(super) async fn run_user(&self, local: u32, place: Place) {
        let now = Instant::now();
        let number = self.plan.share.number(local);
        let mut user = User {
            shared: self,
            visitor: Visitor::new(number, place),
            data: Data::new(
                place.seed(self.plan.seed),
                self.plan.first_user.saturating_add(place.number),
            )
            .knowing(self.known.clone()),
            chance: Chance::new(place.seed(self.plan.seed), place.number),
            link: self.transport.link(number),
            alarm: Alarm::new(self.gate.round_end(), now),
            counters: Vec::new(),
            tracer: Tracer::of(self, number.global).map(Box::new),
            thinks: None,
            sent: now,
            done: now,
            now,
        };
        match user.link.socket().cloned() {
            None => user.run().await,
            Some(socket) => Box::pin(socket::run(user.run(), &socket)).await,
        }
    }

    /// Like [`Shared::run_user`], from this time after the common start on.
    pub(super) async fn run_user_at(&self, local: u32, place: Place, at: Duration) {
        let mut alarm = Alarm::new(self.gate.round_end(), Instant::now());
        match alarm.sleep_until(self.gate.moment(at)).await {
            true => self.run_user(local, place).await,
            // The round has ended.
            false => drop(OneLess(&self.iterating)),
        }
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
        while self.has_socket(begun).await {
            let admitted = gate.admit(&mut self.visitor, begun, self.now, &mut self.alarm);
            let Some(admitted) = self.link.tended(admitted).await else { break };
            let Admitted { counted, due } = admitted;
            let count = if counted { &mut begun } else { &mut warmed };
            self.data.set_iteration(self.visitor.place.first_iteration() + *count);
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

    /// Runs one iteration: sends the steps of a flow in order. Returns `false` if the end of the round
    /// cut the iteration short.
    async fn iterate(&mut self, counted: bool, mut planned: Option<Instant>) -> bool {
        let Shared { plan, gate, .. }: &'a Shared = self.shared;
        let scenario = &plan.scenario;
        let flow = self.take_flow();
        let mut iteration = Iteration { flow, counted, begun: planned, paused: Duration::ZERO };
        let mut failed = None;
        'steps: for choice in scenario.choices(&scenario.flows[flow]) {
            let index = match choice.len() {
                1 => choice.start,
                _ => {
                    let weights = scenario.steps[choice.clone()].iter().filter_map(|it| it.weight);
                    choice.start + self.chance.pick(weights)
                }
            };
            let step = &scenario.steps[index];
            for _ in 0..self.chance.times(step.repeat) {
                if step.given.as_ref().is_some_and(|given| !given.holds(&self.data)) {
                    break;
                }
                let is_first = iteration.begun.is_none() || planned.is_some();
                if planned.is_none() {
                    let before = self.now;
                    let went_on = self.think().await;
                    if !is_first {
                        iteration.paused += self.now - before;
                    }
                    // A later request that would begin after the end is not a planned request, so
                    // it is not sent.
                    if !went_on || (!is_first && gate.is_closed(self.now)) {
                        self.record_iteration(&iteration, Ending::Cancelled);
                        return false;
                    }
                }
                let went = self.attempt(index, step, counted, planned.take()).await;
                iteration.begun.get_or_insert(self.sent);
                match went {
                    Went::Well => {}
                    Went::Wrong(kind) => {
                        failed.get_or_insert((kind, &step.name));
                        if scenario.on_error == OnError::NextIteration {
                            break 'steps;
                        }
                    }
                    Went::Cut(ending) => {
                        self.record_iteration(&iteration, ending);
                        return false;
                    }
                }
            }
        }
        if iteration.begun.is_none() || planned.is_some() {
            // No step had its condition. A user that began again at once would take a whole CPU.
            let idle = self.alarm.sleep_until(self.now + IDLE);
            let went_on = self.link.tended(idle).await;
            self.now = Instant::now();
            return went_on && !gate.is_closed(self.now);
        }
        match failed {
            None => self.record_iteration(&iteration, Ending::Answered),
            Some((kind, step)) => {
                let message = format!("the step `{step}` failed");
                self.record_iteration(&iteration, Ending::Failed(kind, &message));
            }
        }
        true
    }

    /// Returns the index of the flow for the user's next iteration. In the open model, whichever user is
    /// free sends, so that only flows of iterations keep their weights.
    fn take_flow(&mut self) -> usize {
        let scenario = &self.shared.plan.scenario;
        match (scenario.flows.as_slice(), scenario.assign) {
            ([_], _) => 0,
            (_, Assign::User) if scenario.load.model == Model::Closed => {
                scenario.flow_of_user(self.data.user())
            }
            (flows, _) => self.chance.pick(flows.iter().map(|flow| flow.weight)),
        }
    }

    /// Waits for the user's think time before its next request. Returns
    /// `false` if the round ends first.
    async fn think(&mut self) -> bool {
        let Some(time) = self.thinks else { return true };
        let until = self.now + self.chance.think(time);
        let gate = &self.shared.gate;
        let sleep = self.alarm.sleep_until(gate.end().map_or(until, |end| end.min(until)));
        let went_on = self.link.tended(sleep).await;
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
        if let Some(tracer) = &mut self.tracer
            && let Some(context) = tracer.begin(index)
        {
            self.link.tell_trace(context);
        }
        let sent = Instant::now();
        // Others may have used a shared connection meanwhile.
        let is_shared = self.shared.plan.scenario.http.sharing.is_set();
        let idle = if is_shared { Duration::ZERO } else { sent - self.done };
        (self.sent, self.now) = (sent, sent);
        if let Some(planned) = planned {
            self.shared.gate.record_send(planned, sent);
        }
        let deadline = sent + step.timeout;
        let check = &self.shared.checks[index];
        let result = loop {
            let result = {
                let exchange = pin!(self.link.exchange(step));
                self.alarm.guard(self.now, deadline, exchange).await
            };
            self.now = Instant::now();
            match &result {
                Ok(Ok(answer)) if check.passes_over(answer) => {
                    let shown = answer.shown();
                    drop(result);
                    self.link.pass_over(shown);
                }
                _ => break result,
            }
        };
        self.done = self.now;
        self.thinks =
            step.think_time.as_ref().or(self.shared.plan.scenario.load.think_time.as_ref());
        let has_failed = matches!(result, Ok(Err(_)));
        let secrets = &self.shared.secrets;
        let message: Cow<'static, str>;
        let (ending, went) = match result {
            Err(Rang::Halted) => (Ending::Cancelled, Went::Cut(Ending::Cancelled)),
            Err(Rang::Drained) => (Ending::Unanswered, Went::Cut(Ending::Unanswered)),
            Err(Rang::Deadline) => {
                message = secrets.hidden(self.link.give_up(step));
                (Ending::Failed(ErrorKind::Timeout, &message), Went::Wrong(ErrorKind::Timeout))
            }
            Ok(Err(failure)) => {
                let kind = failure.kind;
                message = secrets.hidden(failure.explained(step, idle));
                (Ending::Failed(kind, &message), Went::Wrong(kind))
            }
            Ok(Ok(answer)) => {
                if let Some(tracer) = &mut self.tracer {
                    tracer.answered(answer.status);
                }
                let latency = Some(self.now - planned.unwrap_or(sent));
                match check.take(&answer, latency, &mut self.counters, &mut self.data) {
                    Ok(()) => (Ending::Answered, Went::Well),
                    Err(wrong) => {
                        message = secrets.hidden(wrong.sentence());
                        (Ending::Failed(wrong.kind, &message), Went::Wrong(wrong.kind))
                    }
                }
            }
        };
        self.record(index, counted, planned, sent, self.link.received(step), ending);
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
        self.sent = self.now;
        let message = self.shared.secrets.hidden(failure.message);
        self.record(index, counted, planned, self.now, 0, Ending::Failed(failure.kind, &message));
        Went::Wrong(failure.kind)
    }
}

/// Result of a request, which decides how the user continues.
enum Went {
    Well,
    /// The request failed. Holds the kind of the error.
    Wrong(ErrorKind),
    /// The end of the round cut the request off. Holds the category in which it is counted.
    Cut(Ending<'static>),
}
