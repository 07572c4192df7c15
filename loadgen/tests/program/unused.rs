//! Options that would have no effect are usage errors. Each
//! option of each subcommand has a line here.

use std::collections::BTreeSet;

use clap::CommandFactory;
use loadgen::cli::Cli;

use crate::common::program::Project;

const URL: &str = "--url=http://127.0.0.1:1";

/// A server that a pod does not take for itself.
const SERVER: &str = "--url=http://192.0.2.1:1";

/// A subcommand, one of its options, and each command line (with a scenario without backends or
/// thresholds) in which the option would have no effect.
type Line = (&'static str, &'static str, &'static [&'static [&'static str]]);

/// For an option that always has an effect.
const NEVER: &[&[&str]] = &[];

const RUN: &[(&str, &[&[&str]])] = &[
    ("scenario", NEVER),
    ("url", NEVER),
    ("workers", NEVER),
    ("warmup", NEVER),
    // The seed is in the record, and decides everything random: at least the order of targets.
    ("seed", NEVER),
    ("no-calibrate", NEVER),
    // Changes nothing unless another loadgen measures, which depends on the machine.
    ("anyway", NEVER),
    // Without a live view the option changes nothing, but that depends on the terminal.
    ("no-progress", NEVER),
    ("web", NEVER),
    ("otlp", NEVER),
    ("trace-one-in", &[&["--trace-one-in=9", URL]]),
    ("prometheus", NEVER),
    ("web-control", &[&["--web-control", URL]]),
    ("out", NEVER),
    ("format", NEVER),
    ("json", &[&["--json", "--format=csv", URL]]),
    ("rounds", NEVER),
    ("hosts", &[&["--hosts=a", "--workers=2", URL], &["--hosts=a"]]),
    ("target", &[&["--target=flask", URL]]),
    ("insecure", &[&["--insecure", URL]]),
    ("cacert", &[&["--cacert=ca.pem", URL]]),
    ("cert", &[&["--cert=a.pem", URL], &["--cert=a.pem", "--key=a.pem", URL]]),
    ("key", &[&["--key=a.pem", URL]]),
    ("runtime", &[&["--runtime=process", URL], &["--runtime=podman", URL]]),
    ("cpus", &[&["--cpus=1"], &["--cpus=1", "--runtime=process"], &["--cpus=1", URL]]),
    ("memory", &[&["--memory=1g"], &["--memory=1g", URL]]),
    ("backend-cpus", &[&["--backend-cpus=1"], &["--backend-cpus=1", "--runtime=podman"]]),
    ("backend-memory", &[&["--backend-memory=1g"], &["--backend-memory=1g", "--runtime=podman"]]),
    ("server-workers", &[&["--server-workers=1", URL], &["--server-workers=2", URL]]),
    ("replicas", &[&["--replicas=1", URL], &["--replicas=2", URL]]),
];

/// Options of a request without a scenario.
const REQUEST: &[(&str, &[&[&str]])] = &[
    ("urls", NEVER),
    ("method", &[&["--method=PUT", URL]]),
    ("header", &[&["--header=a: b", URL]]),
    ("body", &[&["--body=x", URL]]),
];

/// Options of `run` that `capacity` does not have.
const RUN_ALONE: &[(&str, &[&[&str]])] = &[
    ("save", &[&["--save=new.toml", URL]]),
    ("users", &[&["--users=5,6", "--rate=50", URL]]),
    ("ramp-up", &[&["-s=stages.toml", "--ramp-up=1s", URL]]),
    ("duration", &[&["--duration=1s", "--iterations=1", URL]]),
    ("iterations", &[&["--duration=1s", "--iterations=1", URL]]),
    ("drain", &[&["--drain=1s", "--iterations=1", URL]]),
    ("rate", &[&["-s=stages.toml", "--rate=5", URL]]),
    ("aa", &[&["--aa", "--url=http://127.0.0.1:1,http://127.0.0.1:2"]]),
    ("duet", &[&["--duet", URL], &["--duet", "--target=flask"], &["--duet", "--workers=2"]]),
    (
        "probe",
        &[
            &["--probe", "--duet"],
            &["--probe", "--slices=2"],
            &["--probe", "--iterations=5", URL],
            &["--probe=0", URL],
            &["-s=stages.toml", "--probe", URL],
        ],
    ),
    PROFILE,
    (
        "slices",
        &[&["--slices=2", URL], &["--slices=2", "--duet"], &["--slices=2", "--iterations=1"]],
    ),
    ("fail-fast", &[&["--fail-fast", URL]]),
    ("precision", &[&["--precision=3", "--rounds=4", URL]]),
    ("rounds-max", &[&["--rounds-max=50", URL]]),
    ("time-max", &[&["--time-max=1m", URL]]),
    ("fail-on-regression", &[&["--fail-on-regression=5", URL]]),
    ("junit", NEVER),
];

const PROFILE: (&str, &[&[&str]]) =
    ("profile", &[&["--profile", URL], &["--profile=1"], &["--profile", "--runtime=podman"]]);

const LOSS: (&str, &[&[&str]]) = (
    "on-worker-loss",
    &[
        &["--on-worker-loss=fail", URL],
        &["--on-worker-loss=continue", URL],
        &["--on-worker-loss=continue", "--workers=1", URL],
        &["--on-worker-loss=redistribute", "--workers=1", URL],
        &["--on-worker-loss=redistribute", "--workers=2", "--iterations=9", URL],
        &["--on-worker-loss=redistribute", "--workers=2", "--duet", URL],
    ],
);

const CAPACITY_ALONE: &[(&str, &[&[&str]])] =
    &[("users", NEVER), ("duration", NEVER), ("drain", NEVER), ("precision", NEVER), PROFILE];

const EXPERIMENT: &[(&str, &[&[&str]])] = &[
    ("experiment", NEVER),
    ("quick", &[&["--quick", URL]]),
    ("check", NEVER),
    ("rounds", NEVER),
    ("url", NEVER),
    ("workers", &[&["--check", "--workers=2", URL]]),
    ("warmup", NEVER),
    ("seed", &[&["--check", "--seed=1", URL]]),
    ("no-calibrate", &[&["--check", "--no-calibrate", URL]]),
    ("anyway", &[&["--check", "--anyway", URL]]),
    ("no-progress", &[&["--check", "--no-progress", URL]]),
    ("web", &[&["--check", "--web", URL]]),
    ("otlp", &[&["--check", "--otlp", URL]]),
    (
        "trace-one-in",
        &[&["--trace-one-in=9", URL], &["--check", "--otlp", "--trace-one-in=9", URL]],
    ),
    ("prometheus", &[&["--check", "--prometheus", URL]]),
    ("web-control", &[&["--web-control", URL], &["--check", "--web", "--web-control", URL]]),
    ("out", &[&["--check", "--out=result", URL]]),
    ("format", &[&["--check", "--format=csv", URL]]),
    ("json", &[&["--json", "--format=csv", URL], &["--check", "--json", URL]]),
    ("runtime", &[&["--runtime=process", URL], &["--runtime=podman", URL]]),
    ("cpus", &[&["--cpus=1", URL]]),
    ("memory", &[&["--memory=1g", URL]]),
    ("backend-cpus", &[&["--backend-cpus=1", URL]]),
    ("backend-memory", &[&["--backend-memory=1g", URL]]),
];

/// A manager takes no targets of the lab, so that none of the lab's options has an effect.
const MANAGER: &[(&str, &[&[&str]])] = &[
    ("expect-workers", NEVER),
    ("hosts", &[&["--hosts=a", URL]]),
    ("listen", NEVER),
    ("advertise", NEVER),
    ("join-dir", &[&["--join-dir=a", "--authority=b", URL]]),
    ("authority", NEVER),
    // Stands for all other options.
    ("resume", &[&["--resume=run", URL]]),
    ("lease", NEVER),
    ("wait", NEVER),
    ("scenario", NEVER),
    ("url", NEVER),
    ("warmup", NEVER),
    ("seed", NEVER),
    ("anyway", NEVER),
    ("no-progress", NEVER),
    ("web", NEVER),
    ("otlp", NEVER),
    ("trace-one-in", &[&["--trace-one-in=9", URL]]),
    ("prometheus", NEVER),
    ("web-control", &[&["--web-control", URL]]),
    ("out", NEVER),
    ("format", NEVER),
    ("json", &[&["--json", "--format=csv", URL]]),
    ("rounds", NEVER),
    ("workers", &[&["--workers=1", URL]]),
    ("no-calibrate", &[&["--no-calibrate", URL]]),
    ("target", &[&["--target=flask"], &["--target=flask", URL]]),
    ("insecure", &[&["--insecure", URL]]),
    ("cacert", &[&["--cacert=ca.pem", URL]]),
    ("cert", &[&["--cert=a.pem", URL]]),
    ("key", &[&["--key=a.pem", URL]]),
    ("runtime", &[&["--runtime=podman"], &["--runtime=process", URL]]),
    ("cpus", &[&["--cpus=1"], &["--cpus=1", URL]]),
    ("memory", &[&["--memory=1g"], &["--memory=1g", URL]]),
    ("backend-cpus", &[&["--backend-cpus=1"], &["--backend-cpus=1", URL]]),
    ("backend-memory", &[&["--backend-memory=1g"], &["--backend-memory=1g", URL]]),
    ("server-workers", &[&["--server-workers=2"], &["--server-workers=2", URL]]),
    ("replicas", &[&["--replicas=2"], &["--replicas=2", URL]]),
    ("on-worker-loss", &[&["--on-worker-loss=continue", URL]]),
];

const OTHERS: &[Line] = &[
    ("check", "scenarios", NEVER),
    ("check", "try", &[&["--try=http://127.0.0.1:1"]]),
    (
        "check",
        "insecure",
        &[&["--insecure"], &["--try=http://127.0.0.1:1", "plain.toml", "--insecure"]],
    ),
    ("check", "cacert", &[&["--cacert=ca.pem"]]),
    ("check", "cert", &[&["--cert=c.pem"], &["--cert=c.pem", "--key=k.pem"]]),
    ("check", "key", &[&["--key=k.pem"]]),
    ("ctl", "run", NEVER),
    ("compare", "runs", NEVER),
    ("compare", "fail-on-regression", NEVER),
    ("compare", "junit", NEVER),
    ("compare", "format", NEVER),
    ("report", "runs", NEVER),
    ("report", "format", NEVER),
    ("site", "folders", NEVER),
    ("site", "out", &[&["--check", "--out=public"]]),
    ("site", "title", &[&["--check", "--title=a"]]),
    ("site", "url", &[&["--check", "--url=https://a"]]),
    ("site", "baseline", &[&["--check", "--baseline=a"]]),
    ("site", "keep", &[&["--check", "--keep"]]),
    ("site", "check", NEVER),
    ("init", "path", NEVER),
    ("init", "targets", &[&["--targets", "mine.toml"]]),
    ("init", "no-try", &[&["--no-try"], &["--no-try", "mine.toml"]]),
    ("init", "openapi", &[&["--openapi=openapi.json", "--targets"]]),
    ("init", "with-writes", &[&["--with-writes"]]),
    ("init", "har", &[&["--har=a.har", "--targets"]]),
    ("init", "with-static", &[&["--with-static"]]),
    ("init", "curl", &[&["--curl=curl http://a", "--targets"]]),
    ("init", "access-log", &[&["--access-log=access.log", "--targets"]]),
    ("init", "speed", &[&["--speed=2"]]),
    ("init", "duration", &[&["--duration=10s"]]),
    // If no file exists yet, nothing is overwritten: a script need not check first.
    ("init", "force", NEVER),
    ("completions", "shell", NEVER),
    ("man", "folder", NEVER),
    ("schema", "document", NEVER),
    ("lab up", "target", NEVER),
    ("lab up", "runtime", NEVER),
    ("lab up", "cpus", &[&["--cpus=1"]]),
    ("lab up", "memory", &[&["--memory=1g"]]),
    ("lab up", "backend-cpus", &[&["--backend-cpus=1"]]),
    ("lab up", "backend-memory", &[&["--backend-memory=1g"]]),
    ("lab up", "backend", NEVER),
    ("lab up", "server-workers", NEVER),
    ("lab up", "port", NEVER),
    ("lab up", "detach", NEVER),
    ("lab up", "format", NEVER),
    ("lab build", "target", NEVER),
    ("lab build", "runtime", NEVER),
    ("lab build", "format", NEVER),
    ("worker", "join", NEVER),
    ("worker", "once", &[&["--once", "--join=-"]]),
    ("worker", "allow-target", NEVER),
    ("worker", "wait", NEVER),
    // Set by the loadgen that starts the worker.
    ("worker", "cpus", NEVER),
    ("worker", "any-socket", NEVER),
    ("worker", "node", NEVER),
    ("k8s run", "start-timeout", NEVER),
    ("k8s run", "context", NEVER),
    ("k8s run", "out", NEVER),
    ("k8s run", "junit", NEVER),
    ("k8s run", "no-progress", NEVER),
    ("k8s follow", "name", NEVER),
    ("k8s follow", "namespace", NEVER),
    ("k8s follow", "context", NEVER),
    ("k8s follow", "no-progress", NEVER),
    ("k8s follow", "out", NEVER),
    ("k8s follow", "junit", NEVER),
    ("k8s follow", "format", NEVER),
    ("k8s follow", "json", NEVER),
    ("k8s render", "out", &[&["--out=a", SERVER]]),
    ("k8s render", "junit", &[&["--junit=a.xml", SERVER]]),
    ("k8s render", "no-progress", &[&["--no-progress", SERVER]]),
    ("manager", "needs-all", NEVER),
    ("hosts check", "hosts", NEVER),
    ("hosts check", "users", NEVER),
    ("hosts check", "format", NEVER),
    ("worker", "processes", NEVER),
];

/// What a manager has, but a run in a cluster has not, or not in all forms.
const NOT_SHARED: [&str; 11] = [
    "expect-workers",
    "listen",
    "advertise",
    "join-dir",
    "authority",
    "resume",
    "lease",
    "wait",
    // `k8s render` has lines of its own.
    "out",
    "junit",
    "no-progress",
];

/// A run in a cluster has the options of a manager, and of its pods.
const K8S: &[(&str, &[&[&str]])] = &[
    ("image", NEVER),
    ("name", NEVER),
    ("namespace", NEVER),
    ("image-pull-policy", NEVER),
    ("pull-secret", NEVER),
    ("requests", NEVER),
    ("limits", NEVER),
    ("node-selector", NEVER),
    ("toleration", NEVER),
    ("target-node-selector", &[&["--target-node-selector=a=b", SERVER]]),
    ("target-requests", NEVER),
    ("target-toleration", &[&["--target-toleration=a", SERVER]]),
    ("target-image", &[&["--target-image=a", SERVER]]),
    ("backend-image", &[&["--backend-image=redis=a", SERVER]]),
    ("backend-node-selector", &[&["--backend-node-selector=a=b", SERVER]]),
    ("backend-requests", NEVER),
    ("backend-user", &[&["--backend-user=9", SERVER]]),
    ("workers", NEVER),
    ("anyway", &[&["--anyway", SERVER]]),
    ("web", &[&["--web", SERVER]]),
    ("web-control", &[&["--web-control", SERVER]]),
    ("prometheus", &[&["--prometheus", SERVER]]),
    ("save", &[&["--save=a.toml", SERVER]]),
];

/// An experiment in a cluster has the options of an experiment, and of pods.
const K8S_EXPERIMENT: &[(&str, &[&[&str]])] = &[
    ("context", NEVER),
    ("start-timeout", NEVER),
    ("experiment", NEVER),
    ("quick", &[&["--quick"]]),
    ("check", NEVER),
    ("rounds", NEVER),
    ("warmup", NEVER),
    ("seed", NEVER),
    ("no-progress", NEVER),
    ("otlp", NEVER),
    ("trace-one-in", &[&["--trace-one-in=9"]]),
    ("out", NEVER),
    ("format", NEVER),
    ("json", &[&["--json", "--format=csv"]]),
    ("runtime", &[&["--runtime=podman"]]),
    ("cpus", NEVER),
    ("memory", NEVER),
    ("backend-cpus", &[&["--backend-cpus=1"]]),
    ("backend-memory", &[&["--backend-memory=1g"]]),
    ("url", &[&[SERVER]]),
    ("no-calibrate", &[&["--no-calibrate"]]),
    // All groups need servers, so that these have an effect.
    ("target-image", &[&["--target-image=other=a"]]),
    ("target-node-selector", NEVER),
    ("target-toleration", NEVER),
];

fn all() -> Vec<Line> {
    let of = |command, lines: &'static [(&str, &'static [&'static [&'static str]])]| {
        lines.iter().map(move |(option, unused)| (command, *option, *unused))
    };
    let runs = ["", "run"].into_iter().flat_map(|command| {
        let alone = of(command, REQUEST).chain(of(command, RUN_ALONE));
        of(command, RUN).chain(alone).chain([(command, LOSS.0, LOSS.1)])
    });
    let others = of("capacity", RUN)
        .chain(of("capacity", REQUEST))
        .chain(of("capacity", CAPACITY_ALONE))
        .chain(of("experiment", EXPERIMENT))
        .chain(of("manager", MANAGER));
    // An option of `run` that a manager shares has no effect in the same cases.
    let shared = of("manager", REQUEST).chain(of("manager", RUN_ALONE));
    let cluster = ["k8s run", "k8s render"].into_iter().flat_map(|command| {
        let has = |option: &str| {
            K8S.iter().any(|(own, _)| *own == option) || NOT_SHARED.contains(&option)
        };
        let of_manager =
            of(command, MANAGER).chain(of(command, REQUEST)).chain(of(command, RUN_ALONE));
        let of_manager = of_manager.filter(|(_, option, _)| !has(option)).collect::<Vec<_>>();
        of(command, K8S).chain(of_manager)
    });
    let has = |option: &str| K8S_EXPERIMENT.iter().any(|(own, _)| *own == option);
    let of_pods =
        of("k8s experiment", K8S).filter(|(_, option, _)| !has(option) && *option != "save");
    let of_pods: Vec<Line> = of_pods.collect();
    let cluster = cluster.chain(of("k8s experiment", K8S_EXPERIMENT)).chain(of_pods);
    runs.chain(others).chain(shared).chain(cluster).chain(OTHERS.iter().copied()).collect()
}

/// Collects the options of a command and of its subcommands,
/// each with the words that name the command.
fn options(command: &clap::Command, words: &str, out: &mut BTreeSet<(String, String)>) {
    let own = command.get_arguments().map(|it| it.get_long().unwrap_or(it.get_id().as_str()));
    out.extend(
        own.filter(|name| !["help", "version"].contains(name))
            .map(|name| (words.to_owned(), name.to_owned())),
    );
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let words = format!("{words} {}", below.get_name()).trim().to_owned();
        options(below, &words, out);
    }
}

#[test]
fn each_option_is_in_the_table() {
    let mut found = BTreeSet::new();
    options(&Cli::command(), "", &mut found);
    // Arguments of `ctl`'s subcommands are new values, not options.
    found.retain(|(command, _)| !command.starts_with("ctl "));
    let listed: BTreeSet<(String, String)> = all()
        .iter()
        .map(|(command, option, _)| ((*command).to_owned(), (*option).to_owned()))
        .collect();
    let differ: Vec<_> = listed.symmetric_difference(&found).collect();
    assert!(differ.is_empty(), "only in the table, or only in the command line: {differ:?}");
}

#[test]
fn an_option_without_effect_is_a_usage_error_with_advice() {
    let stages = "[load]\nstages = [{ users = 2, over = \"1s\" }]\n[[step]]\nget = \"/\"\n";
    let plain = "[[step]]\nget = \"/\"\n";
    let experiment = "[[group]]\nname = \"one\"\nscenario = \"plain.toml\"\n[[group.arm]]\n";
    let project = Project::real()
        .file("stages.toml", stages)
        .file("plain.toml", plain)
        .file("experiment.toml", experiment);
    for (command, option, unused) in all() {
        for arguments in unused {
            let mut words: Vec<&str> = command.split_whitespace().collect();
            let is_cluster = command.starts_with("k8s ");
            let is_experiment = command.ends_with("experiment");
            let measures = (is_cluster && !is_experiment)
                || ["", "run", "capacity", "manager"].contains(&command);
            if measures && !arguments.iter().any(|word| word.starts_with("-s=")) {
                words.push("-s=plain.toml");
            }
            if is_experiment {
                words.push("experiment.toml");
            }
            if command == "manager" {
                words.extend(["--listen=127.0.0.1:7447", "--expect-workers=1"]);
            }
            if is_cluster {
                words.push("--image=a");
            }
            words.extend(*arguments);
            let refused = project.run(&words);
            assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.said());
            // For a manager, also in a cluster, errors of clap and errors about the lab's
            // options may name another option.
            let is_manager = command == "manager" || is_cluster;
            let names = refused.stderr.contains(&format!("--{option}")) || is_manager;
            assert!(names, "{words:?}: {}", refused.said());
            let helps = refused.stderr.contains("help: ") || refused.stderr.contains("--help");
            assert!(helps && refused.stdout.is_empty(), "{words:?}: {}", refused.said());
        }
    }
    assert!(!project.path("runs").exists(), "nothing was begun");
}
