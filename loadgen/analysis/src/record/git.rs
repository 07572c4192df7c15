//! Holds the version of a target's files in Git.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the files of a target that the command line names with a ref, such as `shop@main`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitRecord {
    /// Name of the target without the ref.
    pub target: String,
    /// The ref, as written on the command line; `.` for the working tree.
    pub r#ref: String,
    /// Full hash of the commit; for the working tree, of the commit that is checked out there.
    pub commit: String,
    /// Whether tracked files of the working tree differed from the commit when loadgen started;
    /// `None` for the files of a commit.
    pub dirty: Option<bool>,
    /// Whether the working tree had files that are neither tracked nor ignored when loadgen
    /// started; `None` for the files of a commit, or in earlier versions.
    pub untracked: Option<bool>,
    /// Whether the target was started as the working tree's `loadgen.toml` says, because the commit
    /// has no such file.
    pub defined_elsewhere: bool,
}

impl GitRecord {
    /// Returns the first digits of the hash, for people.
    #[must_use]
    pub fn short_commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    /// Whether both stand for the same files under different names. False for the working tree: it may have
    /// untracked and ignored files, and another environment than the one that the build of a commit makes.
    #[must_use]
    pub fn has_files_of(&self, other: &Self) -> bool {
        let are_commits = self.dirty.is_none() && other.dirty.is_none();
        let is_same = self.target == other.target && self.commit == other.commit;
        is_same && are_commits && self.r#ref != other.r#ref
    }
}
