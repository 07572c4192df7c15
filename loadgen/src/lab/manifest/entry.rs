//! A target of the manifest: what starts it, what it requires, and what it differs in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ready::Ready;
use crate::lab::git::git_ref::GitRef;
use crate::lab::install::build::Build;
use crate::lab::install::tools::{Requirement, Version};
use crate::scenario::{Backend, Cpus, Limits, Memory};

/// Word in a command that stands for the folder in which the target was built.
pub(super) const BUILD: &str = "{build}";

/// Word in a command or a variable that stands for an empty folder of the running target.
const FOLDER: &str = "{folder}";

/// Word in a command or a variable that stands for the path of a Unix domain socket, on which the target then
/// listens instead of a port.
pub(super) const SOCKET: &str = "{socket}";

/// Name of the socket in the target's folder.
const SOCKET_FILE: &str = "app.sock";

/// Port on which servers listen in containers, unless the user names another.
pub(super) const INNER_PORT: u16 = 8_000;

/// Language of a target that names none.
const PYTHON: &str = "Python";

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TargetSpec {
    /// Name of the target, as `--target` expects it.
    pub name: String,
    /// Table of the target in the manifest.
    #[serde(flatten)]
    pub entry: Entry,
    /// Version of the target's files, if the command line names one.
    #[serde(skip)]
    pub git: Option<GitRef>,
}

/// Table of one target in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the web framework in its usual spelling, such as "Sanic".
    pub framework: String,
    /// Name of the HTTP server that runs the framework, such as "hypercorn".
    pub server: String,
    /// Programming language of the target.
    #[serde(default = "python")]
    pub language: String,
    /// Python packages whose installed versions belong in a report.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Programs that the target requires: on the PATH, or from a wheel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    /// How to build the target; `None` for a target that needs no build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// Image of the user's own container, which `--runtime podman` and `loadgen k8s` run; `None` for none.
    #[serde(skip)]
    pub image: Option<String>,
    /// Port on which the server listens in the container of its image.
    #[serde(skip, default = "inner_port")]
    pub port: u16,
    /// ID of the user, not root, as whom the container of the image runs; `None` for the image's own.
    #[serde(skip)]
    pub user: Option<u32>,
    /// Command line that starts the target. loadgen replaces `{host}`, `{port}`, `{workers}`,
    /// `{pool_size}`, `{folder}`, `{socket}` and, for a target with a build, `{build}` by values.
    pub command: Vec<String>,
    /// Differences from the other targets besides the framework, such as the event loop "uvloop".
    #[serde(default)]
    pub differs: Vec<String>,
    /// Check that tells whether the target is ready.
    #[serde(skip_serializing, default = "Ready::health")]
    pub ready: Ready,
    /// The target's own profiler; `None` for those of loadgen.
    #[serde(skip)]
    pub profile: Option<OwnProfiler>,
    /// Time in which the target must become ready; `None` for the usual time.
    #[serde(skip)]
    pub start_timeout: Option<Duration>,
    /// Command that runs once before the first start, in the project's folder; `None` for none.
    #[serde(skip)]
    pub prepare: Option<Vec<String>>,
    /// Variables that are added to the target's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether the target implements `targets/openapi.yaml`, the contract of the targets.
    #[serde(default = "yes")]
    pub contract: bool,
    /// Other targets that this target sends requests to. Each runs beside this target, and the
    /// variable of this name has the URL of the other target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub upstreams: BTreeMap<String, String>,
    /// Whether the target is used when the command line names no target.
    #[serde(default = "yes")]
    pub default: bool,
    /// Default number of replicas of the target behind a load balancer, which the command line and
    /// the arms of an experiment may override. `None` runs the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// Default limit on the CPU time of the target's container, in CPUs, which the command line may
    /// override. `None` sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// Default limit on the memory of the target's container, which the command line may override.
    /// `None` sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// A profiler that samples a target.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnProfiler {
    /// Command line, which runs until SIGINT. Its words may have `{pid}`, `{host}`, `{port}` and `{folder}`.
    pub command: Vec<String>,
    /// Format of its output.
    #[serde(default)]
    pub format: ProfileFormat,
}

/// Format of a profiler's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileFormat {
    /// Lines of frames between `;`, a space, and a number of samples.
    #[default]
    Collapsed,
}

/// Returns the word in a command or a variable that stands for the URL of a backend.
fn url_of(backend: Backend) -> String {
    format!("{{{backend}}}")
}

impl Entry {
    /// Default CPU and memory limits of the target's container.
    pub fn limits(&self) -> Limits {
        Limits { cpus: self.cpus, memory: self.memory }
    }
}

fn inner_port() -> u16 {
    INNER_PORT
}

fn yes() -> bool {
    true
}

fn python() -> String {
    PYTHON.to_owned()
}

impl TargetSpec {
    /// Returns whether the target runs in the image that all Python targets share.
    pub fn shares_image(&self) -> bool {
        self.entry.language == PYTHON
    }

    /// Checks that this machine has all programs that the target requires, or that the lab installs them.
    /// Returns the versions of those on the PATH.
    ///
    /// # Errors
    /// The first requirement that is not met, for people.
    pub fn tools(&self) -> Result<BTreeMap<String, Version>, String> {
        let found = |of: &Requirement| match of.check() {
            Err(_) if of.wheel.is_some() => None,
            checked => Some(checked.map(|version| (of.tool.clone(), version))),
        };
        self.entry.requires.iter().filter_map(found).collect()
    }

    /// Returns the backends whose URLs the target's command or environment asks for.
    pub fn backends(&self) -> Vec<Backend> {
        let asks = |backend: &Backend| self.words().any(|word| word.contains(&url_of(*backend)));
        Backend::ALL.into_iter().filter(asks).collect()
    }

    /// Returns the words of the command, and the values of the environment.
    fn words(&self) -> impl Iterator<Item = &String> {
        self.entry.command.iter().chain(self.entry.env.values())
    }

    /// Returns the target with the folder of its build in its command and its environment.
    #[must_use]
    pub fn built_in(self, folder: &str) -> Self {
        self.with(BUILD, folder)
    }

    /// Returns whether the target needs an empty folder while it runs.
    pub fn needs_folder(&self) -> bool {
        self.words().any(|word| word.contains(FOLDER))
    }

    /// Returns the target with its own empty folder, and its socket there, in its command and its environment.
    #[must_use]
    pub fn running_in(self, folder: &str) -> Self {
        self.with(FOLDER, folder).with(SOCKET, &format!("{folder}/{SOCKET_FILE}"))
    }

    /// Returns the socket on which the target listens if it runs in this folder; `None` if it listens on a port.
    pub fn socket_in(&self, folder: &Path) -> Option<PathBuf> {
        self.words().any(|word| word.contains(SOCKET)).then(|| folder.join(SOCKET_FILE))
    }

    fn with(mut self, placeholder: &str, value: &str) -> Self {
        let of_profiler = self.entry.profile.iter_mut().flat_map(|of| &mut of.command);
        let words = self.entry.command.iter_mut().chain(self.entry.env.values_mut());
        words.chain(of_profiler).for_each(|word| *word = word.replace(placeholder, value));
        self
    }

    /// Returns the target with the URL of a backend in its command and its environment.
    #[must_use]
    pub fn over(self, backend: Backend, url: &str) -> Self {
        self.with(&url_of(backend), url)
    }

    /// Returns the target's command line and environment with these values filled in. `workers` is
    /// the number of worker processes, and `pool_size` is the number of connections of each worker
    /// process to each backend.
    pub fn filled(
        &self,
        host: &str,
        port: u16,
        workers: u32,
        pool_size: u32,
    ) -> (Vec<String>, BTreeMap<String, String>) {
        let numbers = [
            ("{port}", port.to_string()),
            ("{workers}", workers.to_string()),
            ("{pool_size}", pool_size.to_string()),
        ];
        let filled = |word: &String| {
            let word = word.replace("{host}", host);
            numbers.iter().fold(word, |word, (name, number)| word.replace(name, number))
        };
        let env = self.entry.env.iter().map(|(name, value)| (name.clone(), filled(value)));
        (self.entry.command.iter().map(filled).collect(), env.collect())
    }

    /// Returns the command line of the target's own profiler, for a server at this port; empty without one.
    pub fn profiler(&self, host: &str, port: u16) -> Vec<String> {
        let words = self.entry.profile.iter().flat_map(|of| &of.command);
        let filled =
            |word: &String| word.replace("{host}", host).replace("{port}", &port.to_string());
        words.map(filled).collect()
    }
}
