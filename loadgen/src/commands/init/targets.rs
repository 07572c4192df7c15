//! Writes `loadgen.toml`, with the servers that the files of a folder seem to contain.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Beginning of each file.
const HEAD: &str = "\
# Servers that loadgen starts, each in a table [target.NAME]: loadgen --target NAME,… /PATH
#
# The first word of a command is a program of the active Python environment or on the PATH, or a path in this folder.
# loadgen fills in {host}, {port} and {workers} (--server-workers), in commands and in `env`. In `env`, {redis} and
# {postgres} are the URLs of a Redis and a PostgreSQL that loadgen starts.
";

/// Options of a target, as comments.
const OPTIONS: &str = "\
#ready = \"/health\"                # ready once this path gets a 2xx; without it, once the port accepts connections
#env = { DATABASE_URL = \"{postgres}\" }
#build = [\"pip\", \"install\", \"-q\", \".\"]    # runs once before the first start
";

/// A target that the file has if nothing was found.
const EXAMPLE: &str = "\
[target.my-server]
command = [\"my-server\", \"--host={host}\", \"--port={port}\"]
";

/// Files of backends, as comments.
const TAIL: &str = "
#[backend.postgres]
#init = \"schema.sql\"              # SQL; each round begins with the database as it is afterwards
";

/// A server that was found.
struct Found {
    name: String,
    /// Sentence for people: what was found, and where.
    about: String,
    /// Lines of the target's table.
    lines: Vec<String>,
}

/// Returns the text of `loadgen.toml` for a folder, and a sentence for each server that was found.
pub(super) fn text(folder: &Path) -> (String, Vec<String>) {
    let found = find(folder);
    let mut text = HEAD.to_owned();
    for server in &found {
        let _ = write!(text, "\n# {}\n[target.{}]\n", server.about, server.name);
        server.lines.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        // A key stands once, also if its comment becomes an option.
        let has = |option: &str| {
            let key = option.trim_start_matches('#').split(' ').next().unwrap_or_default();
            server.lines.iter().any(|line| line.starts_with(&format!("{key} =")))
        };
        OPTIONS.lines().filter(|option| !has(option)).for_each(|option| {
            let _ = writeln!(text, "{option}");
        });
    }
    if found.is_empty() {
        let _ = write!(text, "\n{EXAMPLE}{OPTIONS}");
    }
    text += TAIL;
    (text, found.into_iter().map(|server| server.about).collect())
}

/// Finds servers: of Django, of Express, of Go, and in each Python file.
fn find(folder: &Path) -> Vec<Found> {
    let mut all: Vec<Found> =
        [django(folder), express(folder), go(folder)].into_iter().flatten().collect();
    for file in python_files(folder) {
        all.extend(python(folder, &file));
    }
    // Names are unique: a later server of the same name gets a number. From the last one on, so that
    // the earlier ones still have the name that is counted.
    for index in (1..all.len()).rev() {
        let same = all[..index].iter().filter(|other| other.name == all[index].name).count();
        if same > 0 {
            all[index].name += &format!("-{}", same + 1);
        }
    }
    all
}

fn django(folder: &Path) -> Option<Found> {
    let text = fs::read_to_string(folder.join("manage.py")).ok()?;
    let settings = Regex::new(r#"DJANGO_SETTINGS_MODULE['"],\s*['"](\w+)\.settings"#).ok()?;
    let project = settings.captures(&text)?.get(1)?.as_str();
    Some(Found {
        name: project.to_owned(),
        about: "Django, in manage.py".to_owned(),
        lines: vec![command(&[
            "gunicorn",
            &format!("{project}.wsgi"),
            "--bind={host}:{port}",
            "--workers={workers}",
        ])],
    })
}

fn express(folder: &Path) -> Option<Found> {
    let text = fs::read_to_string(folder.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    package.pointer("/dependencies/express")?;
    let main = package["main"].as_str().unwrap_or("index.js");
    Some(Found {
        name: "express".to_owned(),
        about: "Express, in package.json: it must listen on the port in the variable PORT"
            .to_owned(),
        lines: vec![command(&["node", main]), "env = { PORT = \"{port}\" }".to_owned()],
    })
}

fn go(folder: &Path) -> Option<Found> {
    folder.join("go.mod").is_file().then(|| Found {
        name: "go".to_owned(),
        about: "Go, in go.mod: it must listen on the port in the variable PORT".to_owned(),
        lines: vec![
            command(&["bin/server"]),
            "build = [\"go\", \"build\", \"-o\", \"bin/server\", \".\"]".to_owned(),
            "env = { PORT = \"{port}\" }".to_owned(),
        ],
    })
}

/// Returns the server that a Python file creates, if any. `file` is relative to the folder.
fn python(folder: &Path, file: &Path) -> Option<Found> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    let created =
        r"(?m)^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)?(FastAPI|Starlette|Flask|Sanic|Quart)\(";
    let found = Regex::new(created).ok()?.captures(&text)?;
    let (variable, framework) = (&found[1], &found[2]);
    let module = file.with_extension("").to_string_lossy().replace('/', ".");
    let app = format!("{module}:{variable}");
    let (bind, workers) = ("--bind={host}:{port}", "--workers={workers}");
    let (host, port) = ("--host={host}", "--port={port}");
    let words: Vec<&str> = match framework {
        "Flask" => vec!["gunicorn", &app, bind, workers],
        "Quart" => vec!["hypercorn", &app, bind, workers],
        "Sanic" => vec!["sanic", &app, host, port, workers],
        _ => vec!["uvicorn", &app, host, port, workers],
    };
    Some(Found {
        name: framework.to_lowercase(),
        about: format!("{framework}, in {}", file.display()),
        lines: vec![command(&words)],
    })
}

/// Returns the Python files of the folder and of the folders in it, sorted, relative to the folder.
/// Leaves out environments, and files and folders whose names begin with a dot.
fn python_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in entries(folder) {
        let inner = folder.join(&entry);
        if inner.is_dir() && !inner.join("pyvenv.cfg").exists() {
            files.extend(entries(&inner).into_iter().map(|file| entry.join(file)));
        }
        files.push(entry);
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    files
}

/// Returns the names in a folder, without hidden ones.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = all.map(|entry| PathBuf::from(entry.file_name()));
    names.filter(|name| !name.to_string_lossy().starts_with('.')).collect()
}

fn command(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("command = [{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(files: &[(&str, &str)]) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        text(folder.path())
    }

    #[test]
    fn servers_are_found_by_their_files() {
        for (files, about, line) in [
            (
                &[("shop/main.py", "from fastapi import FastAPI\napi: FastAPI = FastAPI()\n")][..],
                "FastAPI, in shop/main.py",
                r#"command = ["uvicorn", "shop.main:api", "--host={host}", "--port={port}", "--workers={workers}"]"#,
            ),
            (
                &[("app.py", "app = flask.Flask(__name__)\n")],
                "Flask, in app.py",
                r#"command = ["gunicorn", "app:app", "--bind={host}:{port}", "--workers={workers}"]"#,
            ),
            (
                &[(
                    "manage.py",
                    "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.settings')",
                )],
                "Django, in manage.py",
                r#"command = ["gunicorn", "site.wsgi", "--bind={host}:{port}", "--workers={workers}"]"#,
            ),
            (
                &[("package.json", r#"{"main": "server.js", "dependencies": {"express": "^5"}}"#)],
                "Express, in package.json: it must listen on the port in the variable PORT",
                r#"command = ["node", "server.js"]"#,
            ),
            (
                &[("go.mod", "module shop\n")],
                "Go, in go.mod: it must listen on the port in the variable PORT",
                r#"command = ["bin/server"]"#,
            ),
        ] {
            let (text, found) = written(files);
            assert_eq!(found, [about]);
            assert!(text.lines().any(|it| it == line), "{text}");
        }
    }

    #[test]
    fn two_servers_of_one_framework_have_two_names() {
        let app = "app = Sanic('a')\n";
        let (text, found) = written(&[("a.py", app), ("b.py", app), (".venv/c.py", app)]);
        assert_eq!(found.len(), 2);
        assert!(text.contains("[target.sanic]") && text.contains("[target.sanic-2]"), "{text}");
        assert!(written(&[]).0.contains("[target.my-server]"));
    }
}
