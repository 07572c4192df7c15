//! Shows how fast files were uploaded.

use crate::measure::Summary;
use crate::record::TargetRecord;
use crate::text::precise;

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 3] = ["", "uploaded MB/s", "MB a request"];

/// Explanation of the columns.
pub(crate) const LEGEND: &str =
    "uploaded: bytes of files (10⁶) in the bodies of requests with an expected response";

/// Returns a row for each step that uploads files, of each target.
pub(crate) fn rows<'a>(targets: impl Iterator<Item = &'a TargetRecord>) -> Vec<Vec<String>> {
    let of_target = |target: &'a TargetRecord| {
        let label = |step: &Summary| match target.steps.len() {
            1 => target.name.clone(),
            _ => format!("{}: {}", target.name, step.name),
        };
        target.steps.iter().filter_map(move |step| row(label(step), step))
    };
    targets.flat_map(of_target).collect()
}

fn row(label: String, step: &Summary) -> Option<Vec<String>> {
    let per_s = step.uploaded_bytes_per_s?;
    let each = if step.rate_per_s > 0.0 { per_s / step.rate_per_s } else { 0.0 };
    Some(vec![label, precise(per_s / 1e6), precise(each / 1e6)])
}
