//! The real binary, in a project of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The root of this checkout.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A folder that loadgen takes for its project: the real Python environment and scenarios, and
/// whatever targets the test wants.
pub struct Project {
    folder: TempDir,
}

impl Project {
    /// With the real targets.
    pub fn real() -> Self {
        let project = Self::empty();
        symlink(checkout().join("targets"), project.path("targets")).unwrap();
        project
    }

    /// With this manifest.
    pub fn with_targets(manifest: &str) -> Self {
        let project = Self::empty();
        fs::create_dir(project.path("targets")).unwrap();
        fs::write(project.path("targets/targets.toml"), manifest).unwrap();
        project
    }

    fn empty() -> Self {
        // In /tmp, whatever TMPDIR says: where a message breaks depends on the length of the path.
        let project = Self { folder: tempfile::tempdir_in("/tmp").unwrap() };
        // A fresh clone has none, and a dangling link could not be filled.
        fs::create_dir_all(checkout().join(".loadgen")).unwrap();
        for shared in ["pyproject.toml", "uv.lock", ".venv", ".loadgen", "scenarios", "compose"] {
            symlink(checkout().join(shared), project.path(shared)).unwrap();
        }
        project
    }

    /// A path inside.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Adds a file.
    pub fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// The binary, run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("NO_COLOR", "1").env("COLUMNS", "80");
        // What one test finds out about the machine is nothing to the others.
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).output().unwrap(), self.folder.path())
    }
}

/// What a slow machine may say.
const WAITS: &str = "waiting for another loadgen, which is installing\n";

/// How the binary ended.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    /// With the project's folder and whatever else changes from run to run replaced.
    pub stderr: String,
}

impl Finished {
    pub fn of(output: Output, folder: &Path) -> Self {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&folder.display().to_string(), "[project]")
        };
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            // Other tests may be looking whether all is installed at the same moment.
            stderr: text(&output.stderr).replace(WAITS, ""),
        }
    }

    /// The exit code and all that was said on stderr, for a snapshot.
    pub fn said(&self) -> String {
        format!("exit code {}\n{}", self.code.unwrap_or(-1), self.stderr)
    }

    /// The document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }
}

/// Every path below `root` in a document, a line each; the places of an array are one, and so are
/// CPUs.
pub fn shape(document: &Value, root: &str) -> String {
    let mut paths = BTreeSet::new();
    collect_paths(document, root, &mut paths);
    paths.into_iter().collect::<Vec<_>>().join("\n")
}

fn collect_paths(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = if key.parse::<usize>().is_ok() { "N" } else { key };
                collect_paths(inner, &format!("{path}.{key}"), out);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for inner in values {
                collect_paths(inner, &format!("{path}[]"), out);
            }
        }
        _ => {
            out.insert(path.to_owned());
        }
    }
}
