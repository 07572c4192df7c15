//! A file that is too large to be kept in memory. Its parts are read when they are sent.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use loadgen_text::count;

/// A file on the disk, known by its content: another host uses its own file of the same path and content.
/// A clone shares the open file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnDisk {
    /// Absolute path.
    path: PathBuf,
    /// Number of bytes.
    length: u64,
    /// SHA-256 digest of the content, in hexadecimal digits.
    digest: String,
    /// The open file; empty in another process, until [`Self::open`].
    #[serde(skip)]
    file: Arc<OnceLock<File>>,
}

impl PartialEq for OnDisk {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, self.length, &self.digest) == (&other.path, other.length, &other.digest)
    }
}

impl Eq for OnDisk {}

impl OnDisk {
    /// Opens a file, and reads it once for its digest.
    ///
    /// # Errors
    /// Returns the error of the system, or [`io::ErrorKind::InvalidInput`] for anything that is not a file.
    pub fn find(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let (file, length) = open(&path)?;
        let digest = digest(&file, length)?;
        Ok(Self { path, length, digest, file: Arc::new(OnceLock::from(file)) })
    }

    /// Opens the file in a process that has received only its name, unless it is open.
    ///
    /// # Errors
    /// Returns a sentence if there is no such file, or if its content differs.
    pub fn open(&self) -> Result<(), String> {
        if self.file.get().is_some() {
            return Ok(());
        }
        let (path, length) = (self.path.display(), count(self.length));
        let wrong = |what: String| {
            format!(
                "a step sends {path} ({length} bytes), and {what}. A file of more than 16 MiB is not sent to \
                 workers: copy it to the same path on each host"
            )
        };
        let (file, here) =
            open(&self.path).map_err(|error| wrong(format!("it cannot be read here: {error}")))?;
        if here != self.length {
            return Err(wrong(format!("here it has {} bytes", count(here))));
        }
        let found = digest(&file, here).map_err(|error| wrong(error.to_string()))?;
        if found != self.digest {
            return Err(wrong("here it has another content".to_owned()));
        }
        // Another clone may have opened the same file meanwhile.
        let _ = self.file.set(file);
        Ok(())
    }

    /// Number of bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// SHA-256 digest of the content, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Fills `buffer` with the bytes from `at` on. Blocks if the system has to read them from the disk.
    ///
    /// # Errors
    /// Returns an error that names the file: it could not be read, has become shorter, or is not open.
    pub fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let read = match self.file.get() {
            Some(file) => file.read_exact_at(buffer, at),
            None => Err(io::Error::other("it is not open")),
        };
        read.map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => "it has become shorter".to_owned(),
                _ => error.to_string(),
            };
            io::Error::new(error.kind(), format!("cannot read {}: {why}", self.path.display()))
        })
    }
}

/// Opens a file. Returns also its length, in bytes.
fn open(path: &Path) -> io::Result<(File, u64)> {
    // A pipe without a writer would block.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

fn digest(file: &File, length: u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < length {
        let here = buffer.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut buffer[..here], at)?;
        hash.update(&buffer[..here]);
        at += here as u64;
    }
    Ok(format!("{:x}", hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the file as another process receives it.
    fn received(file: &OnDisk) -> OnDisk {
        serde_json::from_str(&serde_json::to_string(file).unwrap()).unwrap()
    }

    #[test]
    fn another_process_opens_only_the_same_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film");
        std::fs::write(&path, "0123456789").unwrap();
        let file = OnDisk::find(&path).unwrap();
        assert_eq!((file.length(), file.digest().len()), (10, 64));
        let other = received(&file);
        assert_eq!(other, file);
        let mut buffer = [0; 3];
        assert!(other.read_at(4, &mut buffer).unwrap_err().to_string().contains("not open"));
        other.open().unwrap();
        other.read_at(4, &mut buffer).unwrap();
        assert_eq!(&buffer, b"456");
        for (content, said) in [
            (Some("0123"), "it has 4 bytes"),
            (Some("0123456788"), "another content"),
            (None, "cannot be read"),
        ] {
            match content {
                Some(content) => std::fs::write(&path, content).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let fault = received(&file).open().unwrap_err();
            assert!(fault.contains(said) && fault.contains("copy it to the same path"), "{fault}");
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film");
        std::fs::write(&path, "0123456789").unwrap();
        let file = OnDisk::find(&path).unwrap();
        std::fs::write(&path, "01").unwrap();
        let error = file.read_at(0, &mut [0; 4]).unwrap_err().to_string();
        assert!(error.ends_with("film: it has become shorter"), "{error}");
        assert_eq!(OnDisk::find(folder.path()).unwrap_err().to_string(), "it is not a file");
    }
}
