//! The files of refs are removed however loadgen ends.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::support::{Repository, TARGET, short};
use crate::common::processes::{Started, assert_gone, named, signal, tree};

/// Time within which everything is gone: more than servers and their guards take.
const LIMIT: Duration = Duration::from_secs(20);

/// Starts a run over the first commit and the last, and returns it once `is_reached`.
fn started(repository: &Repository, is_reached: impl Fn(&Repository) -> bool) -> Started {
    let words = ["/", "-t=shop@main,shop@HEAD", "-u2", "-d60s", "--no-calibrate", "--out=result"];
    let mut command = repository.command(&words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = Started::of(&mut command);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_reached(repository) {
        assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    run
}

fn wait_until_nothing_is_left(repository: &Repository) {
    let deadline = Instant::now() + LIMIT;
    while !repository.left().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", repository.left());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_is_left_after_kill_9_during_a_round() {
    let repository = Repository::new();
    repository.git(&["switch", "--quiet", "--create", "side"]);
    repository.server("second", "0.0");
    repository.commit();
    let before = repository.files();
    let is_measuring = |repository: &Repository| {
        ["main", "HEAD"]
            .iter()
            .any(|name| repository.path(&format!("result/shop@{name}-1.log")).exists())
    };
    let run = started(&repository, is_measuring);
    let pids = tree(run.id());
    assert!(!named(&pids, "server.py").is_empty());
    assert!(!repository.left().is_empty());
    signal(run.id(), Signal::KILL);
    assert_eq!(run.output().status.code(), None);
    assert_gone(&pids, LIMIT);
    wait_until_nothing_is_left(&repository);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.files(), before);
}

#[test]
fn nothing_is_left_after_an_end_during_a_build() {
    let build =
        "build = [\"sh\", \"-c\", \"touch begun; while :; do date >file$((n += 1)); done\"]\n";
    let repository = Repository::with(&format!("{TARGET}{build}"));
    let is_building = |repository: &Repository| {
        // The folder of the run, the numbers of the refs, and a folder for each.
        let inside = |folder: PathBuf| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let mut tops = repository.left().into_iter().flat_map(inside).flat_map(inside);
        tops.any(|top| top.join("begun").exists())
    };
    for (how, code) in [(Signal::KILL, None), (Signal::TERM, Some(130))] {
        let run = started(&repository, is_building);
        let pids = tree(run.id());
        signal(run.id(), how);
        assert_eq!(run.output().status.code(), code);
        if code.is_some() {
            // A run that ends in order ends last.
            repository.assert_nothing_left();
        }
        assert_gone(&pids, LIMIT);
        wait_until_nothing_is_left(&repository);
        let _ = fs::remove_dir_all(repository.path("result"));
    }
}

#[test]
fn what_a_killed_guard_leaves_is_removed_at_the_next_start() {
    for is_in_cache in [false, true] {
        let repository = Repository { is_in_cache, ..Repository::new() };
        let has_files =
            |repository: &Repository| repository.left().iter().any(|it| it.join("1").exists());
        let run = started(&repository, has_files);
        let guards = || named(&tree(run.id()), "guard --remove");
        assert_eq!(guards().len(), 1);
        let pids = tree(run.id());
        guards().iter().for_each(|guard| signal(*guard, Signal::KILL));
        signal(run.id(), Signal::KILL);
        run.output();
        assert_gone(&pids, LIMIT);
        let left_over = repository.left();
        assert!(!left_over.is_empty(), "the test killed no guard in time");
        for folder in left_over {
            let mode = folder.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "sources may be secret");
        }
        // A run without a ref removes it, too.
        let _ = fs::remove_dir_all(repository.path("result"));
        let finished = repository.finish(repository.command(&short(&["--target=shop", "-R1"])));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        repository.assert_nothing_left();
    }
}

#[test]
fn a_checkout_that_waits_says_so_and_ends_by_ctrl_c() {
    let repository = Repository::new();
    repository.write(".gitattributes", "server.py filter=slow\n");
    repository.commit();
    repository.git(&["config", "filter.slow.smudge", "sleep 300; cat"]);
    let said = repository.temporary.path().with_extension("said");
    let mut command = repository.command(&["/", "-t=shop@HEAD", "--no-calibrate", "--out=result"]);
    command.stdout(Stdio::null()).stderr(File::create(&said).unwrap());
    let mut run = Started::of(&mut command);
    let read = || fs::read_to_string(&said).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !read().contains("still checking out shop@HEAD: Git may wait for a filter") {
        assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none(), "{}", read());
        std::thread::sleep(Duration::from_millis(20));
    }
    let pids = tree(run.id());
    assert!(!named(&pids, "sleep 300").is_empty());
    signal(run.id(), Signal::INT);
    assert_eq!(run.output().status.code(), Some(130), "{}", read());
    fs::remove_file(&said).unwrap();
    assert_gone(&pids, LIMIT);
    repository.assert_nothing_left();
}
