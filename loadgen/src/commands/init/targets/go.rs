//! Finds servers in Go.

use super::folder::Folder;
use super::found::{Found, words};

/// Largest number of packages in `cmd/` that become targets.
const MOST: usize = 12;

/// Returns the servers of the module in `go.mod`: its packages `main`, in the folder or in folders of `cmd/`.
pub(super) fn find(folder: &Folder) -> Vec<Found> {
    if !folder.has("go.mod") {
        return Vec::new();
    }
    let root = is_main(folder, "").then(|| server("go", "."));
    let inner =
        folder.folders("cmd").into_iter().filter(|name| is_main(folder, &format!("cmd/{name}")));
    let inner = inner.map(|name| server(&name, &format!("./cmd/{name}")));
    root.into_iter().chain(inner).take(MOST).collect()
}

/// Returns whether a folder has a file of the package `main`.
fn is_main(folder: &Folder, inside: &str) -> bool {
    folder.files(inside, "go").iter().any(|path| {
        let is_test = path.to_string_lossy().ends_with("_test.go");
        let text = if is_test { None } else { folder.text(path) };
        // A file that only `go run` takes is no part of the package.
        text.is_some_and(|text| {
            let mut lines = text.lines().map(str::trim_end);
            !text.contains("//go:build ignore") && lines.any(is_clause)
        })
    })
}

fn is_clause(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("package")
        && words.next().is_some_and(|name| name.trim_end_matches(';') == "main")
        && words.next().is_none_or(|comment| comment.starts_with('/'))
}

/// Returns the server of a package. `go build` creates the folder of the program.
fn server(name: &str, package: &str) -> Found {
    let program = format!(".loadgen/bin/{name}");
    let mut found = Found {
        name: name.to_owned(),
        title: "Go".to_owned(),
        place: match package {
            "." => "go.mod".to_owned(),
            package => package.trim_start_matches("./").to_owned(),
        },
        build: Some(words(&["go", "build", "-o", &program, package])),
        command: vec![program],
        ..Found::default()
    };
    found.listens_on_port_variable();
    found
}
