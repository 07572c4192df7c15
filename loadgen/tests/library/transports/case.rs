//! A server and what both transports must make of it.

use std::collections::BTreeMap;
use std::time::Duration;

use loadgen::engine::Plan;
use loadgen::measure::{Counts, ErrorKind, Phase};
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::common::engine::{plan, run_round};

pub const TRANSPORTS: [&str; 2] = ["http1", "reqwest"];

/// What became of the requests of a case. Compared as far as it says something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    answered: u64,
    errors: BTreeMap<ErrorKind, u64>,
    /// Bytes of all bodies.
    bytes: Option<u64>,
    /// Sums of the counters.
    counters: Option<Vec<u64>>,
    /// Connections over which a request came.
    connections: Option<usize>,
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

    /// As much of this one as `expected` speaks of.
    fn cut_to(self, expected: &Self) -> Self {
        Self {
            bytes: expected.bytes.and(self.bytes),
            counters: expected.counters.as_ref().and(self.counters),
            connections: expected.connections.and(self.connections),
            ..self
        }
    }

    /// hyper's pool takes a connection back some time after the body has ended; a request that
    /// comes earlier gets a new one. So there may be more, up to one for each request.
    fn with_spare_connections(mut self, used: usize) -> Self {
        let requests = self.answered + self.errors.values().sum::<u64>();
        if self.connections.is_some_and(|least| (least..=requests as usize).contains(&used)) {
            self.connections = Some(used);
        }
        self
    }
}

/// A server, made anew for each transport, and the load on it.
pub struct Case<S> {
    server: S,
    /// What a failure is to show of it.
    about: String,
    load: String,
    steps: String,
    on_error: &'static str,
    warmup: Duration,
}

/// One user gets `/` from such servers.
pub fn both<S: Fn() -> Server>(server: S) -> Case<S> {
    let (load, steps) = ("users = 1, iterations = 1".to_owned(), step("get = \"/\""));
    Case {
        server,
        about: String::new(),
        load,
        steps,
        on_error: "next_iteration",
        warmup: Duration::ZERO,
    }
}

fn step(keys: &str) -> String {
    format!("[[step]]\n{keys}\n")
}

impl<S: Fn() -> Server> Case<S> {
    /// One user, so many times.
    pub fn times(self, iterations: usize) -> Self {
        self.load(&format!("users = 1, iterations = {iterations}"))
    }

    /// Of many cases in a row, the one with this answer.
    pub fn about(self, answer: &str) -> Self {
        Self { about: answer.escape_debug().take(80).collect(), ..self }
    }

    pub fn load(mut self, load: &str) -> Self {
        load.clone_into(&mut self.load);
        self
    }

    /// After a failed step, users go on with the next one.
    pub fn on_error_continue(self) -> Self {
        Self { on_error: "continue", ..self }
    }

    pub fn warmup(mut self, warmup: Duration) -> Self {
        self.warmup = warmup;
        self
    }

    /// These keys are the step.
    pub fn step(mut self, keys: &str) -> Self {
        self.steps = step(keys);
        self
    }

    /// One step more.
    pub fn and_step(mut self, keys: &str) -> Self {
        self.steps += &step(keys);
        self
    }

    /// Runs the case over both transports, which must both come to this outcome. Gives the servers
    /// back, for what they received.
    pub async fn gives(self, expected: Outcome) -> [Server; 2] {
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

    /// What the case comes to at some URL.
    pub async fn counts(&self, transport: &str, url: &str) -> Counts {
        let Self { load, steps, on_error, .. } = self;
        let text = format!(
            "on_error = \"{on_error}\"\nload = {{ {load} }}\nhttp = {{ transport = \"{transport}\" }}\n{steps}"
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
    }
}
