//! Runs a case, a server and the load on it, over both transports and with TLS,
//! and compares the outcomes with the expected outcome.

use std::collections::BTreeMap;
use std::time::Duration;

use loadgen::engine::Plan;
use loadgen::measure::{Counts, ErrorKind, Phase};
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::common::engine::{plan, run_round};
use crate::common::tls::front;

pub const TRANSPORTS: [&str; 2] = ["http1", "reqwest"];

/// Outcome of the requests of a case. A comparison ignores
/// the fields that are `None` in the expected outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    answered: u64,
    errors: BTreeMap<ErrorKind, u64>,
    /// Total size of all bodies, in bytes.
    bytes: Option<u64>,
    /// Sums of the counters.
    counters: Option<Vec<u64>>,
    /// Number of connections over which at least one request arrived.
    connections: Option<usize>,
    /// Number of requests that were sent again.
    resent: Option<u64>,
}

pub fn answered(answered: u64) -> Outcome {
    Outcome { answered, ..Outcome::default() }
}

pub fn failed(kind: ErrorKind, times: u64) -> Outcome {
    answered(0).and_failed(kind, times)
}

impl Outcome {
    pub fn and_failed(mut self, kind: ErrorKind, times: u64) -> Self {
        self.errors.insert(kind, times);
        self
    }

    pub fn bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    pub fn counters(self, counters: &[u64]) -> Self {
        Self { counters: Some(counters.to_vec()), ..self }
    }

    pub fn over(self, connections: usize) -> Self {
        Self { connections: Some(connections), ..self }
    }

    pub fn resent(self, resent: u64) -> Self {
        Self { resent: Some(resent), ..self }
    }

    /// Clears the fields that are `None` in `expected`.
    fn cut_to(self, expected: &Self) -> Self {
        Self {
            bytes: expected.bytes.and(self.bytes),
            counters: expected.counters.as_ref().and(self.counters),
            connections: expected.connections.and(self.connections),
            resent: expected.resent.and(self.resent),
            ..self
        }
    }

    /// Accepts more connections than expected, up to one for each request:
    /// hyper's pool takes a connection back some time after the end of the
    /// body, and a request that is sent earlier gets a new connection.
    fn with_spare_connections(mut self, used: usize) -> Self {
        let requests = self.answered + self.errors.values().sum::<u64>();
        if self.connections.is_some_and(|least| (least..=requests as usize).contains(&used)) {
            self.connections = Some(used);
        }
        self
    }
}

/// A server, started anew for each transport, and the load on it.
pub struct Case<S> {
    server: S,
    /// Label of the case in the message of a failed assertion.
    about: String,
    load: String,
    http: &'static str,
    steps: String,
    on_error: &'static str,
    warmup: Duration,
}

/// Creates a case: one user gets `/` once from a server that `server` starts.
pub fn both<S: Fn() -> Server>(server: S) -> Case<S> {
    let (load, steps) = ("users = 1, iterations = 1".to_owned(), step("get = \"/\""));
    Case {
        server,
        about: String::new(),
        load,
        http: "",
        steps,
        on_error: "next_iteration",
        warmup: Duration::ZERO,
    }
}

fn step(keys: &str) -> String {
    format!("[[step]]\n{keys}\n")
}

impl<S: Fn() -> Server> Case<S> {
    /// Sets the load to one user and `iterations` iterations.
    pub fn times(self, iterations: usize) -> Self {
        self.load(&format!("users = 1, iterations = {iterations}"))
    }

    /// Labels the case with its answer, to tell the cases of a loop apart.
    pub fn about(self, answer: &str) -> Self {
        Self { about: answer.escape_debug().take(80).collect(), ..self }
    }

    pub fn load(mut self, load: &str) -> Self {
        load.clone_into(&mut self.load);
        self
    }

    /// Adds keys of `[http]`, each followed by a comma.
    pub fn http(self, http: &'static str) -> Self {
        Self { http, ..self }
    }

    /// Lets users continue with the next step after a failed step.
    pub fn on_error_continue(self) -> Self {
        Self { on_error: "continue", ..self }
    }

    pub fn warmup(mut self, warmup: Duration) -> Self {
        self.warmup = warmup;
        self
    }

    /// Replaces all steps with a step of these keys.
    pub fn step(mut self, keys: &str) -> Self {
        self.steps = step(keys);
        self
    }

    /// Appends a step of these keys.
    pub fn and_step(mut self, keys: &str) -> Self {
        self.steps += &step(keys);
        self
    }

    /// Runs the case over both transports, and over `http1` with TLS. All outcomes must equal
    /// `expected`. Returns the servers without TLS, so that a test can check the requests that they
    /// received.
    pub async fn gives(self, expected: Outcome) -> [Server; 2] {
        let behind = (self.server)();
        let url = front(behind.address).await;
        let counts = self.counts("http1", &url).await;
        let came = outcome(&counts, behind.connections()).cut_to(&expected);
        assert_eq!(came, expected, "TLS, {}: {:?}", self.about, counts.examples);

        let servers = [(self.server)(), (self.server)()];
        for (transport, server) in TRANSPORTS.into_iter().zip(&servers) {
            let url = format!("http://{}", server.address);
            let counts = self.counts(transport, &url).await;
            let came = outcome(&counts, server.connections()).cut_to(&expected);
            let expected = match transport {
                "reqwest" => expected.clone().with_spare_connections(server.connections()),
                _ => expected.clone(),
            };
            assert_eq!(came, expected, "{transport}, {}: {:?}", self.about, counts.examples);
        }
        servers
    }

    /// Starts the server of the case.
    pub fn start(&self) -> Server {
        (self.server)()
    }

    /// Runs the case over one transport against the server at `url`. Returns
    /// the sum of the counts of all steps and of all phases except `Stop`.
    pub async fn counts(&self, transport: &str, url: &str) -> Counts {
        let Self { load, http, steps, on_error, .. } = self;
        let text = format!(
            "on_error = \"{on_error}\"\nload = {{ {load} }}\nhttp = {{ {http} transport = \"{transport}\", tls = {{ insecure = true }} }}\n{steps}"
        );
        let plan = Plan { warmup: self.warmup, ..plan(url, &text) };
        let (series, _) = run_round(plan, CancellationToken::new()).await;
        let mut total = Counts::default();
        for phase in [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail] {
            series.phase(phase).iter().for_each(|step| total.merge(step));
        }
        total
    }
}

fn outcome(counts: &Counts, connections: usize) -> Outcome {
    Outcome {
        answered: counts.answered.len(),
        errors: counts.errors.clone(),
        bytes: Some(counts.bytes),
        counters: Some(counts.counters.clone()),
        connections: Some(connections),
        resent: Some(counts.resent),
    }
}
