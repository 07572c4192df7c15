//! Repositories of other shapes: shallow, with several projects, with filters, with submodules, and with
//! working trees of the user's own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::support::{Repository, SERVER, TARGET, git, measured, plain, short};
use crate::common::program::{Finished, Project};

/// Runs loadgen in a folder that is not the repository's own.
fn run_in(repository: &Repository, folder: &Path, arguments: &[&str]) -> Finished {
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
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
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

/// Writes a script that writes its environment and its arguments to a file, and then does `more`.
fn script(path: &Path, log: &Path, more: &str) {
    let text = format!("#!/bin/sh\n(env; echo \"$*\") >>'{}'\n{more}\n", log.display());
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a clone that has the files of the last commit only. It gets others by SSH, which fails. Returns the
/// folder of the clone, and the file to which SSH writes its environment.
fn partial_clone(repository: &Repository) -> (PathBuf, PathBuf) {
    let [clone, ssh, log] = ["clone", "ssh", "log"].map(|name| repository.path("cache").join(name));
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repository.path("").display());
    repository.git(&["clone", "--quiet", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    script(&ssh, &log, "exit 255");
    git(&clone, &["config", "remote.origin.url", "ssh://git@localhost/gone"]);
    git(&clone, &["config", "core.sshCommand", ssh.to_str().unwrap()]);
    (clone, log)
}

#[test]
fn a_file_that_a_partial_clone_cannot_get_is_an_error() {
    let repository = Repository::new();
    repository.write("loadgen.toml", &format!("# new\n{TARGET}"));
    repository.commit();
    repository.server("second", "0.0");
    repository.commit();
    let (clone, log) = partial_clone(&repository);
    let asked_nobody = || {
        let said = fs::read_to_string(&log).unwrap();
        for variable in ["SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force", "GIT_TERMINAL_PROMPT=0"]
        {
            assert!(said.lines().any(|line| line == variable), "{variable}: {said}");
        }
        fs::remove_file(&log).unwrap();
    };
    // The manifest of the first commit is missing.
    let finished = run_in(&repository, &clone, &["-t=shop@HEAD~2", "-R1"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    let said = plain(&finished.stderr);
    assert!(said.contains("bad_ref") && said.contains("cannot read loadgen.toml of"), "{said}");
    assert!(said.contains("could not fetch"), "{said}");
    asked_nobody();

    // Only the server of the second commit is missing.
    let finished = run_in(&repository, &clone, &["-t=shop@HEAD~1", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("cannot check out shop@HEAD~1"), "{}", finished.stderr);
    asked_nobody();
    repository.assert_nothing_left();
}

#[test]
fn a_manifest_that_is_a_link_is_followed_in_the_commit() {
    let repository = Repository::new();
    fs::create_dir(repository.path("conf")).unwrap();
    let link_to = |place: &Path| {
        fs::remove_file(repository.path("loadgen.toml")).unwrap();
        symlink(place, repository.path("loadgen.toml")).unwrap();
        repository.commit();
    };
    repository.write("conf/shop.toml", &TARGET.replace("shop", "old"));
    link_to("conf/shop.toml".as_ref());
    repository.write("conf/shop.toml", TARGET);
    repository.commit();
    let finished = repository.run(&["--target=old@HEAD~1,shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());

    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(elsewhere.path().join("shop.toml"), TARGET).unwrap();
    link_to(&elsewhere.path().join("shop.toml"));
    fs::remove_dir_all(repository.path("result")).unwrap();
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    let said = plain(&finished.stderr);
    assert!(
        said.contains("is a link to /") && said.contains("outside of the repository"),
        "{said}"
    );
    repository.assert_nothing_left();
}

#[test]
fn the_repository_of_a_ref_sees_no_changes_and_no_password() {
    let build = "build = [\"sh\", \"-c\", \"touch server.py; git describe --always --dirty; git status --short; \
                 git config remote.origin.url; cat .git/config\"]\n";
    let repository = Repository::with(&format!("{TARGET}{build}"));
    // The settings of this repository decide how files look in the working tree.
    for (name, value) in [
        ("core.autocrlf", "true"),
        ("filter.word.clean", "sed s/large/first/"),
        ("filter.word.smudge", "sed s/first/large/"),
        ("remote.origin.url", "https://me:token@localhost/shop.git"),
    ] {
        repository.git(&["config", name, value]);
    }
    fs::create_dir_all(repository.path(".git/info")).unwrap();
    repository.write(".git/info/attributes", "server.py filter=word\n");
    // All users of a machine see the arguments of programs.
    let (folder, log) = (repository.path("cache"), repository.path("cache/log"));
    fs::create_dir(&folder).unwrap();
    script(&folder.join("git"), &log, "PATH=${PATH#*:} exec git \"$@\"");
    let mut command = repository.command(&short(&["--target=shop@HEAD", "-R1"]));
    let path = std::env::var("PATH").unwrap();
    let finished = repository.finish({
        command.env("PATH", format!("{}:{path}", folder.display()));
        command
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(measured(&finished.json())[0].1, "large");
    let built = fs::read_to_string(repository.path("result/shop@HEAD-build.log")).unwrap();
    let lines: Vec<&str> = built.lines().collect();
    let commit = repository.git(&["rev-parse", "--short", "HEAD"]);
    assert_eq!(lines[..2], [&*commit, "https://localhost/shop.git"], "{built}");
    let ran = fs::read_to_string(&log).unwrap();
    assert!(ran.contains("read-tree") && !ran.contains("token"), "{ran}");
    assert!(!built.contains("token"), "{built}");
    repository.assert_nothing_left();
}
