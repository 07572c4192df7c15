//! Selects the servers under load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contender::AGAIN;
use crate::cluster::means_itself;
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest, Observers, Runtime, TargetSpec, at_ref};
use crate::record::{LimitsRecord, ServerRecord};
use crate::scenario::{Backend, Scenario, ServerUrl};

/// Servers under load: targets that loadgen starts, or servers that run already.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Targets that the lab launches.
    Lab {
        /// Project that contains the targets.
        home: Home,
        /// Selected targets.
        targets: Vec<TargetSpec>,
        /// Targets that the user did not name and that this machine cannot run, each with the
        /// reason.
        left_out: BTreeMap<String, String>,
    },
    /// Servers that run already.
    Running(Vec<Server>),
}

/// A server that runs already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Name of the server: its URL, unless the user gave another name.
    pub name: String,
    /// Base URL of the server, without a slash at the end.
    pub url: String,
    /// How loadgen has deployed the server in a cluster; `None` for another server.
    pub deployed: Option<Deployed>,
}

/// A server that `loadgen k8s` has deployed in the cluster in which the load is generated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deployed {
    /// Where its pods are observed.
    pub observers: Observers,
    /// Name of the target.
    pub target: String,
    /// Image of its pods.
    pub image: String,
    /// The record of the server.
    pub server: ServerRecord,
    /// Limits of each pod.
    pub limits: LimitsRecord,
    /// The backends that it uses, which it may share with the other servers.
    pub backends: Vec<DeployedBackend>,
}

/// A backend that `loadgen k8s` has deployed in the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeployedBackend {
    /// The backend.
    pub backend: Backend,
    /// Where its pod is observed.
    pub observers: Observers,
    /// Image of its pod.
    pub image: String,
    /// Limits of its pod.
    pub limits: LimitsRecord,
}

impl Subject {
    /// Returns the servers that run already.
    pub fn running(&self) -> &[Server] {
        match self {
            Self::Running(servers) => servers,
            Self::Lab { .. } => &[],
        }
    }

    /// Returns whether loadgen has deployed the servers in a cluster.
    pub fn is_deployed(&self) -> bool {
        self.running().iter().any(|server| server.deployed.is_some())
    }

    /// Returns the backends that loadgen has deployed in a cluster, each once.
    pub fn deployed_backends(&self) -> BTreeMap<Backend, &DeployedBackend> {
        let deployed = self.running().iter().filter_map(|server| server.deployed.as_ref());
        deployed.flat_map(|of| &of.backends).map(|of| (of.backend, of)).collect()
    }

    /// Returns the URL of a server that each host, or each pod, would take for one of its own.
    pub fn own_to_each_host(&self) -> Option<&str> {
        let Self::Running(servers) = self else { return None };
        servers.iter().map(|server| server.url.as_str()).find(|url| {
            let server = ServerUrl::parse(url).ok();
            let host = server.as_ref().and_then(|server| server.url.host_str());
            host.is_some_and(|host| means_itself(host.trim_matches(['[', ']'])))
        })
    }

    /// Selects the targets of the project that `named` lists, each by its name or, such as `shop@main`,
    /// as it is at a ref of Git. An empty list selects the scenario's targets or, if the scenario names
    /// no targets, the default targets of a user's own project or a checkout, without those that this
    /// machine cannot run.
    ///
    /// # Errors
    /// Fails if there is no project, or if a name or a ref is unknown or given twice.
    pub fn of_lab(
        named: &[String],
        scenario: &Scenario,
        runtime: Runtime,
    ) -> Result<Self, Failure> {
        let home = Home::find()?;
        let manifest = Manifest::of(&home)?;
        let names = match (named, scenario.targets.as_slice()) {
            // The default targets of a project are its own; nobody chose the embedded lab.
            ([], []) if home.is_embedded() => return Err(Home::none_here().into()),
            ([], []) => manifest.default_targets(),
            ([], own) => own.to_vec(),
            (named, _) => named.to_vec(),
        };
        if names.is_empty() {
            let message =
                format!("{} has no target that is measured by default", home.manifest_name());
            let help = "add a table [target.NAME], or name targets: --target NAME";
            return Err(Failure::message(Exit::Target, "no_target", message, help));
        }
        let (mut targets, mut left_out) = (Vec::<TargetSpec>::new(), BTreeMap::new());
        for name in &names {
            let target = match named {
                [] => manifest.target(name.trim())?.clone(),
                _ => at_ref(&home, &manifest, runtime, name.trim())?,
            };
            if named.is_empty()
                && let Err(why) = runtime.check_requirements(&manifest, &target.name)
            {
                left_out.insert(target.name.clone(), why);
                continue;
            }
            if targets.iter().any(|t| t.name == target.name) {
                let message = format!("target \"{name}\" is given twice");
                let help = "give each target once";
                return Err(Failure::message(Exit::Usage, "named_twice", message, help));
            }
            targets.push(target);
        }
        if let (true, Some((name, why))) = (targets.is_empty(), left_out.iter().next()) {
            let message = format!("this machine can run no target of the scenario: {name}: {why}");
            let help = "install the program, or name targets: --target NAME";
            return Err(Failure::message(Exit::Target, "no_target", message, help));
        }
        Ok(Self::Lab { home, targets, left_out })
    }

    /// Returns the targets that this machine cannot run, each with the reason.
    pub fn left_out(&self) -> BTreeMap<String, String> {
        match self {
            Self::Lab { left_out, .. } => left_out.clone(),
            Self::Running(_) => BTreeMap::new(),
        }
    }

    /// Returns the targets at refs of Git.
    pub fn at_refs(&self) -> Vec<TargetSpec> {
        match self {
            Self::Lab { targets, .. } => {
                targets.iter().filter(|target| target.git.is_some()).cloned().collect()
            }
            Self::Running(_) => Vec::new(),
        }
    }

    /// Returns the names of the targets. If `again` is true, the first target's name also appears
    /// with a suffix that marks the target's second measurement.
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

    /// Checks that there is exactly one target if `aa` is
    /// true, because `--aa` compares a target with itself.
    pub fn check_equals(&self, aa: bool) -> Result<(), Failure> {
        let (n, help) = match self {
            Self::Lab { targets, .. } => (targets.len(), "name one target: --target NAME"),
            Self::Running(servers) => (servers.len(), "name one server: --url URL"),
        };
        if aa && n != 1 {
            let message = format!("--aa measures one target against itself, not {n}");
            return Err(Failure::conflict(message, help));
        }
        Ok(())
    }
}
