//! Reads files that a user names, of a limited size: a path may name a device that never ends, or a pipe into which
//! nobody writes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Returns the content of a file, or of a pipe that is open already, such as that of `<(command)` in a shell.
///
/// # Errors
/// Returns [`io::ErrorKind::FileTooLarge`] for more than `limit` bytes, a whole number of MiB; and
/// [`io::ErrorKind::InvalidInput`] for anything that is neither a file nor such a pipe.
pub fn read_at_most(limit: u64, path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?.file_type();
    let is_open =
        || ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|at| path.starts_with(at));
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let is_readable = kind.is_file() || (kind.is_fifo() && is_open());
    if !is_readable {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    // A file may grow.
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => {
            let message = format!("it is larger than {} MiB", limit >> 20);
            Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
        }
        false => Ok(bytes),
    }
}

/// Returns the text of a file, as [`read_at_most`] does.
///
/// # Errors
/// As [`read_at_most`], and [`io::ErrorKind::InvalidData`] for a file that is not UTF-8.
pub fn read_text(limit: u64, path: &Path) -> io::Result<String> {
    String::from_utf8(read_at_most(limit, path)?).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_limited_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "text").unwrap();
        assert_eq!(read_text(1 << 20, &file).unwrap(), "text");
        fs::write(&file, vec![b'x'; (1 << 20) + 1]).unwrap();
        let error = read_text(1 << 20, &file).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        fs::write(&file, [0xff]).unwrap();
        assert_eq!(read_text(1 << 20, &file).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let device = read_text(1 << 20, Path::new("/dev/zero")).unwrap_err();
        assert_eq!(device.to_string(), "it is not a file");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(read_text(1 << 20, &pipe).unwrap_err().to_string(), "it is not a file");
        let is_folder = read_text(1 << 20, folder.path()).unwrap_err();
        assert_eq!(is_folder.kind(), io::ErrorKind::IsADirectory);
    }
}
