//! Unix sockets for Zenoh's connections, which no other user of the host can reach.
//!
//! A socket lies in a new folder that its owner alone may enter (0700). On Linux both are then used by an open
//! handle, as `/proc/self/fd/N`, and the folder is removed at once: nothing is left after a `kill -9`, nobody
//! can put another socket in the place of this one, or take its name when it is gone, and the path is short
//! enough for the system (108 bytes) whatever `TMPDIR` says. Other systems keep the folder as long as the
//! socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

/// The name of a socket in its folder.
const SOCKET: &str = "link";
/// Where a folder is made if there is no room for it among the temporary files: containers whose root is
/// read-only have this one.
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that its owner alone may enter, for a socket. It goes with this value.
pub struct Folder {
    named: TempDir,
    handle: Handle,
}

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// What the system says of the folder for temporary files.
    pub fn new() -> io::Result<Self> {
        let in_memory = |error| Self::within(Path::new(SHARED_MEMORY)).map_err(|_| error);
        Self::within(&std::env::temp_dir()).or_else(in_memory)
    }

    fn within(base: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("loadgen-").permissions(PermissionsExt::from_mode(0o700));
        let named = builder.tempdir_in(base)?;
        let handle = Handle::open(named.path(), Kind::Folder)?;
        Ok(Self { named, handle })
    }

    /// The path of a file in it, for this process.
    pub fn path(&self, name: &str) -> PathBuf {
        self.handle.path.join(name)
    }

    /// The path of its socket, for this process.
    pub fn socket(&self) -> PathBuf {
        self.path(SOCKET)
    }

    /// The path of its socket for other processes of this user, as long as the folder is there.
    pub fn public_socket(&self) -> PathBuf {
        self.named.path().join(SOCKET)
    }

    /// The socket that was bound in it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn bound(&self) -> io::Result<Handle> {
        Handle::open(&self.socket(), Kind::Socket)
    }

    /// Removes it, where a handle is enough to reach its socket.
    pub fn hide(self) -> Hidden {
        let Self { named, handle } = self;
        Hidden { _named: (!cfg!(target_os = "linux")).then_some(named), _handle: handle }
    }
}

/// What is left of a folder, which has to live as long as its socket: whoever bound it may remove it by the
/// path of the handle, and no other handle may get the same number.
pub struct Hidden {
    _named: Option<TempDir>,
    _handle: Handle,
}

/// What a handle is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    Socket,
}

/// A path that leads to one folder or socket of this user's, and never to another one.
pub struct Handle {
    path: PathBuf,
    _open: Option<OwnedFd>,
}

impl Handle {
    /// Of a socket.
    ///
    /// # Errors
    /// Where it can't be opened, is no socket, or belongs to another user.
    pub fn of_socket(path: &Path) -> io::Result<Self> {
        Self::open(path, Kind::Socket)
    }

    /// It leads there as long as this value is there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(target_os = "linux")]
    fn open(path: &Path, kind: Kind) -> io::Result<Self> {
        use rustix::fs::{FileType, Mode, OFlags, fstat, open};
        let open = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let found = fstat(&open)?;
        let is_kind = match (kind, FileType::from_raw_mode(found.st_mode)) {
            (Kind::Folder, FileType::Directory) => found.st_mode & 0o077 == 0,
            (Kind::Socket, FileType::Socket) => true,
            _ => false,
        };
        if !is_kind || found.st_uid != rustix::process::geteuid().as_raw() {
            let what = if kind == Kind::Folder { "private folder" } else { "socket" };
            let message = format!("{} is no {what} of this user", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        Ok(Self { path, _open: Some(open) })
    }

    #[cfg(not(target_os = "linux"))]
    fn open(path: &Path, _: Kind) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), _open: None })
    }
}

/// A socket at which this process alone is let in, as long as this value is there.
pub struct OwnListener {
    listener: UnixListener,
    hidden: Hidden,
}

impl OwnListener {
    /// A new one, and the handle by which it is reached.
    ///
    /// # Errors
    /// What the system says of its folder.
    pub fn new() -> io::Result<(Self, Handle)> {
        let folder = Folder::new()?;
        let listener = UnixListener::bind(folder.socket())?;
        let handle = folder.bound()?;
        Ok((Self { listener, hidden: folder.hide() }, handle))
    }

    /// Lets this process in, once.
    ///
    /// # Errors
    /// Where the system has no means for it.
    pub async fn accept(self) -> io::Result<(UnixStream, Hidden)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            if is_own(&stream) {
                return Ok((stream, self.hidden));
            }
        }
    }
}

/// Whether this very process is at the other end.
fn is_own(stream: &UnixStream) -> bool {
    let own = i32::try_from(std::process::id()).ok();
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw() && peer.pid() == own)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn nothing_but_the_handle_leads_to_a_socket() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::within(base.path()).unwrap();
        let mode = fs::metadata(folder.named.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let (listener, named) =
            (UnixListener::bind(folder.socket()).unwrap(), folder.public_socket());
        assert!(UnixStream::connect(&named).await.is_ok(), "as long as the folder is there");
        let handle = folder.bound().unwrap();
        let hidden = folder.hide();
        if cfg!(target_os = "linux") {
            assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0, "nothing is left");
        }
        let own = OwnListener { listener, hidden };
        let stream = UnixStream::connect(handle.path()).await.unwrap();
        let (admitted, _hidden) = own.accept().await.unwrap();
        assert!(is_own(&stream) && is_own(&admitted));
        assert!(UnixStream::connect(handle.path()).await.is_err(), "once");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_path_may_be_longer_than_that_of_a_socket() {
        let base = tempfile::tempdir().unwrap();
        let long = base.path().join("x".repeat(200));
        fs::create_dir(&long).unwrap();
        let folder = Folder::within(&long).unwrap();
        let _listener = UnixListener::bind(folder.socket()).unwrap();
        // As another process of the same user does.
        let handle = Handle::of_socket(&folder.public_socket()).unwrap();
        UnixStream::connect(handle.path()).await.unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_another_users_or_open_to_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let kinds = [(folder.path(), Kind::Folder), (folder.path(), Kind::Socket)];
        // Root's, or its links: where the tests are root's as well, the last two are no sockets.
        let others = [(Path::new("/"), Kind::Folder), (Path::new("/proc/self/exe"), Kind::Socket)];
        for (path, kind) in kinds.into_iter().chain(others) {
            let error = Handle::open(path, kind).err().unwrap();
            assert_eq!(
                error.kind(),
                io::ErrorKind::PermissionDenied,
                "{}: {error}",
                path.display()
            );
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(Handle::open(&link, Kind::Folder).is_err(), "links are not followed");
    }

    /// Another user at the other end, where these tests may become one.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn another_user_is_not_let_in() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can become another user.
        }
        let folder = Folder::new().unwrap();
        let listener = UnixListener::bind(folder.socket()).unwrap();
        let handle = folder.bound().unwrap();
        assert!(!reached_by_nobody(&folder.public_socket()));
        assert!(!reached_by_nobody(handle.path()));
        // If its permissions did let everybody in, the listener would not.
        fs::set_permissions(folder.socket(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(reached_by_nobody(handle.path()));
        let own = OwnListener { listener, hidden: folder.hide() };
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(200), own.accept());
        assert!(waiting.await.is_err(), "somebody was let in");
    }

    /// Whether a user without privileges can connect there: a thread of this process, which becomes one.
    #[cfg(target_os = "linux")]
    fn reached_by_nobody(path: &Path) -> bool {
        let path = path.to_owned();
        let stranger = std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            std::os::unix::net::UnixStream::connect(path).is_ok()
        });
        stranger.join().unwrap()
    }
}
