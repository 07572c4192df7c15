//! Loads the contenders again under a profiler. The figures of these rounds are in no result, so that what the
//! profiler costs is in none.

use std::collections::BTreeSet;

use super::stopped::Stopped;
use super::{OVERHEAD, Session};
use crate::analysis::statistics::order;
use crate::experiment::measured::{Measured, Profiled};
use crate::experiment::observe::{Begun, Event};
use crate::failure::Failure;
use crate::measure::Stacks;

impl Session<'_> {
    /// Loads each contender of the job in progress in this number of profiling rounds, after the rounds of
    /// `measured`. A contender that cannot be profiled is left out of the further ones: the measurement is
    /// complete without them.
    pub async fn profile(&mut self, rounds: u32, measured: &mut Measured) {
        let job = self.job();
        let last = measured.rounds.iter().map(|round| round.number).max().unwrap_or(0);
        let contenders = u32::try_from(job.contenders.len()).unwrap_or(u32::MAX);
        let length = job.plan(0, String::new(), last + 1).length().unwrap_or_default();
        self.tell(Event::Expected(rounds * contenders, length + OVERHEAD));
        self.is_profiling = true;
        let mut left_out = BTreeSet::new();
        for number in last + 1..=last + rounds {
            for contender in order(job.contenders.len(), job.seed, number) {
                if left_out.contains(&contender) || self.is_interrupted() {
                    continue;
                }
                let name = &job.contenders[contender].name;
                let stacks = match self.profiling_round(contender, number).await {
                    Ok(stacks) => stacks,
                    Err(Stopped::Interrupted) => continue,
                    Err(Stopped::Failed(failure)) => Err(failure.report.to_string()),
                };
                match &stacks {
                    Ok(stacks) => self.tell(Event::Profiled(name, stacks)),
                    Err(why) => {
                        left_out.insert(contender);
                        self.tell(Event::Note(&format!("{name} is not profiled: {why}")));
                    }
                }
                measured.profiles.push(Profiled { contender, stacks });
            }
        }
        self.is_profiling = false;
    }

    /// Runs one profiling round. The inner error says why there are no stacks.
    async fn profiling_round(
        &mut self,
        contender: usize,
        number: u32,
    ) -> Result<Result<Stacks, String>, Stopped> {
        let job = self.job();
        let of = &job.contenders[contender];
        let (url, mut running) = self.up(contender, &of.log(number, job.is_matrix())).await?;
        let plan = job.plan(contender, url, number);
        let name = format!("{} under the profiler", of.name);
        let begun = Begun { contender, number, name: &name, plan: &plan };
        let result = self.load(begun, None, running.as_mut()).await;
        if let Some(running) = running {
            running.stop().await.map_err(Failure::from)?;
        }
        let (round, ended) = result?;
        if self.is_interrupted() {
            return Err(Stopped::Interrupted);
        }
        let ended = ended.map(|error| Err(error.to_string()));
        Ok(ended
            .or(round.observed.stacks)
            .unwrap_or_else(|| Err("the round was too short".to_owned())))
    }
}
