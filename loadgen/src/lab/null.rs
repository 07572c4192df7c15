//! A server that does nothing: it shows what the generator can send at most.

use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::cpus::pin_self;
use super::error::LabError;

/// What it answers, whatever it is asked.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 25\r\n\r\n\
      {\"message\":\"Hello world\"}";

/// What ends a request without a body.
const END: &[u8] = b"\r\n\r\n";

/// The server, on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct NullServer {
    /// Where it serves, without a slash at the end.
    pub url: String,
    _until: DropGuard,
    _thread: JoinHandle<()>,
}

impl NullServer {
    /// Serves on a free port, on these CPUs; on any where none is named.
    pub fn start(cpus: &[usize]) -> Result<Self, LabError> {
        let failed = LabError::io("start a server that does nothing");
        Self::try_start(cpus).map_err(failed)
    }

    fn try_start(cpus: &[usize]) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let cpus = cpus.to_owned();
        let until = CancellationToken::new();
        let ended = until.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            // Where it can't be kept to them it still serves: what it shows is a lower bound.
            let _ = pin_self(&cpus);
            runtime.block_on(async {
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = accept(listener) => {}
                }
            });
        })?;
        Ok(Self { url, _until: until.drop_guard(), _thread: thread })
    }
}

/// Its connections end with the runtime.
async fn accept(listener: std::net::TcpListener) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream));
    }
}

async fn serve(mut stream: TcpStream) {
    let mut buffer = vec![0; 4096];
    let mut kept = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer[kept..]).await {
        let held = &buffer[..kept + read];
        let mut answered = 0;
        for end in memmem::find_iter(held, END) {
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
            answered = end + END.len();
        }
        let length = held.len();
        buffer.copy_within(answered..length, 0);
        kept = length - answered;
        if kept == buffer.len() {
            return; // not a request of ours
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn each_request_has_its_answer_however_it_is_cut() {
        let server = NullServer::start(&[]).unwrap();
        let mut stream = TcpStream::connect(&server.url["http://".len()..]).unwrap();
        for part in ["GET / HTTP/1.1\r\nhost: a\r", "\n\r\nGET / HTTP/1.1\r\n\r\n"] {
            stream.write_all(part.as_bytes()).unwrap();
        }
        let mut answers = vec![0; 2 * ANSWER.len()];
        stream.read_exact(&mut answers).unwrap();
        assert_eq!(answers, [ANSWER, ANSWER].concat());
        drop(server);
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "it ends with its value");
    }
}
