//! `loadgen check`: validates scenarios and experiments, and explains what they would do.
//! Sends requests only with `--try`.

mod experiment;
mod trial;

use super::options::tls;
use crate::cli::CheckArgs;
use crate::experiment::experiments::{self, is_experiment};
use crate::experiment::scenarios;
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest};
use crate::process::{print, say_failure};
use crate::scenario::Scenario;
use crate::scenario::explain::explain;

/// Explains each scenario or experiment or, with `--try`, sends each step once. Shows the errors of a file.
pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if let (None, Some(option)) = (&args.try_url, tls::given(&args.tls)) {
        let message = format!("{option} needs --try");
        let help = "leave out the option: nothing is sent without --try";
        return Err(Failure::message(Exit::Usage, "unused_option", message, help));
    }
    let named = if args.scenarios.is_empty() {
        let all = [scenarios::all()?, experiments::all()?].concat();
        all.iter().map(|path| path.display().to_string()).collect()
    } else {
        args.scenarios.clone()
    };
    let mut exit = Exit::Done;
    for name in named {
        let checked = match &args.try_url {
            Some(url) => trial::run(&name, url, &args.tls),
            None if is_experiment(&name) => experiment::explained(&name),
            None => explained(&name),
        };
        match checked {
            Ok(Exit::Done) => {}
            Ok(failed) => exit = failed,
            Err(failure) => {
                exit = say_failure(&failure);
            }
        }
    }
    Ok(exit)
}

fn explained(name: &str) -> Result<Exit, Failure> {
    let scenario = scenarios::find(name).and_then(known_targets)?;
    let warnings = scenario.warnings().into_iter().map(|warning| format!("  ! {warning}\n"));
    print(&(explain(&scenario) + &warnings.collect::<String>() + "\n"))?;
    Ok(Exit::Done)
}

/// Checks that the project's manifest has the targets of a scenario. Checks nothing without a project of
/// the user's: a scenario for `--url` needs no project.
fn known_targets(scenario: Scenario) -> Result<Scenario, Failure> {
    if scenario.targets.is_empty() {
        return Ok(scenario);
    }
    let home = Home::find()?;
    if home.is_embedded() {
        return Ok(scenario);
    }
    let manifest = Manifest::of(&home)?;
    for target in &scenario.targets {
        manifest.target(target)?;
    }
    Ok(scenario)
}
