//! The published experiments keep the parameters that their sources tell, or say which ones they change.

use std::time::Duration;

use loadgen::experiment::experiments;
use loadgen::scenario::experiment::{Arm, ExperimentFile};
use loadgen::scenario::{Limits, Load, Memory, parse};

/// Parameters that a source tells for the arms of one group.
struct Told {
    experiment: &'static str,
    group: &'static str,
    /// Names of the arms; empty for all arms of the group.
    arms: &'static [&'static str],
    /// Keys of a scenario's load.
    load: &'static str,
    server_workers: Option<u32>,
    replicas: Option<u32>,
    memory_bytes: Option<u64>,
    /// Number of rows in the table before the load.
    existing: Option<u64>,
    timeout: Option<Duration>,
    /// Beginning of what the experiment says about a load that is not the source's.
    differs: Option<&'static str>,
}

const NOTHING: Told = Told {
    experiment: "",
    group: "",
    arms: &[],
    load: "",
    server_workers: None,
    replicas: None,
    memory_bytes: None,
    existing: None,
    timeout: None,
    differs: None,
};

const EACH_200_TIMES: Told =
    Told { experiment: "web-servers", load: "users = 100\niterations_per_user = 200", ..NOTHING };

const EACH_TWICE: Told =
    Told { experiment: "web-servers", load: "users = 100\niterations_per_user = 2", ..NOTHING };

const TAURUS: Told = Told {
    experiment: "falcon-workers",
    group: "workers",
    timeout: Some(Duration::from_secs(3)),
    ..NOTHING
};

const HEY: Told =
    Told { experiment: "aiohttp-deployments", load: "users = 200\nduration = \"30s\"", ..NOTHING };

/// Ten replicas with 512 MB each, as the program itself and behind gunicorn.
const TEN: Told = Told {
    arms: &["bare", "gunicorn"],
    server_workers: Some(1),
    replicas: Some(10),
    memory_bytes: Some(512 << 20),
    ..HEY
};

/// Two replicas with 3 GB each.
const TWO: Told = Told {
    arms: &["gunicorn (11)"],
    server_workers: Some(11),
    replicas: Some(2),
    memory_bytes: Some(3 << 30),
    ..HEY
};

/// The source does not tell its number of threads for 4, 8 and 16 replicas.
const JMETER: Told = Told {
    experiment: "profiles",
    group: "replicas",
    load: "users = 40\nduration = \"3m\"",
    differs: Some("a round lasts 10 seconds"),
    ..NOTHING
};

const SOURCES: &[Told] = &[
    Told { group: "direct", ..EACH_200_TIMES },
    Told { group: "redis", ..EACH_200_TIMES },
    Told { group: "proxy", ..EACH_200_TIMES },
    Told { group: "direct briefly", ..EACH_TWICE },
    Told { group: "redis briefly", ..EACH_TWICE },
    Told {
        group: "direct",
        arms: &["sanic (4)", "fastapi (4)", "flask (4)"],
        server_workers: Some(4),
        ..EACH_200_TIMES
    },
    Told {
        group: "direct",
        arms: &["fastapi (12)", "flask (12)"],
        server_workers: Some(12),
        ..EACH_200_TIMES
    },
    Told {
        experiment: "inserts",
        group: "inserts",
        arms: &["express one"],
        load: "stages = [{ users = 1500, over = \"1s\" }, { users = 5000, over = \"10s\" }, \
               { users = 0, over = \"1s\" }]\nthink_time = \"1s\"",
        memory_bytes: Some(1 << 30),
        existing: Some(1_000_000),
        ..NOTHING
    },
    Told {
        experiment: "inserts",
        group: "inserts",
        arms: &["express batch"],
        load: "stages = [{ users = 100, over = \"1s\" }, { users = 100, over = \"10s\" }, \
               { users = 0, over = \"1s\" }]\nthink_time = \"1s\"",
        memory_bytes: Some(1 << 30),
        existing: Some(1_000_000),
        ..NOTHING
    },
    Told {
        arms: &["100 ×1"],
        load: "users = 100\nramp_up = \"1m\"\nduration = \"2m30s\"",
        server_workers: Some(1),
        ..TAURUS
    },
    Told {
        arms: &["500 ×1", "500 ×1 /128"],
        load: "users = 500\nramp_up = \"1m\"\nduration = \"2m30s\"",
        server_workers: Some(1),
        ..TAURUS
    },
    Told {
        arms: &["500 ×20", "500 ×20 /128"],
        load: "users = 500\nramp_up = \"1m\"\nduration = \"2m30s\"",
        server_workers: Some(20),
        ..TAURUS
    },
    Told { group: "get", ..TEN },
    Told { group: "post", ..TEN },
    Told { group: "put", ..TEN },
    Told { group: "delete", ..TEN },
    Told { group: "get", ..TWO },
    Told { group: "post", ..TWO },
    Told { group: "put", ..TWO },
    Told { group: "delete", ..TWO },
    Told { arms: &["http ×4", "FastAPI ×4", "Express ×4"], replicas: Some(4), ..JMETER },
    Told { arms: &["http ×8", "FastAPI ×8", "Express ×8"], replicas: Some(8), ..JMETER },
    Told { arms: &["http ×16", "FastAPI ×16", "Express ×16"], replicas: Some(16), ..JMETER },
];

fn file(name: &str) -> ExperimentFile {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments/");
    let found = experiments::find(&format!("{root}{name}.toml"), None);
    found.unwrap_or_else(|failure| panic!("{:?}", failure.report))
}

fn load(keys: &str) -> Load {
    let text = format!("[load]\n{keys}\n[[step]]\nget = \"/\"\n");
    parse("told", "told.toml", &text).unwrap().load
}

fn assert_as_told(told: &Told, arm: &Arm, differs: &[String]) {
    let what = format!("{}, {}, {}", told.experiment, told.group, arm.name);
    let ours = &arm.scenario;
    // The sources do not tell how long they waited for the last responses.
    let source = Load { drain: ours.load.drain, ..load(told.load) };
    match told.differs {
        None => assert_eq!(ours.load, source, "{what}"),
        Some(begin) => {
            assert_ne!(ours.load, source, "{what}: no longer another load");
            assert!(differs.iter().any(|it| it.starts_with(begin)), "{what}: {differs:?}");
        }
    }
    if let Some(workers) = told.server_workers {
        assert_eq!(arm.server_workers, workers, "{what}");
    }
    if let Some(replicas) = told.replicas {
        assert_eq!(arm.replicas, Some(replicas), "{what}");
    }
    if let Some(bytes) = told.memory_bytes {
        assert_eq!(arm.limits.memory.map(Memory::bytes), Some(bytes), "{what}");
    }
    if let Some(rows) = told.existing {
        assert_eq!(ours.existing.items, rows, "{what}");
    }
    if let Some(timeout) = told.timeout {
        assert!(ours.steps.iter().all(|step| step.timeout == timeout), "{what}");
    }
}

#[test]
fn the_experiments_keep_the_parameters_of_their_sources() {
    for told in SOURCES {
        let file = file(told.experiment);
        let group = file.groups.iter().find(|group| group.name == told.group);
        let group = group.unwrap_or_else(|| panic!("{}: no {}", told.experiment, told.group));
        let differs = file.source.map(|source| source.differs).unwrap_or_default();
        let is_told = |arm: &&Arm| told.arms.is_empty() || told.arms.contains(&arm.name.as_str());
        let arms: Vec<&Arm> = group.arms.iter().filter(is_told).collect();
        assert!(arms.len() >= told.arms.len().max(1), "{}: {}", told.experiment, told.group);
        for arm in arms {
            assert_as_told(told, arm, &differs);
        }
    }
}

#[test]
fn the_limits_of_inserts_are_those_of_the_source() {
    let file = file("inserts");
    let of = |limits: Limits| (limits.cpus.map(f64::from), limits.memory.map(Memory::bytes));
    assert_eq!(of(file.backend_limits), (Some(2.0), Some(1 << 30)));
    for arm in &file.groups[0].arms {
        assert_eq!(of(arm.limits), (Some(1.0), Some(1 << 30)));
    }
}
