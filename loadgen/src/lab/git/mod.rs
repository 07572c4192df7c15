//! Runs Git, and reads from the repository of a project without a change to it: names and commits here,
//! `files` of commits, and the `settings` that decide how files are written.

mod files;
pub(super) mod git_ref;
mod settings;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::error::LabError;
use super::service::logs::{MESSAGE_LINES, tail_of};

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

/// Environment variables with which Git and SSH ask for no password on the terminal, and fail instead. SSH
/// opens the terminal even if its standard input is another file. A program in the background that reads from the terminal
/// is stopped, and would wait for ever.
pub(super) const NO_PROMPTS: [(&str, &str); 3] =
    [("GIT_TERMINAL_PROMPT", "0"), ("SSH_ASKPASS", "false"), ("SSH_ASKPASS_REQUIRE", "force")];

/// Number of digits of a hash in messages.
const DIGITS: usize = 10;

/// Returns the first digits of a hash, for messages.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}

/// Returns a command that runs Git in this folder. Git takes no lock that it can do without, such as
/// that of the index, asks nothing on the terminal, and writes English.
pub(super) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").envs(NO_PROMPTS);
    command.current_dir(folder);
    command
}

/// Returns the error about a ref that cannot be measured, with the last lines that Git wrote.
pub(super) fn bad_ref(what: String, said: &[u8], help: impl Into<String>) -> LabError {
    let output = tail_of(&String::from_utf8_lossy(said), MESSAGE_LINES);
    LabError::BadRef { what, output, help: help.into() }
}

/// Returns the commit of the working tree that contains `folder`, with `-dirty` appended if tracked files have
/// uncommitted changes; `None` if Git reports no commit.
pub fn commit_of(folder: &Path) -> Option<String> {
    let said = |args: &[&str]| {
        let output = git(folder).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = said(&["rev-parse", "HEAD"])?;
    let changed = said(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// A commit, and the warnings of Git about its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    /// Full hash.
    pub(super) hash: String,
    /// Warnings, such as "refname 'main' is ambiguous".
    pub(super) warnings: Vec<String>,
}

/// Differences between the files of the working tree and its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changes {
    /// Whether a tracked file differs.
    pub(super) tracked: bool,
    /// Whether a file is neither tracked nor ignored.
    pub(super) untracked: bool,
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

    /// Returns the commit that `name` stands for. The inner error is the output of Git; empty if Git only
    /// says that it does not know the name.
    pub(super) fn commit(&self, name: &str) -> Result<Result<Commit, Vec<u8>>, LabError> {
        let query = ["-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", name];
        let named = self.run(&query.map(OsStr::new))?;
        // A name such as `:/word` is all of the argument; what the name stands for may be a tag.
        let object = format!("{}^{{commit}}", String::from_utf8_lossy(&named.stdout).trim());
        let found = match named.status.success() {
            true => self.run(&["rev-parse", "--verify", &object].map(OsStr::new))?,
            false => named.clone(),
        };
        let hash = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if found.status.success() && is_hash(&hash) {
            return Ok(Ok(Commit { hash, warnings: warnings(&named.stderr) }));
        }
        let said = String::from_utf8_lossy(&found.stderr).into_owned();
        let said: Vec<&str> = said.lines().filter(|line| *line != UNKNOWN).collect();
        Ok(Err(said.join("\n").into_bytes()))
    }

    /// Returns the names of all branches and tags, those of remotes with their remote.
    pub(super) fn names(&self) -> Result<Vec<String>, LabError> {
        let query = ["for-each-ref", "--format=%(refname:short)"].map(OsStr::new);
        let names = self.line(&query)?.unwrap_or_default();
        Ok(names.to_string_lossy().lines().map(str::to_owned).collect())
    }

    /// Returns how the working tree differs from its commit.
    pub(super) fn changes(&self) -> Result<Changes, LabError> {
        let query = ["status", "--porcelain", "--untracked-files=normal"].map(OsStr::new);
        // The whole working tree, not only the folder of the project.
        let output = git(&self.top).args(query).output().map_err(LabError::io("run git"))?;
        if !output.status.success() {
            let what = format!("cannot compare {} with its commit", self.top.display());
            return Err(bad_ref(what, &output.stderr, "see what `git status` reports"));
        }
        let lines = || output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let is_untracked = |line: &[u8]| line.starts_with(b"??");
        Ok(Changes {
            tracked: lines().any(|line| !is_untracked(line)),
            untracked: lines().any(is_untracked),
        })
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
}

/// Line that Git writes about a name that it does not know.
const UNKNOWN: &str = "fatal: Needed a single revision";

/// Whether a text is a full hash: of SHA-1, or of SHA-256.
fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the warnings in the output of Git, each once.
fn warnings(said: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for line in String::from_utf8_lossy(said).lines() {
        let warning =
            line.strip_prefix("warning: ").map(|text| text.trim_end_matches('.').to_owned());
        all.extend(warning.filter(|warning| !all.contains(warning)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_are_warnings_and_only_hashes_are_hashes() {
        let said = b"warning: refname 'main' is ambiguous.\nhint: x\nwarning: refname 'main' is ambiguous.\n";
        assert_eq!(warnings(said), ["refname 'main' is ambiguous"]);
        for (text, is) in [
            ("7fa89bae9abcf5cb309c3a89a3bded30f6b4c56b", true),
            ("^7fa89bae9abcf5cb309c3a89a3bded30f6b4c56", false),
            ("7fa89bae", false),
        ] {
            assert_eq!(is_hash(text), is, "{text}");
        }
        assert_eq!(short("7fa89bae9abcf5cb309c3a89a3bded30f6b4c56b"), "7fa89bae9a");
    }
}
