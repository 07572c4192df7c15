//! Writes an experiment as CSV: a row for each arm.

use super::{LATENCIES, known, latencies, table};
use crate::record::{ArmRecord, Bound, ExperimentRecord, GroupRecord};

/// Returns the CSV text of an experiment. An arm that was not measured has empty cells.
#[must_use]
pub(crate) fn experiment(record: &ExperimentRecord) -> String {
    let before =
        ["group", "arm", "target", "scenario", "users", "requests", "errors", "rate_per_s"];
    table(|rows| {
        rows.write(before.iter().chain(&LATENCIES).chain(&CAPACITY))?;
        for group in &record.groups {
            for arm in &group.arms {
                rows.write(row(group, arm))?;
            }
        }
        Ok(())
    })
}

/// Columns of the result of a search.
const CAPACITY: [&str; 3] = ["capacity_per_s", "capacity_95_low_per_s", "capacity_95_high_per_s"];

fn row(group: &GroupRecord, arm: &ArmRecord) -> Vec<String> {
    let mut targets = group.runs.iter().flat_map(|run| &run.targets);
    let target = targets.find(|target| target.name == arm.name);
    let mut row = [&group.name, &arm.name, &arm.target, &arm.scenario].map(String::clone).to_vec();
    row.push(known(target.map(|target| target.users)));
    row.push(known(target.map(|target| target.total.requests)));
    row.push(known(target.map(|target| target.total.errors)));
    row.push(known(target.map(|target| target.total.rate_per_s)));
    row.extend(latencies(
        &target.map(|target| target.total.latency_us.clone()).unwrap_or_default(),
    ));
    let mut searched = group.capacity.iter().flat_map(|record| &record.targets);
    let capacity = searched.find(|target| target.name == arm.name).map(|target| &target.capacity);
    let found = capacity.filter(|capacity| capacity.bound == Bound::Found);
    let [low, high] = [0, 1].map(|end| found.and_then(|it| Some(it.confidence_95_per_s?[end])));
    row.extend([found.and_then(|it| it.rate_per_s), low, high].map(known));
    row
}
