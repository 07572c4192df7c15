//! Backends that the cluster runs beside servers: PostgreSQL and Redis, filled before the load, observed in it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::servers::{end, f64_at, said};
use crate::support::{Run, WITHIN};

/// Two kinds of servers over the same backends, in the image of the lab's own servers.
const TARGETS: &str = r#"
[target.fast]
image = "localhost/loadgen-targets:test"
user = 65534
command = ["fastapi", "--host=0.0.0.0", "--port={port}"]
ready = "/health"
env = { DATABASE_URL = "{postgres}", REDIS_URL = "{redis}", POOL_SIZE = "{pool_size}" }

[target.plain]
image = "localhost/loadgen-targets:test"
user = 65534
command = ["aiohttp", "--host=0.0.0.0", "--port={port}"]
ready = "/health"
env = { DATABASE_URL = "{postgres}", REDIS_URL = "{redis}", POOL_SIZE = "{pool_size}" }

[backend.postgres]
init = "schema.sql"
[backend.redis]
init = "keys.txt"
"#;

const KEYS: &str = "# three keys\nSET loadgen:1 one\nSET loadgen:2 two\nSET loadgen:3 three\n";

const SCENARIO: &str = r#"
backends = ["postgres", "redis"]
[load]
users = 4
duration = "3s"

[[step]]
get = "/redis3"
expect = { json = { "/values/0" = "one", "/values/2" = "three" } }

[[step]]
post = "/items"
expect = { status = 201, json = { "/inserted" = 1 } }
counters = { inserted_items = "/inserted" }
body = { json = [{ sku = "{{ uuid }}", name = "{{ name }}", quantity = 1, price_cents = 1 }] }

[[proof]]
postgres = "SELECT count(*) FROM items"
counter = "inserted_items"
"#;

/// The node has fewer CPUs than all would ask for.
const REQUESTS: [&str; 5] = [
    "--target-requests=cpu=50m,memory=64Mi",
    "--backend-requests=cpu=50m,memory=64Mi",
    "--backend-image=postgres=localhost/loadgen-postgres:test",
    "--backend-image=redis=localhost/loadgen-redis:test",
    "--backend-user=65534",
];

/// Copies images from podman into the cluster. Returns whether podman has them; prints what it lacks.
pub fn has_images(names: &[&str]) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/cluster/images");
    let configuration = std::env::var("KUBECONFIG").unwrap();
    let state = Path::new(&configuration).parent().unwrap();
    let output = Command::new(script).arg(state).args(names).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        println!("skipped: {said}");
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

const IMAGES: [&str; 3] =
    ["localhost/loadgen-postgres", "localhost/loadgen-redis", "localhost/loadgen-targets"];

async fn project(name: &'static str) -> Run {
    let run = Run::new(name).await;
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets/schema.sql");
    std::fs::copy(schema, run.project.path("schema.sql")).unwrap();
    std::fs::write(run.project.path("loadgen.toml"), TARGETS).unwrap();
    // The comment is longer than a variable of a program may be.
    let keys = format!("# {}\n{KEYS}", "long ".repeat(40_000));
    std::fs::write(run.project.path("keys.txt"), keys).unwrap();
    std::fs::write(run.project.path("mixed.toml"), SCENARIO).unwrap();
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_share_backends_that_hold_their_data_and_are_observed() {
    if !has_images(&IMAGES) {
        return;
    }
    let run = project("backends").await;
    let words = ["--scenario", "mixed.toml", "--target", "fast,plain", "-R", "2", "-o", "result"];
    let child = run.command("run", &[&words[..], &REQUESTS].concat()).spawn().unwrap();
    let finished = end(&run, "backends", child);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(said(&finished).contains("proofs are skipped: in a cluster"), "{}", finished.stderr);
    let record = run.record("result");
    let images = &record["environment"]["images"];
    assert_eq!(images["postgres"], "localhost/loadgen-postgres:test");
    assert_eq!(images["redis"], "localhost/loadgen-redis:test");
    for target in record["targets"].as_array().unwrap() {
        for round in target["rounds"].as_array().unwrap() {
            assert_eq!(round["whole"], true);
            assert_eq!(round["total"]["errors"], 0);
            assert!(f64_at(round, "/counters/inserted_items") > 0.0);
            for backend in ["postgres", "redis"] {
                let used = |key: &str| f64_at(round, &format!("/resources/{backend}/{key}"));
                assert!(used("cpu_us_per_request") > 0.0, "{backend}");
                assert!(used("memory_idle_bytes") > 1e6, "{backend}");
                let nodes = &round["backend_pods"][backend]["nodes_busy_percent"];
                assert!(nodes["node-a"].as_f64().is_some(), "{nodes}");
            }
        }
    }
}

/// Carries out a run that cannot begin, and returns what it said.
fn fails(run: &Run, name: &str) -> String {
    let words = ["--scenario", "mixed.toml", "--target", "fast"];
    let begun = Instant::now();
    let child = run.command("run", &[&words[..], &REQUESTS].concat()).spawn().unwrap();
    let finished = end(run, name, child);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    // It does not wait for the five minutes in which pods may start.
    assert!(begun.elapsed() < WITHIN * 2, "{:?}", begun.elapsed());
    said(&finished)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_fails_ends_the_run_and_is_quoted() {
    if !has_images(&IMAGES) {
        return;
    }
    let run = project("badinit").await;
    std::fs::write(run.project.path("schema.sql"), "CREATE TABEL items ();\n").unwrap();
    let said = fails(&run, "badinit");
    assert!(said.contains("syntax error at or near \"TABEL\""), "{said}");
    assert!(said.contains("badinit-postgres"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_redis_refuses_ends_the_run_and_is_quoted() {
    if !has_images(&IMAGES) {
        return;
    }
    let run = project("badkeys").await;
    std::fs::write(run.project.path("keys.txt"), "SETT loadgen:1 one\n").unwrap();
    let said = fails(&run, "badkeys");
    assert!(said.contains("cannot fill redis: `SETT loadgen:1 one` failed: ERR"), "{said}");
    assert!(said.contains("badkeys-redis"), "{said}");
}
