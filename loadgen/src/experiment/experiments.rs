//! Finds experiments by name or path.

use std::path::{Path, PathBuf};

use super::scenarios;
use crate::failure::{Exit, Failure};
use crate::lab::Home;
use crate::scenario;
use crate::scenario::experiment::{ExperimentFile, Known, Unusable};
use crate::scenario::{ScenarioError, process_environment, read_text};

/// Largest file that is looked at, in bytes.
const LARGEST: u64 = 16 << 20;

/// Loads the experiment that `named` means: a name of an experiment, or a path. `targets` has the
/// names that arms can load; `None` allows all names.
pub fn find(named: &str, targets: Option<&[String]>) -> Result<ExperimentFile, Failure> {
    let path = path(named)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let scenario = |named: &str| find_scenario(named, &folder);
    let known = Known { scenario: &scenario, targets };
    ExperimentFile::load(&path, &known).map_err(Failure::with(Exit::Usage))
}

/// Loads a scenario: by a path relative to the experiment's folder, or by a name in the project.
fn find_scenario(named: &str, folder: &Path) -> Result<scenario::Scenario, Unusable> {
    let path = match named.ends_with(".toml") {
        true => folder.join(named),
        false => scenarios::path(named).map_err(|failure| Unusable {
            message: failure.report.to_string(),
            help: "name a scenario, or the path of a TOML file beside the experiment".to_owned(),
        })?,
    };
    scenario::load_to_run(&path, &process_environment).map_err(|error| Unusable {
        message: match &error {
            ScenarioError::Unreadable { reason, .. } => format!("{error}: {reason}"),
            ScenarioError::Invalid { .. } => error.to_string(),
        },
        help: format!("run `loadgen check {}`", path.display()),
    })
}

/// Returns the path of the experiment that `named` means: `named` itself if it ends in `.toml` or
/// contains a `/`, otherwise that of the file of this name in the project's `experiments/`.
fn path(named: &str) -> Result<PathBuf, Failure> {
    if named.ends_with(".toml") || named.contains('/') {
        return Ok(PathBuf::from(named));
    }
    scenarios::by_name(&all()?, named).map_err(|help| {
        let message = format!("unknown experiment \"{named}\"");
        Failure::message(Exit::Usage, "unknown_experiment", message, &help)
    })
}

/// Returns whether `named` means an experiment rather than a scenario: a file with groups, or the
/// name of an experiment of the project.
pub fn is_experiment(named: &str) -> bool {
    match named.ends_with(".toml") || named.contains('/') {
        true => {
            read_text(LARGEST, Path::new(named)).is_ok_and(|text| ExperimentFile::has_groups(&text))
        }
        false => all().is_ok_and(|all| all.iter().any(|path| scenarios::name(path) == named)),
    }
}

/// Returns the paths of all experiments of the project, sorted by name.
pub fn all() -> Result<Vec<PathBuf>, Failure> {
    let home = Home::find()?;
    Ok(scenarios::paths(&home.root().join("experiments")))
}
