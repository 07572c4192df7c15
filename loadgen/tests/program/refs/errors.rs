//! Refs that cannot be measured.

use std::fs;

use super::support::{Repository, TARGET, git};
use crate::common::program::Project;

#[test]
fn refs_that_cannot_be_measured_are_refused_before_anything_starts() {
    let repository = Repository::new();
    repository.write("loadgen.toml", &TARGET.replace("shop", "other"));
    repository.commit();
    let said = |arguments: &[&str]| {
        let finished = repository.run(arguments);
        assert!(!repository.path("result/run.json").exists());
        // Hashes differ from run to run.
        let commit = &repository.git(&["rev-parse", "HEAD"])[..10];
        finished.said().replace(commit, "[commit]")
    };
    insta::assert_snapshot!("an_unknown_ref", said(&["-t=shop@mian"]));
    insta::assert_snapshot!("a_ref_like_no_other", said(&["-t=shop@release-2"]));
    insta::assert_snapshot!("a_missing_ref", said(&["-t=shop@"]));
    insta::assert_snapshot!("a_target_that_the_commit_lacks", said(&["-t=shop@HEAD"]));
    insta::assert_snapshot!("a_ref_given_twice", said(&["-t=other@HEAD,other@HEAD"]));
    for names in ["^main", "main..HEAD", "HEAD:server.py"] {
        let said = said(&[&format!("-t=shop@{names}")]);
        assert!(said.starts_with("exit code 2\nbad_ref"), "{said}");
        assert!(said.contains(&format!("unknown ref \"{names}\"")), "{said}");
    }
    insta::assert_snapshot!("a_ref_in_containers", said(&["-t=other@HEAD", "--runtime=podman"]));
    repository.assert_nothing_left();
}

#[test]
fn refs_need_a_repository_and_git() {
    let project = Project::bare().file("loadgen.toml", TARGET);
    let finished = project.run(&["/", "-t=shop@main", "--out=result"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(
        finished.stderr.contains("Git finds no repository that it may use in"),
        "{}",
        finished.stderr
    );
    assert!(finished.stderr.contains("| fatal: not a git repository"), "{}", finished.stderr);
    let mut command = project.command(&["/", "-t=shop@main", "--out=result"]);
    let output = command.env("PATH", project.path("")).output().unwrap();
    let finished = crate::common::program::Finished::of(output, &project.path(""));
    insta::assert_snapshot!("a_machine_without_git", finished.said());
    git(&project.path(""), &["init", "--quiet"]);
    let finished = project.run(&["/", "-t=shop@.", "--out=result"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("the repository has no commit yet"), "{}", finished.stderr);
}

#[test]
fn only_runs_and_searches_of_own_targets_have_refs() {
    let lab = Project::real();
    let finished = lab.run(&["-s=direct", "-t=sanic@main"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("refs are for targets of your own"), "{}", finished.stderr);

    let repository = Repository::new();
    let scenario = "targets = [\"shop@main\"]\n[[step]]\nget = \"/\"\n";
    repository.write("mine.toml", scenario);
    for words in [
        &["lab", "up", "-t=shop@main"][..],
        &["lab", "build", "-t=shop@main"],
        &["-s=mine.toml", "--out=result"],
    ] {
        let finished = repository.finish(repository.command(words));
        assert_eq!(finished.code, Some(2), "{words:?}: {}", finished.said());
        assert!(finished.stderr.contains("may name a ref"), "{}", finished.stderr);
    }
}

#[test]
fn a_build_that_fails_at_one_ref_is_found_before_others_are_measured() {
    let repository = Repository::new();
    let build = "build = [\"sh\", \"-c\", \"echo no compiler; exit 3\"]\n";
    repository.write("loadgen.toml", &format!("{TARGET}{build}"));
    repository.commit();
    let finished = repository.run(&["-t=shop@HEAD~1,shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let after = finished.stderr.split("building shop@HEAD\n").last().unwrap();
    insta::assert_snapshot!("a_build_that_fails", after.split("build_failed").last().unwrap());
    assert!(!repository.path("result/run.json").exists());
    repository.assert_nothing_left();
}

#[test]
fn temporary_files_in_the_repository_are_refused() {
    let repository = Repository::new();
    fs::create_dir(repository.path("cache")).unwrap();
    let mut command = repository.command(&["/", "-t=shop@main", "--out=result"]);
    command.env("TMPDIR", repository.path("cache"));
    let finished = repository.finish(command);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("set TMPDIR to a folder outside"), "{}", finished.stderr);
    assert_eq!(
        fs::read_dir(repository.path("cache"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("refs"))
            .count(),
        0
    );
}

#[test]
fn another_data_of_a_backend_is_noted() {
    let backend = "[backend.redis]\ninit = \"keys\"\n";
    let repository = Repository::with(&format!("{TARGET}{backend}"));
    repository.write("keys", "SET a 1\n");
    repository.commit();
    repository.write("keys", "SET a 2\n");
    let finished = repository.run(&["--target=shop@HEAD,shop@.", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let said = "shop@HEAD: the commit fills redis in another way";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}

#[test]
fn data_that_only_looks_different_is_not_noted() {
    let backend =
        "[backend.redis]\ninit = \"keys\"\nfill = [\"sh\", \"-c\", \"./seed.sh <rows\"]\n";
    let repository = Repository::with(&format!("{TARGET}{backend}"));
    // As Git LFS and line endings do: the repository has another content than the working tree.
    repository.git(&["config", "filter.word.clean", "sed s/large/pointer/"]);
    repository.git(&["config", "filter.word.smudge", "sed s/pointer/large/"]);
    repository.write(".gitattributes", "keys filter=word\n");
    repository.write("keys", "SET a large\n");
    repository.write("seed.sh", "#!/bin/sh\n");
    repository.write("rows", "1\n");
    repository.commit();
    let run = || {
        let _ = fs::remove_dir_all(repository.path("result"));
        let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        finished.stderr
    };
    // Only the date differs.
    fs::File::options()
        .append(true)
        .open(repository.path("keys"))
        .unwrap()
        .set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60))
        .unwrap();
    let before = fs::read(repository.path(".git/index")).unwrap();
    let said = run();
    assert!(!said.contains("in another way"), "{said}");
    assert_eq!(fs::read(repository.path(".git/index")).unwrap(), before);

    repository.write("rows", "2\n");
    let said = run();
    assert!(said.contains("the commit fills redis in another way (rows differs)"), "{said}");
    repository.write("rows", "1\n");
    repository.write("seed.sh", "#!/bin/sh\ntrue\n");
    let said = run();
    assert!(said.contains("in another way (./seed.sh differs)"), "{said}");
}
