//! Runs a load over the transport `http2`.

use std::time::Duration;

use loadgen::measure::{Connections, Counts, ErrorKind, Phase};
use tokio_util::sync::CancellationToken;

use crate::common::engine::{ONE_AT_A_TIME, plan, run_in_turn};

/// Longest time that a case may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// Outcome of a case: the counts of all its requests, and its connections.
#[derive(Debug)]
pub struct Came {
    pub counts: Counts,
    pub connections: Connections,
}

impl Came {
    pub fn answered(&self) -> u64 {
        self.counts.answered.len()
    }

    pub fn errors(&self) -> Vec<(ErrorKind, u64)> {
        self.counts.errors.iter().map(|(kind, times)| (*kind, *times)).collect()
    }

    /// Returns the message of an error of this kind.
    pub fn message(&self, kind: ErrorKind) -> String {
        format!("{:?}", self.counts.examples.get(&kind))
    }
}

/// Runs a load with these keys of `[http]`, of `[load]` and of the step against the server at `url`.
/// Fails if the run does not end in time.
pub async fn run(url: &str, http: &str, load: &str, step: &str) -> Came {
    let text = format!("http = {{ {http} }}\nload = {{ {load} }}\n[[step]]\n{step}");
    // The deadline leaves out the wait for other tests.
    let _turn = ONE_AT_A_TIME.lock().await;
    let round = run_in_turn(plan(url, &text), CancellationToken::new());
    let round = tokio::time::timeout(DEADLINE, round).await;
    let (series, finished) = round.unwrap();
    let mut counts = Counts::default();
    for phase in [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail] {
        series.phase(phase).iter().for_each(|step| counts.merge(step));
    }
    Came { counts, connections: *finished.connections }
}

/// Like [`run`], with one user that gets `/` `times` times over its own connection.
pub async fn one_user(url: &str, times: usize) -> Came {
    let load = format!("users = 1, iterations = {times}");
    run(url, "version = \"2\"", &load, "get = \"/\"\ntimeout = \"2s\"").await
}
