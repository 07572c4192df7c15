//! Lets measurements on one machine take turns, and shows each measurement the others.
//!
//! Two files in a folder that all users share carry locks, which the system releases when a process
//! ends for any reason. The first file's lock belongs to the measurement whose turn it is. Every
//! measurement holds a lock on one byte of the second file, so that others see it and its process.
//! The files stay empty, and nothing is ever read from them.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rand::TryRng;
use rand::rngs::SysRng;
use rustix::fs::{FileType, Mode, OFlags, fchmod, fstat, open};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// Environment variable that names the folder of the files.
const VARIABLE: &str = "LOADGEN_LOCKS";
/// Folder of the files without the variable. Not `TMPDIR`, which may differ between users.
const FOLDER: &str = "/tmp";

const TURN: &str = "loadgen-turn";
const MEASURING: &str = "loadgen-measuring";

const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Longest wait for a measurement of another user, who could hold the locks for ever.
const PATIENCE: Duration = Duration::from_secs(300);

/// Identity of a measurement. A manager and its workers are one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement(i64);

impl Measurement {
    /// Returns a measurement that has no part in another process, except processes that do not take a
    /// [`Turn`].
    pub fn new() -> Self {
        Self::numbered(SysRng.try_next_u64().unwrap_or_else(|_| std::process::id().into()))
    }

    /// Returns the measurement of the manager that its workers know by this name, such as its address.
    pub fn of_manager(name: &str) -> Self {
        let digest = Sha256::digest(name);
        Self::numbered(digest.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }

    /// Returns the measurement whose byte has a number made of `number`: above 0 and below the
    /// greatest offset in a file.
    fn numbered(number: u64) -> Self {
        Self((number >> 2).cast_signed().max(1))
    }
}

impl Default for Measurement {
    fn default() -> Self {
        Self::new()
    }
}

/// Another measurement that is in progress on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    /// Process of the measurement; `None` if it is not visible from here, as in a container.
    pid: Option<u32>,
    /// ID of the user of the process, if that is not the user of this one.
    user: Option<u32>,
}

impl Other {
    fn of(pid: Option<u32>) -> Self {
        let user = pid.and_then(owner).filter(|user| *user != rustix::process::getuid().as_raw());
        Self { pid, user }
    }

    /// Whether the measurement is one of this user, as far as is known.
    fn is_own(self) -> bool {
        self.pid.is_some() && self.user.is_none()
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.user) {
            (Some(pid), None) => write!(f, "loadgen (pid {pid})"),
            (Some(pid), Some(user)) => {
                write!(f, "loadgen (pid {pid}, of the user with the ID {user})")
            }
            (None, _) => f.write_str("another loadgen"),
        }
    }
}

/// This process's part in a measurement. Dropping this value ends the part.
#[derive(Debug)]
pub struct Turn {
    of: Measurement,
    measuring: File,
    /// Lock of the turn; `None` for a measurement beside others.
    _turn: Option<File>,
}

impl Turn {
    /// Waits until no other measurement is in progress on this machine, and begins one. Calls `tell`
    /// with each reason to wait. Measures at the same time as a measurement of another user that takes longer than
    /// five minutes.
    ///
    /// # Errors
    /// If the files of the locks cannot be used.
    pub async fn wait(of: Measurement, tell: impl Fn(&str)) -> io::Result<Self> {
        let folder = folder()?;
        let (turn, measuring) =
            (open_lock(&folder.join(TURN))?, open_lock(&folder.join(MEASURING))?);
        let (mut has_turn, mut told, mut begun) = (false, None, Instant::now());
        loop {
            has_turn = has_turn || try_lock(&turn)?;
            let other = other(&measuring, of)?;
            if has_turn && other.is_none() {
                break;
            }
            let who = other.unwrap_or_else(|| Other::of(holder(&turn)));
            if told != Some(who) {
                begun = Instant::now();
            }
            if !who.is_own() && begun.elapsed() >= PATIENCE {
                tell(&format!("{who} does not end its run: measuring at the same time"));
                lock_byte(&measuring, of)?;
                return Ok(Self { of, measuring, _turn: None });
            }
            if told != Some(who) {
                tell(&format!(
                    "waiting for {who} to end its run; --anyway measures at the same time"
                ));
                told = Some(who);
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
        lock_byte(&measuring, of)?;
        Ok(Self { of, measuring, _turn: Some(turn) })
    }

    /// Begins a measurement, even if others are in progress. Calls `tell` if one is.
    ///
    /// # Errors
    /// If the files of the locks cannot be used.
    pub fn anyway(of: Measurement, tell: impl Fn(&str)) -> io::Result<Self> {
        let measuring = open_lock(&folder()?.join(MEASURING))?;
        lock_byte(&measuring, of)?;
        let turn = Self { of, measuring, _turn: None };
        if let Some(other) = turn.other() {
            tell(&format!("{other} measures on this machine at the same time"));
        }
        Ok(turn)
    }

    /// Returns another measurement that is in progress on this machine now, if any.
    pub fn other(&self) -> Option<Other> {
        other(&self.measuring, self.of).ok().flatten()
    }
}

fn folder() -> io::Result<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let Some(named) = named.map(PathBuf::from) else { return Ok(PathBuf::from(FOLDER)) };
    std::fs::create_dir_all(&named).map_err(|e| at(&named, &e))?;
    Ok(named)
}

fn at(path: &Path, error: &dyn fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// Opens a file for locks only, and creates the file if it is missing. Any user may have made the
/// file: a link or a special file is an error, because its lock may have another meaning elsewhere.
fn open_lock(path: &Path) -> io::Result<File> {
    /// Another user who creates the file makes it readable in a second step.
    const ATTEMPTS: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(20);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let readable = Mode::RUSR | Mode::RGRP | Mode::ROTH;
    let mut error = Errno::NOENT;
    for _ in 0..ATTEMPTS {
        let opened = match open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                let made = open(path, flags | OFlags::CREATE | OFlags::EXCL, readable);
                // The user's umask may have removed rights.
                made.and_then(|file| fchmod(&file, readable).map(|()| file))
            }
            opened => opened,
        };
        match opened {
            Ok(file) => {
                let found = fstat(&file).map_err(|e| at(path, &e))?;
                let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
                if !is_plain || found.st_nlink > 1 {
                    return Err(at(path, &"is not a plain file"));
                }
                return Ok(File::from(file));
            }
            Err(Errno::LOOP) => return Err(at(path, &"is a symbolic link")),
            Err(why @ (Errno::EXIST | Errno::ACCESS)) => error = why,
            Err(why) => return Err(at(path, &why)),
        }
        std::thread::sleep(PAUSE);
    }
    Err(at(path, &error))
}

fn try_lock(turn: &File) -> io::Result<bool> {
    match turn.try_lock() {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the process that holds the lock of the turn, as Linux tells it.
fn holder(turn: &File) -> Option<u32> {
    let found = turn.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", found.ino());
    fs::read_to_string("/proc/locks").ok()?.lines().find_map(|line| holder_in(line, &place))
}

/// Returns the process of a line of `/proc/locks`, such as `1: FLOCK  ADVISORY  WRITE 702 fe:01:1311 0 EOF`, if it
/// holds the whole file at this place: the device and the inode.
fn holder_in(line: &str, place: &str) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, pid) = (words.next()?, words.nth(2)?);
    (kind == "FLOCK" && words.next()? == place).then(|| pid.parse().ok()).flatten()
}

/// Returns the ID of the user of a process, as Linux tells it.
fn owner(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}

// Constants of the system that fit into the type of its own structure. Linux and macOS declare them with
// different types.
const READ: libc::c_short = libc::F_RDLCK as libc::c_short;
const WRITE: libc::c_short = libc::F_WRLCK as libc::c_short;
const UNLOCKED: libc::c_short = libc::F_UNLCK as libc::c_short;

/// Returns a lock of `length` bytes from `start`; to the end of any file if `length` is 0.
fn bytes(kind: libc::c_short, start: i64, length: i64) -> libc::flock {
    libc::flock {
        l_type: kind,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

/// Locks the byte of this measurement, which the processes of one measurement share.
fn lock_byte(measuring: &File, of: Measurement) -> io::Result<()> {
    fcntl(measuring, FcntlArg::F_SETLK(&bytes(READ, of.0, 1)))?;
    Ok(())
}

/// Returns a measurement that holds another byte than this one's, in another process.
fn other(measuring: &File, of: Measurement) -> io::Result<Option<Other>> {
    for (start, length) in [(0, of.0), (of.0 + 1, 0)] {
        let mut lock = bytes(WRITE, start, length);
        fcntl(measuring, FcntlArg::F_GETLK(&mut lock))?;
        if lock.l_type != UNLOCKED {
            let pid = u32::try_from(lock.l_pid).ok().filter(|pid| *pid > 0);
            return Ok(Some(Other::of(pid)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_plain_file_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        open_lock(&path("new")).unwrap();
        open_lock(&path("new")).unwrap();
        let mode = std::fs::metadata(path("new")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444);

        std::fs::write(path("other"), "").unwrap();
        symlink(path("other"), path("link")).unwrap();
        std::fs::hard_link(path("other"), path("second-name")).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        symlink(path("missing"), path("dangling")).unwrap();
        for name in ["link", "second-name", "folder", "dangling"] {
            let refused = open_lock(&path(name)).unwrap_err().to_string();
            assert!(refused.starts_with(&path(name).display().to_string()), "{refused}");
        }
        assert!(!path("missing").exists());
    }

    #[test]
    fn a_manager_and_its_workers_are_one_measurement() {
        let of = Measurement::of_manager;
        assert_eq!(of("load-1:7447"), of("load-1:7447"));
        assert_ne!(of("load-1:7447"), of("load-2:7447"));
        assert_ne!(Measurement::new(), Measurement::new());
        assert_eq!(Measurement::numbered(0).0, 1);
        assert!(Measurement::numbered(u64::MAX).0 < i64::MAX - 1);
    }

    #[test]
    fn the_holder_of_a_turn_is_known() {
        let line = "12: FLOCK  ADVISORY  WRITE 702 fe:01:131 0 EOF";
        assert_eq!(holder_in(line, "fe:01:131"), Some(702));
        assert_eq!(holder_in(line, "fe:02:131"), None);
        assert_eq!(holder_in(&line.replace("FLOCK", "POSIX"), "fe:01:131"), None);
        let waits = "12: -> FLOCK  ADVISORY  WRITE 703 fe:01:131 0 EOF";
        assert_eq!(holder_in(waits, "fe:01:131"), None);
        assert_eq!(holder_in("", "fe:01:131"), None);
        let folder = tempfile::tempdir().unwrap();
        let turn = open_lock(&folder.path().join(TURN)).unwrap();
        assert_eq!(holder(&turn), None);
        assert!(try_lock(&turn).unwrap());
        // Some file systems have another device there.
        assert!([None, Some(std::process::id())].contains(&holder(&turn)));
    }

    #[test]
    fn another_user_is_named() {
        let mine = Other { pid: Some(7), user: None };
        let theirs = Other { pid: Some(7), user: Some(1_001) };
        assert_eq!(mine.to_string(), "loadgen (pid 7)");
        assert_eq!(theirs.to_string(), "loadgen (pid 7, of the user with the ID 1001)");
        assert!(Other::of(Some(std::process::id())).is_own());
        assert!(!theirs.is_own() && !Other::of(None).is_own());
    }

    #[test]
    fn a_turn_ends_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TURN);
        let first = open_lock(&path).unwrap();
        let second = open_lock(&path).unwrap();
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&second).unwrap());
        drop(first);
        assert!(try_lock(&second).unwrap());
    }
}
