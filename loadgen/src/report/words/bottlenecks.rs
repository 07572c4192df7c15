//! Says which bottlenecks limited the rates.

use crate::record::{Bottleneck, RunRecord, TargetRecord};
use crate::text::count;

/// Names the bottleneck of each target, grouped by bottleneck, and compares the highest rate with
/// the limit of the generator. Says nothing of bottlenecks or limits that are unknown.
pub(crate) fn bottlenecks(record: &RunRecord) -> Vec<String> {
    let mut groups: Vec<(&Bottleneck, Vec<&str>)> = Vec::new();
    for target in &record.targets {
        let Some(bottleneck) = &target.bottleneck else { continue };
        match groups.iter_mut().find(|(other, _)| *other == bottleneck) {
            Some((_, names)) => names.push(&target.name),
            None => groups.push((bottleneck, vec![&target.name])),
        }
    }
    let known: usize = groups.iter().map(|(_, names)| names.len()).sum();
    let mut out = match groups.as_slice() {
        [] => Vec::new(),
        [(one, _)] if known == record.targets.len() => {
            vec![format!("bottleneck: {}", who(one))]
        }
        several => {
            let part = |(bottleneck, names): &(&Bottleneck, Vec<&str>)| {
                format!("{} for {}", who(bottleneck), names.join(", "))
            };
            let parts: Vec<String> = several.iter().map(part).collect();
            vec![format!("bottleneck: {}", parts.join("; "))]
        }
    };
    out.extend(headroom(record));
    out
}

fn who(bottleneck: &Bottleneck) -> &str {
    match bottleneck {
        Bottleneck::Nobody => "none found (no CPU or link was at its limit)",
        Bottleneck::Target => "the server itself",
        Bottleneck::Generator => "loadgen",
        Bottleneck::Network => "the network",
        Bottleneck::Backend(name) => name,
    }
}

/// Compares the highest rate with the rate that the generator can send, in %. `None` if the latter
/// is unknown for the scenario's requests.
fn headroom(record: &RunRecord) -> Option<String> {
    // A calibration with other requests says nothing about the scenario's requests.
    let calibration = record.calibration.filter(|calibration| calibration.own_steps)?;
    let answered = |target: &TargetRecord| target.total.rate_per_s;
    let highest = record.targets.iter().map(answered).fold(0.0, f64::max);
    let percent = (100.0 * highest / calibration.rate_per_s).ceil();
    let most = count(calibration.rate_per_s.round() as u64);
    Some(format!("loadgen sent at most {percent} % of the {most} requests/s that it can send here"))
}
