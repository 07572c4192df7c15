//! The file of `--junit`: the thresholds of a run that has finished, and nothing else.

use std::fs;

use crate::common::program::Project;
use crate::common::{Counting, dead_address};

const JUDGED: &str = "load = { users = 1, iterations = 5 }\n[[step]]\nget = \"/\"\n[thresholds]\nerror_rate = \"< 1%\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_does_not_finish_leaves_no_junit_file() {
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", JUDGED);
    let dead = format!("http://{}", dead_address());
    let run = |url: &str, out: &str| {
        let arguments =
            ["-s=mine.toml", "--url", url, "--junit=junit.xml", "--warmup=0s", "--out", out];
        tokio::task::block_in_place(|| project.run(&[&arguments[..], &["--no-calibrate"]].concat()))
    };
    assert_eq!(run(&dead, "a").code, Some(4));
    assert!(!project.path("junit.xml").exists());
    let whole = run(&server.url, "b");
    assert_eq!(whole.code, Some(0), "{}", whole.said());
    let text = fs::read_to_string(project.path("junit.xml")).unwrap();
    assert!(text.contains("failures=\"0\""), "{text}");
    // The existing file belongs to another run.
    assert_eq!(run(&dead, "c").code, Some(4));
    assert!(!project.path("junit.xml").exists());
    // The path may also be a symbolic link, which stays, or a device.
    std::os::unix::fs::symlink("elsewhere.xml", project.path("junit.xml")).unwrap();
    assert_eq!(run(&server.url, "d").code, Some(0));
    assert!(project.path("elsewhere.xml").is_file());
    assert_eq!(run(&dead, "e").code, Some(4));
    assert!(!project.path("elsewhere.xml").exists());
    assert!(project.path("junit.xml").is_symlink());
    let arguments = ["-s=mine.toml", "--url", &server.url, "--junit=/dev/null", "--out=f"];
    let finished = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(std::path::Path::new("/dev/null").exists());
}
