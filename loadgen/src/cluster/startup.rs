//! How a cluster comes about: workers are started on this machine, or waited for from others.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::address::{host, only_here};
use super::authority::Authority;
use super::bus::{Event, Events, ManagerBus};
use super::error::ClusterError;
use super::hex::random_hex;
use super::join::Join;
use super::manager::{Cluster, TICK};
use super::messages::Hello;
use super::round_state::OnLoss;
use super::worker_process::Process;

/// How long workers on this machine may take to join.
const JOIN_LIMIT: Duration = Duration::from_secs(15);

/// What workers to start on this machine.
#[derive(Debug, Clone)]
pub struct LocalWorkers {
    /// How many, at least one.
    pub count: u32,
    /// The executable of loadgen.
    pub program: PathBuf,
    /// The folder for their log files, `worker-0.log` and so on; without one they write to the
    /// stderr of this process.
    pub logs: Option<PathBuf>,
}

impl LocalWorkers {
    /// `count` workers that run this program and write to its stderr.
    ///
    /// # Errors
    /// Where the system can't tell which program this is.
    pub fn new(count: u32) -> Result<Self, ClusterError> {
        let program = if cfg!(target_os = "linux") {
            // The very file that runs, also when a build has put a newer one in its place.
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().map_err(|source| ClusterError::Spawn {
                program: PathBuf::from("loadgen"),
                source,
            })?
        };
        Ok(Self { count, program, logs: None })
    }
}

/// What workers to wait for.
#[derive(Debug, Clone)]
pub struct RemoteWorkers {
    /// How many, at least one.
    pub count: u32,
    /// Where the manager listens, `HOST:PORT`: at all addresses of the host, or of this one for `0.0.0.0`
    /// and `[::]`.
    pub listen: String,
    /// Where they find it, `HOST:PORT`: its certificate is for this host.
    pub address: String,
    /// The folder of the authority and of the workers' join documents.
    pub folder: PathBuf,
    /// How long one that is silent is waited for during a run, and how long each of them waits for a
    /// manager that is silent before it stops its load.
    pub lease: Duration,
    /// How long they may take to join; then it begins with those that are there, one at least. For
    /// ever, where it is `None`.
    pub limit: Option<Duration>,
}

/// What happens while workers are waited for.
#[derive(Debug)]
pub enum Gathering {
    /// The manager listens.
    Listening {
        /// At these addresses.
        addresses: Vec<SocketAddr>,
        /// Each worker takes one of these files.
        files: Vec<PathBuf>,
        /// Where workers found it by these files until now, if that was elsewhere.
        before: Option<String>,
    },
    /// A worker has joined.
    Joined {
        /// Its number.
        worker: u32,
        /// What it said of itself.
        hello: Option<Hello>,
        /// How many there are now.
        joined: usize,
    },
    /// A worker that was there is gone.
    Left(u32),
    /// A second process asked to be this worker.
    Occupied(u32),
    /// A worker was refused, and why.
    Refused(String),
    /// The time is over; it begins with so many.
    Over(usize),
}

impl Cluster {
    /// Starts workers on this machine, and waits until all have joined; `progress` is told how many
    /// have.
    ///
    /// # Errors
    /// When a worker could not be started, ended early, was refused, or did not join in time.
    /// Those that did start are ended.
    pub async fn start(
        workers: &LocalWorkers,
        mut progress: impl FnMut(usize),
    ) -> Result<Self, ClusterError> {
        // Letters and digits, as the join document wants it.
        let run = random_hex(8)?;
        let mut joins = (0..workers.count)
            .map(|worker| Join::on_this_host(&run, worker))
            .collect::<Result<Vec<_>, _>>()?;
        // Its folder goes when all have joined: nobody else is to come.
        let (bus, events, _folder) = ManagerBus::listen_here(&mut joins).await?;
        let mut processes = Vec::new();
        for join in &joins {
            let logs = workers.logs.as_deref();
            processes.push(Process::spawn(&workers.program, join, logs).await?);
        }
        let mut cluster = Self::new(bus, events, workers.count, processes);
        let advice = match &workers.logs {
            Some(logs) => format!("their processes run: see their log files in {}", logs.display()),
            None => "their processes run: see what they have said above".to_owned(),
        };
        cluster
            .wait_for_all(Some(JOIN_LIMIT), &advice, |gathering| match gathering {
                Gathering::Joined { joined, .. } => {
                    progress(joined);
                    Ok(())
                }
                Gathering::Refused(reason) => Err(ClusterError::Refused {
                    who: "the manager".to_owned(),
                    what: "a worker",
                    reason,
                }),
                Gathering::Listening { .. }
                | Gathering::Left(_)
                | Gathering::Occupied(_)
                | Gathering::Over(_) => Ok(()),
            })
            .await?;
        Ok(cluster)
    }

    /// Writes join documents, and waits until a worker with each of them has joined; `tell` is told
    /// of all that happens. One that is refused does no harm to the others.
    ///
    /// # Errors
    /// When the manager can't listen, a document can't be written, or no worker joined in time.
    pub async fn gather(
        workers: &RemoteWorkers,
        mut tell: impl FnMut(Gathering),
    ) -> Result<Self, ClusterError> {
        let RemoteWorkers { count, listen, address, folder, lease, limit } = workers;
        let authority = Authority::of(folder)?;
        let identity = authority.manager(host(address))?;
        let joins = Join::of_all(&authority, address, *count, *lease)?;
        let (bus, events) = ManagerBus::listen(listen, &identity, &joins).await?;
        let before = address_before(folder).filter(|before| before != address);
        let files = joins.iter().map(|join| join.write(folder)).collect::<Result<_, _>>()?;
        let addresses = bus.addresses.clone();
        let advice = only_here(&addresses, address).unwrap_or_else(|| {
            format!(
                "is `loadgen worker` running on each of their hosts, with a join file of its own that this \
                 manager wrote, and can {address} be reached from there?"
            )
        });
        tell(Gathering::Listening { addresses, files, before });
        let mut cluster = Self::new(bus, events, *count, Vec::new());
        let gathered = cluster.wait_for_all(*limit, &advice, |gathering| {
            tell(gathering);
            Ok(())
        });
        match gathered.await {
            Err(ClusterError::NotJoined { joined: joined @ 1.., .. }) => {
                tell(Gathering::Over(joined))
            }
            gathered => gathered?,
        }
        Ok(cluster)
    }

    fn new(bus: ManagerBus, events: Events, size: u32, processes: Vec<Process>) -> Self {
        let (gone, on_loss) = (BTreeMap::new(), OnLoss::default());
        let (absent, hellos, held) = ((0..size).collect(), BTreeMap::new(), BTreeMap::new());
        let epoch = seconds_now();
        Self { bus, events, size, absent, hellos, processes, held, epoch, gone, on_loss }
    }

    /// How many workers are there.
    fn joined(&self) -> usize {
        self.size as usize - self.absent.len()
    }

    /// Waits until all workers are there at the same time.
    async fn wait_for_all(
        &mut self,
        limit: Option<Duration>,
        advice: &str,
        mut tell: impl FnMut(Gathering) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        while !self.absent.is_empty() {
            match tokio::time::timeout(TICK, self.events.recv()).await {
                Ok(Some(Event::Hello(hello))) => {
                    self.hellos.insert(hello.worker, hello);
                }
                Ok(Some(Event::Joined(worker))) if self.absent.remove(&worker) => {
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
            for (worker, process) in (0..).zip(&mut self.processes) {
                if let Some(error) = process.early_end(worker) {
                    return Err(error);
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

/// Where the manager was found by the join documents that are in this folder already.
fn address_before(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("0")).ok()?;
    // Any version's, whatever else is in it.
    let document: serde_json::Value = serde_json::from_str(&text).ok()?;
    document["address"].as_str().map(str::to_owned)
}

/// Rounds are numbered from here on, so that what is said of one by an earlier manager of the same
/// authority, or to it, is of no round of this one.
fn seconds_now() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(0))
}
