//! `loadgen hosts check`, and hosts whose limits do not carry their shares.

use crate::common::Counting;
use crate::common::program::Project;
use crate::common::ssh::Hosts;

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
        report["open_files"].as_u64() > Some(256) && report["rate_per_s"].as_f64() > Some(1.0),
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
