//! A manager and its workers, in processes of their own.
//!
//! The manager starts workers, which join it through a Unix socket, and then runs *rounds*
//! on them: each gets the plan, and its exact share of it, all start together, each sends a numbered
//! snapshot every second, and a last word that says how many there were. Rounds are numbered
//! (their *epoch*), and whatever belongs to another one is refused on both sides, so that neither
//! a late message nor a worker that slept through a round can disturb another.
//!
//! Once started, a worker needs nobody. It stops its load when its manager is gone: the pipe that
//! is its standard input is then closed, and the manager's liveliness token is withdrawn. The
//! manager in turn sees a dead worker by its closed connection, and a paused one by its lease. It
//! gives that one up for good: should it come back, it is told to leave.
//!
//! Kept out are: strangers on the network, by TLS; other users of a host, by a folder and a check of the peer
//! (`link`), and by the manager's answer to a `challenge`; other workers of the run, by a password of their own and
//! `permissions`. They may be in the way (take the port of a manager that is away, use up memory), but end
//! no worker, read nothing, and command nothing. The same user and root are not kept out: they can read the
//! memory of these processes anyway.
//!
//! - `messages`: what is said; `bus`: how it travels, the only place that names Zenoh;
//!   `settings`, `permissions`: how that is set up, and who may do what. `link`: the sockets that it goes
//!   through. `tunnel`: TLS around it. `join`, `authority`, `challenge`: who is who; `address`: where.
//! - `collector`: pure; puts reports together, whatever order they come in.
//! - `round_state`: pure; who is waited for, who is lost, and what is to be done about it.
//! - `blobs`: the bulk of it, by digest.
//! - `gather`, `manager`, `worker_process`: the manager's side. `worker`, `waiting`, `strain_monitor`: the worker's.

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
mod join;
mod lease;
mod link;
mod manager;
mod messages;
mod permissions;
mod round_state;
mod settings;
mod startup;
mod strain_monitor;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tunnel;
mod waiting;
mod worker;
mod worker_process;

pub use address::{advertised, only_here};
pub use allowed_targets::{Allowed, AllowedTarget};
pub use error::ClusterError;
pub use join::Join;
pub use manager::Cluster;
pub use messages::Hello;
pub use round_state::OnLoss;
pub use startup::{Gathering, LocalWorkers, RemoteWorkers};
// With tests, so that they fail where a fuzz target would.
#[cfg(any(test, fuzzing))]
pub use round_state::fuzzing::{split_foreign, take_foreign};
pub use waiting::serve_managers;
pub use worker::{Joined, Terms, join};

/// What a worker says and hears, for the bench that plays many of them. No interface of the crate's: it
/// changes as the protocol does.
#[doc(hidden)]
pub mod parts {
    pub use super::blobs::Blobs;
    pub use super::bus::{Request, WorkerBus};
    pub use super::messages::{Answer, Command, Hello, News, Report};
    pub use super::tunnel::{Tunnel, TunnelError, connect};
}
