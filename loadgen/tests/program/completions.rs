//! `loadgen completions`: the words that shells offer.

use std::process::{Command, Output, Stdio};

use crate::common::program::Project;

/// Returns the words that Bash offers after `words`, the last of which is incomplete.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    const ASK: &str = r#"
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
complete -p loadgen >/dev/null || exit 1
_loadgen loadgen "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    let output = bash.args(["--norc", "-c", ASK, "bash", script]).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = Project::real().run(&["completions", "bash"]).stdout;
    let all = offered(&script, &["loadgen", ""]);
    for word in ["run", "check", "init", "schema", "completions", "lab", "--scenario", "--users"] {
        assert!(all.iter().any(|offer| offer == word), "{word}: {all:?}");
    }
    assert!(!all.iter().any(|offer| offer == "guard"), "it is hidden: {all:?}");
    assert_eq!(offered(&script, &["loadgen", "sche"]), ["schema"]);
    assert_eq!(offered(&script, &["loadgen", "lab", "up", "--ta"]), ["--target"]);
    let formats = ["table", "json", "csv", "markdown", "svg"];
    assert_eq!(offered(&script, &["loadgen", "run", "--format", ""]), formats);
}

#[test]
fn zsh_and_fish_can_read_their_completions() {
    for (shell, look) in [("zsh", "-n"), ("fish", "--no-execute")] {
        let project = Project::real();
        let script = project.run(&["completions", shell]).stdout;
        assert!(script.contains("loadgen") && !script.contains("guard"), "{script}");
        let project = project.file("script", &script);
        match run(Command::new(shell).arg(look).arg(project.path("script"))) {
            Some(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            None => println!("skipped: there is no {shell} here to read its completions"),
        }
    }
}

/// Runs a command. Returns `None` if the program does not exist.
fn run(command: &mut Command) -> Option<Output> {
    command.stdin(Stdio::null()).output().ok()
}
