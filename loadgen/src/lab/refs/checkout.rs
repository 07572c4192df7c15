//! Writes the files of a commit to a folder.
//!
//! `git worktree add` is not used: it writes to the user's repository, runs the user's hooks, and
//! leaves an entry behind if loadgen is killed. `git archive` leaves out files that `.gitattributes`
//! excludes from releases. Here the user's repository writes the files as a checkout does, with its
//! filters and settings, but with an index and a folder of their own. The folder then gets a small
//! repository that borrows the user's objects, so that builds can ask Git for a version, and cannot
//! reach the user's branches, index or settings.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::lab::error::LabError;
use crate::lab::git::git_ref::GitRef;
use crate::lab::git::{Repository, git};
use crate::lab::install::variables::of_git;
use crate::lab::service::logs::{MESSAGE_LINES, tail_of};
use crate::lab::service::{Service, ServiceSpec};

/// Time after which loadgen tells what it waits for. A filter such as Git LFS, or the remote of a partial
/// clone, may take any time.
const LONG: Duration = Duration::from_secs(5);

/// Files of the user's repository, beside its settings, that decide which files look changed.
const COPIED: [&str; 2] = ["shallow", "info/attributes"];

/// Settings of the user's that would write to the user's repository or run hooks.
const SETTINGS: [&str; 4] = [
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.fsmonitor=false",
];

/// A commit whose files are written to a folder.
pub struct Checkout<'a> {
    /// The user's repository.
    pub repository: &'a Repository,
    /// Ref of the target, with its commit.
    pub git: &'a GitRef,
    /// Folder for the files.
    pub folder: &'a Path,
    /// Name of the target with its ref.
    pub target: &'a str,
    /// File for the output of Git, which stays if Git fails.
    pub log: &'a Path,
}

impl Checkout<'_> {
    /// Writes the files to the folder, which is created. Calls `waits` once if Git takes long.
    pub async fn write(&self, waits: impl FnOnce()) -> Result<(), LabError> {
        let Self { repository, git, folder, target, log } = self;
        fs::create_dir_all(folder).map_err(LabError::file("create the folder", folder))?;
        self.make_repository()?;
        let mut argv: Vec<_> = vec!["git".into()];
        argv.extend(SETTINGS.iter().flat_map(|setting| ["-c".into(), (*setting).into()]));
        argv.extend(["--git-dir".into(), repository.git_dir.clone().into_os_string()]);
        argv.extend(["--work-tree".into(), folder.as_os_str().to_owned()]);
        let words = ["read-tree", "-m", "-u", "--no-recurse-submodules", &git.commit];
        argv.extend(words.map(Into::into));
        let name = format!("the checkout of {target}");
        let mut spec = ServiceSpec::new(name, argv, folder, log.to_path_buf());
        spec.env = of_git();
        let index = folder.join(".git/index").to_string_lossy().into_owned();
        spec.env.push(("GIT_INDEX_FILE".to_owned(), index));
        let mut program = Service::start(&spec)?;
        if !ended(&mut program, waits).await?.success() {
            return Err(self.failed(program.last_log_lines(MESSAGE_LINES)));
        }
        let _ = fs::remove_file(log);
        Ok(())
    }

    /// Makes a repository in the folder, which has the objects and the tags of the user's repository, and
    /// those of its settings that decide which files look changed.
    fn make_repository(&self) -> Result<(), LabError> {
        let Self { repository, folder, .. } = self;
        let run = |command: &mut Command| -> Result<(), LabError> {
            let output = command.output().map_err(LabError::io("run git"))?;
            if output.status.success() {
                return Ok(());
            }
            let _ = fs::write(self.log, &output.stderr);
            Err(self.failed(tail_of(&String::from_utf8_lossy(&output.stderr), MESSAGE_LINES)))
        };
        // The formats of the user's repository, which may differ from Git's defaults.
        let format = if self.git.commit.len() > 40 { "sha256" } else { "sha1" };
        let formats = [("GIT_DEFAULT_HASH", format), ("GIT_DEFAULT_REF_FORMAT", "files")];
        run(git(folder).envs(formats).args(["init", "--quiet", "--template="]))?;
        let own = folder.join(".git");
        // Written by loadgen: all users of this machine see the arguments of `git config`.
        let config = own.join("config");
        let add = |text: &[u8]| File::options().append(true).open(&config)?.write_all(text);
        add(&repository.settings()?.lines()).map_err(LabError::file("write", &config))?;
        let place = |file: &str| -> Result<PathBuf, LabError> {
            let path = own.join(file);
            let parent = path.parent().unwrap_or(&own);
            fs::create_dir_all(parent).map_err(LabError::file("create the folder", parent))?;
            Ok(path)
        };
        let write = |file: &str, bytes: &[u8]| -> Result<(), LabError> {
            let path = place(file)?;
            fs::write(&path, [bytes, b"\n"].concat()).map_err(LabError::file("write", &path))
        };
        write("objects/info/alternates", repository.path("objects")?.as_os_str().as_bytes())?;
        let tags = repository.tags()?;
        if !tags.is_empty() {
            write("packed-refs", tags.as_bytes())?;
        }
        write("HEAD", self.git.commit.as_bytes())?;
        for name in COPIED {
            let from = repository.path(name)?;
            if from.is_file() {
                fs::copy(&from, place(name)?).map_err(LabError::file("read", &from))?;
            }
        }
        Ok(())
    }

    fn failed(&self, output: Vec<String>) -> LabError {
        LabError::CheckOut { target: self.target.to_owned(), output, log: self.log.to_owned() }
    }

    /// Returns the folders of the submodules.
    pub fn submodules(&self) -> Vec<String> {
        let query = ["config", "--file", ".gitmodules", "--get-regexp", r"\.path$"];
        let output = git(self.folder).args(query).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
    }

    /// Returns the folder of the target's project.
    pub fn project(&self) -> PathBuf {
        self.folder.join(&self.repository.prefix)
    }
}

/// Waits for the end of Git. Calls `waits` once if that takes long.
async fn ended(program: &mut Service, waits: impl FnOnce()) -> Result<ExitStatus, LabError> {
    let status = match tokio::time::timeout(LONG, program.wait()).await {
        Ok(status) => status,
        Err(_) => {
            waits();
            program.wait().await
        }
    };
    status.map_err(LabError::io("wait for git"))
}
