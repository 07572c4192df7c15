//! The ref of a target: the version of its files in Git.

/// Name of the ref that stands for the working tree.
pub const WORKING_TREE: &str = ".";

/// Version of a target's files in Git, such as `main` of `shop@main`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRef {
    /// Name of the target without the ref.
    pub target: String,
    /// Name of the commit, as the user wrote it, or `.`: the working tree.
    pub name: String,
    /// Full hash of the commit; for the working tree, of the commit that is checked out there.
    pub commit: String,
    /// Whether tracked files of the working tree differ from the commit; `None` for the files of a
    /// commit.
    pub dirty: Option<bool>,
    /// Whether the working tree has files that are neither tracked nor ignored; `None` for the files of a
    /// commit.
    pub untracked: Option<bool>,
    /// Whether the target's table is that of the working tree, because the commit has no manifest.
    pub is_defined_elsewhere: bool,
    /// Notes on the ref for the user, as sentences.
    pub notes: Vec<String>,
}

impl GitRef {
    /// Whether the files are those of the working tree.
    pub fn is_working_tree(&self) -> bool {
        self.dirty.is_some()
    }
}
