//! Sends the steps of a round that no user sends: once before the load of a target, and once after it.

use super::Session;
use super::stopped::{Stopped, unless};
use crate::engine::{self, Plan};
use crate::experiment::observe::{Begun, Event};
use crate::lab::Target;
use crate::text::with_code;

impl Session<'_> {
    /// Sends the steps with `when = "once"`, and returns the plan of the round with the values that they captured. If
    /// one does not go as expected because a service has ended, the error is the error of the service.
    pub(super) async fn set_up(
        &mut self,
        Begun { plan, name, .. }: Begun<'_>,
        running: Option<&mut Target>,
    ) -> Result<Plan, Stopped> {
        if plan.scenario.once.is_empty() {
            return Ok(plan.clone());
        }
        let known = unless(&self.interrupt, Box::pin(engine::set_up(plan, name))).await?;
        let known = known.map_err(|error| self.explained(error, running))?;
        Ok(Plan { known, ..plan.clone() })
    }

    /// Sends the steps with `when = "finally"`, also after an interrupt. Tells observers of one that does not go as
    /// expected: the round itself is not affected.
    pub(super) async fn tear_down(&mut self, Begun { plan, name, .. }: Begun<'_>) {
        // They might delete what proofs count, in backends that the next round empties anyway.
        let are_proved = self.lab.is_some() && !plan.scenario.proofs.is_empty();
        if plan.scenario.finally.is_empty() || are_proved {
            return;
        }
        self.tell(Event::Step("sending the steps with when = \"finally\""));
        if let Err(error) = Box::pin(engine::tear_down(plan, name)).await {
            self.tell(Event::Note(&with_code(&error)));
        }
    }
}
