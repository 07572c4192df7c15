//! Hosts that cannot be used, each with its reason.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::Counting;
use crate::common::processes::assert_gone;
use crate::common::program::Project;
use crate::common::ssh::{Hosts, Setup, WITHIN};

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
        ("ForceCommand echo hello\n", "", "one", "its shell printed \"hello\" instead"),
        ("ForceCommand echo not available; exit 1\n", "", "one", "one: not available"),
        // As with a quota.
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
        let told = unwrapped(&finished.stderr);
        for said in ["host_failed", said] {
            assert!(told.contains(&unwrapped(said)), "{said}: {}", finished.said());
        }
        let help = unwrapped("must work without a question");
        assert_eq!(told.contains(&help), of_sshd.is_empty(), "of ssh: {}", finished.said());
        assert_gone(&hosts.there(), WITHIN);
        assert_eq!(server.requests(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_forwards_no_port_is_told() {
    let Some(hosts) = Hosts::start("AllowTcpForwarding no\n", "") else { return };
    assert_unusable(&hosts, &["it does not forward ports", "AllowTcpForwarding"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_another_user_may_change_is_told() {
    // The user of the hosts of root is nobody.
    let mounts = "mkdir -p $home/cache/loadgen; chmod 777 $home/cache/loadgen";
    let Some(hosts) = Hosts::of(&Setup { mounts, ..Setup::HERE }) else { return };
    let folder = hosts.path("home/cache/loadgen").display().to_string();
    assert_unusable(&hosts, &[&folder, "another user could replace the program", "XDG_CACHE_HOME"])
        .await;
}

/// Returns the text without what the width of a terminal changes: spaces, ends of lines and the frame of an error.
fn unwrapped(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect()
}

/// Fails unless a check and a run tell this reason why the host `one` cannot be used, and nothing is left there.
async fn assert_unusable(hosts: &Hosts, said: &[&str]) {
    let (server, project) = (Counting::start().await, Project::bare());
    let run = [server.url.as_str(), "--duration=1s", "--hosts=one"];
    for words in [&run[..], &["hosts", "check", "one"]] {
        let finished = hosts.run(&project, words);
        assert_eq!(finished.code, Some(1), "{}", finished.said());
        let all = format!("{}\n{}", finished.stderr, finished.stdout);
        let told = unwrapped(&all);
        for said in said {
            assert!(told.contains(&unwrapped(said)), "{said}: {all}");
        }
        assert_gone(&hosts.there(), WITHIN);
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_another_kind_of_cpu_needs_another_archive() {
    let mut shims = tempfile::Builder::new();
    let shims = shims.permissions(fs::Permissions::from_mode(0o755)).tempdir_in("/tmp").unwrap();
    let uname = shims.path().join("uname");
    fs::write(&uname, "#!/bin/sh\n[ \"$1\" = -m ] && echo aarch64 || echo Linux\n").unwrap();
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
    let of_sshd = format!(
        "ForceCommand PATH={}:$PATH; export PATH; eval \"$SSH_ORIGINAL_COMMAND\"\n",
        shims.path().display()
    );
    let Some(hosts) = Hosts::start(&of_sshd, "") else { return };
    let archive =
        format!("loadgen-{}-aarch64-unknown-linux-musl.tar.gz", env!("CARGO_PKG_VERSION"));
    assert_unusable(&hosts, &["it is Linux aarch64, but this loadgen is for ", &archive]).await;
    assert!(!hosts.path("home/cache").exists(), "nothing was copied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_where_no_program_may_run_is_told() {
    let mounts = "mkdir $home/cache; mount -t tmpfs -o noexec,mode=777 none $home/cache";
    let Some(hosts) = Hosts::of(&Setup { mounts, ..Setup::HERE }) else { return };
    let place = hosts.path("home/cache/loadgen/programs/loadgen-").display().to_string();
    assert_unusable(&hosts, &["mounted with noexec", &place, "Set XDG_CACHE_HOME"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told() {
    let mounts = "mkdir $home/cache; mount -t tmpfs -o size=1m,mode=777 none $home/cache";
    let Some(hosts) = Hosts::of(&Setup { mounts, ..Setup::HERE }) else { return };
    let place = format!("MB in {}", hosts.path("home/cache/loadgen/programs").display());
    let said =
        ["No space left on device", "cannot save the whole program of", &place, "make room there"];
    assert_unusable(&hosts, &said).await;
}
