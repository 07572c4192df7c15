//! What several of this module's tests need.

use std::time::Duration;

use crate::engine::{Plan, Share};
use crate::scenario::{
    Expect, Http, Load, Method, Model, OnError, Scenario, Step, Template, Until, When,
};

/// `GET /` by `users` users for two seconds.
pub(super) fn plan(base_url: &str, users: u32) -> Plan {
    let step = Step {
        name: "root".to_owned(),
        when: When::default(),
        method: Method::Get,
        path: Template::literal("/"),
        headers: vec![("accept".to_owned(), Template::literal("*/*"))],
        body: None,
        weight: None,
        timeout: Duration::from_secs(3),
        expect: Expect {
            json: vec![("/n".to_owned(), serde_json::json!([1, -2, 0.5, "x", null]))],
            ..Expect::default()
        },
        counters: Vec::new(),
        captures: Vec::new(),
    };
    Plan {
        scenario: Scenario {
            name: "test".to_owned(),
            description: None,
            targets: Vec::new(),
            backends: Vec::new(),
            http: Http::default(),
            load: Load {
                model: Model::Closed,
                users,
                ramp_up: Duration::ZERO,
                think_time: None,
                until: Until::Duration(Duration::from_secs(2)),
                drain: Duration::from_secs(3),
            },
            rows: Vec::new(),
            steps: vec![step],
            on_error: OnError::default(),
            thresholds: Vec::new(),
            proofs: Vec::new(),
        },
        base_url: base_url.to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        share: Share::WHOLE,
    }
}
