//! Defines the join document: everything that a worker needs to find its manager and be admitted.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::authority::{Authority, Identity, write_secret};
use super::error::ClusterError;
use super::hex::random_hex;
use super::lease::LEASE;
use super::messages::{PROTOCOL, VERSION, check_version};

/// Join document: everything that one worker needs to find and join its manager, as one line of
/// JSON. Contains secrets: never print a join document.
#[derive(Clone, Serialize, Deserialize)]
pub struct Join {
    /// Version number of the manager's protocol.
    pub protocol: u32,
    /// Version of the manager's program.
    pub version: String,
    /// Address of the manager: `HOST:PORT`, or the path of a Unix socket if `identity` is `None`.
    pub address: String,
    /// Name of the run that the worker belongs to.
    pub run: String,
    /// Number of the worker, counted from 0.
    pub worker: u32,
    /// Time without a message after which manager and worker each treat the other as lost.
    pub lease: Duration,
    /// Password by which the worker proves its number to the manager.
    pub password: String,
    /// Certificates that prove to the manager that the worker belongs to it, and to the worker who
    /// the manager is. `None` for workers that the manager starts: no other user can reach the
    /// socket between manager and worker.
    pub identity: Option<Identity>,
}

/// Protocol and version of the loadgen that wrote a join document. Join documents of all
/// versions contain these two fields.
#[derive(Deserialize)]
struct Maker {
    protocol: u32,
    version: String,
}

impl Join {
    fn new(run: &str, worker: u32, password: String) -> Self {
        Self {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            address: String::new(),
            run: run.to_owned(),
            worker,
            lease: LEASE,
            password,
            identity: None,
        }
    }

    /// Creates a join document, with a new password, for the worker with the number `worker` on the
    /// manager's host. The caller fills in the address as soon as the address is known.
    pub(super) fn on_this_host(run: &str, worker: u32) -> Result<Self, ClusterError> {
        Ok(Self::new(run, worker, random_hex(32)?))
    }

    /// Creates join documents for `workers` workers, which find the manager at `address`. Documents
    /// that `authority` issued earlier stay valid.
    ///
    /// # Errors
    /// If no key can be made.
    pub fn of_all(
        authority: &Authority,
        address: &str,
        workers: u32,
        lease: Duration,
    ) -> Result<Vec<Self>, ClusterError> {
        let document = |worker| {
            let user = user(worker);
            let identity = Some(authority.worker(&user)?);
            let join = Self::new(&authority.run, worker, authority.password(&user));
            Ok(Self { address: address.to_owned(), lease, identity, ..join })
        };
        (0..workers).map(document).collect()
    }

    /// Returns the document with another address of the manager.
    #[must_use]
    pub(super) fn at(self, address: String) -> Self {
        Self { address, ..self }
    }

    /// Writes the document to a file in `folder` that is named after the worker's
    /// number, and returns the file's path.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ClusterError> {
        let path = folder.join(self.worker.to_string());
        write_secret(&path, self).map(|()| path)
    }

    /// Returns the worker's user name, such as `worker-0`. The worker's password and
    /// certificate are made for this user name.
    #[must_use]
    pub fn user(&self) -> String {
        user(self.worker)
    }

    /// Parses a join document, and refuses a document of another version of loadgen.
    ///
    /// # Errors
    /// If `text` is not a join document, or is a document of another version.
    pub fn parse(text: &str) -> Result<Self, ClusterError> {
        // An error of serde_json contains a position and the kind of error. It contains a value
        // only if the value has the wrong type, and a password can't have the wrong type.
        let failed = |e: serde_json::Error| ClusterError::Join(e.to_string());
        // Check the version first: documents of other versions may have other fields.
        let maker: Maker = serde_json::from_str(text).map_err(failed)?;
        check_version(maker.protocol, &maker.version).map_err(|reason| ClusterError::Refused {
            who: "this worker".to_owned(),
            what: "the manager",
            reason,
        })?;
        let join: Self = serde_json::from_str(text).map_err(failed)?;
        // The run becomes part of a key, so it must not contain characters with a meaning in keys.
        if join.run.is_empty() || !join.run.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(ClusterError::Join(
                "its run must consist of letters and digits".to_owned(),
            ));
        }
        Ok(join)
    }
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Join of {} to run {} at {}", self.user(), self.run, self.address)
    }
}

fn user(worker: u32) -> String {
    format!("worker-{worker}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_document_of_another_version_is_refused() {
        let mut join = Join::on_this_host("a1", 0).unwrap();
        join.protocol += 1;
        let error = Join::parse(&serde_json::to_string(&join).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "this worker refused the manager: the peer is loadgen {VERSION} with protocol {}, \
                 but this is loadgen {VERSION} with protocol {PROTOCOL}",
                PROTOCOL + 1
            )
        );
    }

    #[test]
    fn secrets_differ_and_are_not_shown() {
        let (a, b) = (Join::on_this_host("a1", 0).unwrap(), Join::on_this_host("a1", 1).unwrap());
        assert_eq!(a.password.len(), 64);
        assert_ne!(a.password, b.password);
        assert!(!format!("{a:?}").contains(&a.password));
    }

    #[test]
    fn documents_of_one_authority_stay_valid() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::of(folder.path()).unwrap();
        let all = |workers| Join::of_all(&authority, "load-1:7447", workers, LEASE).unwrap();
        let (earlier, later) = (all(2), all(3));
        let passwords = |joins: &[Join]| -> Vec<String> {
            joins.iter().map(|join| join.password.clone()).collect()
        };
        assert_eq!(passwords(&earlier), passwords(&later)[..2]);
        assert_eq!(later[2].user(), "worker-2");
        assert_ne!(later[0].password, later[2].password);
        let other = tempfile::tempdir().unwrap();
        let other = Authority::of(other.path()).unwrap();
        assert_ne!(other.password("worker-0"), earlier[0].password);
        let path = later[2].write(folder.path()).unwrap();
        let read = Join::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(
            (read.address, read.password),
            ("load-1:7447".into(), later[2].password.clone())
        );
    }

    #[test]
    fn a_run_that_would_be_a_wildcard_is_refused() {
        let mut join = Join::on_this_host("a1", 0).unwrap();
        join.run = "**".to_owned();
        assert!(Join::parse(&serde_json::to_string(&join).unwrap()).is_err());
        assert!(Join::parse("{").is_err());
    }
}
