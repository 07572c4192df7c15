//! Checks the number of users against the system's limits: each user keeps a connection open.

use miette::Diagnostic;
use thiserror::Error;

use super::job::Job;

/// Number of open files that loadgen needs besides the users' connections.
const RESERVED_FILES: u64 = 100;

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
        /// Number of users in all processes together.
        users: u32,
        /// Number of local ports.
        ports: u32,
    },
    /// Too few open files: each connection is an open file.
    #[error(
        "{users} users in one process need as many open files, but the limit is {limit}, \
         of which loadgen reserves {RESERVED_FILES}"
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
    },
}

/// Number of processes on this machine that have users; `None` if all users are on other hosts.
#[derive(Debug, Clone, Copy)]
pub struct Processes(Option<u32>);

impl Processes {
    /// Counts a job's processes on this machine. Other hosts
    /// are left out, because their limits are unknown.
    pub fn of(job: &Job) -> Self {
        Self(job.remote.is_none().then(|| job.workers.unwrap_or(1)))
    }

    /// Checks that the limits on files and ports allow this number of users.
    ///
    /// # Errors
    /// Fails if a limit is too low.
    pub fn allow(self, users: u32) -> Result<(), LimitError> {
        let Some(processes) = self.0 else { return Ok(()) };
        if let Some(ports) = local_ports().filter(|ports| users > *ports) {
            return Err(LimitError::Ports { users, ports });
        }
        let (users, limit) = (users.div_ceil(processes), raise_open_files());
        match u64::from(users) + RESERVED_FILES <= limit {
            true => Ok(()),
            false => Err(LimitError::Files { users, limit }),
        }
    }
}

/// Raises the soft limit on open files to the hard limit, as servers do, and returns the new limit.
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let soft = limit.current;
    limit.current = limit.maximum;
    let current = if setrlimit(Resource::Nofile, limit).is_ok() { limit.maximum } else { soft };
    current.unwrap_or(u64::MAX)
}

/// Returns how many connections to one server the ports of this machine allow; `None` if the system
/// does not report the range of ports.
pub fn local_ports() -> Option<u32> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_ascii_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.saturating_sub(first) + 1)
}
