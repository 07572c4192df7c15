//! Profiles the targets at the highest rate that each of them carried.

use super::CapacitySearch;
use super::searched::{OfTarget, Searched};
use crate::experiment::session::{Session, ToProfile};
use crate::experiment::to_record::profile_of;
use crate::record::ProfileRecord;

impl CapacitySearch<'_> {
    /// Loads each target that carried a rate in profiling rounds, at the highest rate that it carried in all searches.
    pub(super) async fn profile(&self, session: &mut Session<'_>, searched: &mut Searched) {
        let rates: Vec<Option<f64>> = searched.targets.iter().map(carried).collect();
        let contenders: Vec<usize> =
            (0..rates.len()).filter(|target| rates[*target].is_some()).collect();
        let plan = |target: usize, url, number| {
            self.plan(target, url, number, rates[target].unwrap_or_default())
        };
        let of = ToProfile {
            contenders: &contenders,
            rounds: self.profiling_rounds,
            last: searched.targets.iter().map(|of| of.rounds.len()).max().unwrap_or(0) as u32,
            plan: &plan,
        };
        let mut profiled = Vec::new();
        session.profile(of, &mut profiled).await;
        for of in profiled {
            searched.targets[of.contender].profiles.push(of.stacks);
        }
    }
}

/// Returns the highest rate that a target carried in all searches, in requests/s.
fn carried(of: &OfTarget) -> Option<f64> {
    of.rounds
        .iter()
        .map(|round| round.passed_per_s)
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::min)
}

/// Returns where the CPU time of a request goes at about that rate; `None` without profiling rounds.
pub(super) fn profile(
    quest: CapacitySearch<'_>,
    name: &str,
    of: &OfTarget,
) -> Option<ProfileRecord> {
    let Some(rate) = carried(of) else {
        let why = "it carried no rate in all searches".to_owned();
        let failed = ProfileRecord { failure: Some(why), ..ProfileRecord::default() };
        return (quest.profiling_rounds > 0).then_some(failed);
    };
    let is_near = |tried: f64| (tried / rate).ln().abs() <= quest.terms.precision.ln_1p();
    let near = of.trials.iter().filter(|tried| is_near(tried.record.rate_per_s));
    let cpu_us: Vec<f64> =
        near.filter_map(|tried| tried.record.resources.get("target")?.cpu_us_per_request).collect();
    let rounds: Vec<_> = of.profiles.iter().map(Result::as_ref).collect();
    profile_of(name, &rounds, &cpu_us)
}
