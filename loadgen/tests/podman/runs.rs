//! Measured runs in containers: the services that are up, their
//! limits, and their figures in the document.

use crate::common::program::{Project, responses_of_replicas};
use crate::support::{assert_nothing_left, finish, left_of, podman, spawn, start, used};

#[test]
fn four_servers_are_compared_over_redis() {
    let project = Project::real();
    let words =
        ["--scenario=redis3", "--duration=1s", "--warmup=500ms", "--workers=2", "--out=run"];
    let finished = finish(&project, start(&project, &words));
    assert_eq!(finished.code, Some(0), "{}", finished.said());

    let document = finished.json();
    let targets = document["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 4);
    for target in targets {
        assert_eq!(target["total"]["errors"], 0, "{target}");
        assert!(target["total"]["requests"].as_u64().unwrap() > 0, "{target}");
        for service in ["target", "redis"] {
            let used = &target["resources"][service];
            assert!(used["cpu_s"].as_f64().unwrap() > 0.0, "{service}: {used}");
            assert!(used["memory_max_bytes"].as_u64().unwrap() > 1_000_000, "{service}: {used}");
            assert!(used["container"]["throttled_ms"].is_number(), "{service}: {used}");
        }
        let name = target["name"].as_str().unwrap();
        assert!(project.path(&format!("run/{name}-1.log")).is_file());
        assert!(!target["server"]["packages"].as_object().unwrap().is_empty());
    }
    let environment = &document["environment"];
    assert_eq!(environment["runtime"], "podman");
    assert!(environment["podman"].as_str().unwrap().starts_with("podman "), "{environment}");
    let images = environment["images"].as_object().unwrap();
    assert_eq!(images.keys().collect::<Vec<_>>(), ["redis", "target"]);
    assert!(images.values().all(|image| image.as_str().unwrap().contains("@sha256:")));
}

#[test]
fn postgres_stores_rows_within_its_limits() {
    let project = Project::real();
    // A batch may take more than a second on a busy disk.
    let words = ["--scenario=insert_batch", "--target=fastapi", "--users=5", "--duration=5s"];
    let limits = ["--memory=512m", "--backend-memory=512m", "--backend-cpus=1"];
    let finished = finish(&project, start(&project, &[&words[..], &limits].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let proofs = document["targets"][0]["proofs"].as_array().unwrap();
    assert!(!proofs.is_empty() && proofs.iter().all(|proof| proof["agrees"] == true), "{proofs:?}");
    let limits = &document["environment"]["limits"];
    assert_eq!(limits["postgres"]["memory_bytes"], 512 << 20);
    assert_eq!(limits["postgres"]["cpus"], 1.0);
    assert_eq!(limits["fastapi"]["cpus"], serde_json::Value::Null);
    assert_eq!(document["environment"]["backends"].as_object().unwrap().len(), 1);
    // Every supported version of PostgreSQL tells these figures.
    let activity = &document["targets"][0]["rounds"][0]["postgres"];
    for figure in ["transactions", "rows_inserted", "blocks_written", "checkpoints"] {
        assert!(activity[figure].is_number(), "{figure}: {activity}");
    }
    for figure in ["wal_bytes", "wal_fsyncs", "wal_write_ms", "wal_fsync_ms", "read_ms"] {
        assert!(activity[figure].is_number(), "{figure}: {activity}");
    }
}

#[test]
fn four_replicas_share_the_requests_equally() {
    let project = Project::real();
    let words = ["--scenario=redis3", "--target=fastapi", "--replicas=4", "--cpus=1"];
    let finished = finish(&project, start(&project, &[&words[..], &["--duration=3s"]].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["environment"]["limits"]["fastapi"]["cpus"], 1.0);
    let images = document["environment"]["images"].as_object().unwrap();
    assert_eq!(images.keys().collect::<Vec<_>>(), ["balancer", "redis", "target"]);
    let round = &document["targets"][0]["rounds"][0];
    let responses = responses_of_replicas(round);
    assert_eq!(responses.len(), 4);
    let (least, most) = (responses.iter().min().unwrap(), responses.iter().max().unwrap());
    assert!((most - least) as f64 <= 0.01 * *most as f64, "{responses:?}");
    let received = &round["replicas_received"];
    let [low, high] = ["least", "most"].map(|end| received[end].as_u64().unwrap());
    assert!((low..=high).contains(&responses.iter().sum()), "{responses:?} of {received}");
    for service in ["target", "balancer"] {
        assert!(used(&document, service)["container"]["throttled_ms"].is_number(), "{service}");
    }
}

#[test]
fn a_limit_of_a_tenth_of_a_cpu_holds() {
    let project = Project::real();
    // So little that the target reaches its limit beside other tests, too.
    let words = ["--scenario=direct", "--target=sanic", "--duration=3s", "--cpus=0.1"];
    let finished = finish(&project, start(&project, &words));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = used(&document, "target");
    // A period of the CPU limit may begin with what the previous period left unused.
    assert!(target["cpu_percent"].as_f64().unwrap() < 15.0, "{target}");
    assert!(target["container"]["throttled_ms"].as_f64().unwrap() > 0.0, "{target}");
    assert!(target["container"]["throttled_periods_percent"].as_f64().unwrap() > 0.0, "{target}");
    assert_eq!(document["environment"]["limits"]["sanic"]["cpus"], 0.1);
    let verdicts = document["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|verdict| verdict["kind"] == "throttled"), "{verdicts:?}");
}

#[test]
fn targets_in_other_languages_have_images_of_their_own() {
    let project = Project::real();
    let words =
        ["--scenario=redis3", "--target=echo,express,http4s", "--warmup=500ms", "--duration=1s"];
    let finished = finish(&project, start(&project, &words));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    for target in document["targets"].as_array().unwrap() {
        assert_eq!(target["total"]["errors"], 0, "{target}");
        assert!(target["total"]["requests"].as_u64().unwrap() > 0, "{target}");
    }
    let images = document["environment"]["images"].as_object().unwrap();
    let names: Vec<&str> = images.keys().map(String::as_str).collect();
    assert_eq!(names, ["echo", "express", "http4s", "redis"]);
}

#[test]
fn each_proxy_forwards_to_flask_in_another_container() {
    let project = Project::real();
    let proxies = "--target=go-proxy,node-proxy,traefik,caddy,nginx";
    let finished = finish(
        &project,
        start(
            &project,
            &["--scenario=direct", proxies, "--warmup=500ms", "--duration=1s", "--memory=512m"],
        ),
    );
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let targets = document["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 5);
    for target in targets {
        assert_eq!(target["total"]["errors"], 0, "{target}");
        for service in ["target", "auth", "flask"] {
            let used = &target["resources"][service];
            assert!(used["cpu_s"].as_f64().unwrap() > 0.0, "{service}: {used}");
        }
    }
    let limits = &document["environment"]["limits"];
    for name in ["caddy", "auth", "flask"] {
        assert_eq!(limits[name]["memory_bytes"], 512 << 20, "{limits}");
    }
}

#[test]
fn a_missing_image_of_a_target_is_built() {
    // Other tests run in the usual image.
    let image = "localhost/loadgen-test-auth";
    podman(&["image", "rm", "--force", "--ignore", image]);
    let project = Project::real();
    let build = ["lab", "build", "--runtime=podman", "--target=auth,sanic", "--format=json"];
    let mut command = project.command(&build);
    command.env("AUTH_IMAGE", image);
    let built = finish(&project, spawn(command));
    assert_eq!(built.code, Some(0), "{}", built.said());
    assert!(built.stderr.contains("building the image of auth"), "{}", built.said());
    let images = built.json();
    assert_eq!(images["auth"], image);
    assert_eq!(images["sanic"], "localhost/loadgen-targets");
    podman(&["image", "rm", image]);
}

/// Two arms of one target, whose limits differ.
const LIMITED: &str = r#"
backend_memory = "512m"

[[group]]
name = "limits"
scenario = "redis3"
target = "sanic"
rounds = 1
memory = "300m"
load = { users = 2, iterations = 200 }

[[group.arm]]
name = "half"
cpus = 0.5

[[group.arm]]
name = "whole"
"#;

#[test]
fn each_arm_of_an_experiment_has_its_limits() {
    let project = Project::real().file("limits.toml", LIMITED);
    let words =
        ["experiment", "limits.toml", "--runtime=podman", "--no-calibrate", "--format=json"];
    let finished = finish(&project, spawn(project.command(&words)));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let group = &document["groups"][0];
    let limits = &group["runs"][0]["environment"]["limits"];
    assert_eq!(limits["half"]["cpus"], 0.5, "{limits}");
    assert_eq!(limits["whole"]["cpus"], serde_json::Value::Null, "{limits}");
    assert_eq!(limits["whole"]["memory_bytes"], 300 << 20, "{limits}");
    assert_eq!(limits["redis"]["memory_bytes"], 512 << 20, "{limits}");
    assert_eq!(group["changed"], serde_json::json!([]));
    let differences = group["differences"].as_array().unwrap();
    let said = "half: 0.5 CPUs, 300 MiB; whole: 300 MiB";
    assert!(differences.iter().any(|it| it["kind"] == "limits" && it["what"] == said), "{group}");
}

#[test]
fn a_lab_stays_up_until_lab_down() {
    let project = Project::real().with_own_lab();
    let up = ["lab", "up", "--runtime=podman", "--detach", "--format=json", "--memory=256m"];
    let what = ["--target=sanic,flask-sync", "--backend=redis"];
    let up = project.run(&[&up[..], &what].concat());
    assert_eq!(up.code, Some(0), "{}", up.said());
    let urls = up.json();
    let status = project.run(&["lab", "status"]);
    assert_eq!(status.stdout.matches(" ok").count(), 3, "{}", status.stdout);
    assert!(urls["targets"]["flask-sync"].is_string(), "{urls}");
    let state = std::fs::read_to_string(project.path(".loadgen/lab.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let process = u32::try_from(state["pid"].as_u64().unwrap()).unwrap();
    let containers = left_of(process);
    let sanic = containers.iter().find(|name| name.ends_with("_sanic_1")).unwrap();
    let memory = podman(&["inspect", "--format", "{{.HostConfig.Memory}}", sanic]);
    assert_eq!(memory, (256 << 20).to_string());
    let down = project.run(&["lab", "down"]);
    assert_eq!(down.code, Some(0), "{}", down.said());
    assert_nothing_left(process);
}

#[test]
fn the_doctor_finds_nothing_missing_on_this_machine() {
    let said = Project::real().run(&["lab", "doctor"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.starts_with("ok  ")), "{}", said.stdout);
    assert!(said.stdout.contains("a container"), "{}", said.stdout);
}
