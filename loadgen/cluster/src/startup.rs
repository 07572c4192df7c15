//! Assembles a cluster: starts workers on this machine, or waits for workers on other hosts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::address::{host, only_here};
use super::authority::{self, Authority};
use super::bus::{Event, Events, ManagerBus};
use super::error::ClusterError;
use super::hex::random_hex;
use super::join::Join;
use super::manager::{Cluster, TICK};
use super::messages::Hello;
use super::round_state::OnLoss;
use super::worker::END_LIMIT;
use super::worker_process::Process;

/// Time limit for workers on this machine to join.
const JOIN_LIMIT: Duration = Duration::from_secs(15);
/// Time without a further worker after which the missing workers are named.
const QUIET: Duration = Duration::from_secs(10);

/// Workers to start on this machine.
#[derive(Debug, Clone)]
pub struct LocalWorkers {
    /// Number of workers, at least one.
    pub count: u32,
    /// Path of loadgen's executable.
    pub program: PathBuf,
    /// Folder for the workers' log files, `worker-0.log` and so on. Without a folder, workers write
    /// to the stderr of this process.
    pub logs: Option<PathBuf>,
    /// Name of the workers in the names of their log files: `worker`.
    pub name: &'static str,
    /// CPUs that the workers may use; empty for those of this process.
    pub cpus: Vec<usize>,
}

impl LocalWorkers {
    /// Describes `count` workers that run this program's executable
    /// and write to this program's stderr.
    ///
    /// # Errors
    /// If the path of this program's executable can't be determined.
    pub fn new(count: u32) -> Result<Self, ClusterError> {
        let program = if cfg!(target_os = "linux") {
            // The very file that is running, even if a build has replaced it by a newer one.
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().map_err(|source| ClusterError::Spawn {
                program: PathBuf::from("loadgen"),
                source,
            })?
        };
        Ok(Self { count, program, logs: None, name: "worker", cpus: Vec::new() })
    }

    /// Returns the path of the log file of the worker with this number; `None` without a folder.
    fn log(&self, worker: u32) -> Option<PathBuf> {
        Some(self.logs.as_ref()?.join(format!("{}-{worker}.log", self.name)))
    }
}

/// Workers on other hosts, for which the manager waits.
#[derive(Debug, Clone)]
pub struct RemoteWorkers {
    /// Number of workers, at least one.
    pub count: u32,
    /// Address `HOST:PORT` at which the manager listens. A host name stands for all addresses of
    /// the named host; `0.0.0.0` and `[::]` stand for all addresses of this host.
    pub listen: String,
    /// Address `HOST:PORT` at which workers find the manager. The
    /// manager's certificate is for `HOST`.
    pub address: String,
    /// Where the manager's certificate authority is.
    pub keys: Keys,
    /// Time without a message after which, during a run, the manager treats a worker as lost, and a
    /// worker treats the manager as lost and stops its load.
    pub lease: Duration,
    /// Time limit for workers to join. When the limit has passed, the run begins with the workers
    /// that have joined, at least one, unless all are needed. `None` waits forever.
    pub limit: Option<Duration>,
    /// Whether the run needs all workers.
    pub needs_all: bool,
}

/// Where the certificate authority of a manager is, and where its workers' join documents go.
#[derive(Debug, Clone)]
pub enum Keys {
    /// A folder for both. The manager creates what is missing there, and writes the join documents anew.
    Folder(PathBuf),
    /// A file with the authority, of whose workers each has its join document already. Nothing is written.
    File(PathBuf),
}

impl RemoteWorkers {
    /// Returns the longest time after the end of a manager for which its workers may still hold load: until they miss
    /// the manager, and until their round has ended.
    #[must_use]
    pub fn silent_within(&self) -> Duration {
        self.lease + END_LIMIT
    }
}

impl Keys {
    /// Returns the name of the run that the authority certifies; `None` if there is no authority that can be read.
    /// Creates none.
    #[must_use]
    pub fn run(&self) -> Option<String> {
        let authority = match self {
            Self::Folder(folder) => Authority::given(&folder.join(authority::FILE)),
            Self::File(file) => Authority::given(file),
        };
        authority.ok().map(|authority| authority.run)
    }
}

/// Progress while the manager waits for workers.
#[derive(Debug)]
pub enum Gathering {
    /// The manager has begun to listen for workers.
    Listening {
        /// Addresses at which the manager listens.
        addresses: Vec<SocketAddr>,
        /// Paths of the join files that were written, one for each worker; none if the workers have theirs already.
        files: Vec<PathBuf>,
        /// Address of the manager in the previous join files; `None` if there are no previous join
        /// files, or if the address has not changed.
        before: Option<String>,
    },
    /// A worker has joined.
    Joined {
        /// Number of the worker, from 0.
        worker: u32,
        /// First message of the worker; `None` if unknown.
        hello: Option<Hello>,
        /// Number of workers that have joined by now.
        joined: usize,
    },
    /// The worker with this number had joined, and is gone.
    Left(u32),
    /// No worker has joined for a while since the last one did. The value has the numbers of the missing workers.
    Missing(Vec<u32>),
    /// A second process tried to join as the worker with this number, and was refused for now.
    Occupied(u32),
    /// The manager refused to admit a worker; the value is the reason.
    Refused(String),
    /// The time limit has passed; the run begins with this number of workers.
    Over(usize),
}

impl Cluster {
    /// Starts workers on this machine, and waits until all have joined. Calls `progress` with the
    /// number of joined workers each time that a worker joins.
    ///
    /// # Errors
    /// If a worker could not be started, ended early, was refused, or did not join in time. All
    /// started workers are then ended.
    pub async fn start(
        workers: &LocalWorkers,
        mut progress: impl FnMut(usize),
    ) -> Result<Self, ClusterError> {
        // Letters and digits, as the join document requires.
        let run = random_hex(8)?;
        let mut joins = (0..workers.count)
            .map(|worker| Join::on_this_host(&run, worker))
            .collect::<Result<Vec<_>, _>>()?;
        // The folder is removed when all workers have joined: nobody else may come.
        let (bus, events, _folder) = ManagerBus::listen_here(&mut joins).await?;
        let mut processes = Vec::new();
        for (worker, join) in (0..).zip(&joins) {
            let LocalWorkers { program, cpus, .. } = workers;
            processes.push(Process::spawn(program, join, workers.log(worker), cpus).await?);
        }
        let mut cluster = Self::new(bus, events, workers.count, processes);
        let advice = match &workers.logs {
            Some(logs) => {
                format!("the worker processes run: see their log files in {}", logs.display())
            }
            None => "the worker processes run: see their output above".to_owned(),
        };
        cluster
            .wait_for_all(Some(JOIN_LIMIT), &advice, |gathering| match gathering {
                Gathering::Joined { joined, .. } => {
                    progress(joined);
                    Ok(())
                }
                Gathering::Refused(reason) => Err(ClusterError::refused(reason)),
                Gathering::Listening { .. }
                | Gathering::Left(_)
                | Gathering::Missing(_)
                | Gathering::Occupied(_)
                | Gathering::Over(_) => Ok(()),
            })
            .await?;
        Ok(cluster)
    }

    /// Writes a join document for each worker on another host, unless they have theirs, and waits until all workers have
    /// joined. Calls `tell` with each event. A refused worker does not disturb the other workers.
    ///
    /// # Errors
    /// If the manager can't listen, a document can't be written, or no worker joined in time.
    pub async fn gather(
        workers: &RemoteWorkers,
        mut tell: impl FnMut(Gathering),
    ) -> Result<Self, ClusterError> {
        let RemoteWorkers { count, listen, address, keys, lease, limit, needs_all } = workers;
        let authority = match keys {
            Keys::Folder(folder) => Authority::of(folder)?,
            Keys::File(file) => Authority::given(file)?,
        };
        let identity = authority.manager(host(address))?;
        let joins = Join::of_all(&authority, address, *count, *lease)?;
        let (bus, events) = ManagerBus::listen(listen, &identity, &joins).await?;
        let (before, files) = match keys {
            Keys::File(_) => (None, Vec::new()),
            Keys::Folder(folder) => {
                let before = address_before(folder).filter(|before| before != address);
                (before, joins.iter().map(|join| join.write(folder)).collect::<Result<_, _>>()?)
            }
        };
        let addresses = bus.addresses.clone();
        let advice = only_here(&addresses, address).unwrap_or_else(|| match keys {
            Keys::File(_) => format!("check that the workers run, and that they can reach {address}"),
            Keys::Folder(_) => format!(
                "check that `loadgen worker` runs on each of their hosts, with a separate join file that this \
                 manager wrote, and that these hosts can reach {address}"
            ),
        });
        tell(Gathering::Listening { addresses, files, before });
        let mut cluster = Self::new(bus, events, *count, Vec::new());
        let gathered = cluster.wait_for_all(*limit, &advice, |gathering| {
            tell(gathering);
            Ok(())
        });
        match gathered.await {
            Err(ClusterError::NotJoined { joined: joined @ 1.., .. }) if !needs_all => {
                tell(Gathering::Over(joined))
            }
            gathered => gathered?,
        }
        Ok(cluster)
    }

    pub(super) fn new(bus: ManagerBus, events: Events, size: u32, processes: Vec<Process>) -> Self {
        let (gone, on_loss) = (BTreeMap::new(), OnLoss::default());
        let (absent, hellos, held) = ((0..size).collect(), BTreeMap::new(), BTreeMap::new());
        let epoch = seconds_now();
        let sessions = Vec::new();
        let hands = Vec::new();
        Self {
            bus,
            events,
            size,
            absent,
            hellos,
            processes,
            sessions,
            held,
            epoch,
            gone,
            on_loss,
            hands,
        }
    }

    /// Number of workers that have joined.
    fn joined(&self) -> usize {
        self.size as usize - self.absent.len()
    }

    /// Waits until all workers have joined and are present at the same time.
    pub(super) async fn wait_for_all(
        &mut self,
        limit: Option<Duration>,
        advice: &str,
        mut tell: impl FnMut(Gathering) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut last_joined = None;
        while !self.absent.is_empty() {
            match tokio::time::timeout(TICK, self.events.recv()).await {
                Ok(Some(Event::Hello(hello))) => {
                    self.hellos.insert(hello.worker, hello);
                }
                Ok(Some(Event::Joined(worker))) if self.absent.remove(&worker) => {
                    last_joined = Some(Instant::now());
                    let (hello, joined) = (self.hellos.get(&worker).cloned(), self.joined());
                    tell(Gathering::Joined { worker, hello, joined })?;
                }
                Ok(Some(Event::Left(worker))) if worker < self.size => {
                    self.absent.insert(worker);
                    tell(Gathering::Left(worker))?;
                }
                Ok(Some(Event::Occupied(worker))) => tell(Gathering::Occupied(worker))?,
                Ok(Some(Event::Refused { worker, reason })) => {
                    tell(Gathering::Refused(format!("worker {worker}: {reason}")))?;
                }
                _ => {}
            }
            if last_joined.take_if(|last| last.elapsed() > QUIET).is_some() {
                tell(Gathering::Missing(self.absent.iter().copied().collect()))?;
            }
            for (worker, process) in (0..).zip(&mut self.processes) {
                if let Some(error) = process.early_end(worker) {
                    return Err(error);
                }
            }
            for session in &mut self.sessions {
                if let Some(why) = session.ended().await {
                    return Err(ClusterError::Hosts(vec![(session.host().to_owned(), why.into())]));
                }
            }
            if let (Some(limit), Some(deadline)) = (limit, deadline)
                && Instant::now() > deadline
            {
                let (joined, of) = (self.joined(), self.size as usize);
                let advice = advice.to_owned();
                return Err(ClusterError::NotJoined { joined, of, limit, advice });
            }
        }
        Ok(())
    }
}

/// Returns the manager's address in the join document of worker 0; `None` if
/// `folder` has no join document of worker 0.
fn address_before(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("0")).ok()?;
    // The document may be of any version, with any other fields.
    let document: serde_json::Value = serde_json::from_str(&text).ok()?;
    document["address"].as_str().map(str::to_owned)
}

/// Returns the number from which this manager numbers its rounds (their epoch): the Unix
/// time in seconds. Messages to or from an earlier manager of the same authority then
/// belong to no round of this manager.
fn seconds_now() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_an_authority_is_read_and_none_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let join = folder.path().join("join");
        assert_eq!(Keys::Folder(join.clone()).run(), None);
        assert!(!join.exists());
        let run = Some(Authority::of(&join).unwrap().run);
        assert_eq!(Keys::Folder(join.clone()).run(), run);
        assert_eq!(Keys::File(join.join(authority::FILE)).run(), run);
    }
}
