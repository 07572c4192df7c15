//! Checks the number of users against the system's limits: each user keeps a connection open.

use miette::Diagnostic;
use thiserror::Error;

use super::job::Job;
use super::probe_users::probe_users;
use crate::cluster::{OnLoss, SystemLimits};
use crate::engine::local_ports::local_ports;

/// Number of open files that loadgen needs besides the users' connections.
pub(super) const RESERVED_FILES: u64 = 100;

/// Reason why the system does not allow so many users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Diagnostic)]
pub enum LimitError {
    /// Too few local ports: each connection to one server needs a separate port.
    #[error("{users} users need as many local ports, but the system has {ports}")]
    #[diagnostic(
        code(too_few_ports),
        help("widen net.ipv4.ip_local_port_range (sysctl), or reduce --users")
    )]
    Ports {
        /// Number of users in all processes together, those of a probe included.
        users: u32,
        /// Number of local ports.
        ports: u32,
    },
    /// Too few open files: each connection is an open file.
    #[error(
        "{users} users in one process need as many open files, but the limit is {limit}, \
         of which loadgen reserves {reserved}"
    )]
    #[diagnostic(
        code(too_few_open_files),
        help("raise the limit (ulimit -n), spread the users over --workers, or reduce --users")
    )]
    Files {
        /// Number of users in each process.
        users: u32,
        /// Maximum number of open files of a process.
        limit: u64,
        /// Number of files that loadgen needs for something else.
        reserved: u64,
    },
}

/// Processes on this machine that have users.
#[derive(Debug, Clone, Copy)]
pub struct Processes {
    /// Number of processes that share the users of the load; `None` if all users are on other hosts.
    of_load: Option<u32>,
    /// Number of users of the probe, which has a process of its own; 0 without a probe.
    of_probe: u32,
    /// Number of open files that a process needs besides the users' connections.
    reserved: u64,
}

impl Processes {
    /// Counts a job's processes on this machine. Workers on other hosts report the limits there, when they have joined:
    /// see [`HostLimits`](super::host_limits::HostLimits).
    pub fn of(job: &Job) -> Self {
        Self {
            of_load: job.remote.is_none().then(|| {
                let workers = job.workers.unwrap_or(1);
                // The others have the users of one that is lost.
                if job.on_loss == OnLoss::Redistribute { (workers - 1).max(1) } else { workers }
            }),
            of_probe: job.probe.map_or(0, |rate| probe_users(&job.scenario, rate)),
            reserved: RESERVED_FILES,
        }
    }

    /// Returns the same processes, of which this one needs `files` more open files.
    #[must_use]
    pub fn reserving(self, files: u64) -> Self {
        // Workers are processes of their own.
        let more = if self.of_load == Some(1) { files } else { 0 };
        Self { reserved: self.reserved + more, ..self }
    }

    /// Checks that the limits on files and ports allow this number of users of the load.
    ///
    /// # Errors
    /// Fails if a limit is too low.
    pub fn allow(self, users: u32) -> Result<(), LimitError> {
        let SystemLimits { open_files, local_ports } = limits();
        self.fit(users, local_ports.unwrap_or(u32::MAX), open_files.unwrap_or(u64::MAX))
    }

    fn fit(self, users: u32, ports: u32, files: u64) -> Result<(), LimitError> {
        let Some(processes) = self.of_load else { return Ok(()) };
        let all = users.saturating_add(self.of_probe);
        if all > ports {
            return Err(LimitError::Ports { users: all, ports });
        }
        let users = users.div_ceil(processes).max(self.of_probe);
        let reserved = self.reserved;
        match u64::from(users) + reserved <= files {
            true => Ok(()),
            false => Err(LimitError::Files { users, limit: files, reserved }),
        }
    }
}

/// Raises the soft limit on open files to the hard limit, as servers do, and returns the new limit.
fn raise_open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let soft = limit.current;
    limit.current = limit.maximum;
    let current = if setrlimit(Resource::Nofile, limit).is_ok() { limit.maximum } else { soft };
    current.unwrap_or(u64::MAX)
}

/// Returns the limits of this system on each process. Raises that on open files, which the processes that this one starts
/// inherit.
pub fn limits() -> SystemLimits {
    let ports = local_ports().map(|ports| ports.end.saturating_sub(ports.start));
    SystemLimits { open_files: Some(raise_open_files()), local_ports: ports }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_a_probe_need_ports_and_files_too() {
        let alone = Processes { of_load: Some(2), of_probe: 0, reserved: 100 };
        let probed = Processes { of_probe: 200, ..alone };
        assert_eq!(alone.fit(1_000, 1_000, 600), Ok(()));
        let ports = Err(LimitError::Ports { users: 1_200, ports: 1_000 });
        assert_eq!(probed.fit(1_000, 1_000, 600), ports);
        assert_eq!(probed.fit(100, 1_000, 300), Ok(()));
        let files = Err(LimitError::Files { users: 200, limit: 299, reserved: 100 });
        assert_eq!(probed.fit(100, 1_000, 299), files, "the probe has a process of its own");
        let remote = Processes { of_load: None, ..alone };
        assert_eq!(remote.fit(1_000, 10, 10), Ok(()));
        // The connections of a live page are files of the process that has all users.
        let one = Processes { of_load: Some(1), ..alone }.reserving(250);
        assert_eq!(one.fit(100, 1_000, 450), Ok(()));
        let files = Err(LimitError::Files { users: 101, limit: 450, reserved: 350 });
        assert_eq!(one.fit(101, 1_000, 450), files);
        assert_eq!(alone.reserving(250).fit(1_000, 1_000, 600), Ok(()));
    }
}
