//! `--hosts`: workers that loadgen starts through SSH, with a real sshd. All hosts are this machine; as root, their user
//! is another one.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid};
use tempfile::TempDir;
use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone, manager_in, named, signal, tree};
use crate::common::program::{Finished, Project};
use crate::common::proxy::{Line, Proxy};

/// User of the hosts, if the test may become another one.
const USER: u32 = 4_711;

/// Generous, because a busy machine may take its time to copy the program.
const WITHIN: Duration = Duration::from_secs(60);

/// Hosts `one` and `two`, to which an `ssh` leads that is first in the PATH.
struct Hosts {
    folder: TempDir,
    /// Port of sshd.
    port: u16,
    _sshd: Started,
}

impl Hosts {
    /// Starts the hosts, with further settings of their sshd and of ssh; `None`, with a word why, if it cannot be done.
    fn start(of_sshd: &str, of_ssh: &str) -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.is_file() {
            println!(
                "skipped: there is no {}; on Debian as root, `make setup` installs it",
                program.display()
            );
            return None;
        }
        // All may enter, because sshd reads the keys as the user.
        let mut folder = tempfile::Builder::new();
        let folder = folder.permissions(fs::Permissions::from_mode(0o755));
        let folder = folder.tempdir_in("/tmp").unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["host", "key"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            assert!(
                Command::new("ssh-keygen").args(words).arg(path(name)).status().unwrap().success()
            );
        }
        fs::create_dir(path("home")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PidFile none\nSetEnv LOADGEN_TEST={} XDG_CACHE_HOME={}\n{of_sshd}",
            path("host"),
            path("key.pub"),
            folder.path().display(),
            path("home/cache")
        );
        fs::write(path("sshd_config"), text).unwrap();
        let is_root = geteuid().is_root();
        let user = if is_root { "loadgen-test".to_owned() } else { own_name() };
        let mut command = if is_root {
            chown(path("home"), Some(USER), Some(USER)).unwrap();
            let users = fs::read_to_string("/etc/passwd").unwrap();
            let user = format!("{user}:x:{USER}:{USER}::{}:/bin/sh\n", path("home"));
            fs::write(path("passwd"), format!("{users}{user}")).unwrap();
            // Where sshd looks for it as root.
            fs::create_dir_all("/run/sshd").unwrap();
            let mut command = Command::new("unshare");
            let script = "mount --bind \"$1\" /etc/passwd && exec /usr/sbin/sshd -D -e -f \"$2\"";
            command
                .args(["--mount", "sh", "-c", script, "sh", &path("passwd")])
                .arg(path("sshd_config"));
            command
        } else {
            let mut command = Command::new(program);
            command.args(["-D", "-e", "-f", &path("sshd_config")]);
            command
        };
        let log = fs::File::create(path("log")).unwrap();
        let sshd = Started::of(command.stdout(Stdio::null()).stderr(log));
        let text = format!(
            "{of_ssh}\nHost one two\n HostName 127.0.0.1\n Port {port}\n User {user}\n IdentityFile {}\n \
             IdentitiesOnly yes\n UserKnownHostsFile {}\n StrictHostKeyChecking accept-new\n",
            path("key"),
            path("known")
        );
        fs::write(path("config"), text).unwrap();
        fs::create_dir(path("bin")).unwrap();
        let text = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", path("config"));
        fs::write(path("bin/ssh"), text).unwrap();
        fs::set_permissions(path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        let begun = Instant::now();
        while !fs::read_to_string(path("log")).unwrap().contains("Server listening") {
            let said = fs::read_to_string(path("log")).unwrap();
            assert!(begun.elapsed() < WITHIN, "{said}");
            if said.contains("unshare") || said.contains("mount") {
                println!("skipped: this machine does not let a test become another user: {said}");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { folder, port, _sshd: sshd })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a line to the hosts, on which each byte arrives after this time, and leads ssh through it.
    async fn farther_by(&self, delay: Duration) -> Proxy {
        let line = Line::Open { delay, bytes_per_s: None };
        let proxy = Proxy::before(&format!("127.0.0.1:{}", self.port), line).await;
        let config = fs::read_to_string(self.path("config")).unwrap();
        let port = |port: u16| format!(" Port {port}\n");
        let through = config.replace(&port(self.port), &port(proxy.address.port()));
        assert_ne!(through, config);
        fs::write(self.path("config"), through).unwrap();
        proxy
    }

    fn command(&self, project: &Project, words: &[&str]) -> Command {
        let mut command = project.command(words);
        let path = env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, project: &Project, words: &[&str]) -> Finished {
        let output = block_in_place(|| self.command(project, words).output().unwrap());
        Finished::of(output, &project.path(""))
    }

    /// Returns the processes on the hosts.
    fn there(&self) -> HashSet<u32> {
        let mark = format!("LOADGEN_TEST={}", self.folder.path().display());
        let has_mark = |pid: &u32| {
            let of = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&of).split('\0').any(|variable| variable == mark)
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|of| of.file_name().to_str()?.parse().ok()).filter(has_mark).collect()
    }

    /// Waits until workers run on the hosts, as the hosts' user, and returns all processes there.
    fn until_loaded(&self, server: &Counting, workers: usize) -> HashSet<u32> {
        let begun = Instant::now();
        while server.requests() < 100 {
            assert!(begun.elapsed() < WITHIN, "no load");
            std::thread::sleep(Duration::from_millis(20));
        }
        let there = self.there();
        assert!(named(&there, "worker --join -").len() >= workers, "{there:?}");
        if geteuid().is_root() {
            for pid in &there {
                use std::os::unix::fs::MetadataExt as _;
                assert_eq!(fs::metadata(format!("/proc/{pid}")).unwrap().uid(), USER);
            }
        }
        there
    }
}

/// Returns the name of the user of the test.
fn own_name() -> String {
    let said = Command::new("id").arg("-un").output().unwrap().stdout;
    String::from_utf8(said).unwrap().trim().to_owned()
}

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
    let there = block_in_place(|| hosts.until_loaded(&server, 3));
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
async fn a_worker_that_is_paused_stays_nowhere() {
    let Some(hosts) = Hosts::start("", "") else { return };
    let (server, project) = (Counting::start().await, Project::bare());
    let words = [&[server.url.as_str(), "--duration=60s", "--out=run"], &FIXED[..]].concat();
    let started = Started::of(&mut hosts.command(&project, &words));
    let there = block_in_place(|| hosts.until_loaded(&server, 3));
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
        let there = block_in_place(|| hosts.until_loaded(&server, 3));
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
    block_in_place(|| hosts.until_loaded(&server, 3));
    let to_two = named(&tree(manager_in(&project)), "-- two exec sh");
    assert_eq!(to_two.len(), 1, "{to_two:?}");
    signal(to_two[0], Signal::KILL);
    let finished = Finished::of(block_in_place(|| started.output()), &project.path(""));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    let said = "the connection to two has ended: ssh ended";
    assert!(finished.stderr.contains(said), "{}", finished.said());
    assert_gone(&hosts.there(), WITHIN);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_host_that_cannot_be_used_has_its_reason() {
    let server = Counting::start().await;
    let unknown = "Host unknown\n HostName loadgen.invalid\n";
    let closed = "Host closed\n HostName 127.0.0.1\n Port 1\n";
    for (of_sshd, of_ssh, words, said) in [
        ("", unknown, "one,unknown", "unknown: ssh: Could not resolve hostname loadgen.invalid"),
        (
            "",
            closed,
            "closed,one",
            "closed: ssh: connect to host 127.0.0.1 port 1: Connection refused",
        ),
        ("", "Host one\n StrictHostKeyChecking yes\n", "one", "one: No ED25519 host key is known"),
        (
            "",
            "Host one\n IdentityFile none\n PubkeyAuthentication no\n",
            "one",
            "Permission denied",
        ),
        ("AllowTcpForwarding no\n", "", "one", "its sshd must allow it: AllowTcpForwarding remote"),
        ("ForceCommand echo hello\n", "", "one", "its shell printed something else"),
        // As on a full disk.
        (
            "ForceCommand ulimit -f 0; eval \"$SSH_ORIGINAL_COMMAND\"\n",
            "",
            "one",
            "cannot save the whole program",
        ),
    ] {
        let Some(hosts) = Hosts::start(of_sshd, of_ssh) else { return };
        let project = Project::bare();
        let words = [server.url.as_str(), "--duration=1s", &format!("--hosts={words}")];
        let finished = hosts.run(&project, &words);
        assert_eq!(finished.code, Some(1), "{}", finished.said());
        assert!(finished.stderr.contains("connecting to"), "{}", finished.said());
        let told = finished.stderr.replace("\n  │ ", " ");
        assert!(told.contains("host_failed") && told.contains(said), "{said}: {told}");
        assert!(told.contains("must work without a question"), "{told}");
        assert_gone(&hosts.there(), WITHIN);
        assert_eq!(server.requests(), 0);
    }
}

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

#[test]
fn what_names_no_hosts_is_refused() {
    let step = "[[step]]\nget = \"/\"\n";
    let project = Project::bare().file("none", "# nobody\n").file("one.toml", step);
    let url = "http://127.0.0.1:1/";
    for (words, code, said) in [
        (&[url, "--hosts=one,one:2"][..], "bad_hosts", "one is given twice"),
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
