//! An attacker: another user of the host, without privileges. The attacker watches for new sockets
//! and folders, and tries to get into each of them, or to take its place.

use std::collections::HashSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{self as unix, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::host::Host;

/// User id and group id of the user without privileges.
const NOBODY: u32 = 65_534;
/// Name of a socket in a folder whose name the attacker takes over.
const SOCKET: &str = "link";

/// A running attacker. The attack goes on until [`Attacker::end`].
pub struct Attacker {
    end: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

/// Everything that the attacker has won, and everything that it has seen, by which
/// a test can tell that the attacker looked.
#[derive(Default)]
pub struct Seen {
    /// Sockets and folders that appeared.
    pub appeared: HashSet<String>,
    /// One line for each success.
    pub won: Vec<String>,
}

impl Attacker {
    /// Starts the attacker on this host, and tells it the folder for temporary files. The attacker
    /// leaves the `spared` ports alone, because they are open to everybody.
    pub fn start(host: &Host, temp: &Path, spared: Vec<u16>) -> Result<Self, String> {
        let (host, temp, end) = (host.clone(), temp.to_owned(), Arc::new(AtomicBool::new(false)));
        let (ended, (ready, started)) = (end.clone(), mpsc::channel());
        let thread = thread::spawn(move || {
            host.enter();
            // These calls change only this thread.
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            let became = set_thread_groups(&[group])
                .and_then(|()| set_thread_res_gid(group, group, group))
                .and_then(|()| set_thread_res_uid(user, user, user));
            ready.send(became.map_err(|error| error.to_string())).unwrap();
            let mut attack = Attack { temp, spared, ..Attack::default() };
            while !ended.load(Ordering::Relaxed) {
                attack.look_at_ports();
                attack.look_at_sockets();
                attack.look_at_folders();
                attack.look_at_callers();
            }
            attack.seen
        });
        started.recv().unwrap()?;
        Ok(Self { end, thread })
    }

    pub fn end(self) -> Seen {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[derive(Default)]
struct Attack {
    temp: PathBuf,
    spared: Vec<u16>,
    seen: Seen,
    /// Open connections that the attacker has got.
    held: Vec<TcpStream>,
    held_unix: Vec<UnixStream>,
    /// Entries of the folder for temporary files, as of the last look.
    folders: HashSet<PathBuf>,
    /// Ports and folders that the attacker has taken over.
    ports: Vec<TcpListener>,
    places: Vec<(PathBuf, UnixListener)>,
}

impl Attack {
    /// Records `what`, and returns whether it appears for the first time.
    fn is_new(&mut self, what: String) -> bool {
        self.seen.appeared.insert(what)
    }

    fn win(&mut self, what: String) {
        self.seen.won.push(what);
    }

    /// Connects over loopback to each new TCP port that somebody listens on. After a success, the
    /// attacker also tries to listen at the same address.
    fn look_at_ports(&mut self) {
        for table in ["tcp", "tcp6"] {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
            for line in text.unwrap_or_default().lines().skip(1) {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let port = fields[1].rsplit(':').next().unwrap();
                let port = u16::from_str_radix(port, 16).unwrap();
                let (listens, inode) = (fields[3] == "0A", fields[9]);
                if !listens || self.spared.contains(&port) {
                    continue;
                }
                let what = format!("port, inode {inode}");
                // The attacker's own listeners are spared as well.
                if !self.is_new(what) || self.ports.iter().any(|own| port_of(own) == port) {
                    continue;
                }
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                if let Ok(stream) = TcpStream::connect(address) {
                    self.win(format!("connected to port {port}"));
                    self.held.push(stream);
                    if let Ok(listener) = TcpListener::bind(address) {
                        listener.set_nonblocking(true).unwrap();
                        self.ports.push(listener);
                    }
                }
            }
        }
    }

    /// Connects to each new Unix socket that somebody listens at, by its path or its abstract name.
    fn look_at_sockets(&mut self) {
        let text = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let &[_, _, _, flags, _, _, inode, name] = &fields[..] else { continue };
            // The flag __SO_ACCEPTCON: the socket listens.
            let listens = u32::from_str_radix(flags, 16).unwrap() & 0x1_0000 != 0;
            let is_own = self.places.iter().any(|(path, _)| path.join(SOCKET) == Path::new(name));
            if !listens || is_own || !self.is_new(format!("socket {name}, inode {inode}")) {
                continue;
            }
            let address = match name.strip_prefix('@') {
                Some(name) => unix::SocketAddr::from_abstract_name(name),
                None => unix::SocketAddr::from_pathname(name),
            };
            if let Ok(stream) = UnixStream::connect_addr(&address.unwrap()) {
                self.win(format!("connected to {name}"));
                self.held_unix.push(stream);
            }
        }
    }

    /// Tries to read each new folder and file among the temporary ones, and
    /// takes the name of each one that disappears.
    fn look_at_folders(&mut self) {
        let entries = fs::read_dir(&self.temp).into_iter().flatten().flatten();
        let there: HashSet<PathBuf> = entries.map(|entry| entry.path()).collect();
        for path in &there {
            let name = path.display().to_string();
            let is_own = self.places.iter().any(|(place, _)| place == path);
            if is_own || !self.is_new(format!("folder {name}")) {
                continue;
            }
            if fs::read_dir(path).is_ok() || fs::read(path).is_ok() {
                self.win(format!("read {name}"));
            }
            if let Ok(stream) = UnixStream::connect(path.join(SOCKET)) {
                self.win(format!("connected to the socket in {name}"));
                self.held_unix.push(stream);
            }
        }
        for gone in self.folders.difference(&there) {
            if fs::create_dir(gone).is_ok()
                && let Ok(listener) = UnixListener::bind(gone.join(SOCKET))
            {
                listener.set_nonblocking(true).unwrap();
                self.places.push((gone.clone(), listener));
            }
        }
        self.folders = there;
    }

    /// Accepts connections from callers at the ports and folders that the attacker has taken over.
    fn look_at_callers(&mut self) {
        let mut callers = Vec::new();
        for listener in &self.ports {
            if let Ok((stream, _)) = listener.accept() {
                callers.push(format!("was called at port {}", port_of(listener)));
                self.held.push(stream);
            }
        }
        for (path, listener) in &self.places {
            if let Ok((stream, _)) = listener.accept() {
                callers.push(format!("was called in {}", path.display()));
                self.held_unix.push(stream);
            }
        }
        self.seen.won.append(&mut callers);
    }
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}
