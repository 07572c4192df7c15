//! Runs that are interrupted.

use crate::support::{Changed, Run, interrupt, left, until};

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_run_and_fetches_what_there_is() {
    let run = Run::new("stopped").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "2", "--out", "result"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    interrupt(&child);
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert_eq!(run.record("result")["interrupted"], true);
    assert!(finished.stdout.contains("saved in result"), "{}", finished.stdout);
    assert_eq!(left("stopped"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_before_the_pods_run_removes_all() {
    let run = Run::new("early").await;
    let cordoned = Changed::cordoned();
    let child = run.command("run", &[&run.url("/"), "-d", "60s"]).spawn().unwrap();
    until("no pods", || left("early").iter().any(|it| it.starts_with("pod/")));
    interrupt(&child);
    let finished = run.end_of(child);
    drop(cordoned);
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert!(finished.stderr.contains("interrupted before the run began"), "{}", finished.stderr);
    assert_eq!(left("early"), Vec::<String>::new());
}
