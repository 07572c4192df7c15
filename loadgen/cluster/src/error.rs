//! Errors between a manager and its workers.

use std::path::PathBuf;
use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

use super::host_fault::HostFault;
use loadgen_engine::LostWorker;

/// Reason why a cluster, or one of its workers, could not continue.
#[derive(Debug, Error, Diagnostic)]
pub enum ClusterError {
    /// The network layer failed; the value is the error message.
    #[error("communication between manager and workers failed: {0}")]
    #[diagnostic(code(cluster_communication))]
    Bus(String),
    /// A message is larger than a peer accepts.
    #[error("a message of {bytes} bytes is too large: the limit is {limit} bytes")]
    #[diagnostic(
        code(message_too_large),
        help(
            "make the scenario smaller: fewer steps, rows and files, because workers get all of them in one \
             message"
        )
    )]
    TooLarge {
        /// Size of the message in bytes.
        bytes: usize,
        /// Maximum size of a message in bytes.
        limit: usize,
    },
    /// A worker's process could not be started.
    #[error("cannot start a worker process from {}", program.display())]
    #[diagnostic(
        code(worker_not_started),
        help("check that the executable of loadgen still exists")
    )]
    Spawn {
        /// Executable of the worker.
        program: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// Workers could not be started on these hosts, each for a reason.
    #[error("cannot start workers on {}", listed(_0))]
    #[diagnostic(code(host_failed), help("{}", host_help(_0)))]
    Hosts(Vec<(String, HostFault)>),
    /// A worker's process ended before the worker had joined.
    #[error("worker {worker} ended before it joined ({status}){}", quoted(log))]
    #[diagnostic(code(worker_ended))]
    Ended {
        /// Number of the worker, from 0.
        worker: u32,
        /// Exit status of the worker's process.
        status: String,
        /// End of the worker's log; empty if there is no log file.
        log: String,
    },
    /// Workers did not join in time.
    #[error("only {joined} of {of} workers joined within {}", humantime::format_duration(*limit))]
    #[diagnostic(code(workers_not_joined), help("{advice}"))]
    NotJoined {
        /// Number of workers that joined.
        joined: usize,
        /// Number of workers that were expected.
        of: usize,
        /// Time limit for the workers to join.
        limit: Duration,
        /// Advice on where to look for the other workers.
        advice: String,
    },
    /// The join document, with which a worker finds and joins its manager, can't be used.
    #[error("cannot use the join file: {0}")]
    #[diagnostic(
        code(bad_join_file),
        help("`loadgen manager` writes a join file for each worker: copy the file unchanged")
    )]
    Join(String),
    /// A file that the manager stores, such as a join document, can't be used.
    #[error("cannot use {}: {why}", path.display())]
    #[diagnostic(code(bad_manager_file))]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the file can't be used.
        why: String,
    },
    /// The manager can't listen at its address.
    #[error("the manager cannot listen at {address}: {why}")]
    #[diagnostic(
        code(cannot_listen),
        help(
            "name an address of this host and a free port: --listen HOST:PORT, or 0.0.0.0:PORT for all \
             addresses; if workers use another name or address of this host: --advertise HOST[:PORT]"
        )
    )]
    Listen {
        /// Address at which the manager should listen.
        address: String,
        /// Reason why the manager can't listen.
        why: String,
    },
    /// The worker reached no manager at the manager's address in time.
    #[error("no manager found at {address} within {}: {why}", humantime::format_duration(*limit))]
    #[diagnostic(
        code(manager_not_found),
        help(
            "check that the manager runs, and that this host can reach the address of the manager"
        )
    )]
    Unreachable {
        /// Address of the manager.
        address: String,
        /// Time for which the worker tried.
        limit: Duration,
        /// Outcome of the last attempt.
        why: String,
    },
    /// A socket that no other user can reach could not be made.
    #[error("cannot create a socket that no other user can reach: {0}")]
    #[diagnostic(
        code(no_private_socket),
        help("set TMPDIR to a folder for temporary files that this user may write to")
    )]
    Socket(String),
    /// The peer at the manager's address is not the manager.
    #[error("the peer at {address} is not the manager of this join file: {why}")]
    #[diagnostic(
        code(not_the_manager),
        help(
            "use a join file that the manager wrote since its last start: such a file contains the name by \
             which the manager is advertised now"
        )
    )]
    NotTheManager {
        /// Address of the manager.
        address: String,
        /// Reason why the peer can't be the manager.
        why: String,
    },
    /// The manager has proved its identity and does not admit this worker.
    #[error("the manager at {address} did not admit {user}")]
    #[diagnostic(
        code(worker_not_admitted),
        help("the certificate in the join file does not belong to a worker of this manager")
    )]
    NotLetIn {
        /// Address of the manager.
        address: String,
        /// User name of the worker.
        user: String,
    },
    /// The manager closed the connection before the worker had joined. The reason is unknown.
    #[error("the manager at {address} closed the connection before {user} joined")]
    #[diagnostic(
        code(worker_turned_away),
        help(
            "either the manager ended, or the manager does not expect the worker of this join file: the file \
             belongs to another run, or its number is beyond --expect-workers"
        )
    )]
    TurnedAway {
        /// Address of the manager.
        address: String,
        /// User name of the worker.
        user: String,
    },
    /// A process has already joined the manager as this worker.
    #[error(
        "this worker has already joined the manager at {address}: either another process uses the same join \
         file, or this process joined before its connection was lost"
    )]
    #[diagnostic(code(worker_already_joined), help("give each worker a separate join file"))]
    Occupied {
        /// Address of the manager.
        address: String,
    },
    /// A peer refused a request and gave a reason.
    #[error("{who} refused {what}: {reason}")]
    #[diagnostic(code(request_refused))]
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
    #[diagnostic(code(worker_lost), help("start the workers again before another round"))]
    Lost(LostWorker),
    /// The manager is gone.
    #[error("the manager is gone; the load was stopped")]
    #[diagnostic(code(manager_gone))]
    ManagerGone,
    /// A signal asked this worker to leave.
    #[error("left on a signal; the load was stopped")]
    #[diagnostic(code(left_on_signal))]
    Signalled,
}

impl ClusterError {
    /// Converts an error of the network layer. Retains the error's message only.
    pub(super) fn bus(error: impl std::fmt::Display) -> Self {
        Self::Bus(error.to_string())
    }

    /// Returns the error that the manager refused a worker.
    pub(super) fn refused(reason: String) -> Self {
        Self::Refused { who: "the manager".to_owned(), what: "a worker", reason }
    }

    pub(super) fn socket(error: &std::io::Error) -> Self {
        Self::Socket(error.to_string())
    }

    /// Replaces the time limit in [`Self::Unreachable`] by `time`, the limit of all attempts
    /// together. Does not change other errors.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        match self {
            Self::Unreachable { address, why, .. } => {
                Self::Unreachable { address, limit: time, why }
            }
            other => other,
        }
    }

    /// Returns whether a worker may still join after this error with the same join document. True
    /// also for errors that a false manager can cause, so that no false manager can make a worker
    /// give up.
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

/// Returns what to do if hosts cannot be used.
fn host_help(hosts: &[(String, HostFault)]) -> String {
    let Some((host, _)) = hosts.iter().find(|(_, fault)| fault.is_of_ssh) else {
        return "see what each host has: `loadgen hosts check HOST`".to_owned();
    };
    format!(
        "try it by hand: `ssh {host} true` must work without a question. Accept the key of a new host once, and use a \
         key of your own, in an agent if it has a passphrase"
    )
}

/// Lists hosts, each with a reason.
fn listed(hosts: &[(String, HostFault)]) -> String {
    let each = hosts.iter().map(|(host, why)| format!("{host}: {why}"));
    each.collect::<Vec<_>>().join("; ")
}

fn quoted(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; end of its log:\n{log}") }
}
