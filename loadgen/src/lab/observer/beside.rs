//! Answers questions about the server beside which this process runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::message::{About, Answer, Containers, Pod, Question};
use crate::lab::machine::process_stat;
use crate::lab::resources::{Surroundings, UsageTeller, Watched, Window, memory_now};

/// Most connections at the same time. A manager has one for each window, and one for each question.
const CONNECTIONS: usize = 64;

/// Longest question, in bytes.
const LONGEST: u64 = 1 << 10;

/// Time for a question to arrive: without a key, a connection is of no use.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// Time after which it listens again, if the system has no more files.
const AGAIN: Duration = Duration::from_millis(100);

/// Place of a process's start among the fields of its `stat`.
const START: usize = 19;

/// Name of the server among what is watched.
const SERVER: &str = "target";

/// The pod of a server, as its cluster names it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Name of the pod.
    pub pod: String,
    /// Name of its node.
    pub node: String,
    /// CPUs that the server may use.
    pub cpus: f64,
}

/// Answers questions that come with this key, at this port of all addresses, until the process ends.
///
/// # Errors
/// If this process cannot listen there.
pub async fn serve(port: u16, key: &str, place: Place) -> io::Result<()> {
    let listener = match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Ok(listener) => listener,
        // A machine may have no IPv6.
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?,
    };
    let this = Arc::new(Beside { key: Sha256::digest(key), place });
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else { continue };
        let this = Arc::clone(&this);
        tokio::spawn(async move {
            // A connection that breaks needs no answer.
            let _ = this.answer(stream).await;
            drop(permit);
        });
    }
}

struct Beside {
    /// Digest of the key: comparing digests takes a time that says nothing of the key.
    key: sha2::digest::Output<Sha256>,
    place: Place,
}

impl Beside {
    async fn answer(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::new(from);
        let Ok(question) = self.question(&mut from).await? else {
            let why = "the key is not that of this run".to_owned();
            return send(&mut to, &Answer::Refused(why)).await;
        };
        match question {
            About::Pod => {
                let containers = containers();
                if containers.is_empty() {
                    return send(&mut to, &Answer::Refused(no_server())).await;
                }
                let memory = memory_now(vec![Watched::beside(SERVER)]);
                let node_cpus = cpus_of_node();
                let pod = Pod {
                    name: self.place.pod.clone(),
                    node: self.place.node.clone(),
                    node_cpus,
                    cpus: self.place.cpus.min(f64::from(node_cpus)),
                    memory_bytes: memory.get(SERVER).copied().unwrap_or_default(),
                    containers,
                };
                send(&mut to, &Answer::Pod(pod)).await
            }
            About::Window => window(from, to).await,
        }
    }

    /// Reads a question. The inner error is a wrong key.
    async fn question(&self, from: &mut BufReader<OwnedReadHalf>) -> io::Result<Result<About, ()>> {
        let mut line = String::new();
        timeout(ASK_LIMIT, from.take(LONGEST).read_line(&mut line)).await??;
        let question: Question = serde_json::from_str(&line)?;
        Ok(if Sha256::digest(&question.key) == self.key { Ok(question.about) } else { Err(()) })
    }
}

/// Waits for the word to begin, and observes the server until the other side ends the window.
async fn window(mut from: BufReader<OwnedReadHalf>, mut to: OwnedWriteHalf) -> io::Result<()> {
    from.read_u8().await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let tell: UsageTeller = Arc::new(move |present| {
        // Nobody listens any more when the connection has broken.
        let _ = tell.send(present.get(SERVER).copied());
    });
    let watched = vec![Watched::beside(SERVER)];
    let opened = Window::telling(watched, Some(tell), Surroundings::default());
    let window = match opened {
        Ok(window) => window,
        Err(error) => return send(&mut to, &Answer::Refused(error.to_string())).await,
    };
    send(&mut to, &Answer::Began { containers: containers() }).await?;
    let mut ended = Vec::new();
    let end = from.read_to_end(&mut ended);
    tokio::pin!(end);
    loop {
        tokio::select! {
            biased;
            ended = &mut end => {
                ended?;
                break;
            }
            Some(now) = told.recv() => if let Some(now) = now {
                let (cpu_percent, memory_bytes) = (now.cpu_percent, now.memory_bytes);
                send(&mut to, &Answer::Now { cpu_percent, memory_bytes }).await?;
            }
        }
    }
    let mut observed = tokio::task::spawn_blocking(|| window.close()).await?;
    let record = Box::new(observed.services.remove(SERVER).unwrap_or_default());
    let busy = observed.machine.busy_percent.values();
    let node_busy_percent = busy.clone().sum::<f64>() / (busy.len() as f64).max(1.0);
    let containers = containers();
    send(&mut to, &Answer::Used { record, node_busy_percent, containers }).await
}

async fn send(to: &mut OwnedWriteHalf, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    to.write_all(&line).await
}

fn no_server() -> String {
    "its pod has no process of the server: does the cluster share the pod's process namespace?"
        .to_owned()
}

/// Returns the first process of each other container of the pod, and this process. Processes that no process of the pod has
/// started are the first ones, and those that `kubectl exec` and probes have started later in the same container.
fn containers() -> Containers {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    let group = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut first: BTreeMap<String, (u64, u32)> = BTreeMap::new();
    // The first process of all holds the namespace.
    for pid in pids.filter(|pid| *pid != 1 && *pid != own) {
        let Some(start) = start_of_root(pid) else { continue };
        // Containers have control groups of their own.
        let of_group = first.entry(group(pid)).or_insert((start, pid));
        *of_group = (*of_group).min((start, pid));
    }
    // A process that `kubectl exec` has started beside this one comes and goes. Without groups, all are in one.
    if first.len() > 1 {
        first.remove(&group(own));
    }
    // After a restart, it would fill a backend again, and knows nothing of a window before.
    if let (false, Some(start)) = (first.is_empty(), start_of(own)) {
        first.insert("this".to_owned(), (start, own));
    }
    first.into_values().map(|(start, pid)| (pid, start)).collect()
}

/// Returns the start of a process that no process of this namespace has started: see [`start_of`].
fn start_of_root(pid: u32) -> Option<u64> {
    let stat = process_stat::stat(pid)?;
    let fields: Vec<&str> = process_stat::fields(&stat)?.collect();
    let (state, parent) = (*fields.first()?, *fields.get(1)?);
    (parent == "0" && state != "Z").then(|| fields.get(START)?.parse().ok())?
}

/// Returns the start of a process, in clock ticks since that of the system.
fn start_of(pid: u32) -> Option<u64> {
    let stat = process_stat::stat(pid)?;
    process_stat::fields(&stat)?.nth(START)?.parse().ok()
}

/// Returns the number of the machine's CPUs, as its kernel counts them: not those that a limit leaves.
fn cpus_of_node() -> u32 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    u32::try_from(stat.lines().filter(is_cpu).count()).unwrap_or(u32::MAX)
}
