//! Limits of a worker that was started by hand.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::processes::{Started, signal};
use crate::hosts::Setting;

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_refuses_users_that_its_worker_cannot_carry() {
    let setting = Setting::new().await;
    let listen = ["--expect-workers=1", "--listen", &setting.address];
    // The join file of the first manager is that of the second.
    let first = setting.manager_at(&listen, &["--users=201", "--warmup=0s", "--out=first"]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !setting.project.path("join/0").is_file() {
        assert!(Instant::now() < deadline, "there is no join file");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let worker = setting.project.command(&["worker", "--join", "join/0"]);
    let mut limited = Command::new("sh");
    // A hard limit, which the worker cannot raise.
    limited.args(["-c", "ulimit -n 300; exec \"$0\" \"$@\""]).arg(worker.get_program());
    limited.args(worker.get_args()).current_dir(setting.project.path(""));
    limited.envs(worker.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let worker = Started::of(limited.stdout(Stdio::null()).stderr(Stdio::piped()));
    let refused = setting.finished(first);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    let told: String = refused.stderr.replace("\n  │ ", " ");
    let said = "a worker with 201 connections needs 301 open files, 100 of them for loadgen, but may open 300";
    assert!(told.contains("host_limit_too_low") && told.contains(said), "{told}");
    assert_eq!(setting.server.requests(), 0);
    let words = ["--users=200", "--iterations=200", "--warmup=0s", "--out=second"];
    let carried = setting.finished(setting.manager_at(&listen, &words));
    assert_eq!(carried.code, Some(0), "{}", carried.said());
    signal(worker.id(), Signal::TERM);
    assert_eq!(setting.finished(worker).code, Some(0));
}
