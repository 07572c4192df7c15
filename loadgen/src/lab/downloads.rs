//! Says what a lab would install and build before its first measurement. Installs nothing.

use std::fs;

use super::error::LabError;
use super::home::packages::versions_in;
use super::home::{Home, installed};
use super::install::wheel::Wheel;
use super::install::{build, lock_file, python, uv};
use super::manifest::TargetSpec;
use super::target::balancer_to_use;
use crate::text::counted;

/// Largest number of packages that are named, not counted.
const FEW: usize = 3;

/// Targets and services that a lab of processes must provide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// Targets, with their upstreams.
    pub targets: Vec<TargetSpec>,
    /// Whether a target has replicas behind a load balancer.
    pub is_balanced: bool,
}

/// Something that the lab would install or build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Description for people.
    pub what: String,
    /// Approximate size of the downloaded files, in bytes; `None` if unknown.
    pub bytes: Option<u64>,
}

impl Download {
    fn of_unknown_size(what: String) -> Self {
        Self { what, bytes: None }
    }
}

/// Returns what the lab would install and build, in this order.
pub fn downloads(home: &Home, needs: &Needs) -> Result<Vec<Download>, LabError> {
    let mut wheels = Vec::new();
    for target in &needs.targets {
        let found = target.tools().unwrap_or_default();
        for requirement in &target.entry.requires {
            let file = requirement.wheel.as_ref();
            if let Some(file) = file.filter(|_| !found.contains_key(&requirement.tool)) {
                wheels.push(Wheel::of(&requirement.tool, file, home)?);
            }
        }
    }
    if needs.is_balanced {
        wheels.extend(balancer_to_use()?.wheel());
    }
    wheels.retain(|wheel| wheel.installed(home).is_none());
    wheels.dedup();
    let packages = lacking_packages(home)?;
    let mut all = Vec::new();
    if (packages.is_some() || !wheels.is_empty()) && !uv::is_here(home)? {
        all.push(Download::of_unknown_size(uv::package()));
    }
    all.extend(packages);
    all.extend(wheels.iter().map(|wheel| Download::of_unknown_size(wheel.package())));
    for target in &needs.targets {
        all.extend(built(home, target)?);
    }
    Ok(all)
}

/// Returns the packages that the targets' Python environment lacks, as one download.
fn lacking_packages(home: &Home) -> Result<Option<Download>, LabError> {
    if home.is_own() || home.is_installed() {
        return Ok(None);
    }
    let version = python::version_in(&home.venv()).and_then(|version| version.parse().ok());
    let mut packages = lock_file::packages(&home.root().join("uv.lock"), version.as_ref())?;
    let names: Vec<String> = packages.iter().map(|package| package.name.clone()).collect();
    let site_packages = installed::site_packages(&home.venv()).ok().flatten();
    let found = site_packages.map(|folder| versions_in(&folder, &names)).unwrap_or_default();
    // A package may have another version for another Python: one that is there is taken for the right one.
    packages.retain(|package| !found.contains_key(&package.name));
    if packages.is_empty() {
        return Ok(None);
    }
    let bytes = packages.iter().filter_map(|package| package.bytes).sum();
    let what = match packages.len() {
        1..=FEW => packages
            .iter()
            .map(|package| format!("{} {}", package.name, package.version))
            .collect::<Vec<_>>()
            .join(", "),
        n => format!("{} of uv.lock", counted(n as u64, "Python package")),
    };
    Ok(Some(Download { what, bytes: Some(bytes) }))
}

/// Returns the build of a target; `None` if the target needs none, or was built before.
fn built(home: &Home, target: &TargetSpec) -> Result<Option<Download>, LabError> {
    let Some(build) = &target.entry.build else { return Ok(None) };
    let tools = target.tools().unwrap_or_default();
    if build::is_built(home, &target.name, build, &tools)? {
        return Ok(None);
    }
    let folder = home.root().join(&build.folder);
    let packages = build.inputs.iter().filter_map(|input| {
        let read = || fs::read_to_string(folder.join(input)).unwrap_or_default();
        match input.as_str() {
            "go.sum" => {
                let modules = read().lines().filter(|line| !line.contains("/go.mod ")).count();
                Some(counted(modules as u64, "Go module"))
            }
            "package-lock.json" => {
                let lock: serde_json::Value = serde_json::from_str(&read()).unwrap_or_default();
                let all = lock["packages"].as_object().map_or(0, serde_json::Map::len);
                // The project itself is one of them.
                Some(format!("{} from npm", counted(all.saturating_sub(1) as u64, "package")))
            }
            "requirements.txt" => {
                let text = read();
                let mut words = text.split_whitespace();
                words
                    .find_map(|word| word.split_once("=="))
                    .map(|(name, version)| format!("{name} {version}"))
            }
            "pom.xml" => Some("packages of Maven".to_owned()),
            _ => None,
        }
    });
    let packages: Vec<String> = packages.collect();
    let with = match packages.is_empty() {
        true => String::new(),
        false => format!(", with {}", packages.join(", ")),
    };
    let command = build.command.first().map_or("", String::as_str);
    Ok(Some(Download::of_unknown_size(format!("{}: a build by {command}{with}", target.name))))
}
