//! Keeps the log of a service small: a server may write a line for each request.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

/// Number of bytes that stay at the beginning and at the end of a long log.
const BEGINNING: u64 = 1 << 20;
const END: u64 = 4 << 20;

/// Number of bytes on the disk at which the part between them is dropped.
const MOST: u64 = 64 << 20;

/// The log of a service, to which the service writes.
pub(super) struct LogBound {
    log: File,
    /// End of the part that was dropped; 0 if none was.
    dropped_to: u64,
}

impl LogBound {
    /// Bounds a log, which must be open for reading and writing.
    pub(super) fn new(log: File) -> Self {
        Self { log, dropped_to: 0 }
    }

    /// Drops the middle of the log if the log is long. The file keeps its length, and what is dropped takes no place on the
    /// disk: the service goes on writing where it is. Does nothing where the file system cannot do that.
    pub(super) fn look(&mut self) -> io::Result<()> {
        let length = self.log.metadata()?.len();
        let from = self.dropped_to.max(BEGINNING);
        if length.saturating_sub(self.dropped_to) < MOST {
            return Ok(());
        }
        let to = length - END;
        punch(&self.log, from, to - from)?;
        self.dropped_to = to;
        Ok(())
    }

    /// Joins the beginning and the end of a log whose middle was dropped, and says so between them. Call when nobody
    /// writes any more.
    pub(super) fn close(self) -> io::Result<()> {
        if self.dropped_to == 0 {
            return Ok(());
        }
        let length = self.log.metadata()?.len();
        let end = length - length.saturating_sub(self.dropped_to).min(END);
        let mut rest = Vec::new();
        let dropped = end.saturating_sub(BEGINNING);
        write!(rest, "\n[loadgen dropped {dropped} bytes of this log here]\n")?;
        let at = rest.len();
        // At most `END`.
        rest.resize(at + (length - end) as usize, 0);
        self.log.read_exact_at(&mut rest[at..], end)?;
        self.log.write_all_at(&rest, BEGINNING)?;
        self.log.set_len(BEGINNING + rest.len() as u64)
    }
}

#[cfg(target_os = "linux")]
fn punch(log: &File, from: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(log, flags, from, length)?)
}

#[cfg(not(target_os = "linux"))]
fn punch(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bound = || {
            let open = File::options().read(true).write(true).open(file.path()).unwrap();
            LogBound::new(open)
        };
        let mut writer = file.reopen().unwrap();
        writer.write_all(b"the beginning\n").unwrap();
        let mut short = bound();
        short.look().unwrap();
        short.close().unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"the beginning\n");

        let mut long = bound();
        let mebibyte = vec![b'x'; 1 << 20];
        for _ in 0..200 {
            writer.write_all(&mebibyte).unwrap();
            if long.look().is_err() {
                println!("skipped: the file system cannot drop a part of a file");
                return;
            }
        }
        let on_disk = file.as_file().metadata().unwrap().blocks() * 512;
        assert!(on_disk <= MOST + BEGINNING + END, "{on_disk}");
        writer.write_all(b"the end\n").unwrap();
        long.close().unwrap();
        let mut text = String::new();
        File::open(file.path()).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.starts_with("the beginning\nxxx"));
        assert!(text.ends_with("xthe end\n"), "{}", &text[text.len() - 20..]);
        assert!(text.contains("x\n[loadgen dropped "), "{}", text.len());
        assert!(text.len() as u64 <= BEGINNING + END + 100, "{}", text.len());
    }
}
