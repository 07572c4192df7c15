//! Runs one round, from the common start to the last report.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use super::start::{Acknowledged, sending, start_skew};
use super::{Cluster, PreparedRound, TICK};
use crate::bus::Event;
use crate::error::ClusterError;
use crate::messages::{Command, News, Report};
use crate::round_state::{Action, Input, OnLoss, RoundState, Schedule};
use loadgen_engine::{
    Deal, LoadChange, Plan, Results, RoundControl, Seen, Share, StartSkew, Takeover,
};
use loadgen_measure::GrowingSeries;
use loadgen_scenario::{Load, Model};

/// Time from the last command to start until the start of all workers, in addition to the longest
/// round-trip time to a worker: far longer than a command waits anywhere on its way.
const LEAD: Duration = Duration::from_millis(100);
/// Time limit for a worker to acknowledge a command.
const COMMAND_LIMIT: Duration = Duration::from_secs(3);
/// Maximum wait for the end of a lost worker's process, to report its exit status.
const AUTOPSY_LIMIT: Duration = Duration::from_millis(200);

/// Returns the empty results of a round that was ended before it began.
pub(super) fn not_begun(cluster: &Cluster, users: u32) -> Results {
    let (measured, drain) = (Duration::ZERO, Duration::ZERO);
    let schedule = Schedule { measured, end: None, drain, last_stage: 0 };
    let (epoch, lost) = (cluster.epoch, cluster.lost());
    let (workers, on_loss) = (cluster.size, cluster.on_loss);
    let state = RoundState::new(epoch, workers, &cluster.absent, lost, schedule, on_loss);
    let results = state.into_results(|_| Duration::ZERO);
    let start_skew = Some(StartSkew::default());
    Results { start_skew, ..cluster.told_of(results, users, &BTreeMap::new()) }
}

/// A round that has started, with everything that the manager needs to control the round.
pub(super) struct RoundUnderWay<'a, F> {
    cluster: &'a mut Cluster,
    plan: &'a Plan,
    /// Digest of the encoded plan that the workers must run.
    digest: String,
    /// Time at which the manager began to send the command to start.
    began: Instant,
    /// Time from the first command to start until the start of all workers.
    lead: Duration,
    state: RoundState,
    round_trips: BTreeMap<u32, Duration>,
    start_skew: StartSkew,
    /// Commands to stop that are in flight. Their outcome is ignored: a worker that
    /// doesn't obey misses the deadline.
    stopping: JoinSet<(u32, Result<(), ClusterError>)>,
    /// Commands to change the load that workers have not acknowledged yet.
    changing: JoinSet<(u32, Result<(), ClusterError>)>,
    changes: Vec<LoadChange>,
    takeovers: Vec<Takeover>,
    show: F,
}

impl<'a, F: FnMut(Seen<'_>, &mut GrowingSeries)> RoundUnderWay<'a, F> {
    /// Starts all workers at the same time: at `start`, or as soon as all of them can.
    pub(super) async fn start(
        cluster: &'a mut Cluster,
        plan: &'a Plan,
        PreparedRound { digest, round_trips }: PreparedRound,
        start: Option<std::time::Instant>,
        show: F,
    ) -> Self {
        let epoch = cluster.epoch;
        let began = Instant::now();
        let lead = start.map_or(LEAD + until_heard(&round_trips), |start| {
            Instant::from_std(start).saturating_duration_since(began)
        });
        let mut starting = cluster.send_start(began, lead, &round_trips);
        let schedule = Schedule {
            measured: lead + plan.warmup,
            end: plan.length().map(|length| lead + length),
            drain: plan.scenario.load.drain,
            last_stage: u32::try_from(plan.scenario.load.stage_ends().len()).unwrap_or(u32::MAX),
        };
        let (workers, lost) = (cluster.size, cluster.lost());
        let state =
            RoundState::new(epoch, workers, &cluster.absent, lost, schedule, cluster.on_loss);
        let mut round = Self {
            cluster,
            plan,
            digest,
            began,
            lead,
            state,
            round_trips,
            start_skew: StartSkew::default(),
            stopping: JoinSet::new(),
            changing: JoinSet::new(),
            changes: Vec::new(),
            takeovers: Vec::new(),
            show,
        };
        round.show(Seen::Started((began + lead).into_std()));
        let mut acknowledged = Vec::new();
        // None of these tasks panics or is cancelled.
        while let Some(Ok((worker, started))) = starting.join_next().await {
            match started {
                Ok(worker) => acknowledged.push(worker),
                Err(error) => round.take(Input::Left(worker, error.to_string())),
            }
        }
        round.start_skew = start_skew(&acknowledged);
        if round.cluster.on_loss == OnLoss::Redistribute {
            // Workers may have been lost after the load was dealt, and before the round.
            let gone: Vec<u32> = round.cluster.gone.keys().copied().collect();
            gone.into_iter().for_each(|worker| round.take_over(worker));
        }
        round
    }

    /// Collects the workers' reports until all workers have finished or are lost.
    pub(super) async fn collect(mut self, mut control: RoundControl) -> Results {
        let stop = control.stop.clone();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_told = false;
        while !self.state.is_over() {
            let input = tokio::select! {
                event = self.cluster.events.recv() => match event {
                    Some(event) => self.input(event).await,
                    // Never happens: this cluster owns the session, which holds the sender.
                    None => break,
                },
                () = stop.cancelled(), if !is_told => {
                    is_told = true;
                    Input::Stop
                }
                // One change at a time, so that no worker receives the later change first.
                asked = control.next(), if !is_told && self.changing.is_empty() => {
                    let heard = self.since_start() + until_heard(&self.round_trips);
                    if let Some(change) = asked.decide(self.plan, heard) {
                        self.change(change);
                    }
                    continue;
                }
                Some(Ok((worker, taken))) = self.changing.join_next() => match taken {
                    // Without the change this worker would no longer
                    // run the same load as the others.
                    Err(error) if self.state.awaits(worker) => Input::Left(worker, error.to_string()),
                    _ => continue,
                },
                _ = tick.tick() => {
                    self.show(Seen::Tick);
                    Input::Tick
                }
            };
            self.take(input);
        }
        self.show(Seen::Complete);
        let lasted = self.since_start();
        let load = &self.plan.scenario.load;
        let results = self.state.into_results(|seconds| held(load, seconds));
        let mut results = self.cluster.told_of(results, load.users, &self.round_trips);
        // A round that was stopped may have ended before a takeover.
        self.takeovers.retain(|takeover| takeover.at <= lasted);
        Self::tell_losses(&self.takeovers, self.cluster, self.plan, &mut results);
        Results { changes: self.changes, start_skew: Some(self.start_skew), ..results }
    }

    fn show(&mut self, seen: Seen<'_>) {
        (self.show)(seen, self.state.series());
    }

    /// Returns the time since the common start of all workers; zero before the start.
    fn since_start(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.lead)
    }

    /// Tells all workers to change the load.
    fn change(&mut self, change: LoadChange) {
        self.changes.push(change);
        let epoch = self.cluster.epoch;
        let command = |_| Command::Change { epoch, change };
        self.cluster.send_to_all(&mut self.changing, "a change", command, COMMAND_LIMIT);
    }

    async fn input(&mut self, event: Event) -> Input {
        match event {
            Event::Report(Report { epoch, worker, news: News::Finished(_, digest) })
                if epoch == self.cluster.epoch && digest != self.digest =>
            {
                Input::Left(worker, "it ran another scenario than the manager sent".to_owned())
            }
            Event::Report(report) => Input::Report(report),
            // A worker counts as present when its liveliness token appears.
            Event::Hello(_) => Input::Tick,
            // Neither process is a worker of this round.
            Event::Occupied(_) | Event::Refused { .. } => Input::Tick,
            Event::Joined(worker) => Input::Joined(worker),
            Event::Left(worker) if self.state.awaits(worker) => {
                Input::Left(worker, self.autopsy(worker).await)
            }
            Event::Left(worker) => Input::Left(worker, "it left after a round".to_owned()),
            Event::Foreign(reason) => Input::Noise(reason),
        }
    }

    /// Passes an event and the current time to the round's state, and
    /// carries out the resulting actions.
    fn take(&mut self, input: Input) {
        for action in self.state.take(self.began.elapsed(), input) {
            match action {
                Action::Show(worker, snapshot) => self.show(Seen::Snapshot(worker, &snapshot)),
                Action::StopAll => {
                    let epoch = self.cluster.epoch;
                    let stop = |_| Command::Stop { epoch };
                    self.stopping = self.cluster.send_all("the stop", stop, COMMAND_LIMIT);
                }
                Action::Lose(lost) => {
                    self.cluster.gone.insert(lost.worker, lost.why.clone());
                    self.show(Seen::Lost(&lost));
                }
                Action::Fence(worker) => self.cluster.fence(worker),
                Action::TakeOver(lost) => self.take_over(lost),
            }
        }
    }

    /// Tells all workers that are left to carry the load of a lost one, unless the round is about to end.
    fn take_over(&mut self, lost: u32) {
        let heard = self.since_start() + until_heard(&self.round_trips);
        let Some(at) = LoadChange::when(self.plan, heard) else { return };
        let Some(lost) = self.cluster.share(lost) else { return };
        let left = self.cluster.present().into_iter().filter(|worker| self.state.awaits(*worker));
        let left = left.filter_map(|worker| Some(self.cluster.share(worker)?.index));
        let load = &self.plan.scenario.load;
        let Some(takeover) = takeover(load, at, &self.takeovers, lost, left) else { return };
        self.takeovers.push(takeover);
        let (epoch, takeovers) = (self.cluster.epoch, &self.takeovers);
        let command = |_| Command::TakeOver { epoch, takeovers: takeovers.clone() };
        self.cluster.send_to_all(&mut self.changing, "a takeover", command, COMMAND_LIMIT);
    }

    /// Adds to the results of a round that has just ended what became of the users of lost workers.
    fn tell_losses(takeovers: &[Takeover], cluster: &Cluster, plan: &Plan, results: &mut Results) {
        for lost in &mut results.lost {
            let index = cluster.share(lost.worker).map(|share| share.index);
            let taken = takeovers.iter().find(|takeover| Some(takeover.lost) == index);
            lost.taken_over = taken.map(|takeover| takeover.at.saturating_sub(plan.warmup));
        }
        let lost = results.lost.iter().filter_map(|lost| Some(cluster.share(lost.worker)?.index));
        let lost: Vec<u32> = lost.collect();
        // There are no more hands than workers, whose number is a `u32`.
        let mut deal = Deal::new(cluster.hands.len() as u32);
        deal.learn(takeovers);
        let is_lost = |user: &u32| lost.contains(&deal.owner((*user).into(), Duration::MAX));
        results.users_lost = (0..plan.scenario.load.users).filter(is_lost).count() as u32;
    }

    /// Returns why the connection of a worker was lost. If the worker's process on this machine
    /// ends within `AUTOPSY_LIMIT`, the reason contains its exit status.
    async fn autopsy(&mut self, worker: u32) -> String {
        let deadline = Instant::now() + AUTOPSY_LIMIT;
        while let Some(process) = self.cluster.processes.get_mut(worker as usize) {
            if let Some(status) = process.ended() {
                return format!("its process ended ({status})");
            }
            if Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(AUTOPSY_LIMIT / 10).await;
        }
        let session = self.cluster.sessions.iter_mut().find(|session| session.has(worker));
        if let Some(session) = session {
            let host = session.host().to_owned();
            // How a worker ended is told by its host.
            tokio::time::sleep(AUTOPSY_LIMIT).await;
            return match (session.ended().await, session.said()) {
                (Some(why), _) => format!("the connection to {host} has ended: {why}"),
                (None, Some(said)) => format!("it no longer answers; {host} said last: {said}"),
                (None, None) => format!("it no longer answers, on {host}"),
            };
        }
        match self.cluster.processes.is_empty() {
            true => "it no longer answers".to_owned(),
            false => "it no longer answers, although its process runs".to_owned(),
        }
    }
}

/// Returns the takeover from a worker that had the share `lost` of the load, by the workers with the shares `left`, at
/// this time and after the `earlier` takeovers; `None` if there is nothing to take over, or nobody to do it.
fn takeover(
    load: &Load,
    at: Duration,
    earlier: &[Takeover],
    lost: Share,
    left: impl Iterator<Item = u32>,
) -> Option<Takeover> {
    // Each takeover has a moment of its own.
    let at = earlier.last().map_or(at, |last| at.max(last.at + Duration::from_nanos(1)));
    // The open model deals its arrivals to those that have a user.
    let hands = if load.model == Model::Closed { lost.of } else { lost.of.min(load.users) };
    let by: Vec<u32> = left.filter(|index| *index < hands).collect();
    let takeover = Takeover { at, lost: lost.index, by };
    let is_known = earlier.iter().any(|earlier| earlier.lost == lost.index);
    (!is_known && lost.index < hands && !takeover.by.is_empty()).then_some(takeover)
}

/// Returns the time in which a command to each worker reaches all of them: the manager sends one after
/// another, and the farthest worker receives the last one later by its round trip.
fn until_heard(round_trips: &BTreeMap<u32, Duration>) -> Duration {
    sending(round_trips.len()) + round_trips.values().max().copied().unwrap_or_default()
}

impl Cluster {
    /// Adds to each worker's results what the manager knows about the worker: host,
    /// number of users, and round-trip time.
    fn told_of(
        &self,
        mut results: Results,
        users: u32,
        round_trips: &BTreeMap<u32, Duration>,
    ) -> Results {
        results.workers.retain(|of| self.share(of.worker).is_some());
        for of in &mut results.workers {
            of.host = self.host(of.worker);
            of.users = self.share(of.worker).map_or(0, |share| share.users(users));
            of.round_trip = round_trips.get(&of.worker).copied();
        }
        results
    }

    /// Commands all present workers, one after another from `now` on, to start `lead` after `now`.
    fn send_start(
        &self,
        now: Instant,
        lead: Duration,
        round_trips: &BTreeMap<u32, Duration>,
    ) -> JoinSet<(u32, Result<Acknowledged, ClusterError>)> {
        let (mut starting, epoch, start) = (JoinSet::new(), self.epoch, now + lead);
        for (place, worker) in (0..).zip(self.present()) {
            let bus = self.bus.clone();
            let round_trip = round_trips.get(&worker).copied().unwrap_or_default();
            starting.spawn(async move {
                sleep_until(now + sending(place)).await;
                // The command may leave later than planned, so compute the delay last.
                let sent = Instant::now();
                let after = start.saturating_duration_since(sent).saturating_sub(round_trip / 2);
                let start = Command::Start { epoch, after };
                let started = bus.command(worker, "the start", &start, COMMAND_LIMIT).await;
                (worker, started.map(|()| Acknowledged { round_trip, took: sent.elapsed() }))
            });
        }
        starting
    }

    /// Ensures that a lost worker puts no more load on the target, even if the worker was
    /// only paused. Kills the worker's process if the process is on this machine, and in any
    /// case commands the worker to leave.
    pub(super) fn fence(&mut self, worker: u32) {
        self.kill(worker);
        let bus = self.bus.clone();
        tokio::spawn(async move {
            // A paused worker receives nothing. When the worker comes back, the manager tells the
            // worker again, and the worker finds its manager gone.
            let _ = bus.command(worker, "leaving", &Command::Quit, COMMAND_LIMIT).await;
        });
    }
}

/// Returns how long the load was held, after the warm-up and the ramp-up, in the first
/// `seconds` seconds after the warm-up.
fn held(load: &Load, seconds: u32) -> Duration {
    let held = Duration::from_secs(seconds.into()).saturating_sub(load.ramp_up);
    load.held().map_or(held, |most| held.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_over_is_there_and_can_carry_it() {
        let ms = Duration::from_millis;
        let load = |text: &str| {
            let text = format!("[load]\n{text}\nduration = \"9s\"\n[[step]]\nget = \"/\"");
            loadgen_scenario::parse("test", "test.toml", &text).unwrap().load
        };
        let closed = load("users = 2");
        let of = |index| Share { index, of: 4 };
        let taken = takeover(&closed, ms(5), &[], of(1), [0, 2, 3].into_iter()).unwrap();
        assert_eq!((taken.at, taken.lost, &taken.by[..]), (ms(5), 1, &[0, 2, 3][..]));
        // The load may be changed to more users later.
        assert!(takeover(&closed, ms(5), &[], of(3), [0].into_iter()).is_some());
        let later =
            takeover(&closed, ms(4), std::slice::from_ref(&taken), of(2), [0, 3].into_iter())
                .unwrap();
        assert_eq!(takeover(&closed, ms(9), &[taken], of(1), [0].into_iter()), None, "known");
        assert_eq!(later.at, ms(5) + Duration::from_nanos(1));
        assert_eq!(takeover(&closed, ms(5), &[], of(0), [].into_iter()), None, "nobody is left");
        let open = load("model = \"open\"\nrate = 10\nusers = 2");
        let taken = takeover(&open, ms(5), &[], of(1), [0, 2, 3].into_iter()).unwrap();
        assert_eq!(taken.by, [0], "the others have no users");
        assert_eq!(takeover(&open, ms(5), &[], of(3), [0, 1].into_iter()), None);
    }
}
