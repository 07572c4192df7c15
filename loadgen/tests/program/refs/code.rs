//! The Python environment of a ref: its own, or the user's if it has none of the user's code.

use std::fs;
use std::process::Command;

use super::support::{Repository, TARGET, measured, short};

/// Makes a Python environment. Without pip, that needs no network and little time.
const VENV: [&str; 4] = ["-m", "venv", "--without-pip", ".venv"];

#[test]
fn a_build_makes_the_environment_of_its_ref() {
    // A package that only this environment has.
    let build = r#"
packages = ["thing"]
build = ["sh", "-c", """
python3 -m venv --without-pip .venv
folder=$(echo .venv/lib/python*/site-packages)/thing-9.9.dist-info
mkdir $folder
printf 'Name: thing\nVersion: 9.9\n' >$folder/METADATA
env
"""]
"#;
    let repository = Repository::with(&format!("{TARGET}{build}"));
    let text = fs::read_to_string(repository.path("server.py")).unwrap();
    repository
        .write("server.py", &text.replace("KEY = \"first\"", "KEY = os.path.basename(sys.prefix)"));
    repository.commit();
    let environment = repository.path("mine");
    let made = Command::new("python3").args(&VENV[..3]).arg(&environment).status().unwrap();
    assert!(made.success());
    let mut command = repository.command(&short(&["--target=shop@HEAD", "-R1"]));
    command.env("VIRTUAL_ENV", &environment);
    let finished = repository.finish(command);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(measured(&document)[0].1, ".venv");
    let packages = &document["targets"][0]["server"]["packages"];
    assert_eq!(packages["thing"], "9.9");
    assert!(packages["python"].as_str().unwrap().starts_with('3'), "{packages}");
    let log = fs::read_to_string(repository.path("result/shop@HEAD-build.log")).unwrap();
    assert!(log.contains("PIP_REQUIRE_VIRTUALENV=true"), "{log}");
    assert!(!log.contains("VIRTUAL_ENV=/"), "{log}");
    repository.assert_nothing_left();
}

#[test]
fn an_environment_with_the_working_trees_code_is_refused() {
    let repository = Repository::new();
    let made =
        Command::new("python3").args(VENV).current_dir(repository.path("")).status().unwrap();
    assert!(made.success());
    // Without a build, the ref runs in the user's environment.
    let run = || {
        let _ = fs::remove_dir_all(repository.path("result"));
        repository.run(&["--target=shop@main", "-R1"])
    };
    let finished = run();
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    // As `pip install -e .` does.
    let library = fs::read_dir(repository.path(".venv/lib")).unwrap().next().unwrap().unwrap();
    let path = library.path().join("site-packages/__editable__.shop.pth");
    fs::write(path, format!("{}\n", repository.path("").display())).unwrap();
    let finished = run();
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(
        finished.stderr.starts_with("shared_code") || finished.stderr.contains("\nshared_code")
    );
    assert!(finished.stderr.contains("may run code of the working tree"), "{}", finished.stderr);
    assert!(!repository.path("result/run.json").exists());
    repository.assert_nothing_left();
}

#[test]
fn variables_of_a_hook_of_git_lead_nowhere() {
    let build = "build = [\"sh\", \"-c\", \"date >built && git add --all && git commit -qm built && git tag built\"]\n";
    let repository = Repository::with(&format!("{TARGET}{build}"));
    let before = repository.files();
    let mut command = repository.command(&short(&["--target=shop@main", "-R1"]));
    // As Git sets them for a hook of this repository.
    command
        .env("GIT_DIR", repository.path(".git"))
        .env("GIT_INDEX_FILE", repository.path(".git/index"));
    command.env("GIT_WORK_TREE", repository.path(""));
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "test");
        command.env(format!("GIT_{name}_EMAIL"), "test@localhost");
    }
    let finished = repository.finish(command);
    // The build has committed to the repository of its own folder.
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(repository.files(), before);
    repository.assert_nothing_left();
}
