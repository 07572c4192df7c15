//! Selection of the project: the one that the environment names, one found above, or the lab that is
//! embedded in the program.

use std::fs;
use std::path::PathBuf;

use crate::common::program::Project;

#[test]
fn the_project_named_by_the_environment_takes_precedence() {
    let (here, named) = (Project::real(), Project::with_targets(""));
    fs::write(named.path("targets/targets.toml"), "").unwrap();
    let list = |home: &str| {
        let output = here.command(&["list"]).env("LOADGEN_HOME", home).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, text) = list(named.path("").to_str().unwrap());
    assert!(code == Some(0) && !text.contains("sanic"), "{text}");
    let (code, text) = list("");
    assert!(code == Some(0) && text.contains("sanic"), "{text}");
    let (code, text) = list("/nowhere");
    assert!(code == Some(2) && text.contains("LOADGEN_HOME names /nowhere"), "{text}");
}

/// Returns the only folder of an unpacked lab in the cache of a project.
fn unpacked(project: &Project) -> PathBuf {
    let inside = fs::read_dir(project.path("cache/loadgen")).unwrap();
    let folders: Vec<_> = inside.map(|it| it.unwrap().path()).filter(|it| it.is_dir()).collect();
    let [folder] = folders.as_slice() else { panic!("{folders:?}") };
    folder.clone()
}

#[test]
fn the_embedded_lab_is_used_where_there_is_no_project() {
    let empty = Project::bare();
    let listed = empty.run(&["list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    for name in ["redis3", "web-servers", "fastapi-granian"] {
        assert!(listed.stdout.contains(name), "{name}: {}", listed.stdout);
    }
    let checked = empty.run(&["check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(checked.stdout.contains("redis3: ok"), "{}", checked.stdout);
    let names: Vec<_> =
        fs::read_dir(empty.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["cache"], "nothing is written in the current folder");
}

#[test]
fn a_changed_file_of_the_embedded_lab_is_restored() {
    let empty = Project::bare();
    let before = empty.run(&["check", "redis3"]).stdout;
    let scenario = unpacked(&empty).join("scenarios/redis3.toml");
    fs::write(scenario, "[[step]]\nget = \"/other\"\n").unwrap();
    assert_eq!(empty.run(&["check", "redis3"]).stdout, before);
}

#[test]
fn targets_of_the_embedded_lab_must_be_named() {
    let empty = Project::bare().file("mine.toml", "[[step]]\nget = \"/\"\n");
    for arguments in [&["/products"][..], &["--scenario", "mine.toml"]] {
        let finished = empty.run(arguments);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains("no_project"), "{}", finished.stderr);
        assert!(finished.stderr.contains("--target NAME"), "{}", finished.stderr);
    }
    let finished = empty.run(&["/", "--target", "sanik"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("did you mean \"sanic\"?"), "{}", finished.stderr);
}

#[test]
fn a_lab_that_cannot_be_unpacked_is_an_error() {
    let here = Project::bare().file("file", "").file("mine.toml", "[[step]]\nget = \"/\"\n");
    let run = |arguments: &[&str]| {
        let output =
            here.command(arguments).env("XDG_CACHE_HOME", here.path("file")).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, text) = run(&["list"]);
    assert!(code == Some(2) && text.contains("lab_not_unpacked"), "{text}");
    assert!(text.contains("XDG_CACHE_HOME=FOLDER"), "{text}");
    let (code, text) = run(&["check", "mine.toml"]);
    assert!(code == Some(0) && text.contains("mine: ok"), "{text}");
}
