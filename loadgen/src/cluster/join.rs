//! The join document: all that a worker needs to find its manager and to be let in.

use std::fmt;

use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};

use super::error::ClusterError;
use super::messages::{PROTOCOL, VERSION, check_version};

/// What a worker is given, as one line of JSON. It holds a secret: never print it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Join {
    /// The manager's protocol number.
    pub protocol: u32,
    /// The manager's version.
    pub version: String,
    /// Where the manager listens, in Zenoh's notation: `tcp/127.0.0.1:7447`.
    pub endpoint: String,
    /// The run that the worker belongs to.
    pub run: String,
    /// The worker's number, from 0.
    pub worker: u32,
    /// Who the worker is.
    pub user: String,
    /// What proves it.
    pub password: String,
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
            user: format!("worker-{worker}"),
            password: random_hex(32)?,
        })
    }

    /// Reads a document, and refuses that of another version.
    ///
    /// # Errors
    /// For what is no join document, or one for another version.
    pub fn parse(text: &str) -> Result<Self, ClusterError> {
        // The error of serde_json tells a position and the kind of fault, no values that it read
        // except of the wrong type; a password can't be of one.
        let join: Self =
            serde_json::from_str(text).map_err(|e| ClusterError::Join(e.to_string()))?;
        check_version(join.protocol, &join.version).map_err(|reason| ClusterError::Refused {
            who: "this worker".to_owned(),
            what: "the manager",
            reason,
        })?;
        // What becomes part of a key must not have a meaning there.
        if join.run.is_empty() || !join.run.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(ClusterError::Join("its run is not letters and digits".to_owned()));
        }
        Ok(join)
    }
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Join of {} to run {} at {}", self.user, self.run, self.endpoint)
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
        assert_eq!(a.password.len(), 64);
        assert_ne!(a.password, b.password);
        assert!(!format!("{a:?}").contains(&a.password));
    }

    #[test]
    fn a_run_that_would_be_a_wildcard_is_refused() {
        let mut join = Join::new("a1", 0).unwrap();
        join.run = "**".to_owned();
        assert!(Join::parse(&serde_json::to_string(&join).unwrap()).is_err());
        assert!(Join::parse("{").is_err());
    }
}
