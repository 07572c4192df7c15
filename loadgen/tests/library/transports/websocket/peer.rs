//! A server that controls each byte of a WebSocket.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Read and write timeout of a server: no test waits longer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// The server's side of a connection.
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    /// Number of the connection, from 0.
    pub(super) number: usize,
    /// Events that the server has noted, in order.
    pub(super) seen: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// Reads a request, and returns its head.
    pub(super) fn head(&mut self) -> io::Result<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        Ok(String::from_utf8(head).unwrap())
    }

    /// Reads a request, and returns a response that accepts it, without the empty line.
    pub(super) fn acceptance(&mut self) -> io::Result<String> {
        let head = self.head()?;
        let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
        Ok(format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
             Connection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            derive_accept_key(key.unwrap().as_bytes())
        ))
    }

    pub(super) fn accept(&mut self) -> io::Result<()> {
        let response = self.acceptance()?;
        self.raw(format!("{response}\r\n"))
    }

    pub(super) fn raw(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends a frame that is a whole message.
    pub(super) fn send(&mut self, kind: u8, payload: impl AsRef<[u8]>) -> io::Result<()> {
        self.raw(frame(0x80 | kind, payload.as_ref()))
    }

    /// Reads a frame: its kind, and its payload without the mask.
    pub(super) fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut start = [0; 2];
        self.stream.read_exact(&mut start)?;
        assert_eq!(start[1] & 0x80, 0x80, "frames of a client are masked");
        let length = match start[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length)?;
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length)?;
                usize::try_from(u64::from_be_bytes(length)).unwrap()
            }
            length => usize::from(length),
        };
        let mut mask = [0; 4];
        self.stream.read_exact(&mut mask)?;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        payload.iter_mut().enumerate().for_each(|(at, byte)| *byte ^= mask[at % 4]);
        Ok((start[0] & 0x0f, payload))
    }

    pub(super) fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap().push(what.into());
    }

    /// Echoes messages and answers a close frame, until the connection ends.
    pub(super) fn echo(&mut self) -> io::Result<()> {
        loop {
            let (kind, payload) = self.read()?;
            self.note(format!("{kind} {}", String::from_utf8_lossy(&payload)));
            if kind != PONG {
                self.send(kind, &payload)?;
            }
            if kind == CLOSE {
                return Ok(());
            }
        }
    }

    /// Waits until the client closes the connection.
    pub(super) fn outlast(&mut self) -> io::Result<()> {
        while self.stream.read(&mut [0; 4096])? > 0 {}
        Ok(())
    }

    /// Breaks off the connection with a RST.
    pub(super) fn reset(self) -> io::Result<()> {
        TcpSocket::from_std_stream(self.stream).set_zero_linger()
    }
}

/// Returns a frame of a server, which is not masked.
pub(super) fn frame(start: u8, payload: &[u8]) -> Vec<u8> {
    let length = match payload.len() {
        short @ 0..126 => vec![u8::try_from(short).unwrap()],
        long => [&[127][..], &(long as u64).to_be_bytes()].concat(),
    };
    [&[start][..], &length, payload].concat()
}

pub(super) struct Server {
    pub(super) url: String,
    pub(super) seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that does `with` each connection.
    pub(super) fn start(with: impl Fn(Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, with) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(with));
        let noted = seen.clone();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (seen, with) = (noted.clone(), with.clone());
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || with(Peer { stream, number, seen }));
            }
        });
        Self { url, seen }
    }

    /// Starts a server that accepts each WebSocket, and then does `with` it.
    pub(super) fn open(with: impl Fn(Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::start(move |mut peer| {
            peer.accept()?;
            with(peer)
        })
    }

    pub(super) fn echoing() -> Self {
        Self::open(|mut peer| peer.echo())
    }

    pub(super) fn seen(&self, what: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|it| it.starts_with(what)).count()
    }
}
