//! `loadgen compare`: compares saved runs with the first of them.

use std::path::Path;

use super::options::junit;
use crate::analysis::Comparable;
use crate::cli::CompareArgs;
use crate::experiment::saved::{Record, Saved};
use crate::failure::{Exit, Failure};
use crate::process::print_report;
use crate::record::{Judgement, RunsRecord};
use crate::report::{self, Document};

/// Compares saved runs, and prints the differences. With `--fail-on-regression`, the exit code
/// says whether a target lost more than the limit.
pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.junit {
        junit::prepare(path)?;
    }
    let runs = names(&args.runs).into_iter().zip(&args.runs);
    let runs: Result<Vec<Comparable>, Failure> = runs.map(|(name, run)| read(&name, run)).collect();
    let record = RunsRecord::of(&runs?).map_err(|e| {
        let help = "name runs of the same scenario and load";
        Failure::message(Exit::Usage, "not_comparable", e.to_string(), help)
    })?;
    let record = match args.fail_on_regression {
        Some(limit) => record.judged(limit),
        None => record,
    };
    if let Some(path) = &args.junit {
        junit::write(path, &report::junit_of_comparison(&record))?;
    }
    print_report(&Document::Comparison(&record).render(args.format, None))?;
    exit(&record)
}

/// Returns the exit code. A regression takes precedence, because a regression is certain. With
/// `--fail-on-regression`, runs that cannot be judged are an error.
fn exit(record: &RunsRecord) -> Result<Exit, Failure> {
    let Some(gate) = &record.gate else { return Ok(Exit::Done) };
    if gate.has(Judgement::Slower) {
        return Ok(Exit::Threshold);
    }
    let unjudged: Vec<String> = gate
        .judged
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.target, one.why_not.as_ref()?)))
        .collect();
    if unjudged.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!("cannot judge --fail-on-regression: {}", unjudged.join("; "));
    let help = "measure again: at least five complete rounds, at a rate that both servers carry and \
                that the server limits, in runs that do not fail";
    Err(Failure::message(Exit::Failed, "regression_not_judged", message, help))
}

fn read(name: &str, path: &Path) -> Result<Comparable, Failure> {
    match Saved::read(path)?.record {
        Record::Run(record) => Ok(Comparable::run(name, &record)),
        Record::Capacity(record) => Ok(Comparable::search(name, &record)),
        Record::Experiment(_) => {
            let message = format!("{}: cannot compare an experiment", path.display());
            let help = "name runs or searches; `loadgen report` shows an experiment";
            Err(Failure::message(Exit::Usage, "not_comparable", message, help))
        }
    }
}

/// Returns the names of the runs' folders or, if two folders have the
/// same name, all paths with numbers.
fn names(paths: &[std::path::PathBuf]) -> Vec<String> {
    let folder = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
        let name = folder.and_then(Path::file_name);
        name.map_or(path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = paths.iter().map(|path| folder(path)).collect();
    let is_twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    match names.iter().any(is_twice) {
        false => names,
        true => (1..).zip(paths).map(|(n, path)| format!("{n}: {}", path.display())).collect(),
    }
}
