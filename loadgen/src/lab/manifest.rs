//! Reads the manifest, `targets/targets.toml`: the servers under test, the command that starts each
//! server, and the differences between the servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use miette::NamedSource;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeTable;

use super::error::{LabError, ManifestFault};
use crate::scenario::{Cpus, Limits, Memory, nearest};

const KEYS: [&str; 9] =
    ["framework", "server", "packages", "command", "differs", "env", "default", "cpus", "memory"];

/// Contents of `targets/targets.toml`: all targets, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    targets: Vec<TargetSpec>,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TargetSpec {
    /// Name of the target, as `--target` expects it.
    pub name: String,
    /// Table of the target in `targets/targets.toml`.
    #[serde(flatten)]
    pub entry: Entry,
}

/// Table of one target in `targets/targets.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the web framework in its usual spelling, such as "Sanic".
    pub framework: String,
    /// Name of the HTTP server that runs the framework, such as "hypercorn".
    pub server: String,
    /// Python packages whose installed versions belong in a report.
    pub packages: Vec<String>,
    /// Command line that starts the target. loadgen replaces `{host}`, `{port}`, `{workers}` and
    /// `{pool_size}` by values.
    pub command: Vec<String>,
    /// Differences from the other targets besides the framework, such as the event loop "uvloop".
    #[serde(default)]
    pub differs: Vec<String>,
    /// Variables that are added to the target's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether the target is used when the command line names no target.
    #[serde(default = "yes")]
    pub default: bool,
    /// Default limit on the CPU time of the target's container, in CPUs, which the command line may
    /// override. `None` sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// Default limit on the memory of the target's container, which the command line may override.
    /// `None` sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

impl Entry {
    /// Default CPU and memory limits of the target's container.
    pub fn limits(&self) -> Limits {
        Limits { cpus: self.cpus, memory: self.memory }
    }
}

fn yes() -> bool {
    true
}

impl TargetSpec {
    /// Returns the target's command line with these values filled in. `workers` is the number of
    /// worker processes, and `pool_size` is the number of connections of each worker process to
    /// each backend.
    pub fn argv(&self, host: &str, port: u16, workers: u32, pool_size: u32) -> Vec<String> {
        let numbers = [
            ("{port}", port.to_string()),
            ("{workers}", workers.to_string()),
            ("{pool_size}", pool_size.to_string()),
        ];
        let filled = |word: &String| {
            let word = word.replace("{host}", host);
            numbers.iter().fold(word, |word, (name, number)| word.replace(name, number))
        };
        self.entry.command.iter().map(filled).collect()
    }
}

impl Manifest {
    /// Reads and checks the whole manifest, `targets/targets.toml`, at `path`.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path).map_err(LabError::file("read", path))?;
        Self::parse(&text).map_err(|fault| {
            LabError::Manifest(Box::new(ManifestFault {
                message: fault.message,
                text: NamedSource::new("targets/targets.toml", text).with_language("TOML"),
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
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|(_, entry)| entry.span().start);
        let targets = entries.into_iter().map(|(name, entry)| {
            let (span, entry) = (entry.span(), entry.into_inner());
            if entry.command.is_empty() {
                return Err(Fault::at(span, format!("target \"{name}\": the command is empty")));
            }
            Ok(TargetSpec { name, entry })
        });
        Ok(Self { targets: targets.collect::<Result<_, _>>()? })
    }

    /// All targets, in the order of the file.
    pub fn targets(&self) -> &[TargetSpec] {
        &self.targets
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
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the targets are {}", names().collect::<Vec<_>>().join(", ")),
                },
            }
        })
    }
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
mod tests {
    use super::*;

    const TWO: &str = r#"
        [sanic]
        framework = "Sanic"
        server = "its own"
        packages = ["sanic"]
        command = ["sanic", "--bind={host}:{port}", "--workers={workers}", "{pool_size}"]
        [flask]
        framework = "Flask"
        server = "gunicorn"
        packages = []
        command = ["gunicorn"]
        default = false
    "#;

    #[test]
    fn the_order_of_the_file_is_kept() {
        let manifest = Manifest::parse(TWO).unwrap();
        let names: Vec<_> = manifest.targets().iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["sanic", "flask"]);
        assert_eq!(manifest.default_targets(), ["sanic"]);
    }

    #[test]
    fn placeholders_are_filled_in() {
        let manifest = Manifest::parse(TWO).unwrap();
        let argv = manifest.target("sanic").unwrap().argv("127.0.0.1", 8000, 3, 10);
        assert_eq!(argv, ["sanic", "--bind=127.0.0.1:8000", "--workers=3", "10"]);
    }

    #[test]
    fn an_unknown_key_is_underlined() {
        let text = TWO.replace("server = \"gunicorn\"", "sever = \"gunicorn\"");
        let fault = Manifest::parse(&text).unwrap_err();
        assert_eq!(fault.message, "unknown key \"sever\" in target \"flask\"");
        assert_eq!(fault.help.as_deref(), Some("did you mean \"server\"?"));
        assert_eq!(&text[fault.span.unwrap()], "sever");
    }

    #[test]
    fn limits_are_read_and_checked() {
        let limited = TWO.replace("default = false", "cpus = 0.5\nmemory = \"256m\"");
        let manifest = Manifest::parse(&limited).unwrap();
        let limits = manifest.target("flask").unwrap().entry.limits();
        assert_eq!((limits.cpus, limits.memory), ("0.5".parse().ok(), "256m".parse().ok()));
        let fault = Manifest::parse(&limited.replace("256m", "lots")).unwrap_err();
        assert_eq!(fault.message, "must be an amount of memory, such as 256m or 1g");
        assert_eq!(&limited.replace("256m", "lots")[fault.span.unwrap()], "\"lots\"");
    }

    #[test]
    fn a_missing_key_and_an_empty_command_are_faults() {
        let fault = Manifest::parse(&TWO.replace("server = \"gunicorn\"", "")).unwrap_err();
        assert!(fault.message.contains("missing field `server`"), "{}", fault.message);
        let fault = Manifest::parse(&TWO.replace("[\"gunicorn\"]", "[]")).unwrap_err();
        assert_eq!(fault.message, "target \"flask\": the command is empty");
    }

    #[test]
    fn an_unknown_target_suggests_the_nearest() {
        let manifest = Manifest::parse(TWO).unwrap();
        let error = manifest.target("flsk").unwrap_err();
        assert!(error.is_usage());
        assert!(
            matches!(error, LabError::UnknownTarget { help, .. } if help == "did you mean \"flask\"?")
        );
    }
}
