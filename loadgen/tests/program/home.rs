//! Selection of the project: the one that the environment names, or one found above.

use std::fs;

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
