//! Starts workers on other hosts through SSH: the system's `ssh`, with the user's own configuration.
//!
//! - `worker_host`: a host and its number of workers, as a user names them.
//! - `ssh`: runs a command on a host. `program`: copies loadgen to a host that lacks it.
//! - `session`: the connection over which a host's workers are started, reach the manager, and are ended.
//! - `there`: the other end of it: the processes of the workers.
//!
//! The manager listens on the loopback interface only. Each session forwards a port of the host's loopback interface
//! to it, so that no port of either host is open to others and no firewall is in the way. Join documents go over
//! standard input. A host's workers end when the session does, for whatever reason: their standard input closes.

mod program;
mod session;
mod ssh;
mod there;
mod worker_host;

use std::time::Duration;

use tokio::task::JoinSet;

use self::program::Program;
pub(super) use self::session::Session;
pub use self::there::serve_parent_of_many;
pub use self::worker_host::WorkerHost;
use super::authority::Authority;
use super::bus::ManagerBus;
use super::error::ClusterError;
use super::join::Join;
use super::manager::Cluster;
use super::startup::Gathering;

/// Time limit for the workers to join after their programs have begun.
const JOIN_LIMIT: Duration = Duration::from_secs(30);

/// Address of the manager, and of the ports that lead to it.
const LOOPBACK: &str = "127.0.0.1";

/// Workers to start on other hosts.
#[derive(Debug, Clone)]
pub struct HostWorkers {
    /// The hosts, each once.
    pub hosts: Vec<WorkerHost>,
    /// Time without a message after which, during a run, the manager treats a worker as lost, and a worker treats the
    /// manager as lost and stops its load.
    pub lease: Duration,
}

/// Progress while workers on other hosts are started.
#[derive(Debug)]
pub enum Starting {
    /// Hosts are asked whether they have the program.
    Asking(usize),
    /// The program, of so many bytes, is copied to these hosts.
    Copying(Vec<String>, u64),
    /// The workers of all hosts are started.
    Workers(u32),
}

impl HostWorkers {
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
        tell(Starting::Asking(workers.hosts.len()));
        let lacking = each(&workers.hosts, |host| {
            let program = program.clone();
            async move { program.is_there(&host.name).await }
        });
        let lacking = lacking.await?.into_iter().filter(|(_, is_there)| !is_there);
        let lacking: Vec<WorkerHost> = lacking.map(|(host, _)| host).collect();
        if !lacking.is_empty() {
            let names = lacking.iter().map(|host| host.name.clone()).collect();
            tell(Starting::Copying(names, program.length()));
            let copied = each(&lacking, |host| {
                let program = program.clone();
                async move { program.copy_to(&host.name).await }
            });
            copied.await?;
        }
        tell(Starting::Workers(count));
        let authority = Authority::passing()?;
        let joins = Join::of_all(&authority, "", count, workers.lease)?;
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
            async move { Session::start(host, from, joins, port, &name).await }
        });
        let sessions = sessions.await?.into_iter().map(|(_, session)| session).collect();
        let mut cluster = Self::new(bus, events, count, Vec::new());
        cluster.sessions = sessions;
        let advice = "all connections to the hosts stand: see what uses their CPUs, and try again";
        let refuse = |gathering| match gathering {
            Gathering::Refused(reason) => Err(ClusterError::Refused {
                who: "the manager".to_owned(),
                what: "a worker",
                reason,
            }),
            _ => Ok(()),
        };
        cluster.wait_for_all(Some(JOIN_LIMIT), advice, refuse).await?;
        Ok(cluster)
    }
}

/// Does something with all hosts at the same time, and returns what each gave, in their order.
///
/// # Errors
/// If it failed with some hosts: all of them, each with its reason.
async fn each<T, F>(
    hosts: &[WorkerHost],
    mut act: impl FnMut(WorkerHost) -> F,
) -> Result<Vec<(WorkerHost, T)>, ClusterError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let mut acting = JoinSet::new();
    for (place, host) in hosts.iter().enumerate() {
        let (host, act) = (host.clone(), act(host.clone()));
        acting.spawn(async move { (place, host, act.await) });
    }
    let mut all = acting.join_all().await;
    all.sort_by_key(|(place, ..)| *place);
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (_, host, result) in all {
        match result {
            Ok(value) => done.push((host, value)),
            Err(why) => failed.push((host.name, why)),
        }
    }
    if failed.is_empty() { Ok(done) } else { Err(ClusterError::Hosts(failed)) }
}
