//! Finds the program that starts a target.

use std::path::PathBuf;

use super::TargetSpec;
use crate::lab::error::LabError;
use crate::lab::install::python::Python;
use crate::lab::service::programs::on_path;

impl TargetSpec {
    /// Returns the path of the program that starts the target: a path, a required program on the PATH,
    /// or a program of the Python environment.
    pub(in crate::lab) fn program(&self, python: &Python) -> Result<PathBuf, LabError> {
        let word = &self.entry.command[0];
        let required = self.entry.requires.iter().any(|required| required.tool == *word);
        if let Some(program) = required.then(|| on_path(word)).flatten() {
            return Ok(program);
        }
        // Joining an absolute path gives that path.
        let program = python.bin().join(word);
        if program.is_file() {
            return Ok(program);
        }
        if let Some(program) = python.program(word) {
            return Ok(program);
        }
        let (what, help) = match self.entry.build {
            None => (python.lacks(), python.fix()),
            Some(_) => ("is missing after the build", "check `build` in targets/targets.toml"),
        };
        let what = format!("the command {word} {what}");
        Err(LabError::Missing { service: self.name.clone(), what, help: help.to_owned() })
    }
}
