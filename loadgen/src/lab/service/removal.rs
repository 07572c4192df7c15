//! Removes folders in which programs may still write.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Removes a folder and all that is in it, also folders without write permission, as some caches of
/// packages have. Tries again until `limit`, because a program that is ending may still write files; with
/// rights that it has given itself, it tries again once even after `limit`. A folder that is missing is
/// removed.
pub(in crate::lab) fn remove_all(folder: &Path, limit: Duration) -> io::Result<()> {
    let deadline = Instant::now() + limit;
    let mut has_rights = false;
    loop {
        let removed = fs::remove_dir_all(folder);
        let error = match removed {
            _ if !exists(folder) => return Ok(()),
            Ok(()) => io::ErrorKind::DirectoryNotEmpty.into(),
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::PermissionDenied {
            make_writable(folder);
            if !std::mem::replace(&mut has_rights, true) {
                continue;
            }
        }
        if Instant::now() >= deadline {
            return Err(error);
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Gives the owner all rights to the folder and the folders in it. Follows no link.
fn make_writable(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_write_permission_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("cache");
        fs::create_dir_all(folder.join("module/inner")).unwrap();
        fs::write(folder.join("module/inner/file"), "").unwrap();
        for path in ["module/inner", "module"] {
            fs::set_permissions(folder.join(path), Permissions::from_mode(0o500)).unwrap();
        }
        remove_all(&folder, Duration::ZERO).unwrap();
        assert!(!folder.exists());
        remove_all(&folder, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_folder_in_which_a_program_still_writes_is_removed_after_its_end() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("busy");
        let path = folder.clone();
        let writer = std::thread::spawn(move || {
            let end = Instant::now() + Duration::from_millis(300);
            for n in 0.. {
                let _ = fs::create_dir_all(path.join("inner"));
                let _ = fs::write(path.join(format!("inner/{n}")), "");
                if Instant::now() >= end {
                    break;
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        // The folder may be gone for a moment before the writer makes it again.
        let _ = remove_all(&folder, Duration::from_secs(5));
        writer.join().unwrap();
        remove_all(&folder, Duration::from_secs(5)).unwrap();
        assert!(!folder.exists());
    }
}
