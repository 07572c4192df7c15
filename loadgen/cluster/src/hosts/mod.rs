//! Starts workers on other hosts through SSH: the system's `ssh`, with the user's own configuration.
//!
//! - `worker_host`: a host and its number of workers, as a user names them.
//! - `ssh`: runs a command on a host. `program`: copies loadgen to a host that lacks it.
//! - `session`: the connection over which a host's workers are started, reach the manager, and are ended.
//! - `there`: the other end of it: the processes of the workers. `check`: looks at hosts before they send load.
//!
//! The manager listens on the loopback interface only. Each session forwards a port of the host's loopback interface
//! to it, so that no firewall is in the way, and no port is open to others, unless the host's sshd has
//! `GatewayPorts yes`. Join documents go over standard input. A host's workers end when the session does, for whatever
//! reason: their standard input closes.

mod check;
mod program;
mod session;
mod ssh;
mod there;
mod worker_host;

use std::fmt;
use std::time::Duration;

use loadgen_text::counted;
use tokio::task::JoinSet;

pub use self::check::{CheckedHost, HostReport, check_hosts, clock_line};
use self::program::Program;
pub(super) use self::session::Session;
pub use self::there::serve_all;
pub use self::worker_host::WorkerHost;
use super::authority::Authority;
use super::bus::ManagerBus;
use super::error::ClusterError;
use super::hex::random_hex;
use super::host_fault::HostFault;
use super::join::Join;
use super::lease::LEASE;
use super::manager::Cluster;
use super::startup::Gathering;

/// Time limit for the workers to join after their programs have begun.
const JOIN_LIMIT: Duration = Duration::from_secs(30);

/// Address of the manager, and of the ports that lead to it.
const LOOPBACK: &str = "127.0.0.1";

/// Workers to start on other hosts.
#[derive(Debug, Clone)]
pub struct HostWorkers {
    /// Random name of the run.
    pub run: String,
    /// The hosts, each once.
    pub hosts: Vec<WorkerHost>,
}

/// Progress while workers on other hosts are started.
#[derive(Debug)]
pub enum Starting {
    /// Hosts are asked whether they have the program.
    Asking(usize),
    /// The program, of so many bytes, is copied to these hosts.
    Copying(Vec<String>, u64),
    /// So many hosts measure how much their workers send.
    Measuring(usize),
    /// So many workers are started, on so many hosts.
    Workers(u32, usize),
}

impl fmt::Display for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = |count: usize| counted(count as u64, "host");
        match self {
            Self::Asking(count) => write!(f, "connecting to {}", hosts(*count)),
            Self::Copying(names, bytes) => {
                let megabytes = bytes.div_ceil(1_000_000);
                write!(f, "copying loadgen ({megabytes} MB) to {}", names.join(", "))
            }
            Self::Measuring(count) => {
                write!(f, "measuring how much the workers of {} send", hosts(*count))
            }
            Self::Workers(count, on) => {
                write!(f, "starting {} on {}", counted((*count).into(), "worker"), hosts(*on))
            }
        }
    }
}

impl HostWorkers {
    /// Returns the workers of these hosts, of which none is given twice.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn new(hosts: Vec<WorkerHost>) -> Result<Self, ClusterError> {
        Ok(Self { run: random_hex(8)?, hosts })
    }

    /// Returns the number of workers on all hosts.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.hosts.iter().map(|host| host.workers).fold(0, u32::saturating_add)
    }
}

impl Cluster {
    /// Starts the workers on their hosts, and waits until all have joined. Calls `tell` with what is done next.
    ///
    /// # Errors
    /// If a host cannot be reached, cannot run the program, or refuses to forward a port; or if a worker did not join
    /// in time. All started workers are then ended.
    pub async fn start_on(
        workers: &HostWorkers,
        mut tell: impl FnMut(Starting),
    ) -> Result<Self, ClusterError> {
        let count = workers.count();
        let program = Program::own().await?;
        all(provide(&program, &workers.hosts, &mut tell).await?)?;
        tell(Starting::Workers(count, workers.hosts.len()));
        let authority = Authority::passing(&workers.run)?;
        let joins = Join::of_all(&authority, "", count, LEASE)?;
        let identity = authority.manager(LOOPBACK)?;
        let (bus, events) = ManagerBus::listen(&format!("{LOOPBACK}:0"), &identity, &joins).await?;
        let Some(port) = bus.addresses.first().map(std::net::SocketAddr::port) else {
            return Err(ClusterError::bus("the manager listens nowhere"));
        };
        let mut first = 0;
        let sessions = each(&workers.hosts, |host| {
            let from = first;
            first += host.workers;
            let joins = joins[from as usize..first as usize].to_vec();
            let name = program.name.clone();
            async move { Ok(Session::start(host, from, joins, port, &name).await?) }
        });
        let sessions = all(sessions.await)?;
        let mut cluster = Self::new(bus, events, count, Vec::new());
        cluster.sessions = sessions;
        let refuse = |gathering| match gathering {
            Gathering::Refused(reason) => Err(ClusterError::refused(reason)),
            _ => Ok(()),
        };
        let advice = "the connections to all hosts stand: see what uses their CPUs";
        match cluster.wait_for_all(Some(JOIN_LIMIT), advice, refuse).await {
            Ok(()) => Ok(cluster),
            Err(ClusterError::NotJoined { joined, of, limit, advice }) => {
                let said = cluster.sessions.iter();
                let said =
                    said.filter_map(|it| Some(format!("; {} said: {}", it.host(), it.said()?)));
                let advice = advice + &said.collect::<String>();
                Err(ClusterError::NotJoined { joined, of, limit, advice })
            }
            Err(error) => Err(error),
        }
    }
}

/// Copies the program to the hosts that lack it. Returns for each host whether it has it now, or why not.
async fn provide(
    program: &Program,
    hosts: &[WorkerHost],
    tell: &mut impl FnMut(Starting),
) -> Result<Vec<(WorkerHost, Result<(), HostFault>)>, ClusterError> {
    tell(Starting::Asking(hosts.len()));
    let asked = each(hosts, |host| {
        let program = program.clone();
        async move { program.is_there(&host.name).await }
    });
    let mut asked = asked.await;
    let lacking: Vec<WorkerHost> =
        asked.iter().filter(|(_, is)| *is == Ok(false)).map(|(host, _)| host.clone()).collect();
    if !lacking.is_empty() {
        let names = lacking.iter().map(|host| host.name.clone()).collect();
        let packed = program.packed().await?;
        tell(Starting::Copying(names, packed.len() as u64));
        let copied = each(&lacking, |host| {
            let (program, packed) = (program.clone(), packed.clone());
            async move { program.copy_to(&host.name, &packed).await.map(|()| true) }
        });
        let copied = copied.await.into_iter();
        let lacked = asked.iter_mut().filter(|(_, is)| *is == Ok(false));
        lacked.zip(copied).for_each(|(of, copied)| *of = copied);
    }
    Ok(asked.into_iter().map(|(host, is)| (host, is.map(drop))).collect())
}

/// Does something with all hosts at the same time, and returns what each gave, in their order.
async fn each<T, F>(
    hosts: &[WorkerHost],
    mut act: impl FnMut(WorkerHost) -> F,
) -> Vec<(WorkerHost, Result<T, HostFault>)>
where
    T: Send + 'static,
    F: Future<Output = Result<T, HostFault>> + Send + 'static,
{
    let mut acting = JoinSet::new();
    for (place, host) in hosts.iter().enumerate() {
        let (host, act) = (host.clone(), act(host.clone()));
        acting.spawn(async move { (place, (host, act.await)) });
    }
    let mut all = acting.join_all().await;
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, of)| of).collect()
}

/// Returns what all hosts gave.
///
/// # Errors
/// If some gave nothing: all of these, each with its reason.
fn all<T>(results: Vec<(WorkerHost, Result<T, HostFault>)>) -> Result<Vec<T>, ClusterError> {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (host, result) in results {
        match result {
            Ok(value) => done.push(value),
            Err(why) => failed.push((host.name, why)),
        }
    }
    if failed.is_empty() { Ok(done) } else { Err(ClusterError::Hosts(failed)) }
}
