//! What is put under load.

use super::contender::AGAIN;
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest, TargetSpec};
use crate::scenario::Scenario;

/// What is put under load.
pub enum Subject {
    /// Targets that the lab launches.
    Lab {
        /// Where they are.
        home: Home,
        /// Which.
        targets: Vec<TargetSpec>,
    },
    /// Servers that run already.
    Running(Vec<Server>),
}

/// A server that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What it is called: its URL, unless it was given a name.
    pub name: String,
    /// Where it answers, without the slash at its end.
    pub url: String,
}

impl Subject {
    /// The named targets of the project, or those of the scenario, or those that are measured by default.
    ///
    /// # Errors
    /// When there is no project, or a name is wrong or there twice.
    pub fn of_lab(named: &[String], scenario: &Scenario) -> Result<Self, Failure> {
        let home = Home::find()?;
        let manifest = Manifest::load(&home.manifest())?;
        let names = match (named, scenario.targets.as_slice()) {
            ([], []) => manifest.default_targets(),
            ([], own) => own.to_vec(),
            (named, _) => named.to_vec(),
        };
        let mut targets: Vec<TargetSpec> = Vec::new();
        for name in &names {
            let target = manifest.target(name.trim())?;
            if targets.iter().any(|t| t.name == target.name) {
                let message = format!("target \"{name}\" is named twice");
                return Err(Failure::message(Exit::Usage, message, "name each target once"));
            }
            targets.push(target.clone());
        }
        Ok(Self::Lab { home, targets })
    }

    /// The names of its targets, and one more where it is measured again.
    pub fn names(&self, again: bool) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Lab { targets, .. } => targets.iter().map(|t| t.name.clone()).collect(),
            Self::Running(servers) => servers.iter().map(|server| server.name.clone()).collect(),
        };
        if again {
            names.extend(names.first().map(|name| format!("{name}{AGAIN}")));
        }
        names
    }

    /// Only one can be measured against itself.
    pub fn check_equals(&self, aa: bool) -> Result<(), Failure> {
        let (n, help) = match self {
            Self::Lab { targets, .. } => (targets.len(), "name one: --target NAME"),
            Self::Running(servers) => (servers.len(), "name one: --url URL"),
        };
        if aa && n != 1 {
            let message = format!("--aa measures one target against itself, not {n}");
            return Err(Failure::message(Exit::Usage, message, help));
        }
        Ok(())
    }
}
