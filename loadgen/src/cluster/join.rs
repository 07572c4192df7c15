//! The join document: all that a worker needs to find its manager and to be let in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};

use super::authority::{Authority, Identity, write_secret};
use super::error::ClusterError;
use super::messages::{PROTOCOL, VERSION, check_version};
use super::settings::LEASE;

/// What a worker is given, as one line of JSON. It holds a secret: never print it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Join {
    /// The manager's protocol number.
    pub protocol: u32,
    /// The manager's version.
    pub version: String,
    /// Where the manager listens, in Zenoh's notation: `tcp/127.0.0.1:7447`, `tls/load-1:7447`.
    pub endpoint: String,
    /// The run that the worker belongs to.
    pub run: String,
    /// The worker's number, from 0.
    pub worker: u32,
    /// How long each side waits for the other one that is silent.
    pub lease: Duration,
    /// What proves who the worker is, and who the manager.
    pub access: Access,
}

/// Who has made a document; all versions have this in it.
#[derive(Deserialize)]
struct Maker {
    protocol: u32,
    version: String,
}

/// What proves who a worker is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A password, on the loopback interface, where nobody can take the manager's place.
    Password(String),
    /// A certificate, and the one by which the manager is known.
    Certificate(Identity),
}

impl Join {
    /// A document for `worker` of `run`, with a new password. The endpoint is filled in when it
    /// is known.
    pub(super) fn new(run: &str, worker: u32) -> Result<Self, ClusterError> {
        Ok(Self {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            endpoint: String::new(),
            run: run.to_owned(),
            worker,
            lease: LEASE,
            access: Access::Password(random_hex(32)?),
        })
    }

    /// Writes a document for each of `workers` workers into the folder, `1` and so on, by which they
    /// find the manager at `address` and are known to it.
    ///
    /// # Errors
    /// Where a file can't be written.
    pub fn write_all(
        folder: &Path,
        authority: &Authority,
        address: &str,
        workers: u32,
        lease: Duration,
    ) -> Result<Vec<PathBuf>, ClusterError> {
        let write = |worker: u32| {
            let mut join = Self::new(&authority.run, worker)?;
            join.endpoint = format!("tls/{address}");
            join.lease = lease;
            join.access = Access::Certificate(authority.worker(&join.user())?);
            let path = folder.join((worker + 1).to_string());
            write_secret(&path, &join).map(|()| path)
        };
        (0..workers).map(write).collect()
    }

    /// Who the worker is: what its password or its certificate is of.
    #[must_use]
    pub fn user(&self) -> String {
        format!("worker-{}", self.worker)
    }

    /// The manager's host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        self.endpoint.split_once('/').map_or(&self.endpoint, |(_, address)| address)
    }

    /// Reads a document, and refuses that of another version.
    ///
    /// # Errors
    /// For what is no join document, or one for another version.
    pub fn parse(text: &str) -> Result<Self, ClusterError> {
        // The error of serde_json tells a position and the kind of fault, no values that it read
        // except of the wrong type; a password can't be of one.
        let failed = |e: serde_json::Error| ClusterError::Join(e.to_string());
        // First, since that of another version may have another shape.
        let maker: Maker = serde_json::from_str(text).map_err(failed)?;
        check_version(maker.protocol, &maker.version).map_err(|reason| ClusterError::Refused {
            who: "this worker".to_owned(),
            what: "the manager",
            reason,
        })?;
        let join: Self = serde_json::from_str(text).map_err(failed)?;
        // What becomes part of a key must not have a meaning there.
        if join.run.is_empty() || !join.run.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(ClusterError::Join("its run is not letters and digits".to_owned()));
        }
        Ok(join)
    }
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Join of {} to run {} at {}", self.user(), self.run, self.endpoint)
    }
}

/// `bytes` random bytes from the operating system, in hexadecimal.
pub(super) fn random_hex(bytes: usize) -> Result<String, ClusterError> {
    let mut random = vec![0; bytes];
    SysRng
        .try_fill_bytes(&mut random)
        .map_err(|e| ClusterError::Bus(format!("no random bytes: {e}")))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_before_anything_is_sent() {
        let mut join = Join::new("a1", 0).unwrap();
        join.protocol += 1;
        let error = Join::parse(&serde_json::to_string(&join).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "this worker refused the manager: it is loadgen {VERSION} with protocol {}, \
                 this is loadgen {VERSION} with protocol {PROTOCOL}",
                PROTOCOL + 1
            )
        );
    }

    #[test]
    fn secrets_differ_and_are_not_shown() {
        let (a, b) = (Join::new("a1", 0).unwrap(), Join::new("a1", 1).unwrap());
        let secret = |join: &Join| match &join.access {
            Access::Password(password) => password.clone(),
            Access::Certificate(identity) => identity.key.clone(),
        };
        assert_eq!(secret(&a).len(), 64);
        assert_ne!(secret(&a), secret(&b));
        assert!(!format!("{a:?}").contains(&secret(&a)));
    }

    #[test]
    fn a_run_that_would_be_a_wildcard_is_refused() {
        let mut join = Join::new("a1", 0).unwrap();
        join.run = "**".to_owned();
        assert!(Join::parse(&serde_json::to_string(&join).unwrap()).is_err());
        assert!(Join::parse("{").is_err());
    }
}
