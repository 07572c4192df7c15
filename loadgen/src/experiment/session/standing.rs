//! Targets that are all up at the same time, and are loaded in turn.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::Session;
use super::stopped::Stopped;
use crate::analysis::statistics::order;
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::Begun;
use crate::failure::Failure;
use crate::lab::Target;

/// Index of a contender's job, and its index in that job.
pub(super) type ContenderIndex = (usize, usize);

/// Targets that are up without load. Empty while each round has a start of its own.
#[derive(Default)]
pub(super) struct Standing {
    /// The targets. Absent are the target under load, and servers that loadgen does not start.
    pub targets: BTreeMap<ContenderIndex, Target>,
    /// Memory of each service before the first load of each target, in bytes, by service.
    idle_memory: BTreeMap<ContenderIndex, BTreeMap<String, u64>>,
}

impl Session<'_> {
    /// Fills the backends with data and starts these contenders, which share the data. Servers that run
    /// already are not started.
    pub(super) async fn start_all(
        &mut self,
        turns: &[ContenderIndex],
        start: u32,
    ) -> Result<(), Stopped> {
        self.standing = Standing::default();
        let jobs = self.jobs;
        let is_started =
            |&(job, contender): &ContenderIndex| jobs[job].running(contender).is_none();
        if !turns.iter().any(is_started) {
            return Ok(());
        }
        let names = turns.iter().map(|&(job, of)| jobs[job].contenders[of].name.as_str());
        self.fill(&names.collect::<Vec<_>>().join(", ")).await?;
        // The order of the starts is counterbalanced, too.
        for turn in order(turns.len(), self.job().seed, start) {
            let (job, contender) = turns[turn];
            self.turn_to(job);
            let log = self.job().contenders[contender].log(start, self.job().is_matrix());
            let target = self.start_target(contender, &log).await?;
            self.standing.targets.insert((job, contender), target);
        }
        Ok(())
    }

    /// Loads a contender of the job in progress in the round or slice of this number, while the others are
    /// idle.
    pub(super) async fn load_standing(
        &mut self,
        contender: usize,
        number: u32,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let (job, turn) = (self.job(), (self.current, contender));
        let mut running = self.standing.targets.remove(&turn);
        let url = match (job.running(contender), &running) {
            (Some(server), _) => server.url.clone(),
            (None, Some(target)) => target.url.clone(),
            // A target that was not started was interrupted.
            (None, None) => return Err(Stopped::Interrupted),
        };
        let plan = job.plan(contender, url, number);
        let (name, group) = (&job.contenders[contender].name, job.group.as_deref());
        let begun = Begun { contender, number, name, group, plan: &plan };
        let result = self.load(begun, Some(measured), running.as_mut()).await;
        self.standing.targets.extend(running.map(|target| (turn, target)));
        let (mut round, ended) = result?;
        match self.standing.idle_memory.get(&turn) {
            Some(idle) => round.observed.add_idle(idle),
            None => {
                let services = round.observed.services.iter();
                let idle = services
                    .filter_map(|(name, used)| Some((name.clone(), used.memory_idle_bytes?)));
                self.standing.idle_memory.insert(turn, idle.collect());
            }
        }
        let whole = self.is_whole(&plan, &round);
        let slice = job.method.slicing().map(|slicing| slicing.place(number));
        measured.rounds.push(MeasuredRound { slice, whole, ..round });
        ended.map_or(Ok(()), |error| Err(Failure::from(error).into()))
    }

    /// Stops all contenders that are up, and returns when no process of them is left.
    pub(super) async fn stop_all(&mut self) -> Result<(), Stopped> {
        let targets = std::mem::take(&mut self.standing).targets.into_values();
        let mut stopping: JoinSet<_> = targets.map(Target::stop).collect();
        let mut stopped = Ok(());
        while let Some(result) = stopping.join_next().await {
            stopped = stopped.and(result.unwrap_or(Ok(())));
        }
        stopped.map_err(|error| Failure::from(error).into())
    }
}
