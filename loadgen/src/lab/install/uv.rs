//! Finds uv, which installs Python packages, or else installs uv from PyPI in loadgen's own folder.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{not_installed, run};
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::service::programs::on_path;

/// Version of uv that made the lock file.
const VERSION: &str = "0.13.8";

/// Names of interpreters that can install uv, the user's default first.
const INTERPRETERS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python"];

/// Oldest Python that all targets support.
const OLDEST: (u32, u32) = (3, 11);

/// Name of the package with its version.
pub(in crate::lab) fn package() -> String {
    format!("uv {VERSION}")
}

/// Returns whether uv is on the PATH, or was installed before.
pub(in crate::lab) fn is_here(home: &Home) -> Result<bool, LabError> {
    Ok(on_path("uv").is_some() || home.cache()?.join("uv/bin/uv").is_file())
}

/// Returns the path of uv. Installs uv first if uv is missing. The caller must hold the lock that
/// protects installations.
pub(in crate::lab) async fn find_or_install(
    home: &Home,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<PathBuf, LabError> {
    if let Some(uv) = on_path("uv") {
        return Ok(uv);
    }
    let folder = home.cache()?.join("uv");
    let uv = folder.join("bin/uv");
    if !uv.is_file() {
        progress("installing uv");
        install(home, &format!("uv=={VERSION}"), &folder).await?;
    }
    Ok(uv)
}

/// Installs a Python package from PyPI, such as `uv==0.13.8`, in a separate Python environment in
/// `folder`. The caller must hold the lock that protects installations.
pub(in crate::lab) async fn install(
    home: &Home,
    package: &str,
    folder: &Path,
) -> Result<(), LabError> {
    let python = interpreter().await?;
    let log = home.cache()?.join("install.log");
    // Uses another name until the installation is complete. Moving the folder is safe: uv is a
    // single program, and modules may be moved.
    let part = folder.with_extension("part");
    let venv = [python.as_path(), "-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), &part];
    if let Err(output) = run(home, "python", venv, &log).await? {
        return Err(not_installed("cannot create a Python environment", output));
    }
    let pip = part.join("bin/python");
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
    let argv = [pip.as_path()].into_iter().chain(options.iter().map(Path::new));
    if let Err(output) = run(home, "pip", argv, &log).await? {
        return Err(not_installed(&format!("cannot install {package}"), output));
    }
    let _ = fs::remove_dir_all(folder);
    fs::rename(&part, folder).map_err(LabError::file("create the folder", folder))
}

/// Finds the first Python interpreter on the PATH that is new enough.
async fn interpreter() -> Result<PathBuf, LabError> {
    let mut too_old = Vec::new();
    for name in INTERPRETERS {
        let Some(program) = on_path(name) else {
            continue;
        };
        match version(&program).await {
            Some(version) if version >= OLDEST => return Ok(program),
            Some((major, minor)) => too_old.push(format!("{name} is {major}.{minor}")),
            None => {}
        }
    }
    let found =
        if too_old.is_empty() { String::new() } else { format!(" ({})", too_old.join(", ")) };
    Err(LabError::Python {
        what: format!("no Python {}.{} or newer found{found}", OLDEST.0, OLDEST.1),
        output: Vec::new(),
        help: "install Python (`apt install python3 python3-venv`, `brew install python`), or install uv, which provides Python"
            .to_owned(),
    })
}

/// Returns the major and minor version that a Python interpreter reports. `None` if the program
/// does not run, because a name on the PATH may be a wrapper without an interpreter.
async fn version(python: &Path) -> Option<(u32, u32)> {
    let mut command = Command::new(python);
    command.args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let output = command.kill_on_drop(true).output().await.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
