//! Checks that imports between the layers flow one way, that each foreign
//! name has one home, and that all text for a terminal passes one place.

use crate::sources::{code, sources};

/// Layers of these crates that each layer may import, in addition to itself.
const MAY_IMPORT: [(&str, &[&str]); 14] = [
    ("text", &[]),
    ("scenario", &["text"]),
    ("measure", &[]),
    ("record", &["measure", "text"]),
    ("analysis", &["record", "measure", "scenario", "text"]),
    ("engine", &["scenario", "measure"]),
    ("cluster", &["engine", "scenario", "measure", "text"]),
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
    ("cli", &["report", "scenario"]),
    (
        "commands",
        &[
            "cli",
            "report",
            "experiment",
            "process",
            "failure",
            "cluster",
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

/// Foreign crates that only one place may name, and that place.
const HOMES: [(&str, &str); 3] =
    [("goose", "engine/"), ("zenoh", "cluster/bus/"), ("ratatui", "report/live/")];

#[test]
fn imports_flow_one_way() {
    let mut faults = Vec::new();
    for (file, text) in sources() {
        let layer = file.split(['/', '.']).next().unwrap();
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == layer) else {
            assert!(["main", "lib"].contains(&layer), "{file} belongs to no layer");
            continue;
        };
        for (number, line) in code(&text) {
            for after in line.split("crate::").skip(1) {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
                let imported = &after[..end.unwrap_or(after.len())];
                let ours = MAY_IMPORT.iter().any(|(name, _)| *name == imported);
                if ours && imported != layer && !allowed.contains(&imported) {
                    faults.push(format!("{file}:{}: {layer} imports {imported}", number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn goose_zenoh_and_ratatui_have_one_home_each() {
    for (file, text) in sources() {
        for (number, line) in code(&text) {
            for (name, home) in HOMES {
                let path = format!("{name}::");
                let named = line.contains(&path) || line.contains(&format!("{name}_ext::"));
                assert!(!named || file.starts_with(home), "{file}:{}: {line}", number + 1);
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

/// Other files that name stdout or stderr: two write a constant
/// sentence, the others are tests in separate files.
const OTHERS: [&str; 8] = [
    "process/panics.rs",
    "lab/service/guard.rs",
    "analysis/compare/simulations.rs",
    "analysis/scaling/simulations.rs",
    "analysis/starts/simulations/duets.rs",
    "analysis/starts/simulations/mod.rs",
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
