//! Holds helpers that several tests of this module share.

use std::time::Duration;

use loadgen_engine::{Plan, Share};
use loadgen_scenario::{
    Action, Assign, Condition, Existing, Expect, Flow, Http, ITERATION, Load, Method, Model,
    OnError, Repeat, Rows, Scenario, Step, Template, Until, When,
};

/// Returns a file of `rows` rows with one column. Each cell has `bytes`
/// bytes and differs from the others.
pub(super) fn rows(name: &str, order: &str, rows: usize, bytes: usize) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let cells: String = (0..rows).map(|row| format!("{row:0bytes$}\n")).collect();
    std::fs::write(folder.path().join("rows.csv"), format!("cell\n{cells}")).unwrap();
    let text = format!(
        "load = {{ iterations = 1 }}\n[rows.{name}]\nfile = 'rows.csv'\nuse = '{order}'\n\
         [[step]]\nget = '/{{{{ {name}.cell }}}}'"
    );
    let file = folder.path().join("test.toml");
    std::fs::write(&file, text).unwrap();
    loadgen_scenario::load(&file).unwrap().rows.remove(0)
}

/// Returns a plan in which `users` users send `GET /` for two seconds.
pub(super) fn plan(base_url: &str, users: u32) -> Plan {
    let step = Step {
        name: "root".to_owned(),
        when: When::default(),
        action: Action::Request,
        method: Method::GET,
        path: Template::literal("/"),
        headers: vec![("accept".to_owned(), Template::literal("*/*"))],
        body: None,
        weight: None,
        given: None,
        repeat: Repeat::default(),
        group: None,
        timeout: Duration::from_secs(3),
        redirects: 0,
        think_time: None,
        verify: true,
        expect: Expect {
            all: vec![Condition::Json("/n".to_owned(), serde_json::json!([1, -2, 0.5, "x", null]))],
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
            existing: Existing::default(),
            http: Http::default(),
            grpc: None,
            once: Vec::new(),
            finally: Vec::new(),
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
            flows: vec![Flow { name: ITERATION.to_owned(), weight: 1, steps: 0..1 }],
            assign: Assign::default(),
            on_error: OnError::default(),
            thresholds: Vec::new(),
            proofs: Vec::new(),
        },
        base_url: base_url.to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    }
}
