//! Finds out whether Python would import code of the user's working tree, or of another ref, for a target at a
//! ref.
//!
//! A Python environment may have the project itself installed, as `pip install -e .` does. All refs
//! that use such an environment may run the same code, and would then not differ.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use serde::Deserialize;

use super::elsewhere::Elsewhere;
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::install::variables;
use crate::lab::manifest::TargetSpec;

/// The language of targets that this check is about.
const PYTHON: &str = "Python";

/// File in which installers write where a package came from (PEP 610).
#[derive(Deserialize)]
struct DirectUrl {
    url: String,
}

const OWN_ENVIRONMENT: &str = "let `build` of the target make `.venv`, such as build = [\"sh\", \"-c\", \"python3 -m \
                               venv .venv && .venv/bin/pip install -q .\"]; or use an environment without the \
                               project; or set `language` if the target has no Python";

/// Returns an error if the target at a ref may import code from elsewhere: by `PYTHONPATH`, or from a
/// package that was installed from there. `programs` are the folders of its programs, and `home` is its
/// folder, whose `PATH` leads to a Python. A target that says that it is in another language cannot import
/// such code.
pub fn check(
    target: &TargetSpec,
    home: &Home,
    programs: &[PathBuf],
    elsewhere: &Elsewhere,
) -> Result<(), LabError> {
    let entry = &target.entry;
    // `uv run` uses the environment in the folder, whatever environment is active.
    let is_run_by_uv = entry.command.first().is_some_and(|program| program == "uv")
        && !entry.command.iter().any(|word| word == "--active");
    if !["", PYTHON].contains(&entry.language.as_str()) || is_run_by_uv {
        return Ok(());
    }
    let shared = |what: String| {
        let (target, help) = (target.name.clone(), OWN_ENVIRONMENT.to_owned());
        Err(LabError::SharedCode { target, what, help })
    };
    let users = env::var("PYTHONPATH").unwrap_or_default();
    let paths = entry.env.get("PYTHONPATH").unwrap_or(&users);
    if let Some(path) = env::split_paths(paths).find(|path| is_code(path, elsewhere)) {
        return shared(format!("PYTHONPATH has {}", path.display()));
    }
    let environments = programs.iter().filter_map(|programs| programs.parent());
    let folders = environments.flat_map(folders_of_packages).chain(folders_of_python(home));
    for packages in folders {
        if is_code(&packages, elsewhere) {
            return shared(format!("Python finds packages in {}", packages.display()));
        }
        if let Some((package, place)) = installed_from(&packages, elsewhere) {
            let (packages, place) = (packages.display(), place.display());
            return shared(format!("{packages} has {package}, which was installed from {place}"));
        }
    }
    Ok(())
}

/// Returns the folders in which the Python on the `PATH` of a target searches for packages; none
/// without a Python.
fn folders_of_python(home: &Home) -> Vec<PathBuf> {
    let variables = variables::of_target(home);
    let mut folders = Vec::new();
    for python in ["python3", "python"] {
        let mut command = Command::new(python);
        command.args(["-c", "import sys; print(*sys.path, sep='\\n')"]).current_dir(home.root());
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.stdin(Stdio::null()).output();
        let said = output.map(|output| output.stdout).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        folders.extend(said.lines().filter(|line| !line.is_empty()).map(PathBuf::from));
    }
    folders
}

/// Returns the folders with the packages of a Python environment; none for another folder.
fn folders_of_packages(environment: &Path) -> Vec<PathBuf> {
    let libraries = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    let kinds = ["site-packages", "dist-packages"];
    let all = libraries.flat_map(|library| kinds.map(|kind| library.path().join(kind)));
    all.filter(|folder| folder.is_dir()).collect()
}

/// Returns a package that was installed from a folder elsewhere, and that folder.
fn installed_from(packages: &Path, elsewhere: &Elsewhere) -> Option<(String, PathBuf)> {
    fs::read_dir(packages).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let places = match path.extension()?.to_str()? {
            "dist-info" => origin(&path.join("direct_url.json")).into_iter().collect(),
            "pth" => paths_in(&path),
            _ => return None,
        };
        places.into_iter().find(|place| is_code(place, elsewhere)).map(|place| (name, place))
    })
}

/// Returns the folder that a package was installed from; `None` for a package of a registry.
fn origin(file: &Path) -> Option<PathBuf> {
    let DirectUrl { url } = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    url::Url::parse(&url).ok()?.to_file_path().ok()
}

/// Returns the folders that a `.pth` file adds to Python's path.
fn paths_in(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| PathBuf::from(line.trim())).filter(|path| path.is_absolute()).collect()
}

/// Whether an existing folder is elsewhere, but not in a Python environment there.
fn is_code(path: &Path, elsewhere: &Elsewhere) -> bool {
    let inside = (path.is_absolute() && path.exists()).then(|| elsewhere.inside(path)).flatten();
    inside.is_some_and(|inside| {
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        !names.windows(2).any(|two| two[0] == "lib" && two[1].starts_with("python"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::manifest::own_targets;

    const SHOP: &str = "[target.shop]\ncommand = [\"uvicorn\", \"--port={port}\"]\n";

    #[test]
    fn an_environment_that_has_the_project_installed_is_found() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let packages = path("venv/lib/python3.12/site-packages");
        fs::create_dir_all(packages.join("shop-1.0.dist-info")).unwrap();
        fs::create_dir_all(path("project/src")).unwrap();
        fs::create_dir_all(path("elsewhere")).unwrap();
        let target = |more: &str| own_targets(&format!("{SHOP}{more}")).remove(0);
        fs::write(path("project/loadgen.toml"), "").unwrap();
        fs::create_dir_all(path("refs/1/shop")).unwrap();
        fs::create_dir_all(path("refs/2/shop")).unwrap();
        let home = Home::at(path("project")).unwrap().at_ref(path("refs/1/shop"));
        let elsewhere =
            Elsewhere::new(&path("project"), &path("refs"), &path("refs/1"), &path("venv"));
        let said = |target: &TargetSpec| {
            let error = check(target, &home, &[path("venv/bin")], &elsewhere).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(said(&target("")), "");

        let url = packages.join("shop-1.0.dist-info/direct_url.json");
        let direct = |folder: &str| {
            let text = serde_json::json!({ "url": format!("file://{}", path(folder).display()) });
            fs::write(&url, text.to_string()).unwrap();
        };
        for other in ["elsewhere", "refs/1/shop"] {
            direct(other);
            assert_eq!(said(&target("")), "");
        }
        direct("refs/2/shop");
        assert!(said(&target("")).contains("has shop-1.0"), "a build of another ref installed it");
        direct("project");
        assert!(
            said(&target("")).contains("has shop-1.0, which was installed"),
            "{}",
            said(&target(""))
        );
        assert_eq!(said(&target("language = \"Go\"")), "");
        let by_uv = SHOP.replace("\"uvicorn\"", "\"uv\", \"run\", \"uvicorn\"");
        assert_eq!(said(&own_targets(&by_uv).remove(0)), "");
        fs::remove_file(&url).unwrap();

        let line = format!("{}\n", path("project/src").display());
        fs::write(packages.join("__editable__.shop.pth"), line).unwrap();
        assert!(said(&target("")).contains("__editable__.shop"), "{}", said(&target("")));
        fs::remove_file(packages.join("__editable__.shop.pth")).unwrap();

        let variable =
            format!("env = {{ PYTHONPATH = \"src:{}\" }}", path("project/src").display());
        assert!(
            said(&target(&variable)).contains("PYTHONPATH has"),
            "{}",
            said(&target(&variable))
        );
        assert_eq!(said(&target("env = { PYTHONPATH = \"src\" }")), "");
    }
}
