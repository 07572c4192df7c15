//! `[[proof]]` through the real binary: the contents of a real
//! Redis and a real PostgreSQL after a round.

use std::fs;

use crate::common::Counting;
use crate::common::program::{Finished, Project, checkout};
use serde_json::{Value, json};

/// A server that stores each item in Redis and in PostgreSQL, and reports that it did both. At
/// `/lost`, only the first request is answered with success.
const TARGET: &str = r#"
import http.server, json, os, psycopg, redis

store = redis.from_url(os.environ["REDIS_URL"])
INSERT = "INSERT INTO items (sku, name, quantity, price_cents) VALUES (gen_random_uuid(), 'n', 1, 2)"

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        self.answer(200, {})

    def do_POST(self):
        store.rpush("queue", "item")
        store.incr("made")
        with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
            connection.execute(INSERT)
        lost = self.path == "/lost" and store.incr("lost") > 1
        self.answer(500 if lost else 201, {"made": 1})

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"#;

const SCENARIO: &str = r#"
targets = ["store"]
backends = ["redis", "postgres"]

[load]
users = 2
iterations = 20

[[step]]
post = "/items"
expect = { status = 201 }
counters = { made = "/made" }
"#;

/// Creates a project with the scenario, these proofs, and the scenario's target.
fn project(proofs: &str) -> Project {
    let command = serde_json::to_string(&["python", "-c", TARGET]).unwrap();
    let manifest = format!(
        "[store]\nframework = \"none\"\nserver = \"none\"\npackages = []\ncommand = {command}\n"
    );
    let schema = fs::read_to_string(checkout().join("targets/schema.sql")).unwrap();
    Project::with_targets(&manifest)
        .file("targets/schema.sql", &schema)
        .file("mine.toml", &format!("{SCENARIO}{proofs}"))
}

fn run(proofs: &str, arguments: &[&str]) -> (Project, Finished) {
    let project = project(proofs);
    let fixed = ["-s=mine.toml", "--rounds=1", "--no-calibrate", "--out=run"];
    let finished = project.run(&[&fixed, arguments].concat());
    (project, finished)
}

#[test]
fn each_round_begins_with_the_existing_items() {
    let scenario = SCENARIO.replace("[load]", "existing_items = 20_000\n\n[load]");
    let proofs = r#"
        [[proof]]
        postgres = "SELECT count(*) - 20000 FROM items"
        counter = "made"

        [[proof]]
        postgres = "SELECT count(*) FROM items WHERE id <= 20000 AND name = 'item ' || id"
        value = 20_000
        "#;
    let project = project("").file("mine.toml", &(scenario + proofs));
    let fixed = ["-s=mine.toml", "--rounds=3", "--no-calibrate", "--out=run", "--warmup=200ms"];
    let finished = project.run(&fixed);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let text = fs::read_to_string(project.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let proofs = document["targets"][0]["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), 6, "two in each round");
    for round in document["targets"][0]["rounds"].as_array().unwrap() {
        let inserted = round["postgres"]["rows_inserted"].as_f64().unwrap();
        assert!((20.0..1_000.0).contains(&inserted), "the copy counts no rows: {inserted}");
    }
}

/// The requests of a probe change the backends like those of the load.
#[test]
fn proofs_count_what_a_probe_has_sent() {
    let scenario = SCENARIO.replace("iterations = 20", "duration = \"1s\"");
    let proofs = "[[proof]]\nredis = \"LLEN queue\"\ncounter = \"made\"\n\
                  [[proof]]\npostgres = \"SELECT count(*) FROM items\"\ncounter = \"made\"\n";
    let project = project("").file("mine.toml", &(scenario + proofs));
    let fixed = ["-s=mine.toml", "--rounds=2", "--no-calibrate", "--out=run", "--warmup=300ms"];
    let finished = project.run(&[&fixed[..], &["--probe=30", "--format=json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    let proofs = target["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), 4, "two in each round");
    for proof in proofs {
        assert_eq!((&proof["agrees"], &proof["unknown"]), (&json!(true), &json!(0)), "{proof}");
        let round = proof["round"].as_u64().unwrap() as usize - 1;
        let probe = target["rounds"][round]["probe"]["requests"].as_u64().unwrap();
        assert!(probe > 5 && proof["uncounted"].as_u64().unwrap() > probe, "{proof} {probe}");
    }
    let saved = fs::read_to_string(project.path("run/report.html")).unwrap();
    assert!(saved.contains("(verification, warm-up, ramp-up, cut off, probe)"), "{saved}");
}

#[test]
fn both_backends_hold_the_same_profiles_in_each_round() {
    let scenario = SCENARIO.replace("[load]", "existing_profiles = 20_001\n\n[load]");
    let proofs = r#"
        [[proof]]
        postgres = "SELECT count(*) FROM profiles"
        value = 20_001

        [[proof]]
        redis = "EXISTS profile:000000020001 profile:nickname:nick1 profile:username:user20001 profiles:token"
        value = 4

        [[proof]]
        postgres = "SELECT length(profile::text) FROM profiles WHERE profile ->> 'nickname' = 'nick7'"
        value = 304

        [[proof]]
        redis = "STRLEN profile:000000000007"
        value = 304

        [[proof]]
        redis = "LLEN queue"
        counter = "made"
        "#;
    let project = project("").file("mine.toml", &(scenario + proofs));
    let fixed = ["-s=mine.toml", "--rounds=2", "--no-calibrate", "--out=run", "--warmup=200ms"];
    let finished = project.run(&fixed);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stderr.contains("making 20,001 profiles in redis"), "{}", finished.stderr);
}

#[test]
fn the_content_of_backends_is_proved_or_disproved() {
    let (project, finished) = run(
        r#"
        [[proof]]
        redis = "LLEN queue"
        counter = "made"

        [[proof]]
        redis = "GET made"
        counter = "made"

        [[proof]]
        postgres = "SELECT count(*) / 2 FROM items"
        counter = "made"

        [[proof]]
        postgres = "SELECT count(*) FROM items WHERE name IS NULL"
        value = 0

        [[proof]]
        postgres = """
            SELECT count(*)
            FROM items
            WHERE quantity = 0"""
        value = 1
        "#,
        &["--workers=2", "--warmup=200ms", "--junit=proofs.xml"],
    );
    assert_eq!(finished.code, Some(3), "as a threshold that fails: {}", finished.said());
    let junit = fs::read_to_string(project.path("proofs.xml")).unwrap();
    assert!(junit.contains("tests=\"5\" failures=\"2\""), "{junit}");
    assert!(junit.contains("<failure message=\"round 1: expected 1, found 0\">"), "{junit}");
    let text = fs::read_to_string(project.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let proofs = document["targets"][0]["proofs"].as_array().unwrap();
    let agrees: Vec<bool> = proofs.iter().map(|proof| proof["agrees"] == true).collect();
    assert_eq!(agrees, [true, true, false, true, false], "{proofs:#?}");

    let held = proofs[0]["held"].as_u64().unwrap();
    let uncounted = proofs[0]["uncounted"].as_u64().unwrap();
    assert_eq!((&proofs[0]["counted"], held), (&json!(20), 20 + uncounted));
    assert!(uncounted > 1, "the verification, and what came of the warm-up: {uncounted}");
    assert_eq!(proofs[2]["held"], held / 2);
    assert_eq!((&proofs[4]["value"], &proofs[4]["held"]), (&json!(1), &json!(0)));

    // PostgreSQL itself counted as many rows, one for each transaction of the target.
    let postgres = &document["targets"][0]["rounds"][0]["postgres"];
    assert_eq!(postgres["rows_inserted"].as_f64(), Some(held as f64), "{postgres}");
    assert!(postgres["transactions"].as_f64() >= Some(held as f64), "{postgres}");
    assert!(postgres["wal_bytes"].as_f64() > Some(held as f64), "{postgres}");

    let kinds = document["verdicts"].as_array().unwrap().iter().map(|v| &v["kind"]);
    assert_eq!(kinds.filter(|kind| *kind == "proof_failed").count(), 2, "{text}");
    let shown = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        format!(
            "store: made 20 counted + {uncounted} uncounted (verification, warm-up, ramp-up, cut \
             off) = {held} in redis, `LLEN queue`: proved"
        ),
        format!("≠ {} in postgres, `SELECT count(*) / 2 FROM items`: NOT proved", held / 2),
        "postgres, `SELECT count(*) FROM items WHERE name IS NULL` = 0: proved".to_owned(),
        "`SELECT count(*) FROM items WHERE quantity = 0` ≠ 1 for store: NOT proved".to_owned(),
        // The report is longer than a screen, so that its warnings are folded.
        "! proof_failed: store: round 1: made is 20 counted".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}\n{shown}");
    }
}

#[test]
fn failed_requests_are_named_as_a_possible_reason() {
    // Succeeds once, for the verification. Later requests are carried out, but answered with 500.
    let lost =
        "[[step]]\npost = \"/lost\"\nexpect = { status = 201 }\ncounters = { made = \"/made\" }\n";
    let proof = "[[proof]]\npostgres = \"SELECT count(*) FROM items\"\ncounter = \"made\"\n";
    let (_, finished) = run(&format!("{lost}{proof}"), &["--format=json", "--warmup=0s"]);
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    let expected = json!([{
        "round": 1, "backend": "postgres", "question": "SELECT count(*) FROM items",
        "counter": "made", "counted": 20, "uncounted": 2, "held": 42, "unknown": 20, "agrees": false,
    }]);
    assert_eq!(target["proofs"], expected);
    let document = finished.json();
    let failed =
        document["verdicts"].as_array().unwrap().iter().find(|v| v["kind"] == "proof_failed");
    assert_eq!(
        failed.unwrap()["advice"],
        "the server may have carried out requests that failed or were cut off"
    );
}

/// Returns the message about a proof that has no answer, and asserts that nothing was measured.
fn refused(proof: &str) -> String {
    let (project, finished) = run(&format!("[[proof]]\n{proof}\nvalue = 0\n"), &[]);
    assert!(!project.path("run/store-1.log").exists(), "no target was started");
    // Tests that run at the same time share one environment.
    finished.said().replace("waiting for another loadgen, which is installing\n", "")
}

#[test]
fn a_faulty_query_is_found_before_the_measurement() {
    insta::assert_snapshot!(refused("postgres = \"SELECT count(*) FROM itms\""));
}

#[test]
fn a_proof_cannot_write() {
    insta::assert_snapshot!(refused("postgres = \"DELETE FROM items RETURNING 1\""));
    let said = refused("redis = \"INCR queue\"");
    assert!(said.starts_with("exit code 4\n") && said.contains("| NOPERM"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_has_no_proofs() {
    let server = Counting::start().await;
    let url = ["--url", &server.url];
    let proof = "[[proof]]\nredis = \"LLEN queue\"\ncounter = \"made\"\n";
    // Changes the scenario so that this server answers as the scenario's own target does.
    let scenario = SCENARIO.replace("expect = { status = 201 }", "body = { json = [1] }");
    let scenario = scenario.replace("\"/made\"", "\"/inserted\"");
    let project = Project::real().file("mine.toml", &format!("{scenario}{proof}"));
    let fixed = ["-s=mine.toml", "--no-calibrate", "--out=run", "--warmup=0s", "--rounds=2"];
    let finished = tokio::task::block_in_place(|| {
        project.run(&[&fixed[..], &url, &["--format=json"]].concat())
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.stderr.matches("proofs are skipped").count(), 1, "{}", finished.stderr);
    assert_eq!(finished.json()["targets"][0]["proofs"], json!([]));
}
