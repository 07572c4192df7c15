//! Tests the steps of a WebSocket against servers that control each byte.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::engine::{Demand, Finished, verify};
use loadgen::measure::{Counts, ErrorKind, Phase, Series};
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::common::engine::{finish, plan};
use crate::common::tls::front;

/// Read and write timeout of a server: no test waits longer.
const PATIENCE: Duration = Duration::from_secs(10);

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The server's side of a connection.
struct Peer {
    stream: TcpStream,
    /// Number of the connection, from 0.
    number: usize,
    /// What the server has noticed, in order.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// Reads a request, and returns its head.
    fn head(&mut self) -> io::Result<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        Ok(String::from_utf8(head).unwrap())
    }

    /// Reads a request, and returns a response that accepts it, without the empty line.
    fn acceptance(&mut self) -> io::Result<String> {
        let head = self.head()?;
        let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
        Ok(format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
             Connection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            derive_accept_key(key.unwrap().as_bytes())
        ))
    }

    fn accept(&mut self) -> io::Result<()> {
        let response = self.acceptance()?;
        self.raw(format!("{response}\r\n"))
    }

    fn raw(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends a frame that is a whole message.
    fn send(&mut self, kind: u8, payload: impl AsRef<[u8]>) -> io::Result<()> {
        self.raw(frame(0x80 | kind, payload.as_ref()))
    }

    /// Reads a frame: its kind, and its payload without the mask.
    fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
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

    fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap().push(what.into());
    }

    /// Echoes messages and answers a close frame, until the connection ends.
    fn echo(&mut self) -> io::Result<()> {
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
    fn outlast(&mut self) -> io::Result<()> {
        while self.stream.read(&mut [0; 4096])? > 0 {}
        Ok(())
    }

    /// Breaks off the connection with a RST.
    fn reset(self) -> io::Result<()> {
        TcpSocket::from_std_stream(self.stream).set_zero_linger()
    }
}

/// Returns a frame of a server, which is not masked.
fn frame(start: u8, payload: &[u8]) -> Vec<u8> {
    let length = match payload.len() {
        short @ 0..126 => vec![u8::try_from(short).unwrap()],
        long => [&[127][..], &(long as u64).to_be_bytes()].concat(),
    };
    [&[start][..], &length, payload].concat()
}

struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that does `with` each connection.
    fn start(with: impl Fn(Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
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
    fn open(with: impl Fn(Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::start(move |mut peer| {
            peer.accept()?;
            with(peer)
        })
    }

    fn echoing() -> Self {
        Self::open(|mut peer| peer.echo())
    }

    fn seen(&self, what: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|it| it.starts_with(what)).count()
    }
}

/// Returns the counts of each step over the whole round.
fn steps(series: &Series) -> Vec<Counts> {
    let mut all: Vec<Counts> = Vec::new();
    for phase in [Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop] {
        for (index, counts) in series.phase(phase).into_iter().enumerate() {
            all.resize_with(all.len().max(index + 1), Counts::default);
            all[index].merge(&counts);
        }
    }
    all
}

async fn run(url: &str, text: &str) -> (Vec<Counts>, Finished) {
    let (series, finished) = finish(plan(url, text)).await;
    (steps(&series), finished)
}

fn answered(steps: &[Counts]) -> Vec<u64> {
    steps.iter().map(|counts| counts.answered.len()).collect()
}

const JOIN: &str = "[[step]]\nname = 'join'\nwebsocket = '/ws'\nwhen = 'start'\ntimeout = '2s'\n";
const ECHO: &str = "[[step]]\nname = 'echo'\nsend = { text = 'hello {{ uuid }}' }\n\
                    expect = { body = 'hello' }\ntimeout = '2s'\n";
const LEAVE: &str = "[[step]]\nname = 'leave'\nclose = true\nwhen = 'stop'\ntimeout = '2s'\n";

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_sent_and_echoed_over_one_connection_of_each_user() {
    let server = Server::echoing();
    let text = ["load = { users = 3, iterations = 30 }\n", JOIN, ECHO, LEAVE].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [3, 30, 3]);
    assert_eq!(steps[1].bytes, 30 * "hello 00000000-0000-0000-0000-000000000000".len() as u64);
    assert_eq!(
        (server.seen("1 hello "), server.seen("8 \u{3}")),
        (30, 3),
        "code 1000 is 3 and 232"
    );
    assert_eq!(finished.connections.opened, 3);
    assert_eq!(finished.connections.versions["HTTP/1.1"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_may_open_and_close_its_own_websocket() {
    let server = Server::echoing();
    let each =
        [JOIN, ECHO, LEAVE].concat().replace("when = 'start'\n", "").replace("when = 'stop'\n", "");
    let text = format!("load = {{ users = 2, iterations = 20 }}\n{each}");
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!((answered(&steps), finished.connections.opened), (vec![20, 20, 20], 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_model_sends_messages_at_its_rate() {
    let server = Server::echoing();
    let load = "load = { model = 'open', rate = 200, users = 5, duration = '1s' }\n";
    let (steps, finished) = run(&server.url, &[load, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!(steps[1].failures(), 0);
    assert_eq!(steps[1].answered.len() + steps[1].cancelled + steps[1].unsent, 200);
    assert_eq!(steps[1].answered.len(), server.seen("1 hello ") as u64);
    assert_eq!((steps[0].answered.len(), finished.connections.opened), (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_steps_keep_their_own_connection() {
    let server = Server::start(|mut peer| {
        let mut path = [0; 6];
        peer.stream.peek(&mut path)?;
        if &path == b"GET /w" {
            peer.accept()?;
            return peer.echo();
        }
        loop {
            peer.head()?;
            peer.note("GET");
            peer.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    });
    let get = "[[step]]\nget = '/'\n";
    let text = ["load = { users = 2, iterations = 10 }\n", JOIN, get, ECHO].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!((answered(&steps), finished.connections.opened), (vec![2, 10, 10], 4));
    assert_eq!(server.seen("GET"), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_runs_over_tls() {
    let server = Server::echoing();
    let address = server.url.strip_prefix("http://").unwrap();
    let url = front(address.parse().unwrap()).await;
    let http = "http = { tls = { insecure = true } }\nload = { users = 2, iterations = 10 }\n";
    let (steps, finished) = run(&url, &[http, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!(answered(&steps), [2, 10, 2]);
    assert_eq!(finished.connections.tls_suites.values().sum::<u64>(), 2);
}

/// Opens a WebSocket and sends a message with these keys. Returns the kind and the message of the only
/// error.
async fn fault(server: &Server, keys: &str) -> (ErrorKind, String) {
    let text = format!(
        "on_error = 'next_iteration'\nload = {{ users = 1, iterations = 1 }}\n\
         [[step]]\nwebsocket = '/ws'\ntimeout = '500ms'\n{keys}\n\
         [[step]]\nsend = {{ text = 'hello' }}\ntimeout = '500ms'"
    );
    let begun = Instant::now();
    let (steps, _) = run(&server.url, &text).await;
    assert!(begun.elapsed() < PATIENCE, "no server makes a user hang");
    let errors: Vec<_> = steps.into_iter().flat_map(|counts| counts.examples).collect();
    let [error] = errors.try_into().unwrap();
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_handshake_is_an_error_of_its_kind() {
    let answers = |bytes: &'static str| {
        Server::start(move |mut peer| {
            peer.head()?;
            peer.raw(bytes)?;
            peer.outlast()
        })
    };
    let accepts = |more: &'static str| {
        Server::start(move |mut peer| {
            let response = peer.acceptance()?;
            peer.raw(format!("{response}{more}\r\n"))?;
            peer.outlast()
        })
    };
    let mut said = Vec::new();
    for (server, keys) in [
        (answers("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"), ""),
        (answers("HTTP/1.1 401 Unauthorized\r\ncontent-length: 9\r\n\r\nno entry!"), ""),
        (answers("HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"), ""),
        (answers("HTTP/1.1 307 Away\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"), ""),
        (answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"), ""),
        (
            answers(
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                 sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            ),
            "",
        ),
        (accepts("sec-websocket-extensions: permessage-deflate\r\n"), ""),
        (accepts("sec-websocket-protocol: chat\r\n"), ""),
        (accepts(""), "subprotocol = 'chat'"),
        (answers("hello\r\n\r\n"), ""),
        (answers("HTTP/1.1 101 Swit"), ""),
        (Server::start(|mut peer| peer.head().map(drop)), ""),
        (
            Server::start(|mut peer| {
                peer.head()?;
                peer.reset()
            }),
            "",
        ),
    ] {
        let (kind, message) = fault(&server, keys).await;
        said.push(format!("{kind}: {message}"));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    status: expected status 101, got 200: hello
    status: expected status 101, got 401: no entry!
    status: expected status 101, got 404: an empty body
    status: expected status 101, got 307, a redirect, which an opening handshake does not follow: an empty body
    protocol: the opening handshake failed: the response does not upgrade the connection to a WebSocket
    protocol: the opening handshake failed: `sec-websocket-accept` does not belong to the key of the request
    protocol: the opening handshake failed: the server uses an extension that was not offered
    protocol: the opening handshake failed: the server chose the subprotocol "chat", which was not offered
    protocol: the opening handshake failed: the server does not speak the subprotocol "chat"
    protocol: the response is not HTTP/1
    timeout: no complete response within 500ms
    reset: the connection was closed before the response was complete
    reset: Connection reset by peer (os error 104)
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_websocket_is_an_error_of_its_kind() {
    /// A server that sends these bytes when a message has come.
    fn sends(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Server {
        Server::open(move |mut peer| {
            peer.read()?;
            peer.raw(&bytes)?;
            peer.outlast()
        })
    }
    let mut said = Vec::new();
    for server in [
        sends(b"\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e"), // masked
        sends(frame(0x81, b"\xff\xfe")),                        // not UTF-8
        sends(frame(0xc1, b"hello")),                           // RSV1, as if it was compressed
        sends(frame(0x83, b"hello")),                           // no known opcode
        sends(frame(0x80, b"hello")),                           // continues nothing
        sends(frame(0x09, b"hello")),                           // a ping in parts
        sends(frame(0x89, &[0; 126])),                          // a ping that is too long
        sends([frame(0x01, b"a"), frame(0x81, b"b")].concat()), // a message within another
        sends([&[0x82, 127][..], &(17_u64 << 20).to_be_bytes()].concat()),
        sends([&[0x82, 127][..], &[0xff; 8]].concat()),
        sends(
            [&[0x01, 127][..], &(16_u64 << 20).to_be_bytes(), &vec![b'a'; 16 << 20], b"\x80\x01b"]
                .concat(),
        ),
        sends(frame(0x88, b"\x03")), // half a code
        sends(frame(0x88, b"\x03\xe9see you \x1b[31m")),
        sends(frame(0x88, b"")),
        sends(b""), // silence
        Server::open(|mut peer| {
            peer.read()?;
            peer.raw(b"\x81\x05hel")
        }),
        Server::open(|mut peer| peer.read().map(drop)),
        Server::open(|mut peer| {
            peer.read()?;
            peer.reset()
        }),
    ] {
        let (kind, message) = fault(&server, "").await;
        said.push(format!("{kind}: {message}"));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    protocol: the server broke the WebSocket protocol: Received a masked frame from server
    protocol: the server broke the WebSocket protocol: a text message is not UTF-8
    protocol: the server broke the WebSocket protocol: Reserved bits are non-zero
    protocol: the server broke the WebSocket protocol: Encountered invalid opcode: 3
    protocol: the server broke the WebSocket protocol: Continue frame but nothing to continue
    protocol: the server broke the WebSocket protocol: Fragmented control frame
    protocol: the server broke the WebSocket protocol: Control frame too big (payload must be 125 bytes or less)
    protocol: the server broke the WebSocket protocol: While waiting for more fragments received: TEXT
    expectation: a message is longer than 16 MiB, the limit for messages of a WebSocket
    expectation: a message is longer than 16 MiB, the limit for messages of a WebSocket
    expectation: a message is longer than 16 MiB, the limit for messages of a WebSocket
    protocol: the server broke the WebSocket protocol: Invalid close sequence
    reset: the server closed the WebSocket with code 1001: "see you \u{1b}[31m"
    reset: the server closed the WebSocket, without a code
    timeout: no message within 500ms
    reset: the connection of the WebSocket was closed without a close frame
    reset: the connection of the WebSocket was closed without a close frame
    reset: Connection reset by peer (os error 104)
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_may_come_in_parts_and_with_the_handshake() {
    let server = Server::start(|mut peer| {
        let response = peer.acceptance()?;
        let first = [response.as_bytes(), b"\r\n", &frame(0x81, b"welcome")].concat();
        peer.raw(first)?;
        peer.read()?;
        for part in [frame(0x01, b"hel"), frame(0x89, b"?"), frame(0x00, b"l"), frame(0x80, b"o")] {
            peer.raw(part)?;
            thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(peer.read()?, (PONG, b"?".to_vec()));
        peer.read()?;
        peer.send(BINARY, b"\x00\xff")?;
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1 }\n\
                [[step]]\nwebsocket = '/'\n[[step]]\nreceive = true\nexpect = { regex = '^welcome$' }\n\
                [[step]]\nname = 'text'\nsend = { text = 'a' }\nexpect = { regex = '^hello$' }\n\
                [[step]]\nname = 'binary'\nsend = { text = 'b' }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1, 1, 1, 1], "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_passes_over_other_messages() {
    let server = Server::open(|mut peer| {
        peer.send(TEXT, r#"{"kind": "answer", "n": 100}"#)?;
        loop {
            thread::sleep(Duration::from_millis(20));
            let (_, payload) = peer.read()?;
            peer.send(TEXT, "not JSON")?;
            peer.send(TEXT, r#"{"kind": "tick"}"#)?;
            match payload.as_slice() {
                b"fail" => peer.send(TEXT, r#"{"kind": "error"}"#)?,
                b"never" => {}
                _ => peer.send(TEXT, r#"{"kind": "answer", "n": 3}"#)?,
            }
        }
    });
    let step = |message: &str| {
        format!(
            "[[step]]\nname = '{message}'\nsend = {{ text = '{message}' }}\ntimeout = '300ms'\n\
             expect = {{ json = {{ '/kind' = 'answer' }}, not = {{ json = {{ '/kind' = 'error' }} }} }}\n\
             counters = {{ n = '/n' }}\n"
        )
    };
    let text = format!(
        "on_error = 'continue'\nload = {{ users = 1, iterations = 2 }}\n[[step]]\nwebsocket = '/'\n\
         think_time = '50ms'\n{}{}{}",
        step("answer"),
        step("fail"),
        step("never")
    );
    let (steps, _) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [2, 2, 0, 0]);
    assert_eq!(steps[1].counters, [6], "a message from before the step is no answer");
    assert_eq!(
        steps[2].examples[&ErrorKind::Expectation],
        r#"expected "answer" at "/kind", got "error" at "/kind""#
    );
    assert_eq!(
        steps[3].examples[&ErrorKind::Timeout],
        r#"no expected message within 300ms, but 2 others, the last: {"kind": "tick"}"#
    );
    assert_eq!((steps[2].failures(), steps[3].failures()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_between_steps_wait_for_a_step_that_receives() {
    let server = Server::open(|mut peer| {
        assert_eq!(peer.read()?.1, b"subscribe");
        for number in 0..5 {
            peer.send(TEXT, format!("event {number}"))?;
        }
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1, think_time = '100ms' }\n\
                [[step]]\nwebsocket = '/'\n\
                [[step]]\nname = 'subscribe'\nsend = { text = 'subscribe', reply = false }\n\
                [[step]]\nname = 'first'\nreceive = true\nexpect = { body = 'event 0' }\n\
                [[step]]\nname = 'fourth'\nreceive = true\nexpect = { body = 'event 3' }\n\
                capture = { event = { regex = 'event (\\d)' } }\n\
                [[step]]\nname = 'again'\nreceive = true\nexpect = { body = 'event 4' }\n\
                [[step]]\nname = 'none'\nreceive = true\ntimeout = '200ms'\n\
                when = { equal = { event = '3' } }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1, 1, 1, 1, 1, 0]);
    assert_eq!(steps[5].examples[&ErrorKind::Timeout], "no message within 200ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_while_a_user_waits() {
    let server = Server::open(|mut peer| {
        peer.read()?;
        peer.send(TEXT, "hello")?;
        // The user thinks for a second now.
        for number in 0..3 {
            peer.send(PING, [number])?;
            peer.stream.set_read_timeout(Some(Duration::from_millis(300)))?;
            assert_eq!(peer.read()?, (PONG, vec![number]));
            peer.note("pong");
        }
        peer.stream.set_read_timeout(Some(PATIENCE))?;
        peer.echo()
    });
    let load = "load = { users = 1, iterations = 2, think_time = '1s' }\n";
    let (steps, _) = run(&server.url, &[load, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!((answered(&steps), server.seen("pong")), (vec![1, 2, 1], 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_has_lost_its_websocket_starts_again() {
    let server = Server::open(|mut peer| {
        let (_, token) = peer.read()?;
        peer.note(String::from_utf8(token).unwrap());
        peer.send(TEXT, "welcome")?;
        for _ in 0..2 {
            let (kind, payload) = peer.read()?;
            peer.send(kind, payload)?;
        }
        // Between two steps of the user.
        peer.send(CLOSE, b"\x03\xe9going")?;
        assert_eq!(peer.read()?, (CLOSE, b"\x03\xe9going".to_vec()), "the close frame is answered");
        peer.note("closed");
        Ok(())
    });
    let login = "[[step]]\nname = 'login'\nwhen = 'start'\nsend = { text = 'token {{ uuid }}' }\n";
    let text =
        ["load = { users = 1, iterations = 9, think_time = '50ms' }\n", JOIN, login, ECHO].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [3, 3, 6]);
    assert_eq!(steps[2].failures(), 3);
    assert_eq!(
        steps[2].examples[&ErrorKind::Reset],
        "the server closed the WebSocket with code 1001: \"going\""
    );
    assert_eq!((server.seen("token "), finished.connections.opened), (3, 3));
    let mut tokens = server.seen.lock().unwrap().clone();
    tokens.retain(|it| it.starts_with("token "));
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3, "each start has data of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_not_that_of_a_later_step() {
    let server = Server::open(|mut peer| {
        loop {
            let (kind, payload) = peer.read()?;
            if peer.number == 0 {
                thread::sleep(Duration::from_millis(400));
            }
            peer.send(kind, payload)?;
        }
    });
    let text = "load = { users = 1, iterations = 2 }\non_error = 'continue'\n\
                [[step]]\nwebsocket = '/'\n\
                [[step]]\nname = 'slow'\nsend = { text = 'a' }\ntimeout = '200ms'\n\
                [[step]]\nname = 'next'\nsend = { text = 'b' }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [2, 1, 1]);
    assert_eq!(steps[1].errors[&ErrorKind::Timeout], 1);
    assert_eq!(
        steps[2].examples[&ErrorKind::Expectation],
        "not sent: no WebSocket is open: an earlier step timed out"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_the_subprotocol_are_sent() {
    let server = Server::start(|mut peer| {
        let head = peer.head()?;
        peer.note(head.split("sec-websocket-key").next().unwrap());
        peer.raw("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")?;
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1 }\n[[step]]\nwebsocket = '/ws?room={{ user }}'\n\
                query = { a = 'b c' }\nsubprotocol = 'chat'\nheaders = { x-a = '1' }\n\
                auth = { user = 'u', password = 'pass' }\nexpect = { status = 403 }";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1], "a refusal may be expected");
    let host = server.url.strip_prefix("http://").unwrap();
    let head = server.seen.lock().unwrap().join("").replace(host, "HOST");
    insta::assert_snapshot!(head.replace("\r\n", "\n"), @r#"
    GET /ws?room=0&a=b%20c HTTP/1.1
    host: HOST
    user-agent: loadgen/0.1.0
    accept: */*
    x-a: 1
    sec-websocket-protocol: chat
    authorization: Basic dTpwYXNz
    connection: Upgrade
    upgrade: websocket
    sec-websocket-version: 13
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_verified_with_its_websocket() {
    let server = Server::echoing();
    let right = [JOIN, ECHO, LEAVE].concat();
    let verified = verify(&plan(&server.url, &right), "it", Demand::Expected).await.unwrap();
    assert!(verified.answers.iter().all(Option::is_some) && verified.failed == 0);
    let wrong = right.replace("body = 'hello'", "body = 'world'").replace("'2s'", "'200ms'");
    let error = verify(&plan(&server.url, &wrong), "it", Demand::Expected).await.unwrap_err();
    let error = error.to_string();
    let got = "got       no expected message within 200ms, but another: hello ";
    assert!(error.contains(got) && error.contains("request   SEND"), "{error}");
}
