//! A repository with a server that shows which version of it runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::program::{Finished, Project};

/// A server that answers with a JSON object whose only key is `KEY`, after `DELAY` seconds of
/// computing.
pub const SERVER: &str = r#"
import http.server, json, os, sys, time

KEY = "first"
DELAY = 0.0

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        end = time.perf_counter() + DELAY
        while time.perf_counter() < end:
            pass
        text = json.dumps({KEY: os.getcwd()}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"#;

pub const TARGET: &str =
    "[target.shop]\ncommand = [\"python3\", \"server.py\", \"{host}\", \"{port}\"]\n";

/// A repository whose first commit, on `main`, has the server with the key `first`.
pub struct Repository {
    pub project: Project,
    /// Folder for temporary files of loadgen and of what it starts.
    pub temporary: TempDir,
    /// Whether that folder is the user's cache instead, and no temporary folder is set.
    pub is_in_cache: bool,
}

impl Repository {
    /// Creates the repository, with this `loadgen.toml` in its first commit.
    pub fn with(targets: &str) -> Self {
        let project = Project::bare()
            .file("server.py", SERVER)
            .file("loadgen.toml", targets)
            .file(".gitignore", "result*\ncache\n.loadgen\n__pycache__\n");
        let repository =
            Self { project, temporary: tempfile::tempdir_in("/tmp").unwrap(), is_in_cache: false };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit();
        repository
    }

    pub fn new() -> Self {
        Self::with(TARGET)
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.project.path(inside)
    }

    /// Runs Git in the project, and returns its output.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.path(""), arguments)
    }

    /// Commits all files.
    pub fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message=change"]);
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    /// Changes the server's key and delay.
    pub fn server(&self, key: &str, delay_s: &str) {
        let text = SERVER.replace("\"first\"", &format!("\"{key}\""));
        self.write("server.py", &text.replace("DELAY = 0.0", &format!("DELAY = {delay_s}")));
    }

    /// Returns a command that runs loadgen in the project.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        command.env_remove("VIRTUAL_ENV").envs(CONFIGURATION);
        match self.is_in_cache {
            false => command.env("TMPDIR", self.temporary.path()),
            true => command.env_remove("TMPDIR").env("XDG_CACHE_HOME", self.temporary.path()),
        };
        command
    }

    /// Runs loadgen for a few requests over `GET /`, with these options.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.finish(self.command(&short(arguments)))
    }

    pub fn finish(&self, mut command: Command) -> Finished {
        Finished::of(command.output().unwrap(), &self.path(""))
    }

    /// Returns all files of the project and of Git, but for those of loadgen.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        read(&self.path(""), &mut files);
        files
    }

    /// Returns all files and folders in the temporary folder, or the folders of refs in the user's cache.
    pub fn left(&self) -> Vec<PathBuf> {
        let (folder, kind) = match self.is_in_cache {
            false => (self.temporary.path().to_owned(), ""),
            true => (self.temporary.path().join("loadgen"), "refs-"),
        };
        let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
        let of_kind = entries.filter(|it| it.file_name().to_str().unwrap().contains(kind));
        of_kind.map(|it| it.path()).collect()
    }

    /// Checks that no file and no folder is [left](Self::left).
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let left = self.left();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Returns the words of a command line with a few requests.
pub fn short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    const SHORT: [&str; 7] =
        ["/", "-u2", "-i20", "--warmup=0s", "--no-calibrate", "--json", "--out=result"];
    [&SHORT[..], arguments].concat()
}

/// Returns an error message without its line breaks, and the bars before further lines.
pub fn plain(stderr: &str) -> String {
    let words = stderr.split_whitespace().filter(|word| !["│", "|"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Variables that keep the settings of the user who runs the tests away.
const CONFIGURATION: [(&str, &str); 2] =
    [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];

#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]);
    command.args(["-c", "protocol.file.allow=always"]).args(arguments).current_dir(folder);
    let output = command.envs(CONFIGURATION).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn read(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_name().to_str().unwrap() {
            "result" | "cache" | ".loadgen" | "__pycache__" => {}
            _ if path.is_dir() => read(&path, files),
            _ => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
}

/// Returns the name, the key of the answers and the commit of each target of a document.
pub fn measured(document: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |target: &Value| {
        let keys = target["json_keys"].as_object().unwrap().values().next().unwrap();
        (text(&target["name"]), text(&keys[0]), text(&target["server"]["git"]["commit"]))
    };
    document["targets"].as_array().unwrap().iter().map(of).collect()
}
