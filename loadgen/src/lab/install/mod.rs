//! Makes the programs of targets and backends ready to run.
//!
//! [`python`] prepares the targets' Python environment with `uv`, and `build` builds targets that have a
//! build, from `inputs` and with `tools`. `wheel` installs programs that come in Python wheels, and
//! `lock_file` knows the packages of the environment. Here is what they share: running a program that
//! installs other programs, and explaining its failure. `variables` are the environment of targets at
//! refs of Git.

pub(super) mod build;
mod inputs;
pub(super) mod lock_file;
pub mod python;
pub(super) mod tools;
pub(super) mod uv;
pub(super) mod variables;
pub(super) mod wheel;

use std::path::Path;
use std::time::Duration;

use super::error::LabError;
use super::home::Home;
use super::service::programs::user_variables;
use super::service::{Service, ServiceSpec};

/// Environment variables that are not passed on, because these variables would make uv or Python
/// use another Python environment.
const MISLEADING: [&str; 3] = ["VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"];

/// Number of output lines that the error about a failed installation shows.
const TAIL: usize = 12;

/// Runs an installer, such as uv or pip, until the installer ends. If the installer fails, the
/// inner error contains the last lines of the installer's output.
pub(super) async fn run<A: Into<std::ffi::OsString>>(
    home: &Home,
    name: &str,
    argv: impl IntoIterator<Item = A>,
    log: &Path,
) -> Result<Result<(), Vec<String>>, LabError> {
    run_in(home.root(), home, name, argv, log).await
}

/// Like [`run`], but in the folder `folder`.
pub(super) async fn run_in<A: Into<std::ffi::OsString>>(
    folder: &Path,
    home: &Home,
    name: &str,
    argv: impl IntoIterator<Item = A>,
    log: &Path,
) -> Result<Result<(), Vec<String>>, LabError> {
    let mut spec = ServiceSpec::new(name, argv, folder, log.to_owned());
    spec.options.grace = Duration::from_secs(2);
    // The program needs all of the user's settings for access to package registries.
    let ours = user_variables().filter(|(name, _)| !MISLEADING.contains(&name.as_str()));
    let venv = home.venv().to_string_lossy().into_owned();
    spec.env = ours.chain([("UV_PROJECT_ENVIRONMENT".to_owned(), venv)]).collect();
    Service::carry_out(&spec, TAIL).await
}

/// Returns an error about a failed installation, with a fix for the problem that `output` reports.
pub(super) fn not_installed(what: &str, output: Vec<String>) -> LabError {
    let said = output.join("\n").to_lowercase();
    let said_any = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let help = if said_any(&["ensurepip", "no module named venv"]) {
        "install Python's venv module: `apt install python3-venv`"
    } else if said_any(&["peer certificate", "certificate verify failed"]) {
        "a proxy may have a certificate that only this machine trusts: set UV_SYSTEM_CERTS=1"
    } else if said_any(&[
        "name resolution",
        "dns",
        "connect",
        "network",
        "failed to fetch",
        "timed out",
    ]) {
        "check that PyPI is reachable; behind a proxy, set HTTPS_PROXY"
    } else if said_any(&["no space left"]) {
        "free disk space, and start again"
    } else {
        "fix the problem that the lines above report, and start again"
    };
    LabError::Python { what: what.to_owned(), output, help: help.to_owned() }
}
