//! Holds the version of a target's files in Git.

use serde::{Deserialize, Serialize};

/// Version of the files of a target that the command line names with a ref, such as `shop@main`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitRecord {
    /// Name of the target without the ref.
    pub target: String,
    /// The ref, as written on the command line; `.` for the working tree.
    pub r#ref: String,
    /// Full hash of the commit; for the working tree, of the commit that is checked out there.
    pub commit: String,
    /// Whether tracked files of the working tree differed from the commit when loadgen started; `None`
    /// for the files of a commit.
    pub dirty: Option<bool>,
    /// Whether the target's table is that of the working tree's `loadgen.toml`, because the commit has
    /// no such file.
    pub defined_elsewhere: bool,
}

impl GitRecord {
    /// Returns the first digits of the hash, for people.
    #[must_use]
    pub fn short_commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    /// Whether both stand for the same files under different names.
    #[must_use]
    pub fn has_files_of(&self, other: &Self) -> bool {
        let is_dirty = [self, other].iter().any(|one| one.dirty == Some(true));
        let is_same = self.target == other.target && self.commit == other.commit;
        is_same && !is_dirty && self.r#ref != other.r#ref
    }
}
