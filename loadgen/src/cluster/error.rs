//! What can go wrong between a manager and its workers.

use std::path::PathBuf;
use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

use crate::engine::LostWorker;

/// Why a cluster, or a worker of one, could not go on.
#[derive(Debug, Error, Diagnostic)]
pub enum ClusterError {
    /// The network layer could not do what was asked of it.
    #[error("the manager and its workers cannot talk: {0}")]
    Bus(String),
    /// A message is larger than what a peer takes.
    #[error("a message of {bytes} bytes is too large to send: the limit is {limit}")]
    #[diagnostic(help("make the scenario smaller: fewer steps"))]
    TooLarge {
        /// The message's size.
        bytes: usize,
        /// The most a message may have.
        limit: usize,
    },
    /// A worker's process could not be started.
    #[error("cannot start a worker process from {}", program.display())]
    #[diagnostic(help("is there still an executable of loadgen?"))]
    Spawn {
        /// What was to be run.
        program: PathBuf,
        /// Why it could not.
        source: std::io::Error,
    },
    /// A worker's process ended before it had joined.
    #[error("worker {worker} ended before it had joined ({status}){}", quoted(log))]
    Ended {
        /// The worker's number.
        worker: u32,
        /// How its process ended.
        status: String,
        /// The last lines that it wrote to stderr, where they were kept.
        log: String,
    },
    /// Workers did not join in time.
    #[error("only {joined} of {of} workers joined within {}", humantime::format_duration(*limit))]
    #[diagnostic(help("{advice}"))]
    NotJoined {
        /// How many did.
        joined: usize,
        /// How many were expected.
        of: usize,
        /// How long they had.
        limit: Duration,
        /// Where to look for the others.
        advice: String,
    },
    /// The join document can't be used.
    #[error("the join document cannot be used: {0}")]
    #[diagnostic(help("`loadgen manager` writes one for each worker: copy it as it is"))]
    Join(String),
    /// A file of the manager's can't be used.
    #[error("{} cannot be used: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The manager can't listen where it should.
    #[error("the manager cannot listen at {address}: {why}")]
    #[diagnostic(help(
        "give an address of this host and a free port: --listen HOST:PORT, or 0.0.0.0:PORT for all; where \
         workers reach it by another name or address, that is --advertise HOST[:PORT]"
    ))]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        why: String,
    },
    /// Nobody listens where the manager should be.
    #[error("no manager was found at {address} within {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(help("is the manager running, and can its address be reached from here?"))]
    Unreachable {
        /// The manager's address.
        address: String,
        /// How long was tried.
        limit: Duration,
        /// What came of the last attempt.
        why: String,
    },
    /// A socket that no other user can reach could not be made.
    #[error("cannot make a socket that no other user can reach: {0}")]
    #[diagnostic(help(
        "a folder for temporary files is needed: set TMPDIR to one that this user may write to"
    ))]
    Socket(String),
    /// Somebody listens where the manager should be, who is not the manager.
    #[error("who listens at {address} is not the manager of this join document: {why}")]
    #[diagnostic(help(
        "take a join file that this manager has written since it was last started: it has the name in it \
         by which the manager is advertised now"
    ))]
    NotTheManager {
        /// The manager's address.
        address: String,
        /// What speaks against it.
        why: String,
    },
    /// The manager, which has proved who it is, does not let this worker in.
    #[error("the manager at {address} did not let {user} in")]
    #[diagnostic(help("the certificate in the join document is of no worker of this manager's"))]
    NotLetIn {
        /// The manager's address.
        address: String,
        /// Who asked.
        user: String,
    },
    /// The manager closed the connection before the worker had joined; there is no saying why.
    #[error("the manager at {address} closed the connection before {user} had joined")]
    #[diagnostic(help(
        "it has ended, or the join document is of no worker that it expects: of another run, or with a number \
         beyond its --expect-workers"
    ))]
    TurnedAway {
        /// The manager's address.
        address: String,
        /// Who asked.
        user: String,
    },
    /// The manager has this worker already.
    #[error(
        "the manager at {address} has this worker already: another process with the same join document, or \
         this one before it lost its connection"
    )]
    #[diagnostic(help("give each worker a join file of its own"))]
    Occupied {
        /// The manager's address.
        address: String,
    },
    /// A peer refused with a reason.
    #[error("{who} refused {what}: {reason}")]
    Refused {
        /// Who refused.
        who: String,
        /// What it was asked for.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// A worker is gone, so that the cluster can't run another round.
    #[error("{0}")]
    #[diagnostic(help("start the workers anew for another round"))]
    Lost(LostWorker),
    /// The manager is gone.
    #[error("the manager is gone; the load was stopped")]
    ManagerGone,
    /// This worker was asked to leave by a signal.
    #[error("left on a signal; the load was stopped")]
    Signalled,
}

impl ClusterError {
    /// For errors of the network layer, which are only good to be shown.
    pub(super) fn bus(error: impl std::fmt::Display) -> Self {
        Self::Bus(error.to_string())
    }

    pub(super) fn socket(error: &std::io::Error) -> Self {
        Self::Socket(error.to_string())
    }

    /// The same, where it is of the last of several attempts within this time.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        match self {
            Self::Unreachable { address, why, .. } => {
                Self::Unreachable { address, limit: time, why }
            }
            other => other,
        }
    }

    /// Whether a worker may still get in where this was met, without anybody changing its join document. What
    /// somebody says who has not proved to be the manager is no reason to leave.
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
