//! The Python environment of a ref: its own, or the user's if it has none of the user's code.

use std::fs;
use std::process::Command;

use super::support::{Repository, SERVER, TARGET, measured, plain, short};

/// Makes a Python environment. Without pip, that needs no network and little time.
const VENV: [&str; 4] = ["-m", "venv", "--without-pip", ".venv"];

/// Variables with which all refs would build to one folder.
const ELSEWHERE: [&str; 6] = [
    "GOBIN",
    "CARGO_TARGET_DIR",
    "CARGO_INSTALL_ROOT",
    "npm_config_prefix",
    "UV_PROJECT",
    "UV_WORKING_DIR",
];

/// Key of a server that shows its Python environment, and such a variable.
const KEY: &str = "KEY = os.path.basename(sys.prefix) + os.environ.get(\"GOBIN\", \"\")";

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
    repository.write("server.py", &text.replace("KEY = \"first\"", KEY));
    repository.commit();
    let environment = repository.path("mine");
    let made = Command::new("python3").args(&VENV[..3]).arg(&environment).status().unwrap();
    assert!(made.success());
    let mut command = repository.command(&short(&["--target=shop@HEAD", "-R1"]));
    command.env("VIRTUAL_ENV", &environment);
    for name in ELSEWHERE {
        command.env(name, environment.join(name));
    }
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
    assert!(log.contains("SSH_ASKPASS=false\n"), "{log}");
    assert!(ELSEWHERE.iter().all(|name| !log.contains(&format!("{name}="))), "{log}");
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
    assert!(finished.stderr.contains("may run code that is not its own"), "{}", finished.stderr);
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

/// Checks that the last commit is refused with these words, and that nothing is measured.
#[track_caller]
fn assert_refused(repository: &Repository, said: &str) {
    let _ = fs::remove_dir_all(repository.path("result"));
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let text = plain(&finished.stderr);
    assert!(text.contains("shared_code") && text.contains(said), "{}", finished.stderr);
    assert!(!repository.path("result/run.json").exists());
    repository.assert_nothing_left();
}

#[test]
fn words_and_links_that_lead_to_the_working_tree_are_refused() {
    let repository = Repository::new();
    let top = repository.path("").canonicalize().unwrap();
    let language = "language = \"Go\"\n";
    let path = top.join("server.py");
    let table = TARGET.replace("server.py", path.to_str().unwrap());
    repository.write("loadgen.toml", &format!("{table}{language}"));
    repository.commit();
    assert_refused(&repository, "`command` has the path");

    let env = format!("env = {{ DATA = \"--file={}\" }}\n", top.join("data").display());
    repository.write("loadgen.toml", &format!("{TARGET}{language}{env}"));
    repository.commit();
    assert_refused(&repository, "`DATA` has the path");

    let build = format!("build = [\"sh\", \"-c\", \"make -C {}\"]\n", top.display());
    repository.write("loadgen.toml", &format!("{TARGET}{language}{build}"));
    repository.commit();
    assert_refused(&repository, "`build` has the path");

    repository.write("loadgen.toml", &format!("{TARGET}{language}"));
    std::os::unix::fs::symlink(&path, repository.path("link.py")).unwrap();
    repository.commit();
    assert_refused(&repository, "the link link.py leads to the working tree");

    fs::remove_file(repository.path("link.py")).unwrap();
    std::os::unix::fs::symlink("server.py", repository.path("link.py")).unwrap();
    repository.commit();
    let _ = fs::remove_dir_all(repository.path("result"));
    let finished = repository.run(&["--target=shop@HEAD", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let _ = fs::remove_dir_all(repository.path("result"));
    let mut command = repository.command(&short(&["--target=shop@HEAD", "-R1"]));
    let finished = repository.finish({
        command.env("NODE_PATH", top.join("lib"));
        command
    });
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = plain(&finished.stderr);
    assert!(said.contains("the variable NODE_PATH has the path"), "{said}");
}

#[test]
fn a_program_that_all_builds_write_is_refused() {
    let installed = tempfile::tempdir_in("/tmp").unwrap();
    let table = |program: &str, build: &str| {
        format!(
            "[target.shop]\ncommand = [\"{program}\", \"{{host}}\", \"{{port}}\"]\n\
             build = [\"sh\", \"-c\", \"{build}\"]\n"
        )
    };
    let shared = "cp -p server.py $PLACE/shopd";
    let repository = Repository::with(&table("shopd", shared));
    let executable = |key: &str| {
        let server = SERVER.replace("first", key);
        repository.write("server.py", &format!("#!/usr/bin/env python3\n{server}"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(repository.path("server.py"), mode).unwrap();
        repository.commit();
    };
    executable("one");
    executable("two");
    let run = || {
        let _ = fs::remove_dir_all(repository.path("result"));
        let mut command = repository.command(&short(&["--target=shop@HEAD~1,shop@HEAD", "-R1"]));
        let path = std::env::var("PATH").unwrap();
        command.env("PLACE", installed.path());
        command.env("PATH", format!("{}:{path}", installed.path().display()));
        repository.finish(command)
    };
    let finished = run();
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = plain(&finished.stderr);
    assert!(said.contains("shared_code") && said.contains("since the builds began"), "{said}");
    repository.assert_nothing_left();

    // Each ref has its own program.
    repository.write("loadgen.toml", &table("bin/shopd", "mkdir bin && cp -p server.py bin/shopd"));
    executable("three");
    executable("four");
    let finished = run();
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let keys: Vec<String> = measured(&finished.json()).into_iter().map(|it| it.1).collect();
    assert_eq!(keys, ["three", "four"]);
    repository.assert_nothing_left();
}
