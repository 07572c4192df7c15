//! Staged loads, through the real binary: the results of each stage.

use serde_json::{Value, json};

use crate::common::Counting;
use crate::common::program::Project;

/// Borders within seconds, and a jump, which takes no time.
const SCENARIO: &str = r#"
load = { stages = [
    { users = 4, over = "300ms" },
    { users = 8, over = "0s" },
    { users = 8, over = "900ms" },
    { users = 0, over = "0s" },
] }
[[step]]
name = "a"
get = "/"
[[step]]
name = "b"
get = "/flaky"
"#;

/// Returns the numbers, the planned levels and the times of the stages.
fn plan(stages: &Value) -> Vec<Value> {
    let fields = ["stage", "from", "to", "begin_s", "end_s", "held_s"];
    let of = |stage: &Value| fields.map(|field| stage[field].clone()).to_vec().into();
    stages.as_array().unwrap().iter().map(of).collect()
}

fn sum(stages: &Value, field: &str) -> u64 {
    stages.as_array().unwrap().iter().map(|stage| stage["total"][field].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_belongs_to_one_stage_however_many_workers_there_are() {
    let project = Project::real().file("mine.toml", SCENARIO);
    for (at, workers) in [&[][..], &["--workers=2"]].into_iter().enumerate() {
        let server = Counting::start().await;
        let out = format!("--out=run{at}");
        let fixed = ["-s=mine.toml", "-R2", "--warmup=100ms", "--no-calibrate", "--json"];
        let url = format!("--url={}", server.url);
        let arguments = [&fixed[..], &[&url, &out], workers].concat();
        let finished = tokio::task::block_in_place(|| project.run(&arguments));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let document = finished.json();
        let target = &document["targets"][0];
        let planned = |rounds: f64| {
            let first = json!([1, 0.0, 4.0, 0.0, 0.3, 0.3 * rounds]);
            vec![first, json!([3, 8.0, 8.0, 0.3, 1.2, 0.9 * rounds])]
        };
        assert_eq!(plan(&target["stages"]), planned(2.0));
        for of in target["rounds"].as_array().unwrap().iter().chain([target]) {
            for field in ["requests", "errors", "cancelled", "answered_late"] {
                assert_eq!(sum(&of["stages"], field), of["total"][field].as_u64().unwrap());
            }
        }
        assert_eq!(plan(&target["rounds"][1]["stages"]), planned(1.0));
    }
}
