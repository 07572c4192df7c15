//! Writes all latencies as an HdrHistogram log, which HdrHistogram's tools read and plot.

use std::fmt::Write;

use crate::record::{RunRecord, TargetRecord};

/// Returns an HdrHistogram log with a line for each target and step or flow, over all rounds.
/// Latencies are in µs. The interval of each line starts at 0 s and lasts as long as all rounds together held the
/// load. The tag of a line is `TARGET/STEP` or `TARGET/FLOW`. Underscores replace white space and commas, which no
/// tag may contain.
#[must_use]
pub fn hlog(record: &RunRecord) -> String {
    let mut out = format!(
        "#[loadgen {}: latencies of {} in microseconds, from {}]\n\
         #[Histogram log format version 1.3]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        record.environment.loadgen,
        one_line(&record.scenario),
        record.started
    );
    for target in &record.targets {
        let held_s: f64 = target.rounds.iter().map(|round| round.held_s).sum();
        for (step, latencies) in &target.latency_histograms {
            let Ok(text) = latencies.to_text() else { continue };
            if text.is_empty() {
                continue;
            }
            let max = latencies.latencies().max().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(out, "Tag={},0.000,{held_s:.3},{max}.000,{text}", tag(target, step));
        }
    }
    out
}

fn tag(target: &TargetRecord, step: &str) -> String {
    let taken = |c: char| c.is_whitespace() || c == ',';
    format!("{}/{step}", target.name).replace(taken, "_")
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
