//! What can go wrong in the lab; every error names its mend.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::scenario::Backend;

/// Why the lab could not do what it was asked to.
#[derive(Debug, Error, Diagnostic)]
pub enum LabError {
    /// No folder with `targets/targets.toml` was found.
    #[error("no loadgen project in {} or above it: there is no targets/targets.toml", start.display())]
    #[diagnostic(help("go to the folder that holds targets/, or name it: LOADGEN_HOME=FOLDER"))]
    NoProject {
        /// Where the search began.
        start: PathBuf,
    },

    /// `LOADGEN_HOME` names a folder without `targets/targets.toml`.
    #[error("LOADGEN_HOME names {}, which is no loadgen project: there is no targets/targets.toml", named.display())]
    #[diagnostic(help("name the folder that holds targets/, or unset LOADGEN_HOME"))]
    NotAProject {
        /// The folder.
        named: PathBuf,
    },

    /// The manifest does not say what it must.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifest(Box<ManifestFault>),

    /// A target that the manifest does not have.
    #[error("unknown target \"{name}\"")]
    #[diagnostic(help("{help}"))]
    UnknownTarget {
        /// The name that was asked for.
        name: String,
        /// The nearest known name, or all of them.
        help: String,
    },

    /// The Python environment could not be made.
    #[error("{what}{}", quoted(output))]
    #[diagnostic(help("{help}"))]
    Python {
        /// What failed.
        what: String,
        /// The last lines that the failing program wrote.
        output: Vec<String>,
        /// The mend.
        help: String,
    },

    /// podman, or what it needs, is not as it must be.
    #[error("{what}{}", quoted(output))]
    #[diagnostic(help("{help}"))]
    Podman {
        /// What is wrong.
        what: String,
        /// The last lines that podman wrote.
        output: Vec<String>,
        /// The mend.
        help: String,
    },

    /// A program that a service needs is not there.
    #[error("cannot start {service}: {what}")]
    #[diagnostic(help("{help}"))]
    Missing {
        /// The service that needs it.
        service: String,
        /// What is missing.
        what: String,
        /// The mend.
        help: String,
    },

    /// A service ended or did not become ready.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Service(Box<ServiceFault>),

    /// A port that was asked for belongs to somebody else.
    #[error("cannot start {service}: port {port} is in use")]
    #[diagnostic(help("choose another port, or leave it out: a free one is taken then"))]
    PortInUse {
        /// The service that was to listen there.
        service: String,
        /// The port.
        port: u16,
    },

    /// A backend runs but did not do what it was told.
    #[error("{service}: {what}")]
    #[diagnostic(help("its log is {}", log.display()))]
    Backend {
        /// The backend's name.
        service: String,
        /// What it was told, and what came of it.
        what: String,
        /// Where the backend writes its log.
        log: PathBuf,
    },

    /// A proof's question was not answered with one whole number.
    #[error("the proof `{question}` got no whole number from {backend}{}", quoted(said))]
    #[diagnostic(help("a proof's question may only read, and has one whole number for an answer"))]
    Question {
        /// The backend that was asked.
        backend: Backend,
        /// What it was asked.
        question: String,
        /// What it said instead.
        said: Vec<String>,
    },

    /// `lab up` while one runs.
    #[error("the lab of this project is up already{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    #[diagnostic(help("`loadgen lab status` shows it, `loadgen lab down` stops it"))]
    AlreadyUp {
        /// The process that holds it.
        pid: Option<u32>,
    },

    /// `lab down`, and the process that keeps the lab up goes on.
    #[error("the lab was told to end, and is still up after {} (process {pid})", humantime::format_duration(*limit))]
    #[diagnostic(help("`kill -9 {pid}` ends it, and its services with it"))]
    StillUp {
        /// The process that keeps it up.
        pid: u32,
        /// How long it was waited for.
        limit: Duration,
    },

    /// `lab up --detach`, and the process in the background ended early.
    #[error("the lab did not come up in the background{}", quoted(output))]
    #[diagnostic(help("the whole log is {}", log.display()))]
    Detached {
        /// The last lines it wrote.
        output: Vec<String>,
        /// Where it writes.
        log: PathBuf,
    },

    /// A file or a process that the lab needs gave an error.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried, as it reads after "cannot".
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A fault in `targets/targets.toml`, shown at its line.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct ManifestFault {
    /// What is wrong.
    pub message: String,
    /// The file's text.
    #[source_code]
    pub text: NamedSource<String>,
    /// Where it is wrong.
    #[label]
    pub span: Option<SourceSpan>,
    /// The mend, where one is known.
    #[help]
    pub help: Option<String>,
}

/// A service that ended or did not become ready, with the last lines of its log.
#[derive(Debug, Error, Diagnostic)]
#[error("{service} {what}{}", quoted(tail))]
#[diagnostic(help("{help}"))]
pub struct ServiceFault {
    /// The service's name.
    pub service: String,
    /// What it did, as it reads after the name.
    pub what: String,
    /// The last lines of its log.
    pub tail: Vec<String>,
    /// The mend.
    pub help: String,
}

impl LabError {
    /// Whether the command line or a file of the user's is at fault, rather than a service.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoProject { .. }
                | Self::NotAProject { .. }
                | Self::Manifest(_)
                | Self::UnknownTarget { .. }
        )
    }

    /// For `map_err`: `what` reads after "cannot".
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// For `map_err`: "cannot `verb` `path`".
    pub(super) fn file(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(format!("{verb} {}", path.display()))
    }
}

/// Lines of somebody else's output, set apart from ours.
fn quoted(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = write!(text, "\n  | {line}");
        text
    })
}
