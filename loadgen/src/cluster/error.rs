//! Errors between a manager and its workers.

use std::path::PathBuf;
use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

use crate::engine::LostWorker;

/// Reason why a cluster, or one of its workers, could not continue.
#[derive(Debug, Error, Diagnostic)]
pub enum ClusterError {
    /// The network layer failed.
    #[error("the manager and its workers cannot talk: {0}")]
    Bus(String),
    /// A message is larger than a peer accepts.
    #[error("a message of {bytes} bytes is too large to send: the limit is {limit}")]
    #[diagnostic(help("make the scenario smaller: fewer steps"))]
    TooLarge {
        /// Size of the message in bytes.
        bytes: usize,
        /// Maximum size of a message in bytes.
        limit: usize,
    },
    /// A worker's process could not be started.
    #[error("cannot start a worker process from {}", program.display())]
    #[diagnostic(help("is there still an executable of loadgen?"))]
    Spawn {
        /// Executable of the worker.
        program: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A worker's process ended before the worker had joined.
    #[error("worker {worker} ended before it had joined ({status}){}", quoted(log))]
    Ended {
        /// Number of the worker.
        worker: u32,
        /// Exit status of the worker's process.
        status: String,
        /// End of the worker's log; empty if there is no log file.
        log: String,
    },
    /// Workers did not join in time.
    #[error("only {joined} of {of} workers joined within {}", humantime::format_duration(*limit))]
    #[diagnostic(help("{advice}"))]
    NotJoined {
        /// Number of workers that joined.
        joined: usize,
        /// Number of workers that were expected.
        of: usize,
        /// Time that the workers had.
        limit: Duration,
        /// Advice on where to look for the other workers.
        advice: String,
    },
    /// The join document can't be used.
    #[error("the join document cannot be used: {0}")]
    #[diagnostic(help("`loadgen manager` writes one for each worker: copy it as it is"))]
    Join(String),
    /// A file of the manager can't be used.
    #[error("{} cannot be used: {why}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the file can't be used.
        why: String,
    },
    /// The manager can't listen at its address.
    #[error("the manager cannot listen at {address}: {why}")]
    #[diagnostic(help(
        "give an address of this host and a free port: --listen HOST:PORT, or 0.0.0.0:PORT for all; where \
         workers reach it by another name or address, that is --advertise HOST[:PORT]"
    ))]
    Listen {
        /// Address at which the manager should listen.
        address: String,
        /// Reason why the manager can't listen.
        why: String,
    },
    /// Nobody listens at the manager's address.
    #[error("no manager was found at {address} within {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(help("is the manager running, and can its address be reached from here?"))]
    Unreachable {
        /// Address of the manager.
        address: String,
        /// Time for which the worker tried.
        limit: Duration,
        /// Outcome of the last attempt.
        why: String,
    },
    /// A socket that no other user can reach could not be made.
    #[error("cannot make a socket that no other user can reach: {0}")]
    #[diagnostic(help(
        "a folder for temporary files is needed: set TMPDIR to one that this user may write to"
    ))]
    Socket(String),
    /// The peer at the manager's address is not the manager.
    #[error("who listens at {address} is not the manager of this join document: {why}")]
    #[diagnostic(help(
        "take a join file that this manager has written since it was last started: it has the name in it \
         by which the manager is advertised now"
    ))]
    NotTheManager {
        /// Address of the manager.
        address: String,
        /// Evidence against the peer.
        why: String,
    },
    /// The manager has proved its identity and does not admit this worker.
    #[error("the manager at {address} did not let {user} in")]
    #[diagnostic(help("the certificate in the join document is of no worker of this manager's"))]
    NotLetIn {
        /// Address of the manager.
        address: String,
        /// User name of the worker.
        user: String,
    },
    /// The manager closed the connection before the worker had joined. The reason is unknown.
    #[error("the manager at {address} closed the connection before {user} had joined")]
    #[diagnostic(help(
        "it has ended, or the join document is of no worker that it expects: of another run, or with a number \
         beyond its --expect-workers"
    ))]
    TurnedAway {
        /// Address of the manager.
        address: String,
        /// User name of the worker.
        user: String,
    },
    /// The manager already has this worker.
    #[error(
        "the manager at {address} has this worker already: another process with the same join document, or \
         this one before it lost its connection"
    )]
    #[diagnostic(help("give each worker a join file of its own"))]
    Occupied {
        /// Address of the manager.
        address: String,
    },
    /// A peer refused a request and gave a reason.
    #[error("{who} refused {what}: {reason}")]
    Refused {
        /// Peer that refused.
        who: String,
        /// Request that the peer refused.
        what: &'static str,
        /// Reason that the peer gave.
        reason: String,
    },
    /// A worker is lost, so the cluster can't run another round.
    #[error("{0}")]
    #[diagnostic(help("start the workers anew for another round"))]
    Lost(LostWorker),
    /// The manager is gone.
    #[error("the manager is gone; the load was stopped")]
    ManagerGone,
    /// A signal asked this worker to leave.
    #[error("left on a signal; the load was stopped")]
    Signalled,
}

impl ClusterError {
    /// Wraps an error of the network layer, which is only good for display.
    pub(super) fn bus(error: impl std::fmt::Display) -> Self {
        Self::Bus(error.to_string())
    }

    pub(super) fn socket(error: &std::io::Error) -> Self {
        Self::Socket(error.to_string())
    }

    /// Sets the time limit in the message, if this is the last error of
    /// several attempts within `time`.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        match self {
            Self::Unreachable { address, why, .. } => {
                Self::Unreachable { address, limit: time, why }
            }
            other => other,
        }
    }

    /// Returns whether a worker may still join after this error without a change to its join
    /// document. A peer that has not proved to be the manager gives no reason to leave.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::NotTheManager { .. }
                | Self::TurnedAway { .. }
                | Self::Occupied { .. }
                | Self::ManagerGone
                | Self::Socket(_)
                | Self::Bus(_)
        )
    }
}

fn quoted(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; the last it said:\n{log}") }
}
