//! Finds a running container, and lists the packages in an image.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::info::{container_ulimits, podman};
use crate::lab::error::LabError;
use crate::lab::home::packages::normalized;
use crate::lab::machine::container::{Cgroup, Container};

/// Python program that prints the versions of Python and of all installed packages, as JSON.
const VERSIONS: &str = "import json, sys; from importlib.metadata import distributions; \
    print(json.dumps({'python': '%d.%d.%d' % sys.version_info[:3], \
    'packages': {d.metadata['Name']: d.version for d in distributions()}}))";

/// Finds the container of this name. `program` is the path of podman.
pub(super) async fn find(program: &Path, name: &str) -> Result<Container, LabError> {
    let words = ["inspect", "--format", "{{.Id}} {{.State.Pid}}", name];
    let said = podman(program, &words).await;
    let fault = |output| LabError::Podman {
        what: format!("podman has no container {name}"),
        output,
        help: "another program may have removed the container".to_owned(),
    };
    let said = said.map_err(fault)?;
    let (id, pid) = said.split_once(' ').unwrap_or_default();
    let pid = pid.parse().map_err(|_| fault(vec![said.clone()]))?;
    Ok(Container { pid, group: Cgroup::of(pid, id) })
}

/// Packages that are installed in the targets' image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Packages {
    /// Version of the image's Python.
    pub python: String,
    packages: BTreeMap<String, String>,
}

impl Packages {
    /// Runs a short-lived container of this image to list the image's packages. No other container
    /// runs earlier, so a fault that keeps podman from running any container appears here.
    pub async fn of(program: &Path, image: &str) -> Result<Self, LabError> {
        let [files, processes] = container_ulimits();
        let (files, processes) = (format!("nofile={files}"), format!("nproc={processes}"));
        let limits =
            ["--ulimit", &files, "--ulimit", &processes, "--memory", "256m", "--cpus", "1"];
        let run = ["run", "--rm", "--network", "none", "--entrypoint", "/srv/.venv/bin/python"];
        let words = [&run[..], &limits, &[image, "-c", VERSIONS]].concat();
        let fault = |output| LabError::Podman {
            what: "podman cannot run a container".to_owned(),
            output,
            help: "run `loadgen lab doctor` to find the reason".to_owned(),
        };
        let said = podman(program, &words).await.map_err(fault)?;
        serde_json::from_str(&said).map_err(|error| fault(vec![error.to_string()]))
    }

    /// Returns the versions of these Python packages, by name. Omits packages that are not
    /// installed.
    pub fn versions(&self, packages: &[String]) -> BTreeMap<String, String> {
        let by_name: BTreeMap<String, &String> =
            self.packages.iter().map(|(name, version)| (normalized(name), version)).collect();
        let version = |package: &String| {
            Some((package.clone(), (*by_name.get(&normalized(package))?).clone()))
        };
        packages.iter().filter_map(version).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_under_any_spelling() {
        let said = r#"{"python": "3.11.2", "packages": {"Uvicorn_Worker": "0.4", "flask": "3.1"}}"#;
        let packages: Packages = serde_json::from_str(said).unwrap();
        let asked = ["uvicorn-worker", "sanic"].map(str::to_owned);
        let found = packages.versions(&asked);
        assert_eq!(found, BTreeMap::from([("uvicorn-worker".to_owned(), "0.4".to_owned())]));
    }
}
