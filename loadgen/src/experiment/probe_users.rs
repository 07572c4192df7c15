//! Computes the number of users of a probe.

use crate::scenario::{Scenario, Step};

/// Response time, in s, up to which no iteration of the probe waits for a free user: the probe has as many
/// users as requests arrive in this time, and in the think times between them. They send, and connect,
/// only when they are needed.
const SLOWEST_S: f64 = 2.0;

/// Greatest number of users of a probe, whose process must stay small. With long think times, they may be
/// too few: requests are then sent late, or not at all.
const MOST: f64 = 10_000.0;

/// Returns the number of users of a probe that sends this many requests of `scenario` each second.
pub fn probe_users(scenario: &Scenario, rate_per_s: f64) -> u32 {
    let users = rate_per_s * (SLOWEST_S + think_s_per_request(scenario));
    users.ceil().clamp(1.0, MOST) as u32
}

/// Returns the mean think time for each request, in s. In the open model, an iteration has none before its
/// first request.
fn think_s_per_request(scenario: &Scenario) -> f64 {
    let think_s = |step: &Step| {
        let time = step.think_time.as_ref().or(scenario.load.think_time.as_ref());
        time.map_or(0.0, |time| time.mean().as_secs_f64())
    };
    let steps = scenario.steps.iter().enumerate();
    let sum: f64 = steps.map(|(index, step)| scenario.requests_of(index) * think_s(step)).sum();
    let requests = scenario.requests_per_iteration();
    match requests > 1.0 {
        true => sum / requests * (1.0 - 1.0 / requests),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    #[test]
    fn users_cover_slow_responses_and_think_times_between_requests() {
        let users =
            |text: &str, rate: f64| probe_users(&parse("test", "test.toml", text).unwrap(), rate);
        let step = "[[step]]\nget = \"/\"\n";
        assert_eq!([20.0, 0.1].map(|rate| users(step, rate)), [40, 1]);
        let thinks = "[load]\nthink_time = { min = \"1s\", max = \"9s\" }\n";
        assert_eq!(users(&format!("{thinks}{step}"), 20.0), 40, "none before the first request");
        let four = format!("{thinks}{}", step.repeat(4).replace("get", "name = \"N\"\nget"));
        let four = (1..=4).fold(four, |text, n| text.replacen("\"N\"", &format!("\"{n}\""), 1));
        // Five iterations/s, each of 4 × 2 s for responses, and 3 × 5 s between them.
        assert_eq!(users(&four, 20.0), 5 * (8 + 15));
        assert_eq!(users(&four, 1000.0), 5_750);
        let long = four.replace("9s", "10m");
        assert_eq!(users(&long, 1000.0), 10_000);
    }
}
