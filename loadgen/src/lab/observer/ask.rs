//! Asks the observers of all pods of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::message::{About, Answer, Containers, Pod, Question};
use crate::lab::resources::UsageTeller;
use crate::measure::{PodsRecord, PresentUsage, ResourceRecord};
use crate::text::counted;

/// Time for a pod to answer. Its server may leave it little of the CPU.
const LIMIT: Duration = Duration::from_secs(15);

/// Attempts to connect to a pod, which may have too many connections.
const ATTEMPTS: u32 = 5;

/// Time between two looks at pods that are not all ready.
const LOOK: Duration = Duration::from_millis(500);

/// Longest answer, in bytes: an hour's samples have some 100 KB.
const LONGEST: u64 = 16 << 20;

/// Where the pods of a server are observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observers {
    /// Host name with the addresses of all pods that are ready, and port.
    pub address: String,
    /// Key of the run.
    pub key: String,
    /// Number of pods.
    pub replicas: u32,
}

/// The pods of a server, as they were when all of them were ready: none may be another one later.
#[derive(Debug, Clone)]
pub struct Pods {
    observers: Observers,
    all: Vec<(SocketAddr, Pod)>,
}

impl Observers {
    /// Waits until all pods are ready, for this time at most.
    ///
    /// # Errors
    /// Returns what was wrong with the pods last.
    pub async fn all_ready(&self, limit: Duration) -> Result<Pods, String> {
        let until = Instant::now() + limit;
        loop {
            match self.ready().await {
                Ok(pods) => return Ok(pods),
                Err(why) if Instant::now() >= until => return Err(why),
                Err(_) => sleep(LOOK).await,
            }
        }
    }

    /// Looks up the pods that are ready.
    async fn addresses(&self) -> Result<BTreeSet<SocketAddr>, String> {
        let found = timeout(LIMIT, lookup_host(&self.address)).await;
        let found = found.map_err(|_| "no answer of the cluster's DNS".to_owned())?;
        // Without a pod that is ready, the name has no address, which is an error of the system's own.
        let found =
            found.map_err(|error| format!("no pod is ready, by the cluster's DNS: {error}"))?;
        Ok(found.collect())
    }

    /// Asks each pod. The error is what is wrong if not all of them are ready.
    async fn ready(&self) -> Result<Pods, String> {
        let addresses = self.addresses().await?;
        if addresses.len() != self.replicas as usize {
            return Err(format!("{} of {} pods are ready", addresses.len(), self.replicas));
        }
        let mut all = Vec::new();
        for address in addresses {
            all.push((address, pod(&self.key, address).await?));
        }
        Ok(Pods { observers: self.clone(), all })
    }
}

async fn pod(key: &str, address: SocketAddr) -> Result<Pod, String> {
    let mut connection = Connection::new(address, key, About::Pod).await?;
    match connection.next().await? {
        Answer::Pod(pod) => Ok(pod),
        other => Err(unlike(&other)),
    }
}

impl Pods {
    /// Returns the memory of all pods together now, in bytes.
    ///
    /// # Errors
    /// Returns what is wrong with a pod.
    pub async fn memory(&self) -> Result<u64, String> {
        let mut sum = 0;
        for (address, before) in &self.all {
            let now =
                pod(&self.observers.key, *address).await.map_err(|why| silent(before, &why))?;
            sum += now.memory_bytes;
        }
        Ok(sum)
    }

    /// Connects to all pods, ahead of a window.
    ///
    /// # Errors
    /// Returns what is wrong if not all of them answer.
    pub async fn connect(&self) -> Result<Window, String> {
        let mut connections = Vec::new();
        for (address, pod) in &self.all {
            let made = Connection::new(*address, &self.observers.key, About::Window).await;
            connections.push(made.map_err(|why| silent(pod, &why))?);
        }
        self.are_alone().await?;
        let pods = self.all.iter().map(|(_, pod)| pod.clone()).collect();
        Ok(Window { of: self.clone(), pods, connections })
    }

    /// Checks that the server has no other pods than these. Those that are lost tell by themselves.
    async fn are_alone(&self) -> Result<(), String> {
        // The pods answer also without DNS.
        let Ok(now) = self.observers.addresses().await else { return Ok(()) };
        let known: BTreeSet<SocketAddr> = self.all.iter().map(|(address, _)| *address).collect();
        match now.difference(&known).count() {
            0 => Ok(()),
            more => Err(format!(
                "it has {} now that it had not at the start of the run, when it had {}: somebody has scaled its Deployment, \
                 or a pod was replaced",
                counted(more as u64, "pod"),
                known.len()
            )),
        }
    }
}

/// A measurement of the resources that all pods of a server use.
#[derive(Debug)]
pub struct Window {
    of: Pods,
    pods: Vec<Pod>,
    connections: Vec<Connection>,
}

impl Window {
    /// Begins to measure.
    ///
    /// # Errors
    /// Returns what is wrong with a pod.
    pub async fn begin(&mut self) -> Result<(), String> {
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            let sent = connection.to.write_all(b"\n").await;
            sent.map_err(|error| silent(pod, &error.to_string()))?;
        }
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            match connection.next().await.map_err(|why| silent(pod, &why))? {
                Answer::Began { containers } => same(pod, &containers)?,
                other => return Err(unlike(&other)),
            }
        }
        Ok(())
    }

    /// Passes on what the pods use together, as `name`, until a pod has no more to say.
    ///
    /// # Errors
    /// Returns what is wrong with the pod. This function never returns otherwise.
    pub async fn tell(&mut self, name: &str, tell: Option<&UsageTeller>) -> Result<(), String> {
        let mut present = vec![PresentUsage::default(); self.connections.len()];
        loop {
            // Each pod speaks once a second.
            for (at, connection) in self.connections.iter_mut().enumerate() {
                match connection.next().await.map_err(|why| silent(&self.pods[at], &why))? {
                    Answer::Now { cpu_percent, memory_bytes } => {
                        present[at] = PresentUsage { cpu_percent, memory_bytes };
                    }
                    other => return Err(unlike(&other)),
                }
            }
            if let Some(tell) = tell {
                let sum = PresentUsage {
                    cpu_percent: present.iter().map(|of| of.cpu_percent).sum(),
                    memory_bytes: present.iter().map(|of| of.memory_bytes).sum(),
                };
                tell(BTreeMap::from([(name.to_owned(), sum)]));
            }
        }
    }

    /// Ends the measurement. Returns what each pod used, and their nodes.
    ///
    /// # Errors
    /// Returns which pod did not last until the end.
    pub async fn end(mut self) -> Result<(Vec<ResourceRecord>, PodsRecord), String> {
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            connection.shut().await.map_err(|why| silent(pod, &why))?;
        }
        let mut all = Vec::new();
        let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            loop {
                match connection.next().await.map_err(|why| silent(pod, &why))? {
                    Answer::Now { .. } => {}
                    Answer::Used { record, node_busy_percent, containers } => {
                        same(pod, &containers)?;
                        all.push(*record);
                        let node = nodes.entry(pod.node.clone()).or_default();
                        node.cpus = f64::from(pod.node_cpus);
                        node.of_pods = (node.of_pods + pod.cpus).min(node.cpus);
                        node.busy_percent = node_busy_percent;
                        break;
                    }
                    other => return Err(unlike(&other)),
                }
            }
        }
        self.of.are_alone().await?;
        let of_nodes: f64 = nodes.values().map(|node| node.cpus).sum();
        let busy: f64 = nodes.values().map(|node| node.cpus * node.busy_percent).sum();
        let record = PodsRecord {
            cpus: nodes.values().map(|node| node.of_pods).sum(),
            busy_percent: busy / of_nodes.max(1.0),
            nodes_busy_percent: nodes
                .into_iter()
                .map(|(name, node)| (name, node.busy_percent))
                .collect(),
        };
        Ok((all, record))
    }
}

#[derive(Default)]
struct Node {
    cpus: f64,
    /// CPUs that the pods of the server may use.
    of_pods: f64,
    busy_percent: f64,
}

/// Returns an error if a container of the pod is not there any more.
fn same(pod: &Pod, containers: &Containers) -> Result<(), String> {
    match pod.containers.is_subset(containers) {
        true => Ok(()),
        false => Err(format!("the server in {} has ended, or was started again", place(pod))),
    }
}

fn unlike(answer: &Answer) -> String {
    format!("a pod answered otherwise than asked: {answer:?}")
}

fn place(pod: &Pod) -> String {
    format!("pod {} on {}", pod.name, pod.node)
}

fn silent(pod: &Pod, why: &str) -> String {
    format!("the pod was lost, or loadgen beside the server does not answer: {}: {why}", place(pod))
}

#[derive(Debug)]
struct Connection {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
    /// Beginning of a line whose end has not arrived.
    line: Vec<u8>,
}

impl Connection {
    /// Connects, and asks.
    async fn new(address: SocketAddr, key: &str, about: About) -> Result<Self, String> {
        let question = Question { key: key.to_owned(), about };
        let mut line = serde_json::to_vec(&question).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let mut attempt = 1;
        loop {
            let connected = timeout(LIMIT, Self::ask(address, &line)).await;
            match connected {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) if attempt == ATTEMPTS => return Err(format!("{address}: {error}")),
                Ok(Err(_)) => sleep(LOOK).await,
                Err(_) => {
                    let limit = LIMIT.as_secs();
                    return Err(format!("no connection to {address} within {limit} s"));
                }
            }
            attempt += 1;
        }
    }

    async fn ask(address: SocketAddr, line: &[u8]) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (from, mut to) = stream.into_split();
        to.write_all(line).await?;
        Ok(Self { from: BufReader::new(from), to, line: Vec::new() })
    }

    async fn shut(&mut self) -> Result<(), String> {
        self.to.shutdown().await.map_err(|error| error.to_string())
    }

    /// Returns the next answer. May be dropped and called again: nothing that has arrived is lost.
    async fn next(&mut self) -> Result<Answer, String> {
        let mut from = (&mut self.from).take(LONGEST);
        let read = timeout(LIMIT, from.read_until(b'\n', &mut self.line)).await;
        read.map_err(|_| format!("no answer within {} s", LIMIT.as_secs()))?
            .map_err(|error| error.to_string())?;
        if self.line.is_empty() {
            return Err("the connection was closed".to_owned());
        }
        let line = std::mem::take(&mut self.line);
        match serde_json::from_slice(&line).map_err(|error| error.to_string())? {
            Answer::Refused(why) => Err(why),
            answer => Ok(answer),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::lab::observer::{Place, serve};

    /// Observes this machine, whose first process is no server either, as the pod `a`.
    fn observed() -> std::io::Result<Observers> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let place = Place { pod: "a".to_owned(), node: "node-a".to_owned(), cpus: 0.5 };
        tokio::spawn(serve(free.port(), "sesame", place));
        Ok(Observers { address: free.to_string(), key: "sesame".to_owned(), replicas: 1 })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_window_tells_what_is_used_in_it() {
        let pods = observed().unwrap().all_ready(Duration::from_secs(20)).await.unwrap();
        assert!(pods.memory().await.unwrap() > 1 << 20);
        let mut window = pods.connect().await.unwrap();
        window.begin().await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell: UsageTeller = Arc::new({
            let told = Arc::clone(&told);
            move |present| told.lock().unwrap().push(present)
        });
        let busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let mut busy = busy.unwrap();
        let telling = timeout(Duration::from_millis(2_500), window.tell("target", Some(&tell)));
        assert!(telling.await.is_err(), "it goes on");
        let (used, pods) = window.end().await.unwrap();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(used.len() == 1 && used[0].cpu_s > 0.1, "{used:?}");
        assert!(pods.nodes_busy_percent["node-a"] > 1.0 && pods.busy_percent > 1.0, "{pods:?}");
        assert!((pods.cpus - 0.5).abs() < 1e-9, "its limit");
        assert!(told.lock().unwrap()[0]["target"].memory_bytes > 1 << 20);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_key_and_missing_pods_are_refused() {
        let observers = observed().unwrap();
        observers.all_ready(Duration::from_secs(20)).await.unwrap();
        let other = Observers { key: "simsalabim".to_owned(), ..observers.clone() };
        let why = other.all_ready(Duration::ZERO).await.unwrap_err();
        assert_eq!(why, "the key is not that of this run");
        let two = Observers { replicas: 2, ..observers };
        let why = two.all_ready(Duration::ZERO).await.unwrap_err();
        assert_eq!(why, "1 of 2 pods are ready");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_was_started_again_is_another_one() {
        let mut pods = observed().unwrap().all_ready(Duration::from_secs(20)).await.unwrap();
        pods.all[0].1.containers.insert((4_000_000, 1));
        let why = pods.connect().await.unwrap().begin().await.unwrap_err();
        assert_eq!(why, "the server in pod a on node-a has ended, or was started again");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_pod_that_was_added_makes_another_server() {
        let pods = observed().unwrap().all_ready(Duration::from_secs(20)).await.unwrap();
        let window = pods.connect().await.unwrap();
        assert_eq!(window.of.are_alone().await, Ok(()));
        let none = Pods { all: Vec::new(), ..pods };
        let why = none.connect().await.unwrap_err();
        assert!(why.starts_with("it has 1 pod now that it had not"), "{why}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_window_whose_pod_is_gone_names_the_pod() {
        let pods = observed().unwrap().all_ready(Duration::from_secs(20)).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let observers = Observers { address: address.to_string(), ..pods.observers };
        let pods = Pods { observers, all: vec![(address, pods.all[0].1.clone())] };
        let mut window = pods.connect().await.unwrap();
        drop(listener.accept().await.unwrap());
        let why = window.tell("target", None).await.unwrap_err();
        assert!(why.contains("does not answer: pod a on node-a: "), "{why}");
    }
}
