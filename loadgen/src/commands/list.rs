//! `loadgen list`: prints all scenarios and targets.

use std::fmt::Write;

use crate::experiment::scenarios;
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest};
use crate::process::print;
use crate::scenario;

/// Prints all scenarios and all targets of the project.
pub(super) fn run() -> Result<Exit, Failure> {
    let home = Home::find()?;
    let manifest = Manifest::load(&home.manifest())?;
    let mut out = String::from("scenarios\n");
    for path in scenarios::all()? {
        let about = match scenario::load(&path) {
            Ok(scenario) => scenario.description.unwrap_or_default(),
            Err(_) => format!("has faults: run `loadgen check {}`", scenarios::name(&path)),
        };
        let _ = writeln!(out, "  {:<18} {about}", scenarios::name(&path));
    }
    out.push_str("\ntargets\n");
    for target in manifest.targets() {
        let entry = &target.entry;
        let _ = writeln!(out, "  {:<18} {} on {}", target.name, entry.framework, entry.server);
    }
    print(&out)?;
    Ok(Exit::Done)
}
