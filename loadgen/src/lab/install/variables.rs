//! Environment variables of what runs in the folder of a ref.
//!
//! Each ref has the packages that its own build installs in its folder. The build of a ref therefore
//! does not see the user's Python environment, and installers for Python use the folder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::lab::git::{MISLEADING, NO_PROMPTS};
use crate::lab::home::Home;
use crate::lab::service::programs::user_variables;

/// Variables that name the folder of loadgen, or make builds and installers write elsewhere, where the output of
/// one ref would replace that of another.
const ELSEWHERE: [&str; 24] = [
    "PWD",
    "OLDPWD",
    // Python.
    "VIRTUAL_ENV",
    "PIPENV_PIPFILE",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "POETRY_VIRTUALENVS_CREATE",
    "UV_PROJECT",
    "UV_PROJECT_ENVIRONMENT",
    "UV_SYSTEM_PYTHON",
    "UV_WORKING_DIR",
    "UV_WORKING_DIRECTORY",
    // Go.
    "GOBIN",
    // Rust.
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_INSTALL_ROOT",
    "CARGO_TARGET_DIR",
    // Node.
    "NPM_CONFIG_GLOBAL",
    "NPM_CONFIG_PREFIX",
    // Elixir.
    "MIX_BUILD_PATH",
    "MIX_BUILD_ROOT",
];

/// Variables that make installers use an environment in the folder: pip refuses to install outside an
/// environment, and Poetry and Pipenv make `.venv`.
const INSIDE: [(&str, &str); 3] = [
    ("PIP_REQUIRE_VIRTUALENV", "true"),
    ("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
    ("PIPENV_VENV_IN_PROJECT", "1"),
];

/// Returns the variables of the target in the folder `home`: the user's, with the programs of its
/// Python environment first on the `PATH`. That is the environment in the folder, or else the user's.
pub(in crate::lab) fn of_target(home: &Home) -> Vec<(String, String)> {
    let venv = home.venv();
    let path = std::iter::once(venv.join("bin")).chain(others_on_path(home));
    let active = match home.users_venv() {
        Some(users) if *users == venv => env::var("VIRTUAL_ENV").ok(),
        _ => Some(text(venv.into_os_string())),
    };
    let active = active.map(|active| ("VIRTUAL_ENV".to_owned(), active));
    users().chain(active).chain(path_of(path)).collect()
}

/// Returns the variables of the build in the folder `home`: the user's, without the user's Python
/// environment. Nobody can answer a question of a build.
pub(in crate::lab) fn of_build(home: &Home) -> Vec<(String, String)> {
    let fixed = INSIDE.into_iter().chain(NO_PROMPTS).map(owned);
    users().chain(fixed).chain(path_of(others_on_path(home))).collect()
}

/// Returns the variables of Git itself: the user's, but for those that lead to another repository.
pub(in crate::lab) fn of_git() -> Vec<(String, String)> {
    let path = env::var("PATH").map(|path| ("PATH".to_owned(), path));
    users().chain(NO_PROMPTS.map(owned)).chain(path).collect()
}

/// The user's variables, but for those that lead elsewhere.
fn users() -> impl Iterator<Item = (String, String)> {
    let is_kept = |name: &str| {
        let inside = INSIDE.iter().any(|(inside, _)| *inside == name);
        // The variables of npm have any case.
        let is_elsewhere = ELSEWHERE.iter().any(|other| name.eq_ignore_ascii_case(other));
        name != "PATH" && !inside && !is_elsewhere && !MISLEADING.contains(&name)
    };
    user_variables().filter(move |(name, _)| is_kept(name))
}

/// The folders of the `PATH`, but for that of the user's Python environment.
fn others_on_path(home: &Home) -> impl Iterator<Item = PathBuf> {
    let users = home.users_venv().map(|venv| venv.join("bin"));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let users = users.map(|path| real(&path));
    let all: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    all.into_iter().filter(move |path| users.as_ref().is_none_or(|users| real(path) != *users))
}

fn path_of(folders: impl Iterator<Item = PathBuf>) -> Option<(String, String)> {
    Some(("PATH".to_owned(), text(env::join_paths(folders).ok()?)))
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(of: &'a [(String, String)], name: &str) -> Option<&'a str> {
        of.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_build_does_not_see_the_users_environment_and_a_target_has_its_own_first() {
        let place = tempfile::tempdir().unwrap();
        let (project, folder) = (place.path().join("project"), place.path().join("ref"));
        for path in [&project, &folder] {
            std::fs::create_dir_all(path).unwrap();
            std::fs::write(path.join("loadgen.toml"), "").unwrap();
        }
        let home = Home::at(project).unwrap().at_ref(folder.clone());
        let users = home.users_venv().unwrap().join("bin");
        let first = |variables: &[(String, String)]| {
            env::split_paths(value(variables, "PATH").unwrap()).next().unwrap()
        };
        let build = of_build(&home);
        assert_eq!(value(&build, "PIP_REQUIRE_VIRTUALENV"), Some("true"));
        assert_eq!((value(&build, "VIRTUAL_ENV"), value(&build, "PWD")), (None, None));
        assert_ne!(first(&build), users);
        assert_eq!(first(&of_target(&home)), users);
        std::fs::create_dir_all(folder.join(".venv/bin")).unwrap();
        let target = of_target(&home);
        assert_eq!(first(&target), folder.join(".venv/bin"));
        assert_eq!(value(&target, "VIRTUAL_ENV"), folder.join(".venv").to_str());
    }
}
