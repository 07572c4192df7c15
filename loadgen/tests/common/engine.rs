//! Runs the engine without the program around it.

use std::time::{Duration, Instant};

use loadgen::engine::{Finished, GooseRound, Plan, Share};
use loadgen::measure::{Counts, Phase, Series, Snapshot};
use loadgen::scenario;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

/// Lock of the round in progress: Goose allows one round at a time in a process.
pub static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Builds a plan for `base_url` from a scenario's `[load]` and steps.
pub fn plan(base_url: &str, text: &str) -> Plan {
    Plan {
        scenario: scenario::parse("test", "test.toml", text).unwrap(),
        base_url: base_url.to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    }
}

/// Runs a plan while no other plan runs.
pub async fn run_round(plan: Plan, stop: CancellationToken) -> (Series, Finished) {
    let _turn = ONE_AT_A_TIME.lock().await;
    run_in_turn(plan, stop).await
}

/// Runs a plan now. The caller must hold [`ONE_AT_A_TIME`].
pub async fn run_in_turn(plan: Plan, stop: CancellationToken) -> (Series, Finished) {
    let (snapshots, finished) = snapshots(plan, stop).await;
    let mut series = Series::default();
    snapshots.into_iter().for_each(|snapshot| series.add(snapshot));
    (series, finished)
}

/// Like [`run_in_turn`]. Returns the snapshots as they came.
pub async fn snapshots(plan: Plan, stop: CancellationToken) -> (Vec<Snapshot>, Finished) {
    let (sender, mut receiver) = mpsc::channel(64);
    let round = GooseRound::prepare(plan).unwrap();
    round.connect().await;
    let running = tokio::spawn(async move { round.run(Instant::now(), stop, &sender).await });
    let mut snapshots = Vec::new();
    while let Some(snapshot) = receiver.recv().await {
        assert_eq!(snapshot.number as usize, snapshots.len(), "numbered without a gap");
        snapshots.push(snapshot);
    }
    let finished = running.await.unwrap().unwrap();
    assert_eq!(finished.snapshots as usize, snapshots.len());
    (snapshots, finished)
}

/// Runs a plan to its planned end.
pub async fn finish(plan: Plan) -> (Series, Finished) {
    run_round(plan, CancellationToken::new()).await
}

/// Returns the number of planned requests over all phases: finished, cancelled and unsent.
pub fn planned(series: &Series) -> u64 {
    [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail]
        .into_iter()
        .flat_map(|phase| series.phase(phase))
        .map(|counts| counts.requests() + counts.cancelled + counts.unsent)
        .sum()
}

/// Returns the counts of the first step while the load was held.
pub fn hold(series: &Series) -> Counts {
    series.phase(Phase::Hold).into_iter().next().unwrap_or_default()
}
