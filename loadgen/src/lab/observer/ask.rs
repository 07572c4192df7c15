//! Asks the observers of all pods of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::message::{About, Answer, Pod, Question};
use crate::lab::resources::UsageTeller;
use crate::measure::{PodsRecord, PresentUsage, ResourceRecord};

/// Time for a pod to answer. Its server may leave it little of the CPU.
const LIMIT: Duration = Duration::from_secs(30);

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

/// Pods that are all ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ready {
    addresses: Vec<SocketAddr>,
    pods: Vec<Pod>,
}

impl Observers {
    /// Waits until all pods are ready, for this time at most.
    ///
    /// # Errors
    /// Returns what was wrong with the pods last.
    pub async fn all_ready(&self, limit: Duration) -> Result<(), String> {
        let until = Instant::now() + limit;
        loop {
            match self.ready().await {
                Ok(_) => return Ok(()),
                Err(why) if Instant::now() >= until => return Err(why),
                Err(_) => sleep(LOOK).await,
            }
        }
    }

    /// Returns the memory of all pods together, in bytes.
    ///
    /// # Errors
    /// Returns what is wrong if not all of them answer.
    pub async fn memory(&self) -> Result<u64, String> {
        Ok(self.ready().await?.pods.iter().map(|pod| pod.memory_bytes).sum())
    }

    /// Asks each pod. The error is what is wrong if not all of them are ready.
    async fn ready(&self) -> Result<Ready, String> {
        let found = timeout(LIMIT, lookup_host(&self.address)).await;
        let found = found.map_err(|_| "no answer of the cluster's DNS".to_owned())?;
        // A name without addresses does not exist.
        let addresses: BTreeSet<SocketAddr> = found.into_iter().flatten().collect();
        if addresses.len() != self.replicas as usize {
            return Err(format!("{} of {} pods are ready", addresses.len(), self.replicas));
        }
        let mut ready = Ready::default();
        for address in addresses {
            ready.pods.push(self.pod(address).await?);
            ready.addresses.push(address);
        }
        Ok(ready)
    }

    async fn pod(&self, address: SocketAddr) -> Result<Pod, String> {
        let mut connection = Connection::new(address).await?;
        connection.ask(&self.key, About::Pod).await?;
        match connection.next().await? {
            Answer::Pod(pod) => Ok(pod),
            other => Err(unlike(&other)),
        }
    }

    /// Connects to all pods, ahead of a window.
    ///
    /// # Errors
    /// Returns what is wrong if not all of them answer.
    pub async fn connect(&self) -> Result<Window, String> {
        let Ready { addresses, pods } = self.ready().await?;
        let mut connections = Vec::new();
        for address in addresses {
            let mut connection = Connection::new(address).await?;
            connection.ask(&self.key, About::Window).await?;
            connections.push(connection);
        }
        Ok(Window { pods, connections })
    }
}

/// A measurement of the resources that all pods of a server use.
#[derive(Debug)]
pub struct Window {
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
            sent.map_err(|error| lost(pod, &error.to_string()))?;
        }
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            match connection.next().await.map_err(|why| lost(pod, &why))? {
                Answer::Began => {}
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
                match connection.next().await.map_err(|why| lost(&self.pods[at], &why))? {
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
            connection.shut().await.map_err(|why| lost(pod, &why))?;
        }
        let (mut all, mut nodes) = (Vec::new(), BTreeMap::new());
        for (pod, connection) in self.pods.iter().zip(&mut self.connections) {
            loop {
                match connection.next().await.map_err(|why| lost(pod, &why))? {
                    Answer::Now { .. } => {}
                    Answer::Used { record, node_busy_percent, has_ended: false } => {
                        all.push(*record);
                        nodes.insert(pod.node.clone(), (pod.node_cpus, node_busy_percent));
                        break;
                    }
                    Answer::Used { has_ended: true, .. } => {
                        return Err(format!(
                            "the server in {} has ended during the round",
                            place(pod)
                        ));
                    }
                    other => return Err(unlike(&other)),
                }
            }
        }
        let cpus: u32 = nodes.values().map(|(cpus, _)| cpus).sum();
        let nodes_busy_percent = nodes.into_iter().map(|(node, (_, busy))| (node, busy)).collect();
        Ok((all, PodsRecord { cpus: f64::from(cpus), nodes_busy_percent }))
    }
}

fn unlike(answer: &Answer) -> String {
    format!("a pod answered otherwise than asked: {answer:?}")
}

fn place(pod: &Pod) -> String {
    format!("pod {} on {}", pod.name, pod.node)
}

fn lost(pod: &Pod, why: &str) -> String {
    format!("the {} was lost during the round: {why}", place(pod))
}

#[derive(Debug)]
struct Connection {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
    /// Beginning of a line whose end has not arrived.
    line: Vec<u8>,
}

impl Connection {
    async fn new(address: SocketAddr) -> Result<Self, String> {
        let connected = timeout(LIMIT, TcpStream::connect(address)).await;
        let stream = connected
            .map_err(|_| format!("no connection to {address} within {}", LIMIT.as_secs()))?
            .map_err(|error| format!("{address}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let (from, to) = stream.into_split();
        Ok(Self { from: BufReader::new(from), to, line: Vec::new() })
    }

    async fn ask(&mut self, key: &str, about: About) -> Result<(), String> {
        let question = Question { key: key.to_owned(), about };
        let mut line = serde_json::to_vec(&question).map_err(|error| error.to_string())?;
        line.push(b'\n');
        self.to.write_all(&line).await.map_err(|error| error.to_string())
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
    use crate::lab::observer::serve;

    /// Observes this machine, whose first process is no server either, as the pod `a`.
    fn observed() -> std::io::Result<Observers> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        tokio::spawn(serve(free.port(), "sesame", "a", "node-a"));
        Ok(Observers { address: free.to_string(), key: "sesame".to_owned(), replicas: 1 })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_window_tells_what_is_used_in_it() {
        let observers = observed().unwrap();
        observers.all_ready(Duration::from_secs(20)).await.unwrap();
        assert!(observers.memory().await.unwrap() > 1 << 20);
        let mut window = observers.connect().await.unwrap();
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
        assert!(pods.nodes_busy_percent["node-a"] > 1.0 && pods.cpus > 0.0, "{pods:?}");
        assert!(told.lock().unwrap()[0]["target"].memory_bytes > 1 << 20);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_key_and_missing_pods_are_refused() {
        let observers = observed().unwrap();
        observers.all_ready(Duration::from_secs(20)).await.unwrap();
        let other = Observers { key: "simsalabim".to_owned(), ..observers.clone() };
        assert_eq!(other.memory().await.unwrap_err(), "the key is not that of this run");
        let two = Observers { replicas: 2, ..observers };
        let why = two.all_ready(Duration::ZERO).await.unwrap_err();
        assert_eq!(why, "1 of 2 pods are ready");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_window_whose_pod_is_gone_names_the_pod() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connection = Connection::new(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let pod = Pod {
            name: "shop-1".to_owned(),
            node: "node-a".to_owned(),
            node_cpus: 2,
            memory_bytes: 1,
        };
        let mut window = Window { pods: vec![pod], connections: vec![connection] };
        drop(stream);
        let why = window.tell("target", None).await.unwrap_err();
        assert!(why.starts_with("the pod shop-1 on node-a was lost during the round: "), "{why}");
    }
}
