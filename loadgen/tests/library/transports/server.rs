//! A server inside the test, which controls each byte and each segment.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::net::TcpSocket;

/// Read and write timeout of the server. No client in these tests
/// is silent for longer, unless the client waits for the server.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time after which a server gives up an idle connection, for [`Then::WhenIdle`].
const IDLE: Duration = Duration::from_millis(300);

/// Action of a server after an answer.
pub enum Then {
    /// Reads the rest of the request and waits for the next request.
    Next,
    /// Shuts down the sending side and reads until the client closes the
    /// connection, too, as a server does to make sure that its answer arrives.
    Close,
    /// Breaks off the connection with a RST.
    Reset,
    /// Sends nothing more, and keeps the connection open until the client closes it.
    Hold,
    /// Waits for the next request for up to [`IDLE`]. If none
    /// comes, sends these bytes and closes the connection.
    WhenIdle(&'static str),
}

/// A request as the server received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Method, path and version.
    pub line: String,
    /// Headers in alphabetical order, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    fn new(head: &str) -> Self {
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap().to_owned();
        let fields = lines.map(|line| line.split_once(": ").unwrap());
        let mut headers: Vec<_> =
            fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        headers.sort();
        Self { line, headers, body: Vec::new() }
    }

    fn length(&self) -> usize {
        let length = self.headers.iter().find(|(name, _)| name == "content-length");
        length.map_or(0, |(_, value)| value.parse().unwrap())
    }
}

#[derive(Default)]
struct Seen {
    answers: AtomicUsize,
    connections: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

/// A server that runs until the test's process ends.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

impl Server {
    /// Starts a server that reads each request completely and then calls
    /// `answer`, with the request's number, counted from 0 over all connections.
    pub fn start(
        answer: impl Fn(&mut Peer, usize) -> io::Result<Then> + Send + Sync + 'static,
    ) -> Self {
        Self::unread(move |peer, number| {
            peer.read_body()?;
            answer(peer, number)
        })
    }

    /// Starts a server that reads only the head of a request before it calls `answer`.
    pub fn unread(
        answer: impl Fn(&mut Peer, usize) -> io::Result<Then> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, answer) = (Arc::new(Seen::default()), Arc::new(answer));
        let server = Self { address, seen: seen.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (seen.clone(), answer.clone());
                // The thread ends when the client closes the connection.
                thread::spawn(move || Peer::new(stream.unwrap(), seen).serve(&*answer));
            }
        });
        server
    }

    /// Starts a server that closes each connection at once.
    pub fn closing() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || listener.incoming().for_each(drop));
        Self { address, seen: Arc::default() }
    }

    /// Starts a server that answers each request with the same bytes.
    pub fn always(bytes: impl Into<Vec<u8>>, then: fn() -> Then) -> Self {
        let bytes = bytes.into();
        Self::start(move |peer, _| {
            peer.send(&bytes)?;
            Ok(then())
        })
    }

    /// Returns the number of connections over which a request
    /// arrived. A client may open further connections in reserve.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Returns the requests that the server has read completely.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }
}

/// The server's side of a connection.
pub struct Peer {
    stream: TcpStream,
    seen: Arc<Seen>,
    received: Vec<u8>,
    /// Request whose body is not read completely yet.
    request: Option<Request>,
    /// Number of requests that came over this connection.
    asked: usize,
}

impl Peer {
    fn new(stream: TcpStream, seen: Arc<Seen>) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, seen, received: Vec::new(), request: None, asked: 0 }
    }

    fn serve(mut self, answer: &impl Fn(&mut Self, usize) -> io::Result<Then>) -> io::Result<()> {
        loop {
            self.read_body()?;
            self.read_head()?;
            self.asked += 1;
            self.seen.connections.fetch_add(usize::from(self.asked == 1), Ordering::SeqCst);
            let number = self.seen.answers.fetch_add(1, Ordering::SeqCst);
            let then = answer(&mut self, number);
            match then? {
                Then::Next => {}
                Then::Close => {
                    self.stream.shutdown(Shutdown::Write)?;
                    return self.outlast();
                }
                Then::Reset => return TcpSocket::from_std_stream(self.stream).set_zero_linger(),
                Then::Hold => return self.outlast(),
                Then::WhenIdle(_) if self.is_asked_again()? => {}
                Then::WhenIdle(bytes) => return self.send(bytes),
            }
        }
    }

    fn is_asked_again(&self) -> io::Result<bool> {
        self.stream.set_read_timeout(Some(IDLE))?;
        let more = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(PATIENCE))?;
        Ok(more.is_ok())
    }

    /// Whether nothing follows the head of the request for a moment.
    pub fn is_silent(&self) -> io::Result<bool> {
        Ok(self.received.is_empty() && !self.is_asked_again()?)
    }

    fn read_head(&mut self) -> io::Result<()> {
        let end = loop {
            if let Some(end) = self.received.windows(4).position(|part| part == b"\r\n\r\n") {
                break end + 4;
            }
            let mut more = [0; 4096];
            match self.stream.read(&mut more)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.received.extend_from_slice(&more[..length]),
            }
        };
        let head: Vec<u8> = self.received.drain(..end).collect();
        self.request = Some(Request::new(&String::from_utf8(head).unwrap()));
        Ok(())
    }

    /// Number of requests that came over this connection.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// Reads the rest of the request's body.
    pub fn read_body(&mut self) -> io::Result<()> {
        self.read_body_in_pieces(1 << 20, Duration::ZERO)
    }

    /// Like [`Self::read_body`], but reads at most `most` bytes at once and pauses after each read.
    pub fn read_body_in_pieces(&mut self, most: usize, pause: Duration) -> io::Result<()> {
        let Some(mut request) = self.request.take() else { return Ok(()) };
        let length = request.length();
        request.body.extend(self.received.drain(..length.min(self.received.len())));
        let mut buffer = vec![0; most.min(length)];
        while request.body.len() < length {
            let room = most.min(length - request.body.len());
            match self.stream.read(&mut buffer[..room])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => request.body.extend_from_slice(&buffer[..read]),
            }
            if !pause.is_zero() {
                thread::sleep(pause);
            }
        }
        self.seen.requests.lock().unwrap().push(request);
        Ok(())
    }

    /// Sends all bytes at once.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends two pieces, split at `at`, with a pause of 2 ms between
    /// them, so that the client usually receives them separately.
    pub fn send_split(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        let (first, second) = bytes.split_at(at.min(bytes.len()));
        self.send(first)?;
        thread::sleep(Duration::from_millis(2));
        self.send(second)
    }

    /// Sends each byte separately, after a pause of 0.2 ms.
    pub fn dribble(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(1).try_for_each(|byte| {
            thread::sleep(Duration::from_micros(200));
            self.send(byte)
        })
    }

    /// Reads until the client closes the connection.
    fn outlast(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while self.stream.read(&mut buffer)? > 0 {}
        Ok(())
    }
}
