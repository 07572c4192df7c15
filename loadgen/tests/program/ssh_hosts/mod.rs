//! `--hosts`: workers that loadgen starts through SSH, with a real sshd. All hosts are this machine; as root, their user
//! is another one.
//!
//! - `checks`: `loadgen hosts check`, and hosts whose limits are too low. `faults`: hosts that cannot be used.

mod checks;
mod faults;

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone, manager_in, named, signal, tree};
use crate::common::program::{Finished, Project};
use crate::common::ssh::{Hosts, WITHIN};

const FIXED: [&str; 4] = ["--users=6", "--warmup=0s", "--json", "--hosts=one:2,two"];

#[tokio::test(flavor = "multi_thread")]
async fn workers_on_hosts_share_the_load_and_leave_nothing() {
    // What the user's configuration forwards and runs is in nobody's way.
    let of_ssh = "Match host one,two\n LocalForward 127.0.0.1:1 127.0.0.1:2\n LocalCommand touch called\n \
                  PermitLocalCommand yes\n RemoteCommand false\n SessionType none\n ExitOnForwardFailure yes\n";
    let Some(hosts) = Hosts::start("", of_ssh) else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let run = |out: &str| {
        let words = [&[server.url.as_str(), "--iterations=300", out], &FIXED[..]].concat();
        let finished = hosts.run(&project, &words);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        finished
    };
    let first = run("--out=first");
    assert!(first.stderr.contains("connecting to 2 hosts"), "{}", first.stderr);
    assert!(first.stderr.contains("MB) to one, two"), "{}", first.stderr);
    assert!(first.stderr.contains("starting 3 workers on 2 hosts"), "{}", first.stderr);
    let document = first.json();
    let workers = document["targets"][0]["workers"].as_array().unwrap();
    let share =
        |worker: &serde_json::Value| (worker["users"].as_u64(), worker["requests"].as_u64());
    assert_eq!(workers.iter().map(share).collect::<Vec<_>>(), [(Some(2), Some(100)); 3]);
    let names: Vec<&str> = workers.iter().map(|it| it["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "one", "two"], "as the user names them");
    // One more request is the verification.
    assert_eq!(server.requests(), 301);
    assert_gone(&hosts.there(), WITHIN);
    assert!(first.stderr.contains("is each host's own"), "{}", first.stderr);
    // The program is there now, and nothing else.
    let second = run("--out=second");
    assert!(!second.stderr.contains("copying"), "{}", second.stderr);
    // A damaged one is replaced.
    let folder = hosts.path("home/cache/loadgen/programs");
    let program = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let whole = fs::metadata(&program).unwrap().len();
    for length in [0, whole] {
        let file = fs::File::create(&program).unwrap();
        file.set_len(length).unwrap();
        let again = run(&format!("--out=damaged-{length}"));
        assert!(again.stderr.contains("copying"), "{}", again.stderr);
    }
    let programs = fs::read_dir(&folder).unwrap();
    let programs: Vec<_> =
        programs.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(matches!(programs.as_slice(), [one] if one.starts_with("loadgen-")), "{programs:?}");
    assert!(!project.path("join").exists() && !project.path("called").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_far_away_share_the_load() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let _line = hosts.farther_by(Duration::from_millis(20)).await;
    let words = [&[server.url.as_str(), "--iterations=300"], &FIXED[..]].concat();
    let finished = hosts.run(&project, &words);
    assert_eq!((finished.code, server.requests()), (Some(0), 301), "{}", finished.said());
    let document = finished.json();
    for worker in document["targets"][0]["workers"].as_array().unwrap() {
        // There and back.
        assert!(worker["rtt_ms"].as_f64().is_some_and(|rtt| rtt >= 40.0), "{worker}");
        assert_eq!((&worker["users"], &worker["requests"]), (&2.into(), &100.into()));
    }
    block_in_place(|| assert_gone(&hosts.there(), WITHIN));
}

#[tokio::test(flavor = "multi_thread")]
async fn how_one_of_several_workers_ended_is_told() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let words = [server.url.as_str(), "--duration=60s", "--warmup=0s", "--hosts=one:3"];
    let started = Started::of(&mut hosts.command(&project, &words));
    let there = block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
    let last = named(&there, "worker --join - --any-socket").into_iter().max().unwrap();
    signal(last, Signal::KILL);
    let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    let said =
        finished.stderr.contains("one said last: worker-") && finished.stderr.contains("signal: 9");
    assert!(said, "{}", finished.said());
    block_in_place(|| assert_gone(&there, WITHIN));
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_whose_parent_is_killed_are_lost_in_the_round() {
    let Some(hosts) = Hosts::start("", "") else { return };
    for load in ["--rate=100", "--users=6"] {
        let (server, project) = (Counting::start().await, Project::bare());
        let words = [&server.url, load, "--duration=6s", "--warmup=0s", "--hosts=one,two:2"];
        let mut command = hosts.command(&project, &[&words[..], &["--json"]].concat());
        let started = Started::of(&mut command);
        let there = block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
        let parents = named(&there, "worker --join - --processes 2");
        assert_eq!(parents.len(), 1, "{there:?}");
        signal(parents[0], Signal::KILL);
        let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
        assert_eq!(finished.code, Some(5), "{load}: {}", finished.said());
        let target = &finished.json()["targets"][0];
        assert_eq!(target["rounds"][0]["whole"], false, "{load}: {}", finished.said());
        block_in_place(|| assert_gone(&there, WITHIN));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_paused_stays_nowhere() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let words = [&[server.url.as_str(), "--duration=60s", "--out=run"], &FIXED[..]].concat();
    let started = Started::of(&mut hosts.command(&project, &words));
    let there = block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
    let workers = named(&there, "worker --join - --any-socket");
    assert_eq!(workers.len(), 3, "{there:?}");
    signal(workers[0], Signal::STOP);
    let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    assert!(finished.stderr.contains("it no longer answers, on "), "{}", finished.said());
    block_in_place(|| assert_gone(&there, WITHIN));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_uses_hosts_and_a_file_names_them() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let server = Counting::start().await;
    let project = Project::bare().file("hosts", "one:2   # the first\n\n# none\ntwo\n");
    let words = [
        "capacity",
        &server.url,
        "--hosts=@hosts",
        "--rounds=1",
        "--duration=1s",
        "--precision=50",
        "--json",
    ];
    let finished = hosts.run(&project, &words);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["search"]["workers"], 3, "{}", finished.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_are_free_when_loadgen_is_killed_or_interrupted() {
    let Some(hosts) = Hosts::start("", "") else { return };
    for by in [Signal::KILL, Signal::INT] {
        let (server, project) = (Counting::start().await, Project::bare());
        let words = [&[server.url.as_str(), "--duration=60s", "--out=run"], &FIXED[..]].concat();
        let started = Started::of(&mut hosts.command(&project, &words));
        let there = block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
        let here = tree(started.id());
        signal(started.id(), by);
        let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
        block_in_place(|| {
            assert_gone(&there, WITHIN);
            assert_gone(&here, WITHIN);
        });
        let after = server.requests();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(server.requests(), after, "load after the end");
        if by == Signal::INT {
            assert_eq!(finished.code, Some(130), "{}", finished.said());
            assert!(finished.json()["targets"][0]["total"]["requests"].as_u64() > Some(99));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_drops_out_is_named() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let words = [&[server.url.as_str(), "--duration=60s", "--out=run"], &FIXED[..]].concat();
    let started = Started::of(&mut hosts.command(&project, &words));
    block_in_place(|| hosts.until_loaded(|| server.requests(), 3));
    let to_two = named(&tree(manager_in(&project)), "-- two exec sh");
    assert_eq!(to_two.len(), 1, "{to_two:?}");
    signal(to_two[0], Signal::KILL);
    let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    let said = "the connection to two has ended: ssh ended";
    assert!(finished.stderr.contains(said), "{}", finished.said());
    assert_gone(&hosts.there(), WITHIN);
}

#[test]
fn what_names_no_hosts_is_refused() {
    let step = "[[step]]\nget = \"/\"\n";
    let project = Project::bare().file("none", "# nobody\n").file("one.toml", step);
    let url = "http://127.0.0.1:1/";
    for (words, code, said) in [
        (&[url, "--hosts=one,one:2"][..], "bad_hosts", "one is given twice"),
        (&[url, "--hosts=one,root@one"], "bad_hosts", "one is given twice, for two users"),
        (&[url, "--hosts=-oProxyCommand=x"], "bad_hosts", "this is no name of a host"),
        (&[url, "--hosts=one:0"], "bad_hosts", "a host has 1 to 1000 workers"),
        (&[url, "--hosts=one:600,two:600"], "bad_hosts", "1200 workers are more than 1000"),
        (&[url, "--hosts=@none"], "bad_hosts", "the file names no host"),
        (&["-s=one.toml", "--url=unix:/a", "--hosts=one"], "bad_hosts", "is a socket"),
        (&[url, "--hosts=@absent"], "bad_hosts", "absent: No such file"),
        (&[url, "--hosts=one", "--workers=2"], "error", "cannot be used with '--workers"),
        (&["/", "--hosts=one"], "manager_needs_url", "servers that loadgen starts"),
        (
            &["manager", "--listen=127.0.0.1:7447", "--expect-workers=1", url, "--hosts=one"],
            "unused_option",
            "a manager waits for workers that others start",
        ),
    ] {
        let finished = project.run(words);
        assert_eq!(finished.code, Some(2), "{words:?}: {}", finished.said());
        assert!(
            finished.stderr.starts_with(code) && finished.stderr.contains(said),
            "{}",
            finished.said()
        );
    }
}
