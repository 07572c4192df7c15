//! Changes the load while a round runs, or who makes it, and starts the users that a change brings.
//!
//! Goose starts the planned users, and cannot start more of them later. Users that a change brings
//! run in separate tasks, and otherwise do not differ. Surplus users wait at the gate.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::alarm::Alarm;
use super::countdown::OneLess;
use super::error::EngineError;
use super::gate::Gate;
use super::load_change::Change;
use super::plan::Plan;
use super::takeover::{Deal, Place};
use super::user::Shared;
use loadgen_scenario::LoadLevel;

/// Whether load changes may add users to a round with this gate: only if time ends the round. In
/// such a round, [`follow`] counts itself among the users in [`Shared::iterating`].
#[must_use]
pub(super) fn may_come(gate: &Gate) -> bool {
    gate.end().is_some()
}

/// Applies changes until the round is over, and completes when all added users have ended. Returns the number of users
/// of this process: the `planned` users and the added users.
pub(super) async fn follow(
    mut changes: UnboundedReceiver<Change>,
    shared: &Arc<Shared>,
    planned: u32,
) -> Result<u32, EngineError> {
    let Plan { share, scenario, .. } = &shared.plan;
    // Places of users in the whole load that have been dealt.
    let mut dealt = scenario.load.users;
    let mut deal = Deal::new(share.of);
    let mut here = planned;
    let mut later = JoinSet::new();
    {
        let _counted = may_come(&shared.gate).then(|| OneLess(&shared.iterating));
        let mut over = pin!(over(shared, planned));
        loop {
            let change = tokio::select! {
                biased;
                () = &mut over => break,
                Some(change) = changes.recv() => change,
            };
            let mut begin = |place: Place, at: Duration| {
                let (local, shared) = (here, shared.clone());
                here += 1;
                shared.iterating.add(1);
                later.spawn(async move { shared.run_user_at(local, place, at).await });
            };
            match change {
                Change::Load(change) => {
                    shared.gate.change(change);
                    let LoadLevel::Users(users) = change.to else { continue };
                    let new = dealt..users.max(dealt);
                    dealt = new.end;
                    // The process that has the place at the end: a takeover may be known that is still to come.
                    new.filter(|place| deal.owner((*place).into(), Duration::MAX) == share.index)
                        .for_each(|place| begin(Place::first(place), Duration::ZERO));
                }
                Change::Processes(takeovers) => {
                    shared.gate.take_over(&takeovers);
                    for (takeover, at) in deal.learn(&takeovers) {
                        let comes = |place: &u32| {
                            let place = u64::from(*place);
                            deal.owner(place, at) == share.index
                                && deal.owner_before(place, at) != share.index
                        };
                        let new = (0..dealt).filter(comes);
                        new.for_each(|number| begin(Place { number, takeover }, at));
                    }
                }
            }
        }
    }
    while let Some(ended) = later.join_next().await {
        ended.map_err(|_| EngineError::UserPanicked)?;
    }
    Ok(here)
}

/// Waits until load changes have no more effect: until the end of the round or, if iterations end
/// the round, until the last user has ended.
async fn over(shared: &Shared, planned: u32) {
    match shared.gate.end() {
        Some(end) => {
            let mut alarm = Alarm::new(shared.gate.round_end(), Instant::now());
            alarm.wait_for_turn(end, || false).await;
        }
        None if planned > 0 => shared.iterating.wait().await,
        None => {}
    }
}
