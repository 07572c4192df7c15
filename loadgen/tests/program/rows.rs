//! Rows from a file, through the real binary: which of them are sent, in one process and in several.

use std::collections::BTreeSet;

use crate::common::Counting;
use crate::common::program::Project;
use serde_json::Value;

/// A project whose scenario has this load, these rows, and this one step.
fn project(load: &str, order: &str, rows: usize, step: &str) -> Project {
    let lines: String = (0..rows).map(|row| format!("{row},\"no {row}, é\"\n")).collect();
    let scenario = format!(
        "load = {{ {load} }}\n[rows.r]\nfile = \"data/rows.csv\"\nuse = \"{order}\"\n[[step]]\n{step}\n"
    );
    let project = Project::real().file("mine.toml", &scenario);
    std::fs::create_dir(project.path("data")).unwrap();
    project.file("data/rows.csv", &format!("id,text\n{lines}"))
}

#[track_caller]
fn run(project: &Project, url: &str, more: &[&str]) -> Value {
    let fixed = ["-s", "mine.toml", "--url", url, "--warmup=0s", "--seed=7", "--format=json"];
    let finished = tokio::task::block_in_place(|| project.run(&[&fixed, more].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished.json()
}

fn ran_out(document: &Value) -> Vec<&str> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let verdicts = verdicts.filter(|verdict| verdict["kind"] == "rows_ran_out");
    verdicts.map(|verdict| verdict["message"].as_str().unwrap()).collect()
}

const REMEMBER: &str =
    "post = \"/remember\"\nbody = { json = { id = \"{{ r.id }}\", text = \"{{ r.text }}\" } }";
const WORKERS: [&[&str]; 3] = [&[], &["--workers=1"], &["--workers=3"]];

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_used_once_over_all_workers() {
    // One for the verification.
    let project = project("users = 4, iterations = 60", "once", 61, REMEMBER);
    for (at, workers) in WORKERS.iter().enumerate() {
        let server = Counting::start().await;
        let out = format!("--out=run{at}");
        let document = run(&project, &server.url, &[*workers, &[&out]].concat());
        let sent = server.take_remembered();
        assert_eq!((server.requests(), sent.len()), (61, 61), "{sent:?}");
        assert!(sent.contains(r#"{"id":"60","text":"no 60, é"}"#), "{sent:?}");
        assert_eq!(ran_out(&document), Vec::<&str>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_stop_where_rows_run_out_and_that_is_told() {
    for (load, out) in [
        ("users = 4, iterations = 60", "a"),
        ("users = 4, duration = \"1m\"", "b"),
        ("users = 9, iterations_per_user = 60", "c"),
        ("users = 4, model = \"open\", rate = 300, duration = \"1m\"", "d"),
    ] {
        let project = project(load, "once", 31, REMEMBER);
        for workers in [WORKERS[0], WORKERS[2]] {
            let server = Counting::start().await;
            let out = format!("--out={out}{}", workers.len());
            let document = run(&project, &server.url, &[workers, &[&out]].concat());
            assert_eq!((server.requests(), server.take_remembered().len()), (31, 31), "{load}");
            let message = "the rows of r ran out in round 1: users who had none stopped";
            assert_eq!(ran_out(&document), [message]);
            assert_eq!(document["targets"][0]["rounds"][0]["whole"], false);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_sends_the_same_rows_with_any_number_of_workers() {
    let step = "post = \"/remember\"\nbody = { text = \"{{ user }} {{ iteration }} {{ r.id }}\" }";
    for order in ["cycle", "random"] {
        let project = project("users = 5, iterations_per_user = 12", order, 7, step);
        let mut all: Vec<BTreeSet<String>> = Vec::new();
        for (at, workers) in WORKERS.iter().enumerate() {
            let server = Counting::start().await;
            let out = format!("--out=run{at}");
            run(&project, &server.url, &[*workers, &[&out]].concat());
            all.push(server.take_remembered());
        }
        assert_eq!(all[0].len(), 61);
        assert!(all.iter().all(|sent| *sent == all[0]), "{order}: {all:?}");
        if order == "cycle" {
            let row = |user: usize, iteration: usize| {
                all[0].contains(&format!("{user} {iteration} {}", (user + iteration) % 7))
            };
            assert!((0..5).all(|user| (0..12).all(|iteration| row(user, iteration))));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_the_start_is_the_users_own() {
    let more = "when = \"start\"\n[[step]]\nname = \"work\"\npost = \"/remember\"\nbody = { text = \"work {{ r.id }}\" }\n\
                [[step]]\nname = \"bye\"\nwhen = \"stop\"\npost = \"/remember\"\nbody = { text = \"bye {{ r.id }}\" }";
    // The work has a row of its own each time; without it, the one of the start.
    for (work, rows, sent) in [("work {{ r.id }}", 44, 44), ("work", 5, 9)] {
        let step = format!("{REMEMBER}\n{}", more.replace("work {{ r.id }}", work));
        let project = project("users = 4, iterations = 39", "once", rows, &step);
        let server = Counting::start().await;
        let document = run(&project, &server.url, &[]);
        assert_eq!(ran_out(&document), Vec::<&str>::new());
        assert_eq!(server.requests(), 3 + 4 + 39 + 4);
        let bodies = server.take_remembered();
        let ids: BTreeSet<&str> = bodies.iter().filter_map(|body| body.split('"').nth(3)).collect();
        assert_eq!(ids.len(), 5, "one for each user, and one for the verification: {bodies:?}");
        assert!(bodies.len() >= sent, "{bodies:?}");
    }
}
