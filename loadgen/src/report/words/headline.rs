//! Describes a run in one sentence.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use crate::record::RunRecord;
use crate::text::{count, counted, duration, precise};

/// Returns the scenario, the load and the rounds, such as `redis3: 100 users, 5 rounds of 3s`.
#[must_use]
pub(crate) fn headline(record: &RunRecord) -> String {
    let load = &record.load;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let length = match (load.duration_s, load.iterations) {
        (Some(s), _) => seconds(s),
        (None, Some(n)) => counted(n, "iteration"),
        (None, None) => String::new(),
    };
    let mut text = format!("{}: {}, ", record.scenario, amount(record));
    if load.ramp_up_s > 0.0 {
        let _ = write!(text, "ramp-up {}, ", seconds(load.ramp_up_s));
    }
    let _ = match (load.rounds, load.slices) {
        (n, Some(slices)) => {
            write!(text, "{} of {slices} slices of {length}", counted(n.into(), "start"))
        }
        (n, None) if load.duet => {
            let each = load.targets.len().saturating_sub(1);
            let duets = counted(u64::from(n).saturating_mul(each as u64), "duet");
            write!(text, "{duets} of {length}")
        }
        (1, None) => write!(text, "one round of {length}"),
        (n, None) => write!(text, "{n} rounds of {length}"),
    };
    if let Some(time) = &load.think_time {
        let _ = write!(text, ", think time {time}");
    }
    if load.warmup_s > 0.0 {
        let _ = write!(text, " after {} of warm-up", seconds(load.warmup_s));
    }
    if let Some(s) = load.slice_warmup_s.filter(|s| *s < load.warmup_s) {
        let _ = write!(text, " ({} in later slices)", seconds(s));
    }
    let _ = match load.workers {
        0 => Ok(()),
        n => write!(text, ", {}", counted(n.into(), "worker")),
    };
    if let Some(rate) = load.probe_per_s {
        let _ = write!(text, ", a probe of {} requests/s", precise(rate));
    }
    text
}

/// Returns the amount of load: users, or requests per second.
fn amount(record: &RunRecord) -> String {
    let load = &record.load;
    let numbers: BTreeSet<u32> = match record.is_matrix() {
        true => record.targets.iter().map(|target| target.users).collect(),
        false => [load.users].into(),
    };
    let users = match numbers.iter().copied().collect::<Vec<_>>().as_slice() {
        [users] => counted((*users).into(), "user"),
        several => {
            let several = several.iter().map(|users| count((*users).into()));
            format!("{} users", several.collect::<Vec<_>>().join(", "))
        }
    };
    let staged = if load.stages.is_empty() { "" } else { "up to " };
    match load.rate_per_s {
        None => format!("{staged}{users}"),
        Some(rate) => {
            let arrivals = load.arrivals.as_deref().unwrap_or_default();
            format!("{staged}{} requests/s ({arrivals}) by up to {users}", precise(rate))
        }
    }
}
