//! Describes how a run was made: its load, its environment, and the command to repeat it.

use std::time::Duration;

use maud::{Markup, html};

use crate::record::{Environment, RunRecord, SystemRecord};
use crate::text::{count, duration, precise};

/// Lists the settings of the load, such as users, rate and duration.
pub(super) fn load(record: &RunRecord) -> Markup {
    let load = &record.load;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let amount = if load.rate_per_s.is_some() { "requests/s" } else { "users" };
    let stages: Vec<String> = load
        .stages
        .iter()
        .map(|stage| format!("to {} {amount} over {}", precise(stage.to), seconds(stage.over_s)))
        .collect();
    let calibration = record.calibration.filter(|calibration| calibration.own_steps);
    let sent = calibration.map(|c| format!("{} requests/s", count(c.rate_per_s.round() as u64)));
    list(&[
        ("Model", Some(load.model.clone())),
        ("Users", Some(count(load.users.into()))),
        ("Rate", load.rate_per_s.map(|rate| format!("{} requests/s", precise(rate)))),
        ("Arrivals", load.arrivals.clone()),
        ("Probe", load.probe_per_s.map(|rate| format!("{} requests/s", precise(rate)))),
        ("Traced", load.trace_one_in.map(|n| format!("1 of {} requests", count(n.get().into())))),
        ("Stages", (!stages.is_empty()).then(|| stages.join(", "))),
        ("Think time", load.think_time.clone()),
        ("Warm-up", Some(seconds(load.warmup_s))),
        ("Ramp-up", (load.ramp_up_s > 0.0).then(|| seconds(load.ramp_up_s))),
        ("Held for", load.duration_s.map(seconds)),
        ("Iterations", load.iterations.map(count)),
        (if load.slices.is_some() { "Starts" } else { "Rounds" }, Some(load.rounds.to_string())),
        ("Slices of each start", load.slices.map(|slices| slices.to_string())),
        ("Warm-up of later slices", load.slice_warmup_s.map(seconds)),
        ("Workers", (load.workers > 0).then(|| load.workers.to_string())),
        ("Seed", Some(record.seed.to_string())),
        ("Generator can send", sent),
    ])
}

/// Lists the machine and the software of a run or of a capacity search.
pub(super) fn environment(environment: &Environment) -> Markup {
    let of = environment;
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let cpus = of.cpus.iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(part, cpus)| {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        format!("{part} {}", cpus.join(", "))
    });
    let cpus: Vec<String> = cpus.collect();
    let backends: Vec<String> =
        of.backends.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let memory = format!("{} GB", precise((of.memory_bytes as f64 / 1e8).round() / 10.0));
    list(&[
        ("loadgen", text(&of.loadgen)),
        ("Commit", of.git_commit.clone()),
        ("Operating system", text(&of.os)),
        ("Kernel", text(&of.kernel)),
        ("Processor", text(&of.cpu_model)),
        ("Cores", (of.cores > 0).then(|| of.cores.to_string())),
        ("Memory", (of.memory_bytes > 0).then_some(memory)),
        ("CPUs", (!cpus.is_empty()).then(|| cpus.join("; "))),
        ("Targets ran as", text(&of.runtime)),
        ("Python", of.python.clone()),
        ("Backends", (!backends.is_empty()).then(|| backends.join(", "))),
        ("PostgreSQL's data on", of.postgres_data.as_ref().map(|data| data.filesystem.clone())),
        ("Lock file's SHA-256", of.lock_sha256.clone()),
        ("Virtualization", of.system.virtualization.clone()),
        ("Frequency", frequency(&of.system)),
        ("Turbo", of.system.turbo.map(on_or_off)),
        ("SMT", of.system.smt.map(on_or_off)),
        ("NUMA nodes", numa_nodes(&of.system)),
        ("Transparent huge pages", of.system.transparent_huge_pages.clone()),
        ("Clock source", of.system.clock_source.clone()),
        ("Load average before", of.system.load_average.map(|load| format!("{load:.2}"))),
        ("CPU vulnerabilities", vulnerabilities(&of.system)),
    ])
}

fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// Returns the frequency's governor and its range, if either is known.
fn frequency(system: &SystemRecord) -> Option<String> {
    let range = system.frequency_mhz.map(|[low, high]| format!("{low:.0} to {high:.0} MHz"));
    let governor = system.governor.as_ref().map(|governor| format!("governor {governor}"));
    let known: Vec<String> = governor.into_iter().chain(range).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn numa_nodes(system: &SystemRecord) -> Option<String> {
    let numbers =
        |nodes: &[usize]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let parts = system.numa_nodes.iter().map(|(part, nodes)| format!("{part} {}", numbers(nodes)));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn vulnerabilities(system: &SystemRecord) -> Option<String> {
    let known = system.mitigations.iter().map(|(name, state)| format!("{name}: {state}"));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// Shows the command line that repeats the measurement.
pub(super) fn repeat(command: &[String], seed: u64) -> Markup {
    html! {
        @if command.is_empty() {
            p { "An earlier version of loadgen made the record, and did not keep its command line." }
        } @else {
            pre tabindex="0" { code { (again(command, seed)) } }
        }
    }
}

fn list(items: &[(&str, Option<String>)]) -> Markup {
    html! {
        dl {
            @for (term, value) in items {
                @if let Some(value) = value { div { dt { (term) } dd { (value) } } }
            }
        }
    }
}

/// Returns the command line with an added `--seed` if the command lacks the option, and without the
/// option for the output folder, which already holds a run.
fn again(command: &[String], seed: u64) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut all = command.iter();
    while let Some(word) = all.next() {
        match word.as_str() {
            "--out" | "-o" => drop(all.next()),
            word if word.starts_with("--out=") => {}
            // `-oDIR` and `-o=DIR`.
            word if word.starts_with("-o") => {}
            word => words.push(quoted(word)),
        }
    }
    if !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.push(format!("--seed {seed}"));
    }
    words.join(" ")
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_machine_are_listed() {
        let of = SystemRecord {
            governor: Some("powersave".to_owned()),
            frequency_mhz: Some([800.0, 3_900.4]),
            turbo: Some(true),
            smt: Some(false),
            numa_nodes: [("target".to_owned(), vec![0, 1]), ("generator".to_owned(), vec![0])]
                .into(),
            mitigations: [("meltdown".to_owned(), "Mitigation: PTI".to_owned())].into(),
            clock_source: Some("hpet".to_owned()),
            load_average: Some(0.416),
            ..SystemRecord::default()
        };
        let page = environment(&Environment { system: of, ..Environment::default() }).into_string();
        for (term, value) in [
            ("Frequency", "governor powersave, 800 to 3900 MHz"),
            ("Turbo", "on"),
            ("SMT", "off"),
            ("NUMA nodes", "generator 0; target 0, 1"),
            ("CPU vulnerabilities", "meltdown: Mitigation: PTI"),
            ("Clock source", "hpet"),
            ("Load average before", "0.42"),
        ] {
            let item = format!("<dt>{term}</dt><dd>{value}</dd>");
            assert!(page.contains(&item), "no {item} in {page}");
        }
        assert!(!page.contains("Transparent huge pages"), "unknown: {page}");
    }

    #[test]
    fn a_command_is_repeated_with_its_seed_and_without_its_folder() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let repeated = |text| again(&words(text), 7);
        assert_eq!(repeated("loadgen -s redis3"), "loadgen -s redis3 --seed 7");
        assert_eq!(
            repeated("loadgen --out a --seed=1 -o b --out=c -od -o=e -u 5"),
            "loadgen --seed=1 -u 5"
        );
        let odd = ["loadgen".to_owned(), "it's $HOME".to_owned(), String::new()];
        assert_eq!(again(&odd, 7), r"loadgen 'it'\''s $HOME' '' --seed 7");
    }
}
