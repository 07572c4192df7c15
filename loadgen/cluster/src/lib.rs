//! Connects a manager and its workers, each in its own process.
//!
//! The manager starts workers on its host, which join through a Unix socket, or waits for workers
//! on other hosts. It then runs *rounds* on the workers. Each worker gets the plan and its exact
//! share of the plan. All workers start together. Each worker sends a numbered snapshot every
//! second, and a final report with the number of snapshots. Rounds are numbered (their *epoch*).
//! Both sides refuse everything that belongs to another epoch, so that neither a late message nor a
//! worker that slept through a round can disturb another round.
//!
//! Once started, a worker needs no further command. A worker stops its load when its manager is
//! gone: the manager's liveliness token is then withdrawn, and the pipe that is the standard
//! input of a local worker is closed. The manager detects a dead worker by the closed
//! connection, and a paused worker by its lease. The manager gives up a paused worker for good:
//! a worker that comes back is told to leave.
//!
//! Three parties are kept out. Strangers on the network are kept out by TLS. Other users of a host
//! are kept out by a folder and a check of the peer (`link`), and by the manager's answer to a
//! `challenge`. Other workers of the run are kept out by a separate password for each worker and by
//! `permissions`. These parties may get in the way (take the port of a manager that is away, use up
//! memory), but they end no worker, read nothing, and command nothing. The same user and root are
//! not kept out: they can read the memory of these processes anyway.
//!
//! - `messages`: the messages. `bus`: their transport, the only module that names Zenoh.
//!   `settings`, `permissions`: the transport's configuration and access control. `link`: the
//!   sockets below. `tunnel`: TLS between hosts. `join`, `authority`, `challenge`: identities.
//!   `address`: addresses. `allowed_targets`: the servers that a worker may load.
//! - `collector`: pure; combines reports, in any order.
//! - `round_state`: pure; tracks which workers are awaited or lost, and decides what to do.
//! - `blobs`: bulk data, by digest.
//! - `hosts`: workers on other hosts, through SSH.
//! - `startup`, `manager`, `worker_process`: the manager's side. `worker`, `waiting`,
//!   `strain_monitor`: the worker's side.

mod address;
mod allowed_targets;
mod authority;
mod blobs;
mod bus;
mod challenge;
mod collector;
mod encoding;
mod error;
mod hex;
mod host_fault;
mod hosts;
mod join;
mod lease;
mod limits;
mod link;
mod manager;
mod messages;
mod permissions;
mod round_state;
mod settings;
mod splitting;
mod startup;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tunnel;
mod waiting;
mod worker;
mod worker_process;

pub use address::{advertised, means_itself, only_here};
pub use allowed_targets::{Allowed, AllowedTarget};
pub use authority::Authority;
pub use error::ClusterError;
pub use host_fault::HostFault;
pub use hosts::{
    CheckedHost, HostReport, HostWorkers, Starting, WorkerHost, check_hosts, clock_line, serve_all,
};
pub use join::Join;
pub use lease::LEASE;
pub use limits::{HostShares, SystemLimits};
pub use manager::{Cluster, PreparedRound};
pub use messages::Hello;
pub use round_state::OnLoss;
pub use startup::{Gathering, Keys, LocalWorkers, RemoteWorkers};
// Also compiled for tests, so that tests fail where a fuzz target would.
#[cfg(any(test, fuzzing))]
pub use round_state::fuzzing::{split_foreign, take_foreign};
pub use waiting::serve_managers;
pub use worker::{Joined, Terms, join};

/// Messages and network of a worker, for the benchmark that simulates many workers. Not a public
/// interface: these items change with the protocol.
#[doc(hidden)]
pub mod parts {
    pub use super::blobs::Blobs;
    pub use super::bus::{Request, WorkerBus};
    pub use super::messages::{Answer, Command, Hello, News, Report};
    pub use super::tunnel::{Tunnel, TunnelError, connect};
}
