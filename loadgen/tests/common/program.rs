//! The real binary, in a separate project for each test.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Returns the root folder of this checkout.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A folder that loadgen takes for its project, with the real Python environment and scenarios,
/// and with the targets that the test chooses.
pub struct Project {
    folder: TempDir,
}

impl Project {
    /// Creates a project with the real targets.
    pub fn real() -> Self {
        let project = Self::empty();
        symlink(checkout().join("targets"), project.path("targets")).unwrap();
        project
    }

    /// Creates a project with this manifest of targets.
    pub fn with_targets(manifest: &str) -> Self {
        let project = Self::empty();
        fs::create_dir(project.path("targets")).unwrap();
        fs::write(project.path("targets/targets.toml"), manifest).unwrap();
        project
    }

    /// Creates an empty folder, which is no project.
    pub fn bare() -> Self {
        // In /tmp, even if TMPDIR is set: the line breaks of a message
        // depend on the length of the path.
        Self { folder: tempfile::tempdir_in("/tmp").unwrap() }
    }

    fn empty() -> Self {
        let project = Self::bare();
        // A fresh clone has no `.loadgen`, and nothing could be written through a dangling link.
        fs::create_dir_all(checkout().join(".loadgen")).unwrap();
        for shared in [
            "pyproject.toml",
            "uv.lock",
            ".venv",
            ".loadgen",
            "scenarios",
            "experiments",
            "compose",
        ] {
            symlink(checkout().join(shared), project.path(shared)).unwrap();
        }
        project
    }

    /// Gives the project a lab of its own: that of the checkout may be up for other tests.
    pub fn with_own_lab(self) -> Self {
        fs::remove_file(self.path(".loadgen")).unwrap();
        fs::create_dir(self.path(".loadgen")).unwrap();
        for shared in fs::read_dir(checkout().join(".loadgen")).unwrap().map(Result::unwrap) {
            let name = shared.file_name().into_string().unwrap();
            if !name.starts_with("lab.") {
                symlink(shared.path(), self.path(".loadgen").join(name)).unwrap();
            }
        }
        self
    }

    /// Returns the path of a file inside the project.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Adds a file to the project.
    pub fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// Returns a command that runs the binary in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("NO_COLOR", "1").env("COLUMNS", "80");
        // Each test has its own cache: one test's measurements of the
        // machine must not affect another.
        command.env("XDG_CACHE_HOME", self.path("cache"));
        // Tests run side by side on purpose: none waits for another.
        command.env("LOADGEN_LOCKS", self.path("cache/locks"));
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).output().unwrap(), self.folder.path())
    }
}

/// Line on stderr that appears only on a slow machine.
const WAITS: &str = "waiting for another loadgen, which is installing\n";

/// Exit code and output of a binary that has ended.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    /// Stderr, with the project's folder replaced and the line [`WAITS`] removed.
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
            // Another test may check the installation at the same moment.
            stderr: text(&output.stderr).replace(WAITS, ""),
        }
    }

    /// Returns the exit code and all of stderr, for a snapshot.
    pub fn said(&self) -> String {
        format!("exit code {}\n{}", self.code.unwrap_or(-1), self.stderr)
    }

    /// Parses the document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }
}

/// Returns every path below `root` in a document, one on each line. All elements of an array have
/// the same path, and so do all CPUs (keys that are numbers). The programs that run beside a test differ,
/// so their names have no path.
pub fn shape(document: &Value, root: &str) -> String {
    let mut paths = BTreeSet::new();
    collect_paths(document, root, &mut paths);
    paths.into_iter().collect::<Vec<_>>().join("\n")
}

/// Fields whose content depends on the machine.
const OF_MACHINE: [&str; 6] = [
    ".busiest_others",
    ".frequency_mhz",
    ".fullest_link",
    ".mitigations",
    ".numa_nodes",
    ".shared_cores",
];

fn collect_paths(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        _ if OF_MACHINE.iter().any(|field| path.ends_with(field)) => {
            out.insert(path.to_owned());
        }
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

/// Returns the number of responses of each replica in the document of a round.
pub fn responses_of_replicas(round: &Value) -> Vec<u64> {
    let replicas = round["replicas"].as_array().unwrap().iter();
    replicas.map(|replica| replica["responses"].as_u64().unwrap()).collect()
}
