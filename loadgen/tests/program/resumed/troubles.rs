//! Runs that are resumed after a loss, a failed threshold or a full disk.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{LOAD, PASS, SENT, rounds, words};
use crate::common::processes::Started;
use crate::hosts::Setting;
use serde_json::{Value, json};

/// A step that sends two items with each request, which the server counts.
const ITEMS: &str = "[[step]]\nname = \"items\"\npost = \"/items\"\nexpect = { status = 201 }\n\
                     body = { repeat = 2, json = 1 }\ncounters = { items = \"/inserted\" }\n";

/// Waits until this holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_an_earlier_manager_is_told() {
    let setting = Setting::new().await;
    let mut manager = setting.two(&["--rounds=3", "--on-worker-loss=continue"]);
    let [stays, mut lost] = [0, 1].map(|number| setting.worker(number, &[]));
    setting.until_sent(2 * SENT + 10).await;
    lost.kill().unwrap();
    let state = setting.project.path("run/.resume/run");
    let has_loss = || std::fs::read(&state).unwrap().windows(10).any(|word| word == b"taken_over");
    tokio::task::block_in_place(|| until("the loss is not kept", has_loss));
    manager.kill().unwrap();
    manager.wait().unwrap();
    let fresh = setting.worker(1, &[]);
    let finished = setting.finished(setting.resume("run"));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    let record = finished.json();
    for target in record["targets"].as_array().unwrap() {
        assert_eq!(rounds(target), [1, 2, 3].map(|number| (number, PASS)), "no figure lacks it");
    }
    let lost = record["degraded"]["lost"].as_array().unwrap();
    let of = |field: &str| lost[0][field].clone();
    assert_eq!((lost.len(), of("worker"), of("round")), (1, json!(1), json!(2)), "{lost:?}");
    assert_eq!((of("measured_again"), of("users")), (json!(true), json!(4)), "{lost:?}");
    assert!(of("host").is_string(), "{lost:?}");
    let reason = record["degraded"]["reason"].as_str().unwrap();
    assert!(reason.contains("of round 2") && reason.ends_with("measured again"), "{reason}");
    drop((stays, fresh));
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_of_an_earlier_manager_count_for_fail_fast() {
    let setting = Setting::new().await;
    // Each pass counts 100 items of a target.
    let scenario = format!("{ITEMS}[thresholds]\n\"counter.items\" = \"<= 250\"\n");
    std::fs::write(setting.project.path("mine.toml"), scenario).unwrap();
    let url = ["--url", &setting.server.url, "--listen", &setting.address];
    let mine = ["manager", "--scenario=./mine.toml", "--format=json", "--expect-workers=2"];
    let more = ["--rounds=5", "--fail-fast"];
    let mut command = setting.project.command(&[&mine[..], &url, &LOAD, &more].concat());
    let mut manager = Started::of(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let workers = [0, 1].map(|number| setting.worker(number, &[]));
    setting.until_sent(2 * SENT + 20).await;
    manager.kill().unwrap();
    manager.wait().unwrap();
    let finished = setting.finished(setting.resume("run"));
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let record = finished.json();
    assert_eq!(record["stopped_early"]["round"], 3, "100 of the first round, and of the others");
    assert_eq!(record["resumed"][0]["from_round"], 2);
    // The round ended with the target that failed: the other one may not have been measured in it.
    let thresholds = record["thresholds"].as_array().unwrap();
    assert!(thresholds.iter().any(|one| one["passed"] == false), "{thresholds:?}");
    assert!(!setting.project.path("run/.resume").exists(), "it ended by itself");
    drop(workers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_could_not_save_its_result_is_resumed_without_workers() {
    let setting = Setting::new().await;
    let manager = setting.two(&["--rounds=2"]);
    let workers = [0, 1].map(|number| setting.worker(number, &["--once"]));
    setting.until_sent(3 * SENT + 10).await;
    // A folder in the place of the file: the result cannot be saved.
    let record = setting.project.path("run/run.json");
    let in_its_place = || {
        let _ = std::fs::remove_file(&record);
        std::fs::create_dir(&record).is_ok()
    };
    tokio::task::block_in_place(|| until("the file is always there", in_its_place));
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    assert!(words(&finished).contains("loadgen manager --resume run"), "{}", finished.said());
    let shown = finished.json();
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
    std::fs::remove_dir(&record).unwrap();
    let sent = setting.server.requests();
    let finished = setting.finished(setting.resume("run"));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(words(&finished).contains("all rounds of the run are kept"), "{}", finished.said());
    assert_eq!(setting.server.requests(), sent, "nothing was measured");
    let record = finished.json();
    assert_eq!(record["resumed"], json!([]), "no round followed");
    for field in ["targets", "comparison", "load", "started", "command", "seed"] {
        assert_eq!(record[field], shown[field], "{field}");
    }
    assert_eq!(setting.record("run"), record);
    assert!(!setting.project.path("run/.resume").exists());
}

/// Uses a small disk, in a mount namespace that ends with the manager.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_at_once_and_the_run_goes_on() {
    let setting = Setting::new().await;
    let disk = setting.project.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let url = ["--url", &setting.server.url, "--listen", &setting.address];
    let load = LOAD.iter().copied().filter(|option| !option.starts_with("--out"));
    let fixed = ["manager", "--scenario=direct", "--format=json", "--expect-workers=2"];
    let more = ["--rounds=4", "--out=disk/run"];
    let arguments: Vec<&str> = fixed.into_iter().chain(url).chain(load).chain(more).collect();
    let inner = setting.project.command(&arguments);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"");
    command.arg(&disk).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(setting.project.path("")).env("NO_COLOR", "1");
    // Not a pipe, which the manager would fill while this test reads the other one.
    let result = setting.project.path("result.json");
    let stdout = std::fs::File::create(&result).unwrap();
    let mut manager = Started::of(command.stdout(stdout).stderr(Stdio::piped()));
    let mut stderr = BufReader::new(manager.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    if said.contains("unshare:") || said.contains("mount:") {
        return println!("skipped: no mount namespace can be made here: {said}");
    }
    let workers = [0, 1].map(|number| setting.worker(number, &["--once"]));
    setting.until_sent(2 * SENT + 10).await;
    // The disk of the manager, which this process sees in no other way.
    let there = std::path::PathBuf::from(format!("/proc/{}/root", manager.id()));
    let there = there.join(disk.strip_prefix("/").unwrap());
    let mode = there.join("run/.resume").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let full = there.join("full");
    let mut file = std::fs::File::create(&full).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    tokio::task::block_in_place(|| {
        while !said.contains("No space left on device") {
            assert!(
                stderr.read_line(&mut said).unwrap() > 0,
                "it was told at the end only: {said}"
            );
        }
    });
    let sent = setting.server.requests();
    assert!(sent < 6 * SENT, "two rounds are left: {sent}");
    drop(file);
    std::fs::remove_file(&full).unwrap();
    tokio::task::block_in_place(|| stderr.read_to_string(&mut said).unwrap());
    assert_eq!(manager.wait().unwrap().code(), Some(0), "{said}");
    assert_eq!(said.matches("no longer kept").count(), 1, "{said}");
    assert!(said.contains("disk/run: No space left on device"), "{said}");
    let record: Value = serde_json::from_slice(&std::fs::read(&result).unwrap()).unwrap();
    for target in record["targets"].as_array().unwrap() {
        assert_eq!(rounds(target), [1, 2, 3, 4].map(|number| (number, PASS)));
    }
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}
