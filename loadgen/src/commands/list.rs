//! `loadgen list`: prints all scenarios, experiments and targets.

use std::fmt::Write;

use crate::experiment::{experiments, scenarios};
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest, Runtime};
use crate::process::print;
use crate::scenario;

/// Prints all scenarios, experiments and targets of the project.
pub(super) fn run() -> Result<Exit, Failure> {
    let home = Home::find()?;
    let manifest = Manifest::of(&home)?;
    let mut out = String::from("scenarios\n");
    for path in scenarios::all()? {
        let about = match scenario::load(&path) {
            Ok(scenario) => scenario.description.unwrap_or_default(),
            Err(_) => format!("has faults: run `loadgen check {}`", scenarios::name(&path)),
        };
        let _ = writeln!(out, "  {:<18} {about}", scenarios::name(&path));
    }
    out.push_str("\nexperiments\n");
    for path in experiments::all()? {
        let name = scenarios::name(&path);
        let about = match experiments::find(&name, Some(&manifest.names())) {
            Ok(experiment) => experiment.title,
            Err(_) => format!("has faults: run `loadgen check {name}`"),
        };
        let _ = writeln!(out, "  {name:<18} {about}");
    }
    out.push_str("\ntargets\n");
    for target in manifest.targets() {
        let entry = &target.entry;
        let language = match entry.language.as_str() {
            "" | "Python" => String::new(),
            other => format!(", {other}"),
        };
        let missing = Runtime::Process.check_requirements(&manifest, &target.name).err();
        let missing = missing.map(|why| format!(" (missing: {why})"));
        let _ = writeln!(
            out,
            "  {:<18} {} on {}{language}{}",
            target.name,
            entry.framework,
            entry.server,
            missing.unwrap_or_default()
        );
    }
    print(&out)?;
    Ok(Exit::Done)
}
