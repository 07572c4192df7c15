//! `loadgen hosts check`, and hosts whose limits do not carry their shares.

use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone};
use crate::common::program::{Finished, Project};
use crate::common::ssh::{Hosts, WITHIN};

#[tokio::test(flavor = "multi_thread")]
async fn a_check_shows_what_each_host_has() {
    let unknown = "Host unknown\n HostName loadgen.invalid\n";
    // A shell that greets, and a soft limit that workers raise.
    let of_sshd = "ForceCommand echo hello; ulimit -Sn 256; eval \"$SSH_ORIGINAL_COMMAND\"\n";
    let Some(hosts) = Hosts::start(of_sshd, unknown) else { return };
    let project = Project::bare();
    let finished = hosts.run(&project, &["hosts", "check", "one:64,unknown", "--format=json"]);
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    let document = finished.json();
    let [one, other] = document.as_array().unwrap().as_slice() else { panic!("{document}") };
    let report = &one["report"];
    assert_eq!(
        (&one["host"], &one["workers"], &one["error"]),
        (&"one".into(), &64.into(), &().into())
    );
    assert!(report["cpus"].as_u64() > Some(0) && report["local_ports"].as_u64() > Some(0), "{one}");
    assert!(
        report["open_files"].as_u64() > Some(256)
            && report["rate_per_s"].as_f64() > Some(1.0)
            && report["others_percent"].as_f64() >= Some(0.0),
        "{one}"
    );
    // One clock.
    let round_trip = one["round_trip_ms"].as_f64().unwrap();
    assert!(
        round_trip > 0.0 && one["clock_ahead_ms"].as_f64().unwrap().abs() <= round_trip,
        "{one}"
    );
    assert_eq!(other["host"], "unknown");
    assert!(other["error"].as_str().unwrap().contains("Could not resolve hostname"), "{other}");
    let finished = hosts.run(&project, &["hosts", "check", "one:64"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stdout.contains("one: 64 workers share "), "{}", finished.said());
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{}", finished.said());
    // A run gets what a check has seen.
    let server = Counting::start().await;
    let words = [server.url.as_str(), "--hosts=one", "--users=400", "--iterations=400"];
    let finished = hosts.run(&project, &[&words[..], &["--warmup=0s", "--json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["targets"][0]["total"]["errors"], 0, "{}", finished.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_cannot_carry_their_shares_are_told_before_any_load() {
    // Workers cannot raise a hard limit.
    let of_sshd = "ForceCommand ulimit -n 300; eval \"$SSH_ORIGINAL_COMMAND\"\n";
    let Some(hosts) = Hosts::start(of_sshd, "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let check = |users: &str| {
        hosts.run(&project, &["hosts", "check", "one:2,two", "--users", users, "--format=json"])
    };
    let carried = check("600");
    assert_eq!(carried.code, Some(0), "{}", carried.said());
    let document = carried.json();
    let shares = [0, 1].map(|host| (&document[host]["users"], &document[host]["lack"]));
    assert_eq!(shares, [(&400.into(), &().into()), (&200.into(), &().into())]);
    let refused = check("603");
    assert_eq!(refused.code, Some(1), "{}", refused.said());
    let said = "a worker with 201 connections needs 301 open files, 100 of them for loadgen, but may open 300";
    assert_eq!(refused.json()[1]["lack"], said, "{}", refused.said());
    let shown = hosts.run(&project, &["hosts", "check", "one:2,two", "--users=603"]);
    assert!(shown.stdout.contains("raise the hard limit of open files"), "{}", shown.said());
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.said());
    let words = |users| [&server.url, "--hosts=one:2,two", users, "--duration=60s", "--out=run"];
    let finished = hosts.run(&project, &words("--users=603"));
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    let told = finished.stderr.replace("\n  │ ", " ");
    assert!(
        told.contains("host_limit_too_low") && told.contains(&format!("one: {said}; two: {said}")),
        "{told}"
    );
    assert_eq!(server.requests(), 0);
    block_in_place(|| assert_gone(&hosts.there(), WITHIN));
    // Nor can the users of a run be raised to so many.
    let running = Started::of(&mut hosts.command(&project, &words("--users=6")));
    block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
    let ctl = |words: &[&str]| project.run(&[&["ctl", "--run=run"], words].concat());
    let refused = ctl(&["users", "603"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.starts_with("host_limit_too_low"), "{}", refused.said());
    assert_eq!(ctl(&["users", "600"]).code, Some(0));
    assert_eq!(ctl(&["stop"]).code, Some(0));
    let finished = Finished::of(block_in_place(|| running.output()), &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
}
