//! Reads the manifest, `targets/targets.toml` or a user's `loadgen.toml`: the servers under test, the
//! command that starts each server, and the differences between the servers.

mod entry;
mod in_image;
mod own;
mod program;
mod ready;

use std::collections::BTreeMap;
use std::path::PathBuf;

use miette::NamedSource;
use toml::Spanned;
use toml::de::DeTable;

use self::entry::BUILD;
pub use self::entry::{Entry, TargetSpec};
pub use self::ready::Ready;
use super::error::{LabError, ManifestFault};
use super::home::Home;
use crate::measure::BALANCER;
use crate::scenario::experiment::MOST_REPLICAS;
use crate::scenario::{Backend, nearest, read_text};

/// Largest manifest, in bytes.
const LARGEST: u64 = 16 << 20;

const KEYS: [&str; 16] = [
    "framework",
    "server",
    "language",
    "packages",
    "requires",
    "build",
    "command",
    "differs",
    "ready",
    "upstreams",
    "contract",
    "env",
    "default",
    "replicas",
    "cpus",
    "memory",
];

/// Names that results have for other services.
pub(crate) const RESERVED: [&str; 5] = ["target", "generator", "redis", "postgres", BALANCER];

/// Contents of the manifest: all targets, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    targets: Vec<TargetSpec>,
    /// Sources of the backends' content, for a user's own targets.
    pub inits: Inits,
    /// Whether the targets are a user's own.
    own: bool,
}

/// Sources of the content of each backend, so that every round begins with the same data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inits {
    /// The file has SQL.
    pub postgres: Init,
    /// The file has commands of Redis, one in each line.
    pub redis: Init,
}

/// Sources of a backend's content: a file, and then a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Init {
    /// File, relative to the project.
    pub file: Option<PathBuf>,
    /// Command.
    pub fill: Option<Fill>,
}

/// A user's command that fills a backend, and the variables that are added to its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fill {
    /// Command line, which runs in the project's folder.
    pub command: Vec<String>,
    /// Variables, in which `{postgres}` or `{redis}` stands for the URL of the backend.
    pub env: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns the sources of the content of a backend.
    pub fn init(&self, backend: Backend) -> &Init {
        match backend {
            Backend::Redis => &self.inits.redis,
            Backend::Postgres => &self.inits.postgres,
        }
    }

    /// Reads and checks the whole manifest of a project.
    pub fn of(home: &Home) -> Result<Self, LabError> {
        let path = home.manifest();
        let text = read_text(LARGEST, &path).map_err(LabError::file("read", &path))?;
        Self::read(text, home.manifest_name(), home.is_own())
    }

    /// Reads and checks the text of a whole manifest, which errors call `name`. `own` tells whether
    /// the targets are a user's own.
    pub(super) fn read(text: String, name: &str, own: bool) -> Result<Self, LabError> {
        let parsed = if own { own::parse(&text) } else { Self::parse(&text) };
        parsed.map_err(|fault| {
            LabError::Manifest(Box::new(ManifestFault {
                message: fault.message,
                text: NamedSource::new(name, text).with_language("TOML"),
                span: fault.span.map(Into::into),
                help: fault.help,
            }))
        })
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let table = DeTable::parse(text).map_err(Fault::toml)?;
        unknown_key(table.get_ref())?;
        let entries: BTreeMap<String, Spanned<Entry>> =
            toml::from_str(text).map_err(Fault::toml)?;
        let targets = in_order(entries).into_iter().map(|(name, entry)| {
            let (span, entry) = (entry.span(), entry.into_inner());
            match &entry.build {
                Some(build) if build.command.is_empty() || build.inputs.is_empty() => {
                    let message = format!("target \"{name}\": `build` needs a command and inputs");
                    return Err(Fault::at(span, message));
                }
                None if entry.command.iter().any(|word| word.contains(BUILD)) => {
                    let message = format!("target \"{name}\": {BUILD} without a `build`");
                    let help = Some("add a `build` with a folder, inputs and a command".to_owned());
                    return Err(Fault { help, ..Fault::at(span, message) });
                }
                _ => {}
            }
            checked(name, entry, span)
        });
        let targets = targets.collect::<Result<_, _>>()?;
        let manifest = Self { targets, inits: Inits::default(), own: false };
        manifest.check_upstreams(table.get_ref())?;
        Ok(manifest)
    }

    /// Checks that each upstream is a target that has no upstreams.
    fn check_upstreams(&self, table: &DeTable<'_>) -> Result<(), Fault> {
        for TargetSpec { name, entry, .. } in &self.targets {
            for upstream in entry.upstreams.values() {
                let found = self.targets.iter().find(|target| target.name == *upstream);
                let message = match found.map(|target| target.entry.upstreams.is_empty()) {
                    Some(true) => continue,
                    Some(false) => {
                        format!("target \"{name}\": the upstream \"{upstream}\" has upstreams")
                    }
                    None => format!("target \"{name}\": there is no target \"{upstream}\""),
                };
                let place = table.get(name.as_str()).map_or(0..0, Spanned::span);
                return Err(Fault::at(place, message));
            }
        }
        Ok(())
    }

    /// Returns the target of this name with its upstreams, or an error that suggests the nearest
    /// name. The target itself comes first.
    pub fn with_upstreams(&self, name: &str) -> Result<Vec<&TargetSpec>, LabError> {
        let target = self.target(name)?;
        Ok(std::iter::once(target).chain(self.upstreams_of(target)).collect())
    }

    /// Returns the targets that this target sends requests to.
    pub fn upstreams_of(&self, target: &TargetSpec) -> Vec<&TargetSpec> {
        let upstreams = target.entry.upstreams.values();
        upstreams.filter_map(|upstream| self.target(upstream).ok()).collect()
    }

    /// Checks that this machine has all programs that the target and its upstreams require.
    ///
    /// # Errors
    /// The first requirement that is not met, as a sentence for people.
    pub(super) fn requirements_of(&self, name: &str) -> Result<(), String> {
        let targets = self.with_upstreams(name).map_err(|error| error.to_string())?;
        let of_upstream = |upstream: &str, why: String| match why.split_once(';') {
            Some((needs, rest)) if upstream != name => format!("{needs} for {upstream};{rest}"),
            _ => why,
        };
        targets.iter().try_for_each(|target| {
            target.tools().map(drop).map_err(|why| of_upstream(&target.name, why))
        })
    }

    /// Checks that the user's own target has what containers or, if `contained` is false, processes
    /// need. The lab's targets have both.
    ///
    /// # Errors
    /// Sentence for people that says what the target lacks.
    pub(super) fn runs(&self, target: &TargetSpec, contained: bool) -> Result<(), String> {
        let entry = &target.entry;
        let is_limited = entry.cpus.is_some() || entry.memory.is_some();
        match (&entry.image, contained) {
            _ if !self.own => Ok(()),
            (None, true) => Err("it has no `image`, which a container or a pod needs".to_owned()),
            (Some(_), false) if entry.command.is_empty() => {
                Err("it has only an image, which needs --runtime podman".to_owned())
            }
            (Some(_), false) if is_limited => {
                Err("`cpus` and `memory` limit its container, which needs --runtime podman"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Adds a target as it is at a ref.
    pub(super) fn add(&mut self, target: TargetSpec) {
        self.targets.push(target);
    }

    /// All targets, in the order of the file.
    pub fn targets(&self) -> &[TargetSpec] {
        &self.targets
    }

    /// Names of all targets, in the order of the file.
    pub fn names(&self) -> Vec<String> {
        self.targets.iter().map(|target| target.name.clone()).collect()
    }

    /// Names of the targets that are used when the command line names no target.
    pub fn default_targets(&self) -> Vec<String> {
        self.targets.iter().filter(|target| target.entry.default).map(|t| t.name.clone()).collect()
    }

    /// Returns the target of this name, or an error that suggests the nearest name.
    pub fn target(&self, name: &str) -> Result<&TargetSpec, LabError> {
        let names = || self.targets.iter().map(|target| target.name.as_str());
        self.targets.iter().find(|target| target.name == name).ok_or_else(|| {
            LabError::UnknownTarget {
                name: name.to_owned(),
                help: match nearest(name, names()) {
                    _ if name.split_once('@').is_some_and(|(of, _)| names().any(|it| it == of)) => {
                        "only --target of `run` and `capacity` may name a ref".to_owned()
                    }
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the targets are {}", names().collect::<Vec<_>>().join(", ")),
                },
            }
        })
    }
}

/// Returns the targets of the text of a `loadgen.toml`.
#[cfg(test)]
pub(super) fn own_targets(text: &str) -> Vec<TargetSpec> {
    own::parse(text).unwrap().targets
}

/// Returns the tables of targets in the order of the file.
fn in_order<T>(tables: BTreeMap<String, Spanned<T>>) -> Vec<(String, Spanned<T>)> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    tables
}

/// Returns the target of this name and table, if all targets may have them. `span` is the place of the
/// table.
fn checked(name: String, entry: Entry, span: std::ops::Range<usize>) -> Result<TargetSpec, Fault> {
    if RESERVED.contains(&name.as_str()) {
        let help = Some("choose another name".to_owned());
        let message = format!("a target cannot be called \"{name}\": results have this name");
        return Err(Fault { help, ..Fault::at(span, message) });
    }
    if entry.command.is_empty() && entry.image.is_none() {
        return Err(Fault::at(span, format!("target \"{name}\": the command is empty")));
    }
    if entry.replicas.is_some_and(|replicas| !(1..=MOST_REPLICAS).contains(&replicas)) {
        let message = format!("target \"{name}\": `replicas` must be from 1 to {MOST_REPLICAS}");
        return Err(Fault::at(span, message));
    }
    Ok(TargetSpec { name, entry, git: None })
}

/// A fault in the manifest's text, later combined with the text itself into a [`ManifestFault`].
#[derive(Debug)]
struct Fault {
    message: String,
    span: Option<std::ops::Range<usize>>,
    help: Option<String>,
}

impl Fault {
    fn at(span: std::ops::Range<usize>, message: String) -> Self {
        Self { message, span: Some(span), help: None }
    }

    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    fn toml(error: toml::de::Error) -> Self {
        Self { message: error.message().to_owned(), span: error.span(), help: None }
    }
}

fn unknown_key(table: &DeTable<'_>) -> Result<(), Fault> {
    for (name, target) in table {
        let Some(target) = target.get_ref().as_table() else {
            let message = format!("\"{}\" is outside the table of a target", name.get_ref());
            return Err(Fault::at(name.span(), message));
        };
        for key in target.keys() {
            let word: &str = key.get_ref();
            if !KEYS.contains(&word) {
                let help = match nearest(word, KEYS) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the keys of a target are {}", KEYS.join(", ")),
                };
                let message = format!("unknown key \"{word}\" in target \"{}\"", name.get_ref());
                return Err(Fault { help: Some(help), ..Fault::at(key.span(), message) });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
