//! `loadgen list`: prints all scenarios, experiments and targets.

use std::fmt::Write;
use std::path::PathBuf;

use crate::experiment::{experiments, scenarios};
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest, Runtime, TargetSpec};
use crate::process::print;
use crate::scenario;

/// Prints all scenarios, experiments and targets of the project.
pub(super) fn run() -> Result<Exit, Failure> {
    let home = Home::find()?;
    let manifest = Manifest::of(&home)?;
    let sections = [
        section("scenarios", all_scenarios()?),
        section("experiments", all_experiments(&manifest)?),
        section("targets", all_targets(&manifest)),
    ];
    let filled: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    print(&filled.join("\n"))?;
    Ok(Exit::Done)
}

/// Returns a heading with a line for each name and its description; empty without names.
fn section(heading: &str, lines: Vec<(String, String)>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("{heading}\n");
    for (name, about) in lines {
        let line = format!("  {name:<18} {about}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn all_scenarios() -> Result<Vec<(String, String)>, Failure> {
    let line = |path: PathBuf| {
        let about = match scenario::load(&path) {
            Ok(scenario) => scenario.description.unwrap_or_default(),
            Err(_) => format!("has faults: run `loadgen check {}`", scenarios::name(&path)),
        };
        (scenarios::name(&path), about)
    };
    Ok(scenarios::all()?.into_iter().map(line).collect())
}

fn all_experiments(manifest: &Manifest) -> Result<Vec<(String, String)>, Failure> {
    let line = |path: PathBuf| {
        let name = scenarios::name(&path);
        let about = match experiments::find(&name, Some(&manifest.names())) {
            Ok(experiment) => experiment.title,
            Err(_) => format!("has faults: run `loadgen check {name}`"),
        };
        (name, about)
    };
    Ok(experiments::all()?.into_iter().map(line).collect())
}

fn all_targets(manifest: &Manifest) -> Vec<(String, String)> {
    let line = |target: &TargetSpec| {
        let entry = &target.entry;
        let language = match entry.language.as_str() {
            "" | "Python" => String::new(),
            other => format!(", {other}"),
        };
        let missing = Runtime::Process.check_requirements(manifest, &target.name).err();
        let missing = missing.map(|why| format!(" (missing: {why})")).unwrap_or_default();
        let about = format!("{} on {}{language}{missing}", entry.framework, entry.server);
        (target.name.clone(), about)
    };
    manifest.targets().iter().map(line).collect()
}
