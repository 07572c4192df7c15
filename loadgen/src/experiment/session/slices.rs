//! Loads all contenders of a start in turn, several times: slices.
//!
//! A machine that slows down for some seconds slows neighbouring slices alike, whereas rounds with a
//! start of their own are seconds apart. All slices of a start share that start of the servers: the start
//! is the unit of the statistics (see `analysis/starts/`).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tokio::task::JoinSet;

use super::Session;
use super::stopped::Stopped;
use crate::analysis::statistics::order;
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::Begun;
use crate::experiment::slicing::Slicing;
use crate::failure::Failure;
use crate::lab::Target;

/// Memory of each service before the first load of a start, in bytes, by contender and service.
type IdleMemory = BTreeMap<usize, BTreeMap<String, u64>>;

impl Session<'_> {
    /// Measures these starts of the job in progress. In each start all contenders are up at the same
    /// time, and are loaded in turn, once in each slice.
    pub(super) async fn slices(
        &mut self,
        starts: RangeInclusive<u32>,
        slicing: Slicing,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        for start in starts {
            let result = match self.start_all(start).await {
                Ok(urls) => self.load_in_turn(&urls, slicing.numbers(start), measured).await,
                Err(stopped) => Err(stopped),
            };
            let stopped = self.stop_all().await;
            let is_over = result?;
            stopped?;
            if is_over {
                break;
            }
        }
        Ok(())
    }

    /// Fills the backends with data and starts all contenders. Returns the URL of each. Servers that run
    /// already are not started.
    async fn start_all(&mut self, start: u32) -> Result<Vec<String>, Stopped> {
        let job = self.job();
        let contenders = 0..job.contenders.len();
        let running = contenders.clone().map(|of| Some(job.running(of)?.url.clone()));
        if let Some(urls) = running.collect() {
            return Ok(urls);
        }
        self.fill(&job.names().join(", ")).await?;
        self.idle = contenders.map(|_| None).collect();
        // The order of the starts is counterbalanced, too.
        for contender in order(job.contenders.len(), job.seed, start) {
            let log = job.contenders[contender].log(start, job.is_matrix());
            self.idle[contender] = Some(self.start_target(contender, &log).await?);
        }
        let url = |target: &Option<Target>| target.as_ref().map(|it| it.url.clone());
        Ok(self.idle.iter().filter_map(url).collect())
    }

    /// Loads the contenders at these URLs in the slices of these numbers. Returns whether the run ends
    /// early.
    async fn load_in_turn(
        &mut self,
        urls: &[String],
        slices: impl Iterator<Item = u32>,
        measured: &mut Measured,
    ) -> Result<bool, Stopped> {
        let (contenders, seed) = (self.job().contenders.len(), self.job().seed);
        let mut idle_memory = IdleMemory::new();
        for number in slices {
            for contender in order(contenders, seed, number) {
                let url = urls[contender].clone();
                let result = self.slice(contender, number, url, &mut idle_memory, measured).await;
                measured.calibration = self.calibration();
                result?;
                if self.is_over(0, measured)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Loads one contender in one slice, while the others are idle.
    async fn slice(
        &mut self,
        contender: usize,
        number: u32,
        url: String,
        idle_memory: &mut IdleMemory,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let job = self.job();
        let plan = job.plan(contender, url, number);
        let begun = Begun { contender, number, name: &job.contenders[contender].name, plan: &plan };
        let mut running = self.idle.get_mut(contender).and_then(Option::take);
        let result = self.load(begun, Some(measured), running.as_mut()).await;
        if let Some(place) = self.idle.get_mut(contender) {
            *place = running;
        }
        let (mut round, ended) = result?;
        match idle_memory.get(&contender) {
            Some(idle) => round.observed.add_idle(idle),
            None => {
                let services = round.observed.services.iter();
                let idle = services
                    .filter_map(|(name, used)| Some((name.clone(), used.memory_idle_bytes?)));
                idle_memory.insert(contender, idle.collect());
            }
        }
        let whole = self.is_whole(&plan, &round);
        let slice = job.method.slicing().map(|slicing| slicing.place(number));
        measured.rounds.push(MeasuredRound { slice, whole, ..round });
        ended.map_or(Ok(()), |error| Err(Failure::from(error).into()))
    }

    /// Stops all contenders, and returns when no process of them is left.
    async fn stop_all(&mut self) -> Result<(), Stopped> {
        let targets = std::mem::take(&mut self.idle).into_iter().flatten();
        let mut stopping: JoinSet<_> = targets.map(Target::stop).collect();
        let mut stopped = Ok(());
        while let Some(result) = stopping.join_next().await {
            stopped = stopped.and(result.unwrap_or(Ok(())));
        }
        stopped.map_err(|error| Failure::from(error).into())
    }
}
