//! Loads the contenders again under a profiler. The figures of these rounds are in no result, so that what the
//! profiler costs is in none.

use std::collections::BTreeSet;

use super::stopped::Stopped;
use super::{OVERHEAD, Session};
use crate::analysis::statistics::order;
use crate::engine::Plan;
use crate::experiment::measured::Profiled;
use crate::experiment::observe::{Begun, Event};
use crate::failure::Failure;
use crate::measure::Stacks;

/// Contenders to profile, and the load under which that is done.
pub struct ToProfile<'p> {
    /// Indices of the contenders in the job in progress.
    pub contenders: &'p [usize],
    /// Number of profiling rounds of each contender.
    pub rounds: u32,
    /// Number of the last measured round.
    pub last: u32,
    /// Returns the load of a contender, whose base URL is given, in the round of this number.
    pub plan: &'p dyn Fn(usize, String, u32) -> Plan,
}

impl Session<'_> {
    /// Loads contenders in profiling rounds, and adds what was seen to `profiled`. A contender that cannot be profiled is
    /// left out of the further ones: the measurement is complete without them.
    pub async fn profile(&mut self, of: ToProfile<'_>, profiled: &mut Vec<Profiled>) {
        let job = self.job();
        let number_of = u32::try_from(of.contenders.len()).unwrap_or(u32::MAX);
        let Some(first) = of.contenders.first() else { return };
        let length = (of.plan)(*first, String::new(), of.last + 1).length().unwrap_or_default();
        self.tell(Event::Expected(of.rounds * number_of, length + OVERHEAD));
        self.is_profiling = true;
        let mut left_out = BTreeSet::new();
        for number in of.last + 1..=of.last + of.rounds {
            for turn in order(of.contenders.len(), job.seed, number) {
                let contender = of.contenders[turn];
                if left_out.contains(&contender) || self.is_interrupted() {
                    continue;
                }
                let name = &job.contenders[contender].name;
                let stacks = match self.profiling_round(contender, number, of.plan).await {
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
                profiled.push(Profiled { contender, stacks });
            }
        }
        self.is_profiling = false;
    }

    /// Runs one profiling round. The inner error says why there are no stacks.
    async fn profiling_round(
        &mut self,
        contender: usize,
        number: u32,
        plan: &dyn Fn(usize, String, u32) -> Plan,
    ) -> Result<Result<Stacks, String>, Stopped> {
        let job = self.job();
        let of = &job.contenders[contender];
        let (url, mut running) = self.up(contender, &of.log(number, job.is_matrix())).await?;
        // The profiler makes requests slow, for which no server should be blamed.
        let plan = Plan { trace_one_in: None, ..plan(contender, url, number) };
        let name = format!("{} under the profiler", of.name);
        let group = job.group.as_deref();
        let begun = Begun { contender, number, name: &name, group, plan: &plan };
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
