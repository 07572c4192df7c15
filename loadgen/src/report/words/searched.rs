//! Describes what a group of an experiment found that searches for capacities.

use super::arm_table::ArmTable;
use super::capacity::{conclusion, endings, headline, row, warnings, what_passes};
use crate::record::{ArmRecord, CapacityRecord, GroupRecord};

/// Returns the table of the arms' capacities.
pub(super) fn table(group: &GroupRecord, record: &CapacityRecord) -> ArmTable {
    let of = |arm: &ArmRecord| {
        let target = record.targets.iter().find(|target| target.name == arm.name);
        target.map_or_else(|| vec![arm.name.clone(), "not measured".to_owned()], row)
    };
    ArmTable {
        title:
            "capacity: the highest rate that passes; knee: the rate with the greatest throughput \
                over mean latency; p50 and p99 at the knee, in ms"
                .to_owned(),
        header: ["", "capacity/s", "knee/s", "p50", "p99"].map(str::to_owned).to_vec(),
        rows: group.arms.iter().map(of).collect(),
    }
}

/// Says how the group searched, which rates pass, what each arm carries, and what limits it; empty for a group of rounds.
pub(crate) fn searched(group: &GroupRecord) -> Vec<String> {
    let Some(record) = &group.capacity else { return Vec::new() };
    [vec![headline(record), what_passes(record)], conclusion(record), endings(record)].concat()
}

/// Returns the warnings of the group's search, each with the name of the group.
pub(super) fn warned(group: &GroupRecord) -> Vec<String> {
    let all = group.capacity.iter().flat_map(warnings);
    all.map(|warning| format!("{}: {warning}", group.name)).collect()
}
