//! A user's own targets in containers of the user's images.

use crate::common::program::{Finished, Project};
use crate::support::{finish, podman, spawn, used};

/// Two targets of an image that the lab has made, whose entry point takes the name of a server.
const TARGETS: &str = r#"
[target.quick]
image = "localhost/loadgen-targets"
command = ["fastapi", "--host={host}", "--port={port}", "--workers={workers}"]
ready = "/health"
env = { DATABASE_URL = "{postgres}" }
memory = "256m"

[target.slow]
image = "localhost/loadgen-targets"
port = 8080
command = ["fastapi", "--host={host}", "--port={port}"]
ready = "/health"
cpus = 0.5

[backend.postgres]
init = "schema.sql"
"#;

fn run(project: &Project, words: &[&str]) -> Finished {
    let always = ["/health", "--runtime=podman", "-u2", "--no-calibrate", "--json", "--out=result"];
    let mut command = project.command(&[&always[..], words].concat());
    // A folder with no `compose/.env`, which names the image otherwise.
    if podman(&["images", "--quiet", "localhost/loadgen-postgres"]).lines().count() > 0 {
        command.env("POSTGRES_IMAGE", "localhost/loadgen-postgres");
    }
    finish(project, spawn(command))
}

#[test]
fn own_images_are_measured_within_their_limits() {
    let schema = "CREATE TABLE products (name text);\n\\copy products FROM 'names.csv'\n";
    let project = Project::bare()
        .file("loadgen.toml", TARGETS)
        .file("schema.sql", schema)
        .file("names.csv", "tea\n")
        .file("mine.toml", "[[step]]\nget = \"/health\"\n");
    let finished = run(&project, &["-R1", "-d=1s", "--warmup=500ms"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let limits = &document["environment"]["limits"];
    assert_eq!(limits["quick"]["memory_bytes"], 256 << 20, "{limits}");
    assert_eq!((&limits["slow"]["cpus"], &limits["quick"]["cpus"]), (&0.5.into(), &().into()));
    assert_eq!(document["environment"]["runtime"], "podman");
    let images = document["environment"]["images"].as_object().unwrap();
    assert!(images["quick"].as_str().unwrap().starts_with("localhost/loadgen-targets@sha256:"));
    let target = used(&document, "target");
    assert!(target["cpu_s"].as_f64().unwrap() > 0.0, "{target}");
    assert!(target["container"]["throttled_ms"].is_number(), "{target}");
    // No file has the password of the database.
    let written = std::fs::read_to_string(project.path("result/quick-1.yaml")).unwrap();
    assert!(written.contains("${TARGET_POSTGRES_URL}") && !written.contains("postgresql://"));
}

#[test]
fn a_missing_image_is_not_pulled() {
    let missing = "[target.shop]\nimage = \"localhost/no-such-image\"\n";
    let project = Project::bare().file("loadgen.toml", missing);
    let finished = run(&project, &["-R1", "-i=1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = "shop: the image localhost/no-such-image is not on this machine";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}
