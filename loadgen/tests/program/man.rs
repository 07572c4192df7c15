//! `loadgen man`: the manual pages.

use std::fs;
use std::process::Command;

use crate::common::program::Project;

/// Returns the page as `man` shows it, or `None` without `man`.
fn shown(path: &std::path::Path) -> Option<String> {
    let mut man = Command::new("man");
    let output = man
        .args(["--warnings", "-l"])
        .arg(path)
        .env("MANWIDTH", "120")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .ok()?;
    assert!(output.status.success() && output.stderr.is_empty(), "{path:?}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn each_command_has_a_page() {
    let project = Project::bare();
    let finished = project.run(&["man", "pages/man1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let names = fs::read_dir(project.path("pages/man1")).unwrap();
    let mut names: Vec<_> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for page in ["loadgen.1", "loadgen-run.1", "loadgen-lab-up.1", "loadgen-ctl-users.1"] {
        assert!(names.iter().any(|name| name == page), "{page}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("guard")), "it is hidden: {names:?}");
    for name in &names {
        let Some(page) = shown(&project.path("pages/man1").join(name)) else {
            return println!("skipped: there is no man here to read the pages");
        };
        assert!(page.contains("NAME") && page.contains("SYNOPSIS"), "{page}");
        assert!(page.contains(concat!("loadgen ", env!("CARGO_PKG_VERSION"))), "{page}");
    }
}

#[test]
fn examples_keep_their_lines() {
    let project = Project::bare();
    project.run(&["man", "pages"]);
    let Some(page) = shown(&project.path("pages/loadgen.1")) else {
        return println!("skipped: there is no man here to read the pages");
    };
    let line = "  loadgen --scenario redis3 --workers 4           four servers over Redis\n";
    assert!(page.contains("EXAMPLES\n") && page.contains(line), "{page}");
    assert!(page.contains("EXIT CODES\n") && page.contains("  130  interrupted\n"), "{page}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let project = Project::bare().file("file", "");
    let finished = project.run(&["man", "file/man1"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("unwritable_file") && finished.stderr.contains("file/man1"));
}
