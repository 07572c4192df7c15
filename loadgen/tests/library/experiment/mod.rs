//! Tests experiment files: a valid file, and the message for each kind of fault.

mod parameters;

use std::time::Duration;

use loadgen::scenario::experiment::{
    CapacitySettings, ExperimentFile, Known, Statement, Unusable, explain,
};
use loadgen::scenario::{Metric, parse};
use miette::{GraphicalReportHandler, GraphicalTheme};

const VALID: &str = r#"
title = "Two servers"
quick_time = "90s"
source = { title = "A page", year = 2022, differs = ["other machines"] }
backend_cpus = 2

[[group]]
name = "direct"
scenario = "direct"
rounds = 7
cpus = 2
memory = "1g"
load = { users = 100, duration = "10s" }
warmup = "2s"
quick = { rounds = 2, one_start = true, load = { users = 10, duration = "1s" }, warmup = "0s" }

[[group.arm]]
target = "sanic"

[[group.arm]]
name = "flask (4)"
target = "flask"
server_workers = 4
needs_cpus = 4
cpus = 0.5
load = { users = 50, iterations_per_user = 2 }
warmup = "10s"

[[published]]
machine = "laptop"
metric = "mean"
figures = { sanic = "7.5ms", "flask (4)" = "40ms" }

[[claim]]
says = "Sanic is faster"
metric = "mean"
order = ["sanic", "flask (4)"]

[[claim]]
metric = "rate"
ratio = ["sanic", "flask (4)"]
between = [2, 8]
published = 5.3
needs_cpus = 8
full_only = "the quick form is too short"

[[claim]]
metric = "error_rate"
arm = "sanic"
is = "< 1%"

[[claim]]
metric = "counter.items"
equal = ["sanic", "flask (4)"]
within = "10%"
"#;

fn read(text: &str) -> Result<ExperimentFile, String> {
    let scenario = |name: &str| match name {
        "direct" => {
            let text = "backends = [\"redis\"]\n\
                        [[step]]\nget = \"/\"\ncounters = { items = \"/items\" }\n";
            Ok(parse("direct", "direct.toml", text).unwrap())
        }
        "filled" => {
            let text = "backends = [\"postgres\"]\nexisting_items = 9\n[[step]]\nget = \"/\"\n\
                        counters = { items = \"/items\" }\n";
            Ok(parse("filled", "filled.toml", text).unwrap())
        }
        "plain" => Ok(parse("plain", "plain.toml", "[[step]]\nget = \"/\"\n").unwrap()),
        _ => Err(Unusable {
            message: format!("unknown scenario \"{name}\""),
            help: "name direct".to_owned(),
        }),
    };
    let targets = ["sanic", "flask"].map(str::to_owned);
    let known = Known { scenario: &scenario, targets: Some(&targets) };
    ExperimentFile::parse("two", "experiments/two.toml", text, &known).map_err(|error| {
        let mut out = String::new();
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
            .with_width(80)
            .render_report(&mut out, &error)
            .unwrap();
        out
    })
}

/// Returns the message for the valid file with `old` replaced by `new`.
fn fault(old: &str, new: &str) -> String {
    assert!(VALID.contains(old), "{old}");
    read(&VALID.replacen(old, new, 1)).unwrap_err()
}

#[test]
fn arms_inherit_what_their_group_has() {
    let file = read(VALID).unwrap();
    assert_eq!((file.name.as_str(), file.title.as_str()), ("two", "Two servers"));
    assert_eq!(
        file.source.as_ref().map(|source| source.differs.as_slice()),
        Some(["other machines".to_owned()].as_slice())
    );
    let group = &file.groups[0];
    assert_eq!((group.rounds, group.quick_rounds, group.quick_one_start), (7, 2, true));
    assert_eq!(file.quick_time, Duration::from_secs(90));
    let [sanic, flask] = group.arms.as_slice() else { panic!("{group:?}") };
    assert_eq!((sanic.name.as_str(), sanic.server_workers), ("sanic", 1));
    assert_eq!((sanic.scenario.load.users, flask.scenario.load.users), (100, 50));
    assert_eq!(flask.quick.as_ref().map(|load| load.users), Some(10));
    let seconds = |is_quick| [sanic, flask].map(|arm| arm.warmup(is_quick).as_secs());
    assert_eq!((seconds(false), seconds(true)), ([2, 10], [0, 0]));
    assert_eq!([sanic.needs_cpus, flask.needs_cpus, file.claims[1].needs_cpus], [0, 4, 8]);
    let full_only = file.claims[1].full_only.as_deref();
    assert_eq!(
        (full_only, &file.claims[0].full_only),
        (Some("the quick form is too short"), &None)
    );
    let limits = [sanic, flask].map(|arm| arm.limits.to_string());
    assert_eq!(limits, ["2 CPUs, 1 GiB", "0.5 CPUs, 1 GiB"]);
    assert_eq!(file.backend_limits.to_string(), "2 CPUs");
    assert_eq!(file.published[0].figures, [(0, 7_500.0), (1, 40_000.0)]);
    let Statement::Ratio { arms, between, published } = file.claims[1].statement else { panic!() };
    assert_eq!((arms, between, published), ([0, 1], [2.0, 8.0], Some(5.3)));
    assert_eq!(file.claims[3].metric, Metric::CounterRate("items".to_owned()));
}

#[test]
fn faults_are_shown_at_their_lines() {
    let all = [
        ("order = [\"sanic\", \"flask (4)\"]", "order = [\"sanic\", \"flask\"]"),
        ("ratio = [\"sanic\", \"flask (4)\"]", "ratio = [\"sanic\"]"),
        ("between = [2, 8]\n", ""),
        ("between = [2, 8]", "between = [8, 2]"),
        ("figures = { sanic", "figures = { express"),
        ("\"7.5ms\"", "\"7.5\""),
        ("target = \"sanic\"", "target = \"snaic\""),
        ("scenario = \"direct\"", "scenario = \"redis\""),
        ("name = \"flask (4)\"", "name = \"sanic\""),
        ("metric = \"mean\"", "metric = \"average\""),
        ("counter.items", "counter.rows"),
        ("is = \"< 1%\"", "is = \"1%\""),
        ("within = \"10%\"", "within = \"0%\""),
        ("says = \"Sanic is faster\"", "says = \"Sanic is faster\"\narm = \"sanic\""),
        ("rounds = 7", "rounds = 0"),
        ("one_start = true", "one_start = 1"),
        (
            "quick = { rounds = 2, one_start = true, load = { users = 10, duration = \"1s\" }, warmup = \"0s\" }",
            "quick = true",
        ),
        ("quick_time = \"90s\"", "quick_time = 90"),
        ("needs_cpus = 4", "needs_cpus = 0"),
        ("full_only = \"the quick form is too short\"", "full_only = \" \""),
        ("server_workers = 4", "server_workers = 4\nscenario = \"filled\""),
        ("cpus = 0.5", "cpus = 0"),
        ("memory = \"1g\"", "memory = \"1\""),
        ("warmup = \"10s\"", "warmup = 10"),
        ("backend_cpus = 2", "backend_cpus = \"two\""),
        ("name = \"flask (4)\"", "name = \"redis\""),
        ("title = \"Two servers\"", "tilte = \"Two servers\""),
    ];
    let messages: Vec<String> = all.iter().map(|(old, new)| fault(old, new)).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

/// A group that searches for capacities, after a group of rounds.
const SEARCH: &str = r#"
[[group]]
name = "direct"
scenario = "direct"
[[group.arm]]
target = "sanic"

[[group]]
name = "capacity"
scenario = "plain"
rounds = 3
capacity = { users = 500 }
quick = { rounds = 1, capacity = { duration = "1s", precision = "10%" } }
[[group.arm]]
target = "sanic"
[[group.arm]]
target = "flask"
server_workers = 4

[[claim]]
metric = "rate"
arm = "sanic"
is = "> 10/s"
"#;

#[test]
fn a_search_has_settings_instead_of_loads() {
    let file = read(SEARCH).unwrap();
    let group = &file.groups[1];
    let full = CapacitySettings { users: Some(500), ..CapacitySettings::default() };
    let quick = CapacitySettings { duration: Duration::from_secs(1), precision: 0.1, ..full };
    assert_eq!((group.capacity, group.quick_capacity), (Some(full), Some(quick)));
    assert_eq!((group.rounds, group.quick_rounds, group.has_quick_form()), (3, 1, true));
    // The claim is about the only group of rounds.
    assert_eq!(file.claims[0].group, 0);
    insta::assert_snapshot!(explain(&file));
}

#[test]
fn a_group_can_be_left_out_of_the_quick_form() {
    let text = SEARCH.replacen(
        "quick = { rounds = 1, capacity = { duration = \"1s\", precision = \"10%\" } }",
        "quick = false",
        1,
    );
    let file = read(&text).unwrap();
    let [rounds, search] = file.groups.as_slice() else { panic!("{file:?}") };
    assert_eq!((rounds.in_quick_form, search.in_quick_form), (true, false));
    assert_eq!((rounds.has_quick_form(), search.has_quick_form()), (false, true));
    assert!(explain(&file).contains("3 searches (quick: none)"), "{}", explain(&file));
}

#[test]
fn faults_of_a_search_are_shown_at_their_lines() {
    let flask = "target = \"flask\"\n";
    let all = [
        ("capacity = { users = 500 }", "capacity = { users = 0 }"),
        ("capacity = { users = 500 }", "capacity = { duration = \"0s\" }"),
        ("precision = \"10%\"", "precision = \"0.1%\""),
        ("precision = \"10%\"", "precision = 10"),
        ("precision = \"10%\"", "precise = \"10%\""),
        ("rounds = 3", "rounds = 3\nload = { users = 2 }"),
        ("quick = { rounds = 1,", "quick = { load = { users = 2 },"),
        ("quick = { rounds = 1,", "quick = { one_start = true,"),
        ("capacity = { users = 500 }\n", ""),
        (flask, "target = \"flask\"\nload = { users = 2 }\n"),
        (flask, "target = \"flask\"\nscenario = \"direct\"\n"),
        (flask, "target = \"flask\"\nwarmup = \"9s\"\n"),
        ("rounds = 3", "rounds = 3\nbackend_alone = \"redis\""),
        ("metric = \"rate\"", "group = \"capacity\"\nmetric = \"rate\""),
    ];
    let fault = |(old, new): &(&str, &str)| {
        assert!(SEARCH.contains(old), "{old}");
        read(&SEARCH.replacen(old, new, 1)).unwrap_err()
    };
    let messages: Vec<String> = all.iter().map(fault).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn limits_of_backends_need_a_backend() {
    let text = "backend_memory = \"1g\"\n[[group]]\nname = \"a\"\nscenario = \"plain\"\n\
                [[group.arm]]\ntarget = \"sanic\"\n";
    insta::assert_snapshot!(read(text).unwrap_err());
}

#[test]
fn an_experiment_needs_a_group_and_an_arm() {
    insta::assert_snapshot!(read("title = \"nothing\"\n").unwrap_err());
    insta::assert_snapshot!(read("[[group]]\nname = \"empty\"\n").unwrap_err());
}
