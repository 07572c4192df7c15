//! Another user of a host can do nothing to the managers and workers that run there.
//! These tests need root, to become that other user, and a network namespace, so that
//! the attacker meets only the test's sockets.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use crate::attacker::{Attacker, Seen};
use crate::common::machine;
use crate::host::Host;
use crate::namespaces::Hosts;
use crate::setting::{Running, Setting};

const PORT: u16 = 7447;
/// Number of times that a worker is started while the attacker watches.
const STARTS: usize = 20;
/// Number of runs with local workers that are started while the attacker watches.
const RUNS: usize = 8;
const LIMIT: Duration = Duration::from_secs(10);

/// A host with another user on it, and a folder for temporary files like `/tmp`.
struct Shared {
    setting: Setting,
    host: Host,
    temp: TempDir,
    _made: Hosts,
}

impl Shared {
    fn new() -> Result<Self, String> {
        let (made, [host]) = Hosts::new(["shared"])?;
        let temp = tempfile::tempdir_in("/tmp").map_err(|error| error.to_string())?;
        fs::set_permissions(temp.path(), Permissions::from_mode(0o1777)).unwrap();
        let mut setting = Setting::on(&host, &host, PORT, 2);
        setting.temp = Some(temp.path().to_owned());
        Ok(Self { setting, host, temp, _made: made })
    }

    fn attacker(&self) -> Result<Attacker, String> {
        let server = self.setting.server.url.rsplit(':').next().unwrap().parse().unwrap();
        Attacker::start(&self.host, self.temp.path(), vec![PORT, server])
    }
}

/// Fails if the attacker has won anything, or has seen nothing.
#[track_caller]
fn check(seen: &Seen, starts: usize) {
    let Seen { appeared, won } = seen;
    println!("{} sockets and folders appeared in {starts} starts; won: {won:#?}", appeared.len());
    assert!(!appeared.is_empty(), "the attacker did not look");
    assert!(won.is_empty(), "{} times", won.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_cannot_intercept_worker_and_manager() {
    let _alone = machine::alone().await;
    let shared = or_skip!(Shared::new());
    let attacker = or_skip!(shared.attacker());
    let Shared { setting, host, .. } = &shared;
    let manager = setting.manager(2, &[]);
    let mut joined = 0;
    for _ in 0..STARTS {
        let worker = setting.worker_on(host, 0);
        joined += usize::from(worker.may_say("joined the manager", LIMIT).is_ok());
        worker.leave();
    }
    let workers = [0, 1].map(|number| setting.worker_on(host, number));
    let ended = manager.end();
    let seen = attacker.end();
    check(&seen, STARTS);
    assert_eq!(joined, STARTS, "some were kept from joining");
    ended.assert_whole(&setting.server);
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
    assert_nothing_left(&shared);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_cannot_intercept_a_run_and_its_workers() {
    let _alone = machine::alone().await;
    let shared = or_skip!(Shared::new());
    let attacker = or_skip!(shared.attacker());
    let Shared { setting, host, .. } = &shared;
    let mut codes = Vec::new();
    for run in 0..RUNS {
        let (url, out) = (&setting.server.url, format!("--out=run-{run}"));
        let what = ["--scenario=mine.toml", "--url", url, "--workers=2", "--users=2", &out];
        let how = ["--iterations=4", "--warmup=0s", "--no-calibrate", "--no-progress"];
        let mut command = host.command(setting.command(&[&what[..], &how].concat()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        codes.push(tokio::task::block_in_place(|| command.status().unwrap().code()));
    }
    let seen = attacker.end();
    check(&seen, RUNS);
    assert_eq!(codes, [Some(0); RUNS], "some were disturbed");
    assert_nothing_left(&shared);
}

/// Fails if anything of loadgen's is left in the folder for temporary files. The attacker's entries
/// do not count: they belong to another user.
fn assert_nothing_left(shared: &Shared) {
    let entries = fs::read_dir(shared.temp.path()).unwrap().flatten();
    let of_root = entries.filter(|entry| {
        use std::os::unix::fs::MetadataExt;
        entry.metadata().is_ok_and(|metadata| metadata.uid() == 0)
    });
    let left: Vec<_> = of_root.map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
