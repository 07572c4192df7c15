//! Sends the steps of a round that no user sends: once before the load of a target, and once after it.

use std::time::Duration;

use super::Session;
use super::stopped::{Stopped, unless};
use crate::engine::{self, Plan};
use crate::experiment::job::Method;
use crate::experiment::measured::Measured;
use crate::experiment::observe::{Begun, Event};
use crate::lab::Target;

/// Time limit for the steps after the users, from an interrupt: that of the users' own stop steps.
const GRACE: Duration = Duration::from_secs(3);

/// How a round ended that is about to be torn down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// With results, and all services are up.
    Load,
    /// With an error that the user is told, which may be that the server does not answer.
    Error,
}

impl Session<'_> {
    /// Sends the steps with `when = "once"`. Returns the plan of the round with the values that they have captured, and an
    /// error if one did not go as expected. If that is because a service has ended, the error is that of the service.
    pub(super) async fn set_up(
        &mut self,
        Begun { plan, name, .. }: Begun<'_>,
        running: Option<&mut Target>,
    ) -> (Plan, Result<(), Stopped>) {
        let mut known = Vec::new();
        if plan.scenario.once.is_empty() {
            return (plan.clone(), Ok(()));
        }
        let sent = Box::pin(engine::set_up(plan, name, &mut known));
        let result = match unless(&self.interrupt, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.explained(error, running).into()),
            Err(stopped) => Err(stopped),
        };
        (Plan { known, ..plan.clone() }, result)
    }

    /// Sends the steps with `when = "finally"`, also after an interrupt, but not to a target that has ended. Tells
    /// observers of each that does not go as expected: the round itself is not affected.
    pub(super) async fn tear_down(
        &mut self,
        Begun { plan, name, .. }: Begun<'_>,
        running: Option<&mut Target>,
        after: After,
    ) {
        if plan.scenario.finally.is_empty() || running.is_some_and(|it| it.lost().is_some()) {
            return;
        }
        self.tell(Event::Step("sending the steps with when = \"finally\""));
        let interrupt = self.interrupt.clone();
        let cut = async {
            interrupt.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        let wrong = tokio::select! {
            biased;
            wrong = Box::pin(engine::tear_down(plan)) => wrong,
            () = cut => {
                let note = format!("{name}: steps with when = \"finally\" were cut off 3 seconds after the interrupt");
                return self.tell(Event::Note(&note));
            }
        };
        // The error says already that the server does not answer.
        for step in wrong.iter().filter(|it| after == After::Load || !it.is_silent()) {
            let end = if step.is_silent() { "; those after it were not sent" } else { "" };
            self.tell(Event::Note(&format!(
                "{name}: the step `{}`, with when = \"finally\", did not go as expected, and may leave something behind: \
                 expected {}, got {}{end}",
                step.step, step.expected, step.got
            )));
        }
    }

    /// Returns whether the proofs of this plan are asked after the round. `before` is `None` in a search, which proves
    /// nothing.
    pub(super) fn is_proved(&self, plan: &Plan, before: Option<&Measured>) -> bool {
        let asks = self.lab.is_some() && self.job().method == Method::Rounds && before.is_some();
        asks && !plan.scenario.proofs.is_empty()
    }
}
