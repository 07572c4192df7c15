//! Finds a server in Go.

use super::folder::Folder;
use super::found::{Found, words};

/// Returns the server of the module in `go.mod`: its package `main`, in the folder or in `cmd/`.
pub(super) fn find(folder: &Folder) -> Option<Found> {
    if !folder.has("go.mod") {
        return None;
    }
    let packages = [".", "./cmd/server", "./cmd/api", "./cmd/app", "./cmd/web"];
    let package = packages.into_iter().find(|package| folder.has(format!("{package}/main.go")));
    let mut found = Found {
        name: "go".to_owned(),
        title: "Go".to_owned(),
        place: "go.mod".to_owned(),
        command: words(&["bin/server"]),
        build: Some(words(&["go", "build", "-o", "bin/server", package.unwrap_or(".")])),
        ..Found::default()
    };
    found.listens_on_port_variable();
    Some(found)
}
