//! The planned load as a function of time.

use std::time::Duration;

use super::profile::LoadProfile;
use crate::Plan;
use loadgen_scenario::{LoadLevel, Model};

/// Planned load of all processes together, as a function of time.
#[derive(Debug, Clone)]
pub struct Planned {
    profile: LoadProfile,
    model: Model,
}

impl Planned {
    /// Returns the load of `plan`, without load changes.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let load = &plan.scenario.load;
        Self { profile: LoadProfile::new(plan.warmup, &load.stages(), 1.0), model: load.model }
    }

    /// Returns the load level at the time `elapsed` after the common start of all processes.
    #[must_use]
    pub fn at(&self, elapsed: Duration) -> LoadLevel {
        let level = self.profile.at(elapsed.as_secs_f64());
        match self.model {
            // Rounded up: a user sends as soon as a part of it is planned, see `Closed::turn`.
            Model::Closed => LoadLevel::Users(level.ceil() as u32),
            Model::Open(_) => LoadLevel::Rate(level),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Share;
    use loadgen_scenario as scenario;

    fn at(load: &str, ms: [u64; 5]) -> [LoadLevel; 5] {
        let text = format!("load = {{ {load} }}\n[[step]]\nget = \"/\"");
        let plan = Plan {
            scenario: scenario::parse("test", "test", &text).unwrap(),
            base_url: String::new(),
            warmup: Duration::from_secs(1),
            seed: 0,
            known: Vec::new(),
            first_user: 0,
            trace_one_in: None,
            share: Share::WHOLE,
        };
        ms.map(|ms| Planned::of(&plan).at(Duration::from_millis(ms)))
    }

    #[test]
    fn all_users_are_planned_in_the_warm_up_and_then_one_by_one() {
        let load = "users = 4, ramp_up = \"2s\", duration = \"3s\"";
        let found = at(load, [0, 1_000, 2_100, 3_000, 60_000]);
        assert_eq!(found, [4, 0, 3, 4, 4].map(LoadLevel::Users));
    }

    #[test]
    fn the_planned_rate_follows_the_stages() {
        let load = "model = \"open\", stages = [{ rate = 50, over = \"10s\" }, { rate = 10, over = \"0s\" }, \
                    { rate = 10, over = \"5s\" }]";
        let found = at(load, [500, 1_000, 6_000, 11_000, 60_000]);
        assert_eq!(found, [50.0, 0.0, 25.0, 10.0, 10.0].map(LoadLevel::Rate));
    }
}
