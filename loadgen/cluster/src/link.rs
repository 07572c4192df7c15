//! Provides Unix sockets that no other user of the host can reach, for Zenoh's connections.
//!
//! A socket is in a new folder that only its owner may enter (0700). On Linux, folder and socket
//! are then used through open handles, as `/proc/self/fd/N`, and the folder is removed at once. So
//! nothing is left after a `kill -9`, nobody can put another socket in place of this socket or take
//! its name when the socket is gone, and the path is within the system's limit (108 bytes) with any
//! `TMPDIR`. Other systems keep the folder as long as the socket.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

/// File name of a Unix socket within its private folder.
const SOCKET: &str = "link";
/// Fallback location of a socket's folder, if no folder can be made among the temporary files.
/// Containers with a read-only root have this path.
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder for a Unix socket. Only the folder's owner may enter the folder.
/// Dropping this value removes the folder.
pub(super) struct Folder {
    named: TempDir,
    handle: Handle,
}

impl Folder {
    /// Creates a private folder among the temporary files, or in shared memory as a fallback.
    ///
    /// # Errors
    /// If both locations fail: the system's error for the folder of temporary files.
    pub(super) fn new() -> io::Result<Self> {
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

    /// Returns the path by which this process reaches the file `name` in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.handle.path.join(name)
    }

    /// Returns the path by which this process reaches the socket in the folder.
    pub(super) fn socket(&self) -> PathBuf {
        self.path(SOCKET)
    }

    /// Returns the path by which other processes of this user reach the socket in the folder. The
    /// path is valid while the folder exists.
    pub(super) fn public_socket(&self) -> PathBuf {
        self.named.path().join(SOCKET)
    }

    /// Opens a handle to the socket that was bound in the folder.
    ///
    /// # Errors
    /// If there is no such socket.
    pub(super) fn bound(&self) -> io::Result<Handle> {
        Handle::open(&self.socket(), Kind::Socket)
    }

    /// On Linux, removes the folder: the open handle suffices to reach the folder's socket. Other
    /// systems keep the folder until the returned value is dropped.
    pub(super) fn hide(self) -> Hidden {
        let Self { named, handle } = self;
        Hidden { _named: (!cfg!(target_os = "linux")).then_some(named), _handle: handle }
    }
}

/// Remains of a [`Folder`], which must live as long as the folder's socket. The process
/// that bound the socket may remove the socket by its path `/proc/self/fd/N`, so no
/// other handle may get the number `N`.
pub(super) struct Hidden {
    _named: Option<TempDir>,
    _handle: Handle,
}

/// Type of file that a handle refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    Socket,
}

/// Path to a folder or socket of this user. On Linux, no other process can redirect the path to
/// another folder or socket; on other systems the path is not protected.
pub struct Handle {
    path: PathBuf,
    _open: Option<OwnedFd>,
}

impl Handle {
    /// Opens a handle to the Unix socket at `path`.
    ///
    /// # Errors
    /// On Linux: if the path can't be opened, is not a socket, or belongs to another user.
    pub fn of_socket(path: &Path) -> io::Result<Self> {
        Self::open(path, Kind::Socket)
    }

    /// Returns the path, which is valid as long as this value exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(target_os = "linux")]
    fn open(path: &Path, kind: Kind) -> io::Result<Self> {
        use std::os::fd::AsRawFd;

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
            let message = format!("{} is not a {what} of this user", path.display());
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

/// A listening Unix socket that accepts only this process, and exists as long as this value.
pub(super) struct OwnListener {
    listener: UnixListener,
    hidden: Hidden,
}

impl OwnListener {
    /// Creates a listening socket. Returns the listener, and the handle with which to connect.
    ///
    /// # Errors
    /// The system's error for the folder or the socket.
    pub(super) fn new() -> io::Result<(Self, Handle)> {
        let folder = Folder::new()?;
        let listener = UnixListener::bind(folder.socket())?;
        let handle = folder.bound()?;
        Ok((Self { listener, hidden: folder.hide() }, handle))
    }

    /// Waits for one connection from this process, and then stops listening. Drops
    /// connections from other processes.
    ///
    /// # Errors
    /// If the system lacks the resources for a connection.
    pub(super) async fn accept(self) -> io::Result<(UnixStream, Hidden)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            if is_own(&stream) {
                return Ok((stream, self.hidden));
            }
        }
    }
}

/// Returns whether this process itself is at the other end of `stream`.
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
    async fn only_the_handle_leads_to_a_socket() {
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
    async fn a_folder_path_can_exceed_the_limit_of_socket_paths() {
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
    fn foreign_or_public_folders_and_sockets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let kinds = [(folder.path(), Kind::Folder), (folder.path(), Kind::Socket)];
        // `/` belongs to root and is not private, and `/proc/self/exe` is a link: both are
        // refused even if root runs the tests.
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

    /// Checks that another user is refused; needs root to become another user.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn another_user_cannot_connect() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can become another user.
        }
        let folder = Folder::new().unwrap();
        let listener = UnixListener::bind(folder.socket()).unwrap();
        let handle = folder.bound().unwrap();
        assert!(!reached_by_nobody(&folder.public_socket()));
        assert!(!reached_by_nobody(handle.path()));
        // Even if the permissions admitted everybody, the listener would not.
        fs::set_permissions(folder.socket(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(reached_by_nobody(handle.path()));
        let own = OwnListener { listener, hidden: folder.hide() };
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(200), own.accept());
        assert!(waiting.await.is_err(), "somebody was let in");
    }

    /// Returns whether the unprivileged user 65534 (`nobody`) can connect to the socket at `path`.
    /// A thread of this process becomes the user 65534.
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
