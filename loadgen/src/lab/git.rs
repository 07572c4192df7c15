//! Runs Git, and reads from the repository of a project without a change to it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::error::LabError;
use super::logs::{MESSAGE_LINES, tail_of};

/// Environment variables that name another repository, index or folder than those of the current
/// folder. Git sets them for its hooks, and loadgen may run in a hook.
pub(super) const MISLEADING: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Returns a command that runs Git in this folder. Git takes no lock that it can do without, such as
/// that of the index, asks nobody for a password, and writes English.
pub(super) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.current_dir(folder);
    command
}

/// Returns the error about a ref that cannot be measured, with the last lines that Git wrote.
pub(super) fn bad_ref(what: String, said: &[u8], help: impl Into<String>) -> LabError {
    let output = tail_of(&String::from_utf8_lossy(said), MESSAGE_LINES);
    LabError::BadRef { what, output, help: help.into() }
}

/// The repository that a project is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// Folder of the project.
    folder: PathBuf,
    /// Top folder of the working tree.
    pub(super) top: PathBuf,
    /// Folder with Git's own files of this working tree.
    pub(super) git_dir: PathBuf,
    /// Folder of the project in the working tree; empty for the top folder.
    pub(super) prefix: PathBuf,
}

impl Repository {
    /// Finds the repository of the project in `folder`. `target` is the name with the ref, such as
    /// `shop@main`.
    pub(super) fn of(folder: &Path, target: &str) -> Result<Self, LabError> {
        let query = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix"];
        let output = git(folder).args(query).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LabError::Missing {
                service: target.to_owned(),
                what: "its ref needs git, which is not on the PATH".to_owned(),
                help: "install git, or name the target without a ref".to_owned(),
            },
            _ => LabError::io("run git")(error),
        })?;
        if !output.status.success() {
            let what = format!(
                "--target {target}: Git finds no repository that it may use in {}",
                folder.display()
            );
            let help =
                "name targets without a ref, or run loadgen in the working tree of a repository";
            return Err(bad_ref(what, &output.stderr, help));
        }
        let mut lines = output.stdout.split(|byte| *byte == b'\n');
        let mut path = || PathBuf::from(OsString::from_vec(lines.next().unwrap_or(b"").to_vec()));
        let (top, git_dir, prefix) = (path(), path(), path());
        Ok(Self { folder: folder.to_owned(), top, git_dir, prefix })
    }

    /// Runs Git, and returns its exit code and output.
    fn run(&self, arguments: &[&OsStr]) -> Result<Output, LabError> {
        git(&self.folder).args(arguments).output().map_err(LabError::io("run git"))
    }

    /// Returns the output of Git without the last line feed; `None` if Git fails.
    fn line(&self, arguments: &[&OsStr]) -> Result<Option<OsString>, LabError> {
        let output = self.run(arguments)?;
        let text = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        Ok(output.status.success().then(|| OsString::from_vec(text.to_vec())))
    }

    /// Returns the full hash of the commit that `name` stands for. The inner error is the output of
    /// Git.
    pub(super) fn commit(&self, name: &str) -> Result<Result<String, Vec<u8>>, LabError> {
        let commit = format!("{name}^{{commit}}");
        let output = self.run(&["rev-parse", "--verify", &commit].map(OsStr::new))?;
        let hash = || String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(if output.status.success() { Ok(hash()) } else { Err(output.stderr) })
    }

    /// Returns the names of all branches and tags, those of remotes with their remote.
    pub(super) fn names(&self) -> Result<Vec<String>, LabError> {
        let query = ["for-each-ref", "--format=%(refname:short)"].map(OsStr::new);
        let names = self.line(&query)?.unwrap_or_default();
        Ok(names.to_string_lossy().lines().map(str::to_owned).collect())
    }

    /// Returns whether a tracked file differs from the commit of the working tree.
    pub(super) fn is_changed(&self) -> Result<bool, LabError> {
        let query = ["status", "--porcelain", "--untracked-files=no"].map(OsStr::new);
        // The whole working tree, not only the folder of the project.
        let output = git(&self.top).args(query).output().map_err(LabError::io("run git"))?;
        match output.status.success() {
            true => Ok(!output.stdout.is_empty()),
            false => {
                let what = format!("cannot compare {} with its commit", self.top.display());
                Err(bad_ref(what, &output.stderr, "see what `git status` reports"))
            }
        }
    }

    /// Returns whether a commit has the folder of the project.
    pub(super) fn has_project(&self, commit: &str) -> Result<bool, LabError> {
        self.exists(&object(commit, ""))
    }

    fn exists(&self, object: &OsStr) -> Result<bool, LabError> {
        let query = [OsStr::new("cat-file"), OsStr::new("-e"), object];
        Ok(self.run(&query)?.status.success())
    }

    /// Returns the content of a file of the project in a commit; `None` if there is no such file.
    pub(super) fn content(&self, commit: &str, file: &Path) -> Result<Option<Vec<u8>>, LabError> {
        let object = object(commit, file);
        if !self.exists(&object)? {
            return Ok(None);
        }
        let read = self.run(&[OsStr::new("cat-file"), OsStr::new("blob"), &object])?;
        if !read.status.success() {
            let what = format!("cannot read {} at {commit}", file.display());
            return Err(bad_ref(what, &read.stderr, "see what `git cat-file` reports"));
        }
        Ok(Some(read.stdout))
    }

    /// Returns the path of one of Git's own files, such as `objects`.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf, LabError> {
        let found = self.line(&["rev-parse", "--git-path", name].map(OsStr::new))?;
        // The path is relative to the folder of the project, or absolute.
        Ok(self.folder.join(found.unwrap_or_default()))
    }

    /// Returns all tags, one in each line: the hash and the full name.
    pub(super) fn tags(&self) -> Result<OsString, LabError> {
        let query = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"];
        Ok(self.line(&query.map(OsStr::new))?.unwrap_or_default())
    }

    /// Returns the URL from which the repository was cloned; `None` if unknown.
    pub(super) fn origin(&self) -> Result<Option<OsString>, LabError> {
        self.line(&["config", "--get", "remote.origin.url"].map(OsStr::new))
    }
}

/// Returns the name of a file of the project in a commit, such as `1a2b3c:./loadgen.toml`, which is
/// relative to the folder in which Git runs.
fn object(commit: &str, file: impl AsRef<Path>) -> OsString {
    let mut object = OsString::from(format!("{commit}:./"));
    object.push(file.as_ref());
    object
}
