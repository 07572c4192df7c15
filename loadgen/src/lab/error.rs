//! Defines the lab's errors, with a fix where one is known.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::scenario::Backend;

/// Error of the lab, which starts and stops the servers under test and their backends.
#[derive(Debug, Error, Diagnostic)]
pub enum LabError {
    /// No folder with `loadgen.toml` or `targets/targets.toml` was found.
    #[error("no loadgen project in {} or the folders above: no loadgen.toml, no targets/targets.toml", start.display())]
    #[diagnostic(
        code(no_project),
        help(
            "add --url URL to load a server that runs already, or write loadgen URL. \
             `loadgen init --targets` names servers of your own in loadgen.toml; for servers of the lab, \
             name them: --target NAME"
        )
    )]
    NoProject {
        /// Folder where the search began.
        start: PathBuf,
    },

    /// The lab that is embedded in the program could not be unpacked.
    #[error("cannot unpack the lab that is part of loadgen: {reason}")]
    #[diagnostic(
        code(lab_not_unpacked),
        help("name a cache folder that you may write to: XDG_CACHE_HOME=FOLDER")
    )]
    NotUnpacked {
        /// Cause of the failure.
        reason: String,
    },

    /// The manifest in a folder above belongs to another user, whose commands loadgen would run.
    #[error("{} belongs to another user", manifest.display())]
    #[diagnostic(
        code(foreign_project),
        help("name its folder if you trust its commands: LOADGEN_HOME=FOLDER")
    )]
    ForeignProject {
        /// Path of the manifest.
        manifest: PathBuf,
    },

    /// `LOADGEN_HOME` names a folder without `loadgen.toml` and `targets/targets.toml`.
    #[error("LOADGEN_HOME names {}, which is not a loadgen project: no loadgen.toml, no targets/targets.toml", named.display())]
    #[diagnostic(
        code(bad_home),
        help("name the folder that contains loadgen.toml or targets/, or unset LOADGEN_HOME")
    )]
    NotAProject {
        /// Folder that `LOADGEN_HOME` names.
        named: PathBuf,
    },

    /// `LOADGEN_BALANCER` names a program that cannot balance.
    #[error("LOADGEN_BALANCER names \"{named}\", which is no load balancer of loadgen")]
    #[diagnostic(code(bad_balancer), help("name haproxy or caddy, or unset LOADGEN_BALANCER"))]
    BadBalancer {
        /// Value of the variable.
        named: String,
    },

    /// The manifest of the targets is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifest(Box<ManifestFault>),

    /// The manifest has no target with the requested name.
    #[error("unknown target \"{name}\"")]
    #[diagnostic(code(unknown_target), help("{help}"))]
    UnknownTarget {
        /// Requested name of a target.
        name: String,
        /// Hint with the nearest known name, or with all names.
        help: String,
    },

    /// The Python environment of the targets could not be set up.
    #[error("{what}{}", quoted(output))]
    #[diagnostic(code(no_python_environment), help("{help}"))]
    Python {
        /// Description of the failure.
        what: String,
        /// Last lines that the failing program wrote.
        output: Vec<String>,
        /// Fix for the failure.
        help: String,
    },

    /// podman, or something that podman needs, is missing or does not work.
    #[error("{what}{}", quoted(output))]
    #[diagnostic(code(podman_failed), help("{help}"))]
    Podman {
        /// Description of the failure.
        what: String,
        /// Last lines that podman wrote.
        output: Vec<String>,
        /// Fix for the failure.
        help: String,
    },

    /// The build of a target failed.
    #[error("cannot build {target}{}", quoted(output))]
    #[diagnostic(code(build_failed), help("see the whole output in {}{hint}", log.display()))]
    Build {
        /// Name of the target.
        target: String,
        /// Last lines that the build wrote.
        output: Vec<String>,
        /// Log file of the build.
        log: PathBuf,
        /// End of the hint, for a target at a ref.
        hint: &'static str,
    },

    /// A target cannot be measured at the ref that the command line names.
    #[error("{what}{}", quoted(output))]
    #[diagnostic(code(bad_ref), help("{help}"))]
    BadRef {
        /// Description of the fault.
        what: String,
        /// Last lines that Git wrote.
        output: Vec<String>,
        /// Fix for the fault.
        help: String,
    },

    /// Git could not write the files of a commit.
    #[error("cannot check out {target}{}", quoted(output))]
    #[diagnostic(code(checkout_failed), help("fix what Git reports: the whole output is in {}", log.display()))]
    CheckOut {
        /// Name of the target with its ref.
        target: String,
        /// Last lines that Git wrote.
        output: Vec<String>,
        /// Log file of Git.
        log: PathBuf,
    },

    /// A target at a ref would run code of the working tree or of another ref.
    #[error("{target} may run code that is not its own: {what}")]
    #[diagnostic(code(shared_code), help("{help}"))]
    SharedCode {
        /// Name of the target with its ref.
        target: String,
        /// Package, path, program or variable that leads elsewhere.
        what: String,
        /// Fix for the fault.
        help: String,
    },

    /// The command that fills a backend failed.
    #[error("cannot fill {backend}{}", quoted(output))]
    #[diagnostic(
        code(fill_failed),
        help("`fill` of [backend.{backend}] in loadgen.toml failed: see the whole output in {}", log.display())
    )]
    Fill {
        /// Backend.
        backend: Backend,
        /// Last lines that the command wrote.
        output: Vec<String>,
        /// Log file of the command.
        log: PathBuf,
    },

    /// A service cannot start because a program or a user account that the service needs is
    /// missing.
    #[error("cannot start {service}: {what}")]
    #[diagnostic(code(missing_program), help("{help}"))]
    Missing {
        /// Service that cannot start.
        service: String,
        /// Description of what is missing.
        what: String,
        /// Fix for the failure.
        help: String,
    },

    /// A pod of a server in a cluster is not ready, was lost, or was started again.
    #[error("{server}: {what}")]
    #[diagnostic(
        code(server_pods),
        help(
            "all pods of a server must be there from the first round to the last: see `kubectl describe pods` and \
             `kubectl logs` of the server"
        )
    )]
    ServerPods {
        /// Name of the server.
        server: String,
        /// Fault of its pods.
        what: String,
    },

    /// A service ended or did not become ready.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Service(Box<ServiceFault>),

    /// Another process uses a port that was requested.
    #[error("cannot start {service}: port {port} is in use")]
    #[diagnostic(
        code(port_in_use),
        help("choose another port, or leave out --port: loadgen then uses free ports")
    )]
    PortInUse {
        /// Service that needs the port.
        service: String,
        /// Port that another process uses.
        port: u16,
    },

    /// A backend runs but did not carry out a command.
    #[error("{service}: {what}")]
    #[diagnostic(code(backend_failed), help("see the log {}", log.display()))]
    Backend {
        /// Name of the backend.
        service: String,
        /// Description of the failure, usually the backend's error message.
        what: String,
        /// Log file of the backend.
        log: PathBuf,
    },

    /// A backend did not answer a proof's question with one whole number. A proof checks the
    /// backend's data after a round.
    #[error("{backend} did not answer the proof `{question}` with a whole number{}", quoted(said))]
    #[diagnostic(
        code(proof_not_answered),
        help("the question of a proof may only read, and its answer must be one whole number")
    )]
    Question {
        /// Backend that was asked.
        backend: Backend,
        /// Question that the backend was asked.
        question: String,
        /// Last lines of the backend's answer.
        said: Vec<String>,
    },

    /// `lab up` was called while another lab of this project is up.
    #[error("the lab of this project is already up{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    #[diagnostic(
        code(lab_already_up),
        help("`loadgen lab status` shows the lab, `loadgen lab down` stops the lab")
    )]
    AlreadyUp {
        /// ID of the process that keeps the lab up; `None` if unknown.
        pid: Option<u32>,
    },

    /// After `lab down`, the process that keeps the lab up still runs.
    #[error("the lab is still up {} after the request to end (process {pid})", humantime::format_duration(*limit))]
    #[diagnostic(code(lab_still_up), help("`kill -9 {pid}` ends the lab and its services"))]
    StillUp {
        /// ID of the process that keeps the lab up.
        pid: u32,
        /// Time that `lab down` waited for the process.
        limit: Duration,
    },

    /// After `lab up --detach`, the background process ended early.
    #[error("the lab did not start in the background{}", quoted(output))]
    #[diagnostic(code(lab_not_started), help("see the whole log in {}", log.display()))]
    Detached {
        /// Last lines that the background process wrote.
        output: Vec<String>,
        /// Log file of the background process.
        log: PathBuf,
    },

    /// A server that loadgen did not start accepts no connections any more.
    #[error(
        "the server at {url} is gone: it accepted no connection for {}s",
        lasting.as_secs()
    )]
    #[diagnostic(
        code(server_gone),
        help(
            "what was measured until then is reported: see why the server ended, and start it again"
        )
    )]
    ServerGone {
        /// Base URL of the server.
        url: String,
        /// For how long it accepted none, at least a second.
        lasting: Duration,
    },

    /// An operation of the system, such as reading a file or starting a process, failed.
    #[error("cannot {what}: {source}")]
    #[diagnostic(code(lab_io))]
    Io {
        /// Failed action, as a phrase that follows "cannot".
        what: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
}

/// A fault in the manifest of the targets, shown at its line.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(code(bad_manifest))]
pub struct ManifestFault {
    /// Description of the fault.
    pub message: String,
    /// Text of the manifest.
    #[source_code]
    pub text: NamedSource<String>,
    /// Position of the fault in the text; `None` if unknown.
    #[label]
    pub span: Option<SourceSpan>,
    /// Fix for the fault; `None` if unknown.
    #[help]
    pub help: Option<String>,
}

/// Failure of a service that ended or did not become ready, with the last lines of its log.
#[derive(Debug, Error, Diagnostic)]
#[error("{service} {what}{}", quoted(tail))]
#[diagnostic(code(service_failed), help("{help}"))]
pub struct ServiceFault {
    /// Name of the service.
    pub service: String,
    /// Description of the failure, as a phrase that follows the service's name.
    pub what: String,
    /// Last lines of the service's log.
    pub tail: Vec<String>,
    /// Hint with the path of the whole log. If the service's container never ran, the hint also
    /// names the command that checks the requirements of containers.
    pub help: String,
}

impl LabError {
    /// Whether the command line, the environment or a file of the user is at fault, rather than a
    /// service.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoProject { .. }
                | Self::NotAProject { .. }
                | Self::NotUnpacked { .. }
                | Self::BadBalancer { .. }
                | Self::ForeignProject { .. }
                | Self::Manifest(_)
                | Self::UnknownTarget { .. }
                | Self::BadRef { .. }
        )
    }

    /// Returns a function for `map_err` that converts an I/O error to [`LabError::Io`]. `what`
    /// names the failed action, as a phrase that follows "cannot".
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Returns a function for `map_err` that converts an I/O error to [`LabError::Io`] with the
    /// message "cannot `verb` `path`".
    pub(super) fn file(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(format!("{verb} {}", path.display()))
    }
}

/// Formats another program's output, with an indented `|` before each line to distinguish the
/// output from loadgen's own text.
fn quoted(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = write!(text, "\n  | {line}");
        text
    })
}
