//! Checks that imports between the layers of the program flow one way, that each foreign
//! name has one home, and that all text for a terminal passes one place. Cargo keeps the layers
//! that are crates of their own apart: each names what it imports in its `Cargo.toml`.

use crate::sources::{CRATES, code, sources};

/// Layers that each layer of the program may import, in addition to itself. The documents, `record`,
/// are a part of the crate `analysis`.
const MAY_IMPORT: [(&str, &[&str]); 8] = [
    ("lab", &["engine", "scenario", "measure", "text"]),
    ("failure", &["lab"]),
    ("process", &["failure", "text"]),
    (
        "experiment",
        &[
            "failure", "cluster", "lab", "engine", "analysis", "record", "measure", "scenario",
            "text",
        ],
    ),
    ("report", &["analysis", "record", "measure", "text"]),
    ("kubernetes", &["text"]),
    ("cli", &["report", "kubernetes", "scenario"]),
    (
        "commands",
        &[
            "cli",
            "report",
            "experiment",
            "process",
            "failure",
            "kubernetes",
            "cluster",
            "drafts",
            "lab",
            "engine",
            "analysis",
            "record",
            "measure",
            "scenario",
            "text",
        ],
    ),
];

/// Foreign crates that only some places may name, and these places.
const HOMES: [(&str, &[&str]); 5] = [
    ("zenoh", &["cluster/bus/"]),
    ("ratatui", &["report/live/"]),
    ("axum", &["report/web/", "report/listen/", "report/telemetry/"]),
    ("opentelemetry_proto", &["report/telemetry/otlp/"]),
    ("prometheus_client", &["report/telemetry/prometheus.rs"]),
];

#[test]
fn imports_flow_one_way() {
    let mut faults = Vec::new();
    for (file, text) in sources() {
        let layer = file.split(['/', '.']).next().unwrap();
        if CRATES.contains(&layer) {
            continue;
        }
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == layer) else {
            assert!(["main", "lib"].contains(&layer), "{file} belongs to no layer");
            continue;
        };
        for (number, line) in code(&text) {
            for after in line.split("crate::").skip(1) {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
                let imported = &after[..end.unwrap_or(after.len())];
                let ours = CRATES.contains(&imported)
                    || imported == "record"
                    || MAY_IMPORT.iter().any(|(name, _)| *name == imported);
                if ours && imported != layer && !allowed.contains(&imported) {
                    faults.push(format!("{file}:{}: {layer} imports {imported}", number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn documents_know_nothing_of_their_analysis() {
    let sources = sources();
    let documents: Vec<_> =
        sources.iter().filter(|(file, _)| file.starts_with("analysis/record/")).collect();
    assert!(documents.len() > 10, "the documents are where this test looks for them");
    for (file, text) in documents {
        for (number, line) in code(text) {
            let mut paths = line.split("crate::").skip(1);
            let is_inside = paths.all(|path| path.starts_with("record::"));
            assert!(is_inside, "{file}:{}: {line}", number + 1);
        }
    }
}

#[test]
fn zenoh_and_ratatui_have_one_home_each() {
    for (file, text) in sources() {
        for (number, line) in code(&text) {
            for (name, homes) in HOMES {
                let path = format!("{name}::");
                let named = line.contains(&path) || line.contains(&format!("{name}_ext::"));
                let is_home = homes.iter().any(|home| file.starts_with(home));
                // Tests decode what is sent.
                let is_home = is_home || file.starts_with("report/telemetry/tests/");
                assert!(!named || is_home, "{file}:{}: {line}", number + 1);
            }
        }
    }
}

/// Files that may write to the terminal. All text passes
/// `printable` there, except what the live view draws.
const WRITERS: [&str; 6] = [
    "text/printable.rs",
    "report/live/screen.rs",
    "process/output.rs",
    "process/stdout.rs",
    // The next two files pass stdout to `write_result`.
    "commands/lab/mod.rs",
    "commands/lab/doctor.rs",
];

/// Other files that name stdout or stderr: two write a constant sentence, one sends bytes to another loadgen, one
/// gives stderr to `kubectl`, the others are tests in separate files.
const OTHERS: [&str; 11] = [
    "process/panics.rs",
    "lab/service/guard.rs",
    "kubernetes/hand_over.rs",
    "kubernetes/view.rs",
    "analysis/compare/simulations.rs",
    "analysis/scaling/simulations.rs",
    "analysis/starts/simulations/duets.rs",
    "analysis/starts/simulations/mod.rs",
    "analysis/starts/simulations/one_start.rs",
    "analysis/statistics/simulations.rs",
    "analysis/steady/simulations.rs",
];

#[test]
fn all_text_for_a_terminal_passes_one_place() {
    for (file, text) in sources() {
        if WRITERS.iter().chain(&OTHERS).any(|known| file == *known) {
            continue;
        }
        for (number, line) in code(&text) {
            let mut ways = ["stdout()", "stderr()", "print!(", "println!("].iter();
            assert!(!ways.any(|way| line.contains(way)), "{file}:{}: {line}", number + 1);
        }
    }
}
