//! Rows from a file, through the real binary: which of them are
//! sent, in one process and in several.

use std::collections::BTreeSet;

use crate::common::Counting;
use crate::common::program::Project;
use serde_json::Value;

/// Creates a project whose scenario has this load, a file of this many rows, and this one step.
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
    // One row is for the verification.
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
async fn users_stop_when_rows_run_out_and_a_verdict_says_so() {
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
            let message = "the rows of r ran out in round 1: users without a row stopped";
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
            let sent = |user: usize, iteration: usize, row: usize| {
                all[0].contains(&format!("{user} {iteration} {}", row % 7))
            };
            let first = |user| (0..7).find(|row| sent(user, 0, *row)).unwrap();
            let starts: BTreeSet<usize> = (0..5).map(first).collect();
            assert_eq!(starts.len(), 5, "each user begins at a row of its own");
            let goes_on =
                |user| (0..12).all(|iteration| sent(user, iteration, first(user) + iteration));
            assert!((0..5).all(goes_on));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_user_has_one_row_for_its_start() {
    let more = "when = \"start\"\n[[step]]\nname = \"work\"\npost = \"/remember\"\nbody = { text = \"work {{ r.id }}\" }\n\
                [[step]]\nname = \"bye\"\nwhen = \"stop\"\npost = \"/remember\"\nbody = { text = \"bye {{ r.id }}\" }";
    // First, each `work` takes a separate row; then only the starts take rows.
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

/// A request that names its user, its iteration and its row.
const ROW: &str =
    "post = \"/remember\"\nbody = { text = \"{{ user }} {{ iteration }} {{ r.id }}\" }";

/// Returns the distinct rows that bodies of [`ROW`] name.
fn rows_of(bodies: &BTreeSet<String>) -> BTreeSet<&str> {
    bodies.iter().filter_map(|body| body.split(' ').next_back()).collect()
}

fn used(document: &Value) -> (u64, u64) {
    let rows = &document["targets"][0]["rounds"][0]["rows_used"]["r"];
    (rows["used"].as_u64().unwrap(), rows["of"].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn cycling_users_use_every_row_before_one_repeats() {
    for (load, out, expected) in [
        ("users = 100, iterations_per_user = 30", "a", 3_000),
        ("users = 100, iterations_per_user = 100", "b", 10_000),
        ("users = 100, model = \"open\", rate = 2000, iterations = 1500", "c", 1_500),
    ] {
        let project = project(load, "cycle", 10_000, ROW);
        for (at, workers) in WORKERS.iter().enumerate() {
            let server = Counting::start().await;
            let out = format!("--out={out}{at}");
            let document = run(&project, &server.url, &[*workers, &[&out]].concat());
            let sent = server.take_remembered();
            let rows = rows_of(&sent).len();
            // The verification sends one more row.
            assert!((expected..=expected + 1).contains(&rows), "{rows} rows: {load}");
            assert_eq!(used(&document), (expected as u64, 10_000), "{load}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn used_rows_are_counted_over_all_workers_and_reported() {
    for (order, load, expected) in [
        ("once", "users = 4, iterations = 60", Some(60)),
        ("cycle", "users = 4, iterations = 400", Some(99)),
        ("random", "users = 4, iterations = 60", None),
    ] {
        let project = project(load, order, 99, ROW);
        for (at, workers) in WORKERS.iter().enumerate() {
            let server = Counting::start().await;
            let out = format!("--out=run{at}");
            let document = run(&project, &server.url, &[*workers, &[&out]].concat());
            let (used, of) = used(&document);
            let rows = rows_of(&server.take_remembered()).len() as u64;
            assert_eq!(of, 99);
            match expected {
                Some(expected) => assert_eq!(used, expected, "{order}"),
                // The verification's row may be among them.
                None => assert!((rows - 1..=rows).contains(&used), "{used} of {rows}"),
            }
            let said = format!("rows of r used: {used} (of 99)");
            let folder = format!("run{at}");
            for format in ["table", "markdown"] {
                let shown = project.run(&["report", &folder, "--format", format]).stdout;
                assert!(shown.contains(&said), "{shown}");
            }
            let page = std::fs::read_to_string(project.path(&folder).join("report.html")).unwrap();
            assert!(page.contains(&said));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_any_number_and_size_reach_workers() {
    // Together, the files are larger than a message on the network
    // may be, and so is one of them alone.
    let step =
        "post = \"/remember\"\nbody = { text = \"{{ r.id }} {{ large.id }} {{ other.id }}\" }";
    let project = project("users = 4, iterations = 40", "once", 41, step);
    let scenario = std::fs::read_to_string(project.path("mine.toml")).unwrap();
    let more = "[rows.large]\nfile = \"data/large.csv\"\n[rows.other]\nfile = \"data/other.csv\"\n";
    let scenario = scenario.replace("[[step]]", &format!("{more}[[step]]"));
    // One long column: columns that no step names are not sent.
    let lines =
        |mib: usize| -> String { (0..mib << 10).map(|row| format!("{row:01000}-é\n")).collect() };
    let project = project
        .file("mine.toml", &scenario)
        .file("data/large.csv", &format!("id\n{}", lines(26)))
        .file("data/other.csv", &format!("id\n{}", lines(13)));
    for (at, workers) in [WORKERS[0], WORKERS[2]].iter().enumerate() {
        let server = Counting::start().await;
        let out = format!("--out=run{at}");
        run(&project, &server.url, &[*workers, &["--rounds=2", &out]].concat());
        let sent = server.take_remembered();
        assert_eq!(server.requests(), 82);
        let all: Vec<Vec<&str>> = sent.iter().map(|text| text.split(' ').collect()).collect();
        let once: BTreeSet<&str> = all.iter().map(|cells| cells[0]).collect();
        assert_eq!(once.len(), 41);
        for (file, rows) in [(1, 26 << 10), (2, 13 << 10)] {
            let row = |cell: &str| cell.strip_suffix("-é").unwrap().parse::<u32>().unwrap();
            let is_whole = |cell: &str| cell.len() == 1003 && row(cell) < rows;
            assert!(all.iter().all(|cells| is_whole(cells[file])), "{all:?}");
        }
    }
}
