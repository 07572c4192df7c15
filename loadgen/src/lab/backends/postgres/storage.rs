//! Chooses where a backend keeps its data: on a disk if one exists. In memory `fsync` costs
//! nothing, and nobody runs a database that commits at no cost.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use tempfile::TempDir;

use crate::lab::home::user_cache::user_cache;

/// A file system, described by Linux's name of the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// Type, such as `ext4`, `overlay` or `tmpfs`.
    pub kind: String,
}

impl Filesystem {
    /// Returns the file system of a path; `None` if unknown, as on systems other than Linux.
    pub fn of(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        Self::find(&path, &fs::read_to_string("/proc/self/mountinfo").ok()?)
    }

    /// Returns the file system of the mount point that is nearest above `path`. If several mounts
    /// have the same mount point, the last mount counts.
    ///
    /// A line of `mounts` is of the form
    /// `36 35 98:0 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw` (proc_pid_mountinfo(5)).
    fn find(path: &Path, mounts: &str) -> Option<Self> {
        let mount = |line: &str| {
            let (mount, source) = line.split_once(" - ")?;
            let place = PathBuf::from(unescaped(mount.split(' ').nth(4)?));
            let kind = source.split(' ').next()?.to_owned();
            path.starts_with(&place).then(|| (place.components().count(), kind))
        };
        let nearest = mounts.lines().filter_map(mount).max_by_key(|(depth, _)| *depth);
        nearest.map(|(_, kind)| Self { kind })
    }

    /// Returns whether data that is written to the file system never reaches a disk.
    pub fn is_memory(&self) -> bool {
        ["tmpfs", "ramfs"].contains(&self.kind.as_str())
    }
}

/// Decodes the octal escapes of spaces and similar characters in a mount point.
fn unescaped(word: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(word.to_owned(), |word, (code, char)| word.replace(code, char))
}

/// Creates a temporary folder in the first suitable place, such as the system's temporary folder,
/// `/var/tmp` or the user's cache. Places on a disk come before places in memory. A place is
/// suitable if `may_be_used` accepts the place and the folder can be created.
pub(super) fn folder(
    prefix: &str,
    cache: Option<PathBuf>,
    may_be_used: impl Fn(&Path) -> bool,
) -> io::Result<TempDir> {
    let (temporary, user) = (Some(env::temp_dir()), user_cache());
    let usual = [temporary, cache, Some("/var/tmp".into()), user, Some("/tmp".into())];
    let usual = usual.into_iter().flatten().filter(|place| may_be_used(place));
    folder_in(prefix, usual.collect())
}

fn folder_in(prefix: &str, mut places: Vec<PathBuf>) -> io::Result<TempDir> {
    places.sort_by_key(|place| Filesystem::of(place).is_some_and(|found| found.is_memory()));
    let mut made = Err(io::ErrorKind::NotFound.into());
    for place in places {
        let builder = &mut tempfile::Builder::new();
        // The folder will hold a password, so only its owner may read it.
        let builder = builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
        made = builder.tempdir_in(place);
        if made.is_ok() {
            break;
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
        23 22 0:21 / /tmp rw - tmpfs tmpfs rw,size=1024k\n\
        24 23 254:1 / /tmp/on\\040disk rw shared:2 - xfs /dev/vdb rw\n\
        25 22 0:22 / /mnt rw - ext4 /dev/vdc rw\n\
        26 25 0:23 / /mnt rw - ramfs ramfs rw\n";

    fn at(path: &str) -> Filesystem {
        Filesystem::find(Path::new(path), MOUNTS).unwrap()
    }

    #[test]
    fn a_path_belongs_to_the_nearest_mount_above_it() {
        let kinds =
            ["/", "/tmpfile", "/tmp/a", "/tmp/on disk/a", "/mnt/a"].map(|path| at(path).kind);
        assert_eq!(kinds, ["ext4", "ext4", "tmpfs", "xfs", "ramfs"]);
        assert!(at("/tmp/a").is_memory() && at("/mnt").is_memory());
        assert!(!at("/").is_memory() && !at("/tmp/on disk").is_memory());
        assert!(!Filesystem { kind: "overlay".to_owned() }.is_memory());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_used_only_without_a_disk() {
        let disk = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let memory = Path::new("/dev/shm");
        if !Filesystem::of(memory).is_some_and(|found| found.is_memory()) {
            return; // There is nothing to be avoided.
        }
        let nowhere = disk.path().join("nowhere");
        let places = [memory, &nowhere, disk.path()].map(Path::to_owned).to_vec();
        let folder = folder_in("loadgen-test-", places).unwrap();
        assert!(folder.path().starts_with(disk.path()), "{folder:?}");
        let folder = folder_in("loadgen-test-", vec![nowhere, memory.to_owned()]).unwrap();
        assert!(folder.path().starts_with(memory), "{folder:?}");
    }
}
