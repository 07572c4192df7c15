//! An HTTP/2 server inside the test, which controls each frame (RFC 9113).

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Read and write timeout of the server: no test waits for longer.
const PATIENCE: Duration = Duration::from_secs(20);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// Flags of frames.
pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Error codes.
pub const NO_ERROR: u32 = 0;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// Settings.
pub const MAX_CONCURRENT_STREAMS: u16 = 3;
pub const INITIAL_WINDOW_SIZE: u16 = 4;

/// `:status: 200`, from HPACK's static table.
pub const OK: u8 = 0x88;
/// `:status: 204`, from HPACK's static table.
pub const NO_CONTENT: u8 = 0x89;

/// A frame as the server received it.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// Counts of a server.
#[derive(Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    pub requests: AtomicUsize,
    /// Number of acknowledged PINGs.
    pub pongs: AtomicUsize,
    /// Streams that the client reset, with the error code.
    pub resets: Mutex<Vec<(u32, u32)>>,
}

/// A server that runs until the test's process ends.
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
}

impl Server {
    /// Starts a server that reads the preface, sends `settings`, and then calls `serve` for each
    /// connection, with the connection's number, counted from 0.
    pub fn start(
        settings: &'static [(u16, u32)],
        serve: impl Fn(&mut Peer, usize) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::raw(move |peer, number| {
            peer.read_preface()?;
            peer.send_settings(settings)?;
            serve(peer, number)
        })
    }

    /// Starts a server that calls `serve` for each connection before anything is read.
    pub fn raw(serve: impl Fn(&mut Peer, usize) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, serve) = (listener.local_addr().unwrap(), Arc::new(serve));
        let server = Self { address, seen: Arc::default() };
        let seen = server.seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let number = seen.connections.fetch_add(1, Ordering::SeqCst);
                let (serve, mut peer) = (serve.clone(), Peer::new(stream.unwrap(), seen.clone()));
                // The thread ends when the client closes the connection.
                thread::spawn(move || serve(&mut peer, number));
            }
        });
        server
    }

    /// Starts a server that answers each request with a body.
    pub fn answering(settings: &'static [(u16, u32)]) -> Self {
        Self::start(settings, |peer, _| {
            loop {
                let stream = peer.request()?;
                peer.answer(stream)?;
            }
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    pub fn pongs(&self) -> usize {
        self.seen.pongs.load(Ordering::SeqCst)
    }

    /// Returns the streams that clients have reset, each with its code, once there are `count`: the last may still
    /// be on its way when the client has ended. After five seconds, returns those that came.
    pub fn resets(&self, count: usize) -> Vec<(u32, u32)> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let resets = self.seen.resets.lock().unwrap().clone();
            if resets.len() >= count || Instant::now() > deadline {
                return resets;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The server's side of a connection.
pub struct Peer {
    pub stream: TcpStream,
    seen: Arc<Seen>,
    /// Number of body bytes of each request.
    pub bodies: BTreeMap<u32, usize>,
}

impl Peer {
    fn new(stream: TcpStream, seen: Arc<Seen>) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, seen, bodies: BTreeMap::new() }
    }

    pub fn read_preface(&mut self) -> io::Result<()> {
        let mut preface = [0; PREFACE.len()];
        self.stream.read_exact(&mut preface)?;
        assert_eq!(preface, PREFACE);
        Ok(())
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        self.stream.write_all(&frame(kind, flags, stream, payload))
    }

    pub fn send_settings(&mut self, settings: &[(u16, u32)]) -> io::Result<()> {
        let one =
            |(key, value): &(u16, u32)| [&key.to_be_bytes()[..], &value.to_be_bytes()].concat();
        let payload: Vec<u8> = settings.iter().flat_map(one).collect();
        self.send(SETTINGS, 0, 0, &payload)
    }

    /// Sends a status and headers, without an index in HPACK's dynamic table.
    pub fn send_headers(
        &mut self,
        stream: u32,
        status: u8,
        headers: &[(&str, &str)],
        flags: u8,
    ) -> io::Result<()> {
        let block = [&[status][..], &block(headers)].concat();
        self.send(HEADERS, END_HEADERS | flags, stream, &block)
    }

    /// Answers a request with a body of five bytes.
    pub fn answer(&mut self, stream: u32) -> io::Result<()> {
        self.send_headers(stream, OK, &[], 0)?;
        self.send(DATA, END_STREAM, stream, b"hello")
    }

    pub fn reset(&mut self, stream: u32, code: u32) -> io::Result<()> {
        self.send(RST_STREAM, 0, stream, &code.to_be_bytes())
    }

    pub fn go_away(&mut self, last: u32, code: u32, why: &[u8]) -> io::Result<()> {
        let payload = [&last.to_be_bytes()[..], &code.to_be_bytes(), why].concat();
        self.send(GOAWAY, 0, 0, &payload)
    }

    pub fn open_window(&mut self, stream: u32, by: u32) -> io::Result<()> {
        self.send(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
    }

    /// Reads the next frame of any kind.
    pub fn frame(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        let frame = Frame { kind: head[3], flags: head[4], stream, payload };
        match frame.kind {
            HEADERS => drop(self.seen.requests.fetch_add(1, Ordering::SeqCst)),
            DATA => *self.bodies.entry(stream).or_default() += frame.payload.len(),
            PING if frame.flags & ACK != 0 => {
                self.seen.pongs.fetch_add(1, Ordering::SeqCst);
            }
            RST_STREAM => {
                let code = u32::from_be_bytes(frame.payload[..4].try_into().unwrap());
                self.seen.resets.lock().unwrap().push((stream, code));
            }
            SETTINGS if frame.flags & ACK == 0 => self.send(SETTINGS, ACK, 0, &[])?,
            _ => {}
        }
        Ok(frame)
    }

    /// Reads up to the head of the next request, and returns its stream.
    pub fn request(&mut self) -> io::Result<u32> {
        loop {
            let frame = self.frame()?;
            if frame.kind == HEADERS {
                return Ok(frame.stream);
            }
        }
    }

    /// Sends nothing more, and reads until the client closes the connection.
    pub fn half_close(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        self.outlast()
    }

    /// Reads until the client closes the connection.
    pub fn outlast(&mut self) -> io::Result<()> {
        loop {
            self.frame()?;
        }
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Encodes headers as literals without indexing (RFC 7541, section 6.2.2).
pub fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            push_length(text.len(), &mut block);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// Encodes a length with a prefix of seven bits (RFC 7541, section 5.1).
fn push_length(length: usize, block: &mut Vec<u8>) {
    let Some(mut rest) = length.checked_sub(0x7f) else {
        return block.push(u8::try_from(length).unwrap());
    };
    block.push(0x7f);
    while rest >= 0x80 {
        block.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    block.push(rest as u8);
}
