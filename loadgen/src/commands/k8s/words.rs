//! Divides the options of `run` in a command line: those that the manager's pod gets, those that are packed with the
//! scenario, those that count here, and those that have no effect in a cluster.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory as _};

use crate::cli::Cli;

/// Options that the manager gets as they were given.
const FORWARDED: [&str; 13] = [
    "users",
    "aa",
    "slices",
    "rounds",
    "precision",
    "rounds_max",
    "time_max",
    "on_worker_loss",
    "fail_fast",
    "fail_on_regression",
    "warmup",
    "seed",
    "trace_one_in",
];

/// Options that have no effect in a cluster.
const REFUSED: [&str; 10] = [
    "hosts",
    "no_calibrate",
    "anyway",
    "web",
    "web_control",
    "prometheus",
    "profile",
    "duet",
    "probe",
    "save",
];

/// Options that have no effect on an experiment in a cluster, which runs all servers.
const NOT_OF_EXPERIMENTS: [&str; 1] = ["url"];

/// Options that have no effect on manifests.
const NOT_RENDERED: [&str; 3] = ["out", "junit", "no_progress"];

fn words(matches: &ArgMatches, command: &Command) -> Result<Vec<String>, String> {
    let refused: &[&str] = match command.get_name() {
        "render" => &NOT_RENDERED,
        "experiment" => &NOT_OF_EXPERIMENTS,
        _ => &[],
    };
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut words = Vec::new();
    for option in command.get_arguments() {
        let id = option.get_id().as_str();
        let Some(name) = option.get_long().filter(|_| given(id)) else { continue };
        if REFUSED.contains(&id) || refused.contains(&id) {
            return Err(format!("--{name}"));
        }
        if id == "otlp" {
            // The URL may have a key: it goes into the Secret.
            words.push(format!("--{name}"));
        }
        if !FORWARDED.contains(&id) {
            continue;
        }
        if !option.get_action().takes_values() {
            words.push(format!("--{name}"));
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        words.extend(values.map(|value| format!("--{name}={}", value.to_string_lossy())));
    }
    Ok(words)
}

/// Returns the words for the manager of the command line of this process, which is one of `k8s NAME`; the error is the
/// option that no manager in a cluster can have.
pub fn of_this_process(name: &str) -> Result<Vec<String>, String> {
    of(name, std::env::args_os())
}

fn of(name: &str, line: impl Iterator<Item = OsString>) -> Result<Vec<String>, String> {
    let mut all = Cli::command();
    all.build();
    let matches = all.clone().get_matches_from(line);
    let own = matches.subcommand_matches("k8s").and_then(|k8s| k8s.subcommand_matches(name));
    let command = all.find_subcommand("k8s").and_then(|k8s| k8s.find_subcommand(name));
    // It has been parsed before, as this very command.
    own.zip(command).map_or(Ok(Vec::new()), |(own, command)| words(own, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options that are packed with what is loaded, or count here alone.
    const HERE: [&str; 54] = [
        "otlp",
        "experiment",
        "quick",
        "check",
        "target_image",
        "scenario",
        "urls",
        "method",
        "header",
        "body",
        "ramp_up",
        "duration",
        "iterations",
        "rate",
        "target",
        "drain",
        "insecure",
        "cacert",
        "cert",
        "key",
        "url",
        "runtime",
        "cpus",
        "memory",
        "backend_cpus",
        "backend_memory",
        "workers",
        "no_progress",
        "out",
        "format",
        "json",
        "junit",
        "server_workers",
        "replicas",
        "start_timeout",
        "image",
        "name",
        "context",
        "namespace",
        "image_pull_policy",
        "pull_secret",
        "requests",
        "limits",
        "node_selector",
        "target_node_selector",
        "target_requests",
        "target_toleration",
        "backend_image",
        "backend_user",
        "backend_requests",
        "backend_node_selector",
        "toleration",
        "help",
        "version",
    ];

    #[test]
    fn each_option_is_known() {
        let mut all = Cli::command();
        all.build();
        let k8s = all.find_subcommand("k8s").unwrap();
        let ids_of = |name: &str| {
            let command = k8s.find_subcommand(name).unwrap();
            command.get_arguments().map(|option| option.get_id().as_str()).collect::<Vec<_>>()
        };
        let ids = ["run", "experiment"].map(ids_of).concat();
        let unknown = ids
            .iter()
            .filter(|id| !FORWARDED.contains(id) && !REFUSED.contains(id) && !HERE.contains(id));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new(), "decide where it counts");
        for id in FORWARDED.iter().chain(&REFUSED).chain(&NOT_OF_EXPERIMENTS) {
            assert!(ids.contains(id), "{id} is no option");
        }
    }

    #[test]
    fn the_manager_gets_the_options_as_they_were_given() {
        let of = |words: &str| of("run", words.split(' ').map(OsString::from));
        let line = "loadgen k8s run http://a/ --image i -u 10,20 -R 3 --fail-fast --seed 5 -w 3 -d 2s --json";
        assert_eq!(
            of(line).unwrap().join(" "),
            "--seed=5 --users=10 --users=20 --rounds=3 --fail-fast"
        );
        assert_eq!(of("loadgen k8s run http://a/ --image i"), Ok(Vec::new()), "no default");
        assert_eq!(of("loadgen k8s run http://a/ --image i --web"), Err("--web".to_owned()));
        let line = "loadgen k8s run http://a/ --image i --otlp=http://c?key=x";
        assert_eq!(of(line), Ok(vec!["--otlp".to_owned()]), "the key is in the Secret");
    }

    #[test]
    fn an_experiment_has_the_words_of_a_run() {
        let of = |words: &str| of("experiment", words.split(' ').map(OsString::from));
        let line = "loadgen k8s experiment a.toml --image i --quick -R 3 --warmup 2s -w 4";
        assert_eq!(of(line).unwrap().join(" "), "--rounds=3 --warmup=2s");
        let line = "loadgen k8s experiment a.toml --image i --url http://a";
        assert_eq!(of(line), Err("--url".to_owned()));
    }
}
