//! Measures a group in one start: first the fewest rounds that a finding needs, then more while a claim is
//! open and time is left.

use std::time::{Duration, Instant};

use super::Published;
use crate::analysis::claims::{Arms, LOOKS, is_open};
use crate::experiment::job::Job;
use crate::experiment::measured::Measured;
use crate::experiment::observe::Event;
use crate::experiment::session::{OVERHEAD, SLICE_OVERHEAD, Session};
use crate::experiment::site::Site;
use crate::experiment::to_record::{self, Context};
use crate::record::{RunRecord, TargetRecord};
use crate::text::{counted, duration};

/// Assumed length of a load that iterations end.
const OF_ITERATIONS: Duration = Duration::from_millis(500);

/// Time that is left for the groups of an experiment.
pub(super) struct Budget {
    until: Instant,
}

impl Budget {
    pub(super) fn new(time: Duration) -> Self {
        Self { until: Instant::now() + time }
    }

    /// Returns the end of the time for further rounds of a group whose fewest rounds are done: its share of the time
    /// that the fewest rounds of `later` groups leave. `needed` is the time that its own fewest rounds were to need.
    fn end(&self, needed: Duration, later: Duration) -> Instant {
        let now = Instant::now();
        let spare = self.until.saturating_duration_since(now).saturating_sub(later);
        let share = needed.as_secs_f64() / (needed + later).as_secs_f64().max(f64::MIN_POSITIVE);
        now + spare.mul_f64(share.min(1.0))
    }
}

impl Published {
    /// Measures the rounds of a group whose arms share one start. `measured` has the results of the
    /// group's jobs.
    pub(super) async fn in_one_start(
        &self,
        group: usize,
        budget: &Budget,
        session: &mut Session<'_>,
        site: &Site<'_>,
        measured: &mut [Measured],
    ) {
        let (jobs, fewest) =
            (self.groups[group].clone(), self.jobs[self.groups[group].start].rounds);
        let looks = || [fewest].into_iter().chain(LOOKS.into_iter().filter(|look| *look > fewest));
        let (mut done, mut began, mut end) = (0, Instant::now(), None);
        for look in looks() {
            measured.iter_mut().for_each(|job| job.rounds_planned = Some(look));
            session.measure_rounds(jobs.clone(), done + 1..=look, measured).await;
            let each = began.elapsed() / (look - done).max(1);
            (done, began) = (look, Instant::now());
            let ended = measured.iter().any(|job| job.failure.is_some());
            if ended || session.is_interrupted() || session.is_degraded() {
                break;
            }
            let Some(next) = looks().find(|next| *next > done) else { break };
            let end = *end.get_or_insert_with(|| {
                let later = (group + 1..self.groups.len()).map(|it| self.needs(it)).sum();
                budget.end(self.needs(group), later)
            });
            let open = self.open_claims(group, session, site, measured);
            if open == 0 || Instant::now() + each * (next - done) > end {
                break;
            }
            let more = counted((next - done).into(), "more round");
            let claims = counted(open as u64, "claim");
            let length = duration(each * (next - done));
            session.tell(Event::Note(&format!(
                "{}: {claims} open after {done} rounds: {more}, about {length}",
                self.file.groups[group].name
            )));
            let passes = self.passes(group);
            session.tell(Event::Expected((next - done) * passes, each / passes.max(1)));
        }
        session.end_start(&mut measured[0]).await;
    }

    /// Returns the number of claims about a group that more rounds may settle.
    fn open_claims(
        &self,
        group: usize,
        session: &Session<'_>,
        site: &Site<'_>,
        measured: &[Measured],
    ) -> usize {
        let jobs = self.groups[group].clone().zip(measured);
        let records: Vec<RunRecord> = jobs
            .map(|(job, measured)| {
                let job = &self.jobs[job];
                let context = Context::of(job, site, &measured.backends, session.lab(), false);
                to_record::build(job, measured, None, context)
            })
            .collect();
        let targets: Vec<&TargetRecord> = records.iter().flat_map(|run| &run.targets).collect();
        let left_out = |arm: &str| self.left_out.of(group, arm).map(str::to_owned);
        let file = &self.file.groups[group];
        let arms = Arms { group: file, targets: &targets, one_start: true, left_out: &left_out };
        let claims = self.file.claims.iter().filter(|claim| claim.group == group);
        claims.filter(|claim| self.why_not(claim).is_none() && is_open(claim, arms)).count()
    }

    /// Returns the estimated time that the fewest rounds of a group need, with their start.
    pub(super) fn needs(&self, group: usize) -> Duration {
        // Searches come after the time for rounds.
        let of_rounds = self.groups[group].clone().filter(|job| !self.searches.contains_key(job));
        of_rounds.map(|job| fewest(&self.jobs[job])).sum()
    }

    /// Returns the number of loads in each round of a group.
    fn passes(&self, group: usize) -> u32 {
        self.jobs[self.groups[group].clone()].iter().map(Job::passes).sum()
    }
}

/// Returns the estimated time that the fewest rounds of a job need in one start, with the start.
pub(super) fn fewest(job: &Job) -> Duration {
    let contenders = u32::try_from(job.contenders.len()).unwrap_or(u32::MAX);
    let load = |round| job.plan(0, String::new(), round).length().unwrap_or(OF_ITERATIONS);
    let (first, later) = (load(1) + OVERHEAD, load(2) + SLICE_OVERHEAD);
    (first + later * job.rounds.saturating_sub(1)) * contenders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_the_time_that_their_fewest_rounds_leave() {
        let second = Duration::from_secs(1);
        let budget = Budget::new(100 * second);
        let left = |needed: u32, later: u32| {
            let end = budget.end(needed * second, later * second);
            end.saturating_duration_since(Instant::now()).as_secs_f64()
        };
        assert!((left(30, 10) - 67.5).abs() < 0.1, "three quarters of 90");
        assert!((left(50, 0) - 100.0).abs() < 0.1, "the last group gets all");
        assert!(left(90, 110) < 0.1, "the later groups need more than all");
    }
}
