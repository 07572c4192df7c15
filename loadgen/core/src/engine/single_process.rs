//! Runs a round whose load comes from this process alone.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::error::EngineError;
use super::goose_round::GooseRound;
use super::load_change::RoundControl;
use super::plan::{Plan, Share};
use super::results::{Results, Seen, WorkerResults};
use crate::measure::{Counts, GrowingSeries, Phase, Series};

/// Time from the preparation of a round to its start, so that the users are ready at the start.
const LEAD: Duration = Duration::from_millis(50);
/// Interval between two [`Seen::Tick`] events.
const TICK: Duration = Duration::from_millis(100);

/// Runs a round of `plan` from this process alone, until the planned end or an end by `control`.
/// Calls `show` for each event as it happens, with all results so far.
///
/// # Errors
/// Returns an error if the round could not be prepared, or did not run to its end.
pub async fn run_alone(
    plan: Plan,
    mut control: RoundControl,
    mut show: impl FnMut(Seen<'_>, &mut GrowingSeries),
) -> Result<Results, EngineError> {
    let users = plan.scenario.load.users;
    let round = GooseRound::prepare(plan.part(Share::WHOLE))?;
    let (sender, mut snapshots) = mpsc::channel(16);
    let (mut series, mut changes) = (GrowingSeries::default(), Vec::new());
    let (stop, change) = (control.stop.clone(), round.changes());
    tokio::select! {
        () = round.connect() => {}
        () = stop.cancelled() => {}
    }
    let start = Instant::now() + LEAD;
    show(Seen::Started(start), &mut series);
    let running = async {
        let finished = round.run(start, stop, &sender).await;
        drop(sender);
        finished
    };
    let merging = async {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                snapshot = snapshots.recv() => match snapshot {
                    Some(snapshot) => {
                        series.add(&snapshot);
                        show(Seen::Snapshot(0, &snapshot), &mut series);
                    }
                    None => break,
                },
                _ = tick.tick() => show(Seen::Tick, &mut series),
            }
        }
    };
    let changing = async {
        loop {
            let asked = control.next().await;
            let elapsed = Instant::now().saturating_duration_since(start);
            if let Some(decided) = asked.decide(&plan, elapsed) {
                changes.push(decided);
                // A round that is over needs no change.
                let _ = change.send(decided);
            }
        }
    };
    let finished = tokio::select! {
        (finished, ()) = async { tokio::join!(running, merging) } => finished,
        never = changing => never,
    };
    let finished = finished?;
    let series = Series::from(series);
    let requests = series.phase(Phase::Hold).iter().map(Counts::requests).sum();
    let snapshots = finished.snapshots;
    let own = WorkerResults { users, requests, snapshots, finished, ..WorkerResults::default() };
    Ok(Results { series, workers: vec![own], changes, ..Results::default() })
}
