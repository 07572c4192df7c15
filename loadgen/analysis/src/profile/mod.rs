//! Attributes the CPU time of a request to functions, and the difference of two targets.

mod differences;
mod occupancy;
mod packages;
#[cfg(test)]
mod simulations;

use std::collections::{BTreeMap, BTreeSet};

use loadgen_measure::Stacks;

pub use self::differences::{Profile, explain_difference};
use crate::record::{CostRecord, FunctionRecord, ProfileRecord};
use crate::statistics::Sample;

/// Least shares of the samples with which a function is listed: its own, and with the functions that it calls.
const LEAST_OWN: f64 = 0.001;
const LEAST_WITH_CALLS: f64 = 0.01;

/// Returns where the CPU time of a request goes. `rounds` has the stacks of each profiling round, and `cpu_us` the
/// CPU time per expected response of each measured round, in µs. `None` without a sample, or if the CPU time is not
/// known.
#[must_use]
pub fn attribute(rounds: &[&Stacks], cpu_us: &[f64]) -> Option<ProfileRecord> {
    let rounds: Vec<&Stacks> = rounds.iter().copied().filter(|round| round.on_cpu() > 0).collect();
    let number = u32::try_from(rounds.len()).ok()?;
    let cpu = Sample::of(cpu_us)?;
    let sum = |of: fn(&Stacks) -> u64| rounds.iter().map(|round| of(round)).sum::<u64>();
    let samples = sum(Stacks::on_cpu);
    if samples == 0 {
        return None;
    }
    let missed = sum(|round| round.processes.iter().map(|process| process.missed).sum());
    let read = sum(|round| round.processes.iter().map(|process| process.moments).sum());
    let shares: Vec<BTreeMap<&str, Shares>> = rounds.iter().map(|round| shares(round)).collect();
    let labels: BTreeSet<&str> = shares.iter().flat_map(BTreeMap::keys).copied().collect();
    let mut functions: Vec<FunctionRecord> = Vec::new();
    for label in labels {
        let of = |which: fn(Shares) -> f64| -> Vec<f64> {
            let each = shares.iter().map(|of| of.get(label).copied().unwrap_or_default());
            each.map(which).collect()
        };
        let (own, with_calls) = (of(|it| it.own), of(|it| it.with_calls));
        let mean = |shares: &[f64]| shares.iter().sum::<f64>() / f64::from(number);
        if mean(&own) < LEAST_OWN && mean(&with_calls) < LEAST_WITH_CALLS {
            continue;
        }
        let (function, file) = parts(label);
        functions.push(FunctionRecord {
            function: function.to_owned(),
            file: file.to_owned(),
            own: cost(&own, &cpu)?,
            with_calls: cost(&with_calls, &cpu)?,
        });
    }
    functions.sort_by(|one, other| other.own.us_per_request.total_cmp(&one.own.us_per_request));
    Some(ProfileRecord {
        rounds: number,
        samples,
        missed_percent: 100.0 * missed as f64 / (read + missed).max(1) as f64,
        cpu_us_per_request: cpu.mean,
        functions,
        packages: packages::packages(&shares, &cpu),
        occupancy: occupancy::occupancy(&rounds),
        file: String::new(),
        failure: None,
    })
}

/// Shares of a function in the samples of one round.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    own: f64,
    with_calls: f64,
}

/// Returns the shares of each function, by its label. A function that calls itself counts once in a stack.
fn shares(round: &Stacks) -> BTreeMap<&str, Shares> {
    let all = round.on_cpu().max(1) as f64;
    let mut shares: BTreeMap<&str, Shares> = BTreeMap::new();
    for (stack, samples) in round.ran() {
        let share = samples as f64 / all;
        if let Some(innermost) = stack.rsplit(';').next() {
            shares.entry(innermost).or_default().own += share;
        }
        for label in stack.split(';').collect::<BTreeSet<&str>>() {
            shares.entry(label).or_default().with_calls += share;
        }
    }
    shares
}

/// Splits `function (file)`.
fn parts(label: &str) -> (&str, &str) {
    let split = label.strip_suffix(')').and_then(|label| label.rsplit_once(" ("));
    split.unwrap_or((label, ""))
}

/// Returns the CPU time of a function per expected response, in µs.
fn cost(shares: &[f64], cpu: &Sample) -> Option<CostRecord> {
    let cost = product(&Sample::of(shares)?, cpu);
    let is_known = shares.len() > 1 && cpu.rounds > 1;
    // No function has less than no time.
    let confidence_95 = cost.confidence_95().map(|[low, high]| [low.max(0.0), high]);
    Some(CostRecord {
        us_per_request: cost.mean,
        confidence_95: confidence_95.filter(|_| is_known),
    })
}

/// Returns the product of a mean share and a mean CPU time, whose errors are unrelated, with Student's interval: the
/// variance of the product to first order, with the degrees of freedom of Welch and Satterthwaite (JCGM 100:2008, 5.1.2
/// and G.4).
fn product(share: &Sample, cpu: &Sample) -> Sample {
    let of = |sample: &Sample, factor: f64| {
        (factor * sample.deviation).powi(2) / f64::from(sample.rounds)
    };
    let parts = [of(share, cpu.mean), of(cpu, share.mean)];
    let variance: f64 = parts.iter().sum();
    let freedom =
        variance.powi(2) / (parts[0].powi(2) / share.freedom + parts[1].powi(2) / cpu.freedom);
    Sample {
        rounds: share.rounds,
        mean: share.mean * cpu.mean,
        deviation: (variance * f64::from(share.rounds)).sqrt(),
        // Not a number without any noise, or where each has one round.
        freedom: if freedom.is_nan() { share.freedom.min(cpu.freedom) } else { freedom },
    }
}

#[cfg(test)]
mod tests {
    use loadgen_measure::{Doing, Process};

    use super::*;

    fn stacks(of: &[(&str, u64)]) -> Stacks {
        let mut process =
            Process { moments: 990, missed: 10, gil_held: Some(0), ..Process::default() };
        for (stack, on_cpu) in of {
            process.add((*stack).to_owned(), Doing::OnCpu, *on_cpu);
            process.add((*stack).to_owned(), Doing::Waiting, 7);
        }
        process.into()
    }

    fn function<'a>(profile: &'a ProfileRecord, name: &str) -> &'a FunctionRecord {
        profile.functions.iter().find(|of| of.function == name).unwrap()
    }

    const HANDLE: &str = "main (app.py);handle (app.py)";
    const ENCODE: &str = "main (app.py);handle (app.py);encode (json/encoder.py)";
    const TWICE: &str =
        "main (app.py);handle (app.py);encode (json/encoder.py);encode (json/encoder.py)";

    #[test]
    fn the_time_of_a_request_is_divided_by_the_samples() {
        let round = stacks(&[(HANDLE, 20), (ENCODE, 60), (TWICE, 20)]);
        let profile = attribute(&[&round, &round], &[500.0, 500.0]).unwrap();
        assert_eq!((profile.rounds, profile.samples, profile.missed_percent), (2, 200, 1.0));
        assert_eq!(profile.cpu_us_per_request, 500.0);
        let costs = |name| {
            let of = function(&profile, name);
            (of.own.us_per_request.round(), of.with_calls.us_per_request.round())
        };
        assert_eq!(costs("main"), (0.0, 500.0));
        assert_eq!(costs("handle"), (100.0, 500.0));
        assert_eq!(costs("encode"), (400.0, 400.0), "a stack with two calls counts once");
        assert_eq!(function(&profile, "encode").file, "json/encoder.py");
        let order: Vec<&str> = profile.functions.iter().map(|of| of.function.as_str()).collect();
        assert_eq!(order, ["encode", "handle", "main"]);
        let own: f64 = profile.functions.iter().map(|of| of.own.us_per_request).sum();
        assert!((own - 500.0).abs() < 1e-9, "all of it is somebody's: {own}");
    }

    #[test]
    fn the_interval_has_the_errors_of_shares_and_of_cpu_time() {
        let rounds = [40, 50, 60].map(|encode| stacks(&[(HANDLE, 100 - encode), (ENCODE, encode)]));
        let rounds: Vec<&Stacks> = rounds.iter().collect();
        let interval = |cpu: &[f64]| {
            let profile = attribute(&rounds, cpu).unwrap();
            function(&profile, "encode").own.confidence_95.unwrap()
        };
        // Shares of 0.4, 0.5 and 0.6: a standard error of 0.1 / √3, and 4.303 for two degrees of freedom.
        let [low, high] = interval(&[100.0; 3]);
        let half = 4.303 * 0.1 / 3_f64.sqrt() * 100.0;
        assert!((low - (50.0 - half)).abs() < 0.1 && (high - (50.0 + half)).abs() < 0.1);
        // The second component adds to the variance, and brings degrees of freedom of its own.
        let [low, high] = interval(&[80.0, 100.0, 120.0]);
        let error =
            ((0.1 * 100.0 / 3_f64.sqrt()).powi(2) + (20.0 * 0.5 / 3_f64.sqrt()).powi(2)).sqrt();
        assert!(((high - low) / 2.0 - 2.776 * error).abs() < 0.1, "four degrees of freedom");
        assert_eq!(
            attribute(&rounds[..1], &[100.0; 3]).unwrap().functions[0].own.confidence_95,
            None
        );
    }

    #[test]
    fn without_samples_or_cpu_time_there_is_no_profile() {
        let idle = stacks(&[(HANDLE, 0)]);
        assert_eq!(attribute(&[&idle], &[500.0]), None);
        assert_eq!(attribute(&[&stacks(&[(HANDLE, 5)])], &[]), None);
        assert_eq!(attribute(&[], &[500.0]), None);
    }
}
