//! Targets that give different answers, or whose processes get unequal shares of the load.

use crate::common::program::Project;
use serde_json::Value;

fn target(name: &str, sizes: &str) -> String {
    format!(
        "[{name}]\nframework = \"none\"\nserver = \"sized\"\npackages = []\n\
         command = [\"python\", \"sized.py\", \"{{host}}\", \"{{port}}\", \"{{workers}}\", {sizes}]\n"
    )
}

fn messages<'a>(document: &'a Value, kind: &str) -> Vec<&'a str> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let of_kind = verdicts.filter(|verdict| verdict["kind"] == *kind);
    of_kind.map(|verdict| verdict["message"].as_str().unwrap()).collect()
}

#[test]
fn different_response_sizes_and_worker_shares_are_reported() {
    let targets = [target("terse", "\"20\""), target("moody", "\"600\", \"900\"")].concat();
    let project = Project::with_targets(&targets)
        .file("sized.py", include_str!("../data/sized.py"))
        .file("sized.toml", "[[step]]\nname = \"page\"\nget = \"/\"\n");
    // One user has one connection, which belongs to one server worker.
    let finished = project.run(&[
        "--scenario=sized.toml",
        "--target=terse,moody",
        "--server-workers=2",
        "--users=1",
        "--rounds=1",
        "--warmup=200ms",
        "--duration=1s",
        "--no-calibrate",
        "--format=json",
        "--out=run",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let sizes = serde_json::json!({ "smallest": 600, "largest": 900 });
    assert_eq!(document["targets"][1]["steps"][0]["body_bytes"], sizes);
    assert_eq!(
        messages(&document, "answers_vary"),
        ["the same request got response bodies of different sizes: page 600 to 900 bytes"]
    );
    assert_eq!(
        messages(&document, "answers_differ"),
        ["response bodies of page differ: 20 bytes from terse, 600 to 900 bytes from moody"]
    );
    let unequal = messages(&document, "unequal_workers");
    assert_eq!(unequal.len(), 2, "{document:#}");
    assert!(unequal[0].starts_with("the 2 server workers got unequal shares"), "{unequal:?}");
    let used = &document["targets"][0]["rounds"][0]["resources"]["target"];
    let processes = used["processes_percent"].as_array().unwrap();
    let [busiest, least] = [0, 1].map(|at| processes[at].as_f64().unwrap());
    assert!(busiest > 2.0 * least, "{processes:?}");
    assert!(used["context_switches_per_s"].as_f64().unwrap() > 0.0);
    assert!(used["open_files_max"].as_u64().unwrap() > 0);
}
