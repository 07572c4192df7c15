//! Sends commands to a Redis server.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::lab::ready::Probe;

/// Client for a Redis that loadgen started.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) port: u16,
    pub(super) password: String,
}

impl Client {
    /// Creates a client for the Redis that listens on this port of loopback and accepts this
    /// password.
    pub fn new(port: u16, password: &str) -> Self {
        Self { port, password: password.to_owned() }
    }

    /// Opens a connection and logs in. Sends no further command to a server that rejects the
    /// password, because such a server belongs to another program.
    pub(in crate::lab::backends) async fn connect(&self) -> io::Result<TcpStream> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let taken = command(&mut connection, &["AUTH", &self.password]).await;
        taken.map_err(|error| {
            let what = format!("the server on port {} rejected the password", self.port);
            io::Error::new(error.kind(), format!("{what}: {error}"))
        })?;
        Ok(connection)
    }
}

impl Probe for Client {
    /// Checks that Redis answers on this port and accepts the password.
    async fn check(&self, port: u16) -> Result<(), String> {
        let reply = async {
            let mut connection = Self { port, ..self.clone() }.connect().await?;
            match command(&mut connection, &["PING"]).await?.as_deref() {
                Some("PONG") => Ok(()),
                other => Err(io::Error::other(format!("unexpected reply to PING: {other:?}"))),
            }
        };
        reply.await.map_err(|error| format!("failed with: {error}"))
    }
}

/// Number of bytes of the line break after a string.
const LINE_BREAK: u64 = 2;

/// Sends one command and returns the reply: the text of a string or an integer, or `None` for a
/// null (RESP: <https://redis.io/docs/reference/protocol-spec>).
pub async fn command(connection: &mut TcpStream, words: &[&str]) -> io::Result<Option<String>> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request += &format!("${}\r\n{word}\r\n", word.len());
    }
    connection.write_all(request.as_bytes()).await?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n") {
        reply.push(connection.read_u8().await?);
    }
    let reply = String::from_utf8_lossy(&reply).trim_end().to_owned();
    if let Some(text) = reply.strip_prefix(['+', ':']) {
        return Ok(Some(text.to_owned()));
    }
    if reply == "$-1" {
        return Ok(None);
    }
    let Some(length) = reply.strip_prefix('$').and_then(|length| length.parse::<u64>().ok()) else {
        let said = match reply.strip_prefix('-') {
            Some(error) => error,
            None if reply.starts_with('*') => "an array, not one value",
            None => &reply,
        };
        return Err(io::Error::other(said.to_owned()));
    };
    let mut bulk = Vec::new();
    // A line break ends the string, and must not be read as the next reply.
    connection.take(length.saturating_add(LINE_BREAK)).read_to_end(&mut bulk).await?;
    bulk.truncate(bulk.len().saturating_sub(LINE_BREAK as usize));
    Ok(Some(String::from_utf8_lossy(&bulk).into_owned()))
}
