//! Serves prepared answers and does nothing else, to show how much the generator can send at most.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Header in which a request gives the index of the answer that it wants. A request without this
/// header gets the first answer.
pub const WHICH: &str = "x-loadgen-answer";

/// End of a request's head.
const END: &[u8] = b"\r\n\r\n";

/// Initial size of a connection's read buffer, in bytes.
const READ: usize = 16 << 10;

/// Size of the longest head of a request, in bytes.
const LONGEST_HEAD: usize = 1 << 20;

/// An answer of the server.
#[derive(Debug, Clone, Default)]
pub struct NullAnswer {
    /// HTTP status code.
    pub status: u16,
    /// All headers except `content-length`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Value of `content-length`; not sent with status 204 or 304.
    pub length: u64,
    /// Body; empty in an answer to HEAD.
    pub body: Vec<u8>,
}

impl NullAnswer {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} OK\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        // These answers have no body, and do not mention one (RFC 9110, section 8.6).
        if !matches!(self.status, 204 | 304) {
            bytes.extend(format!("content-length: {}\r\n", self.length).into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}

/// A server with prepared answers, which runs on separate threads until it is dropped.
#[derive(Debug)]
pub struct NullServer {
    /// Base URL, without a slash at the end.
    pub url: String,
    _until: DropGuard,
    _thread: JoinHandle<()>,
}

impl NullServer {
    /// Serves on a free port of the loopback interface, with `threads` threads, at least one.
    /// Calls `begin` in the first thread. The other threads inherit what `begin` sets: the CPUs
    /// to which they are pinned.
    ///
    /// # Errors
    /// No port or no thread is available.
    pub fn start(
        threads: usize,
        answers: &[NullAnswer],
        begin: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let answers: Arc<[Vec<u8>]> = answers.iter().map(NullAnswer::bytes).collect();
        let until = CancellationToken::new();
        let ended = until.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            begin();
            // Without a runtime, the server answers nothing, and the
            // run lacks the generator's maximum.
            let Ok(runtime) = runtime(threads) else { return };
            runtime.block_on(async {
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = accept(listener, answers) => {}
                }
            });
        })?;
        Ok(Self { url, _until: until.drop_guard(), _thread: thread })
    }
}

fn runtime(threads: usize) -> std::io::Result<Runtime> {
    match threads {
        0 | 1 => Builder::new_current_thread().enable_io().build(),
        several => Builder::new_multi_thread()
            .worker_threads(several)
            .thread_name("null")
            .enable_io()
            .build(),
    }
}

/// Accepts connections, which end with the runtime.
async fn accept(listener: std::net::TcpListener, answers: Arc<[Vec<u8>]>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream, answers.clone()));
    }
}

async fn serve(mut stream: TcpStream, answers: Arc<[Vec<u8>]>) {
    let mut buffer = vec![0; READ];
    let mut requests = Requests::default();
    let mut kept = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer[kept..]).await {
        let held = kept + read;
        let mut used = 0;
        while let Some(next) = requests.next(&buffer[used..held]) {
            used += next.length;
            let Some(which) = next.ended else { continue };
            let Some(answer) = answers.get(which) else { return };
            if stream.write_all(answer).await.is_err() {
                return;
            }
        }
        buffer.copy_within(used..held, 0);
        kept = held - used;
        if kept == buffer.len() {
            if kept >= LONGEST_HEAD {
                return; // not a request of ours
            }
            buffer.resize(2 * kept, 0);
        }
    }
}

/// Progress in reading the requests of one connection.
#[derive(Default)]
struct Requests {
    /// Index of the answer to the request whose body is being read.
    which: usize,
    /// Bytes of the body that are still to come; `None` within a head.
    body: Option<u64>,
}

/// The next piece of a request: a whole head, a piece of a body, or both.
struct Part {
    length: usize,
    /// Index of the answer, if the request has ended.
    ended: Option<usize>,
}

impl Requests {
    /// Returns the next piece that has arrived; `None` if more bytes must arrive first.
    fn next(&mut self, bytes: &[u8]) -> Option<Part> {
        let (head, left) = match self.body {
            Some(left) => (0, left),
            None => {
                let head = memmem::find(bytes, END)? + END.len();
                self.which = number(&bytes[..head], WHICH).unwrap_or(0) as usize;
                (head, number(&bytes[..head], "content-length").unwrap_or(0))
            }
        };
        let here = left.min((bytes.len() - head) as u64);
        self.body = Some(left - here).filter(|left| *left > 0);
        let length = head + here as usize;
        let ended = self.body.is_none().then_some(self.which);
        (length > 0).then_some(Part { length, ended })
    }
}

/// Returns the number in the header `name`, which all transports write in lower case.
fn number(head: &[u8], name: &str) -> Option<u64> {
    let name = format!("\r\n{name}: ");
    let value = &head[memmem::find(head, name.as_bytes())? + name.len()..];
    let mut digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    digits.try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn answer(body: &str) -> NullAnswer {
        let (length, body) = (body.len() as u64, body.as_bytes().to_vec());
        NullAnswer { status: 201, headers: vec![("x-a".to_owned(), b"1".to_vec())], length, body }
    }

    #[test]
    fn each_request_gets_its_answer_however_it_is_split() {
        let server = NullServer::start(1, &[answer("one"), answer("two!")], || ()).unwrap();
        let mut stream = TcpStream::connect(&server.url["http://".len()..]).unwrap();
        let long = "b".repeat(3 * READ);
        let with_body = format!(
            "POST / HTTP/1.1\r\ncontent-length: {}\r\n{WHICH}: 1\r\n\r\n{long}",
            long.len()
        );
        let cut = with_body.len() - 7;
        for part in ["GET / HTTP/1.1\r\nhost: a\r", "\n\r\n", &with_body[..cut], &with_body[cut..]]
        {
            stream.write_all(part.as_bytes()).unwrap();
        }
        let expected = "HTTP/1.1 201 OK\r\nx-a: 1\r\ncontent-length: 3\r\n\r\none\
                        HTTP/1.1 201 OK\r\nx-a: 1\r\ncontent-length: 4\r\n\r\ntwo!";
        let mut answers = vec![0; expected.len()];
        stream.read_exact(&mut answers).unwrap();
        assert_eq!(String::from_utf8(answers).unwrap(), expected);
        drop(server);
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "it ends with its value");
    }
}
