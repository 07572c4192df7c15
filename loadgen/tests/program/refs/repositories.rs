//! Repositories of other shapes: shallow, with several projects, with filters, with submodules, and with
//! working trees of the user's own.

use std::fs;

use super::support::{Repository, SERVER, TARGET, git, measured, short};
use crate::common::program::{Finished, Project};

/// Runs loadgen in a folder that is not the repository's own.
fn run_in(repository: &Repository, folder: &std::path::Path, arguments: &[&str]) -> Finished {
    let mut command = repository.command(&short(arguments));
    command.current_dir(folder);
    repository.finish(command)
}

#[test]
fn a_project_in_a_folder_of_the_repository_has_the_other_folders() {
    let repository = Repository::new();
    fs::create_dir_all(repository.path("services/shop")).unwrap();
    let server = SERVER.replace("KEY = \"first\"", "KEY = open('../../shared').read()");
    repository.write("services/shop/server.py", &server);
    repository.write("services/shop/loadgen.toml", TARGET);
    repository.write("shared", "old");
    repository.commit();
    repository.write("shared", "new");
    repository.commit();
    let folder = repository.path("services/shop");
    let finished = run_in(&repository, &folder, &["-t=shop@HEAD~1,shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let keys: Vec<String> = measured(&finished.json()).into_iter().map(|it| it.1).collect();
    assert_eq!(keys, ["old", "new"]);

    let finished = run_in(&repository, &folder, &["-t=shop@HEAD~2", "-R1"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("has no folder services/shop"), "{}", finished.stderr);
    repository.assert_nothing_left();
}

#[test]
fn a_working_tree_of_the_users_own_is_a_repository_too() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "--quiet", "cache/tree", "-b", "side"]);
    let before = repository.files();
    let folder = repository.path("cache/tree");
    fs::write(folder.join("server.py"), SERVER.replace("first", "second")).unwrap();
    let finished = run_in(&repository, &folder, &["-t=shop@side,shop@.", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let keys: Vec<String> = measured(&finished.json()).into_iter().map(|it| it.1).collect();
    assert_eq!(keys, ["first", "second"]);
    assert_eq!(repository.files(), before);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 2);
    repository.assert_nothing_left();
}

#[test]
fn a_shallow_clone_has_its_own_commit() {
    let repository = Repository::new();
    repository.server("second", "0.0");
    repository.commit();
    let clone = repository.path("cache/clone");
    let url = format!("file://{}", repository.path("").display());
    repository.git(&["clone", "--quiet", "--depth=1", &url, clone.to_str().unwrap()]);
    let finished = run_in(&repository, &clone, &["-t=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(measured(&finished.json())[0].1, "second");
    let finished = run_in(&repository, &clone, &["-t=shop@HEAD~1", "-R1"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("git fetch --unshallow"), "{}", finished.stderr);
}

#[test]
fn filters_of_the_users_repository_write_the_files() {
    let repository = Repository::new();
    // As Git LFS does: the repository has another content than the working tree.
    repository.git(&["config", "filter.word.clean", "sed s/large/pointer/"]);
    repository.git(&["config", "filter.word.smudge", "sed s/pointer/large/"]);
    repository.git(&["config", "filter.word.required", "true"]);
    repository.write(".gitattributes", "server.py filter=word\nsecret export-ignore\n");
    repository.write("server.py", &SERVER.replace("first", "large"));
    repository.write("secret", "in no archive");
    // A hook that would show that the user's hooks run.
    repository.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$GIT_DIR/hooked\"\n");
    let hook = repository.path(".git/hooks/post-checkout");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::copy(&hook, repository.path(".git/hooks/post-index-change")).unwrap();
    repository.write("loadgen.toml", &format!("{TARGET}build = [\"test\", \"-f\", \"secret\"]\n"));
    repository.commit();
    let _ = fs::remove_file(repository.path(".git/hooked"));
    assert!(repository.git(&["show", "HEAD:server.py"]).contains("pointer"));
    repository.git(&["config", "core.splitIndex", "true"]);
    let before = repository.files();
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(measured(&finished.json())[0].1, "large");
    assert_eq!(repository.files(), before);

    // A filter that fails, as Git LFS does without a network.
    repository.git(&["config", "filter.word.smudge", "echo no network >&2; false"]);
    fs::remove_dir_all(repository.path("result")).unwrap();
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("cannot check out shop@HEAD"), "{}", finished.stderr);
    assert!(finished.stderr.contains("| no network"), "{}", finished.stderr);
    assert!(repository.path("result/shop@HEAD-checkout.log").is_file());
    repository.assert_nothing_left();
}

#[test]
fn submodules_are_left_to_the_build() {
    let repository = Repository::new();
    let library = Project::bare().file("word", "second");
    git(&library.path(""), &["init", "--quiet", "--initial-branch=main"]);
    git(&library.path(""), &["add", "."]);
    git(&library.path(""), &["commit", "--quiet", "--message=library"]);
    // The URL is relative to that of the repository.
    let folder = library.path("");
    let origin = folder.parent().unwrap().join("origin");
    repository.git(&["config", "remote.origin.url", &format!("file://{}", origin.display())]);
    let name = folder.canonicalize().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    repository.git(&["submodule", "--quiet", "add", &format!("../{name}"), "library"]);
    repository.write("server.py", &SERVER.replace("\"first\"", "open('library/word').read()"));
    repository.commit();
    let before = repository.files();
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = "submodules are not checked out: library; `build` can: git submodule update --init";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    assert_eq!(repository.files(), before);

    let build = "build = [\"git\", \"-c\", \"protocol.file.allow=always\", \"submodule\", \"update\", \"--init\"]\n";
    repository.write("loadgen.toml", &format!("{TARGET}{build}"));
    repository.commit();
    let before = repository.files();
    fs::remove_dir_all(repository.path("result")).unwrap();
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(measured(&finished.json())[0].1, "second");
    assert_eq!(repository.files(), before);
    repository.assert_nothing_left();
}
