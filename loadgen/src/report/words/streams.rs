//! Shows the events of streams.

use crate::measure::Summary;
use crate::record::TargetRecord;
use crate::text::{milliseconds, rate};

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 7] =
    ["", "events/s", "first p50", "first p99", "gap p50", "gap p99", "gap max"];

/// Explanation of the columns.
pub(crate) const LEGEND: &str = "first: time from the planned send to the first event of a stream; gap: \
    time between two events of a stream; both in ms, of expected responses";

/// Returns a row for each target with streams, followed by a row for each of several steps with streams.
pub(crate) fn rows<'a>(targets: impl Iterator<Item = &'a TargetRecord>) -> Vec<Vec<String>> {
    let of_target = |target: &'a TargetRecord| {
        let steps = target.steps.iter().filter(|_| target.steps.len() > 1);
        let steps = steps.filter_map(|step| row(format!("  {}", step.name), step));
        row(target.name.clone(), &target.total).into_iter().chain(steps)
    };
    targets.flat_map(of_target).collect()
}

fn row(label: String, summary: &Summary) -> Option<Vec<String>> {
    let stream = summary.stream.as_ref()?;
    let (first, gap) = (&stream.first_event_us, &stream.gap_us);
    let mut row = vec![label, rate(stream.events_per_s)];
    row.extend([first.p50, first.p99, gap.p50, gap.p99, gap.max].map(milliseconds));
    Some(row)
}
