//! A proxy between loadgen and the server.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use super::failure::{Failure, PROXY};
use super::step_request::place;
use super::stream::Stream;
use super::{USER_AGENT, tls};
use crate::plan::Plan;
use loadgen_measure::ErrorKind;
use loadgen_scenario::HttpVersion;

/// Longest head of a response to CONNECT, in bytes.
const LONGEST_HEAD: usize = 16 << 10;

/// Most headers of a response to CONNECT.
const MOST_HEADERS: usize = 100;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// The way through a proxy. Requests of HTTP/1.1 to an `http://` URL are forwarded by it; all else goes through a
/// tunnel (RFC 9110, section 9.3.6).
pub(super) struct Proxy {
    url: Url,
    /// TLS configuration and the proxy's name; `None` for an `http://` proxy.
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Value of the header `proxy-authorization`; `None` for a proxy without a user.
    authorization: Option<String>,
    /// The request that opens a tunnel to the server.
    connect: String,
}

impl Proxy {
    /// Returns the proxy of a plan, before the server at `server`; `None` if it has none. Returns a sentence if the
    /// proxy cannot be used.
    pub(super) fn of(plan: &Plan, server: &Url) -> Result<Option<Self>, String> {
        let http = &plan.scenario.http;
        let Some(url) = &http.proxy else { return Ok(None) };
        let url = Url::parse(url).map_err(|e| format!("{PROXY}{url}: {e}"))?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let tls = match url.scheme() {
            "https" => {
                // The certificate of the client and its sessions are for the server.
                let mut config = tls::config(&http.tls.of_another_server(), HttpVersion::Http11)?;
                config.resumption = Resumption::disabled();
                let name = ServerName::try_from(host.clone());
                Some((config.into(), name.map_err(|_| format!("{host:?} is no name of a proxy"))?))
            }
            _ => None,
        };
        let authorization = http.proxy_credentials().map(|(user, password)| {
            format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
        });
        let place = place(server);
        let authorized = authorization
            .as_ref()
            .map(|value| format!("proxy-authorization: {value}\r\n"))
            .unwrap_or_default();
        let connect = format!(
            "CONNECT {place} HTTP/1.1\r\nhost: {place}\r\nuser-agent: {USER_AGENT}\r\n{authorized}\r\n"
        );
        Ok(Some(Self { url, tls, authorization, connect }))
    }

    /// URL of the proxy.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Value of the header `proxy-authorization`; `None` for a proxy without a user.
    pub(super) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Names the proxy in a failure to connect.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        let message = format!("{PROXY}{}: {}", place(&self.url), failure.message);
        Failure { message: message.into(), ..failure }
    }

    /// Turns a connection to the proxy into one over which the proxy reads requests, or into a tunnel to the server.
    pub(super) async fn pass(&self, stream: TcpStream, tunnels: bool) -> Result<Stream, Failure> {
        let mut stream = match &self.tls {
            None => Stream::Plain(stream),
            Some((config, name)) => {
                let opening = TlsConnector::from(config.clone()).connect(name.clone(), stream);
                Stream::ToProxy(Box::new(opening.await.map_err(|e| tls::of_handshake(&e))?))
            }
        };
        if tunnels {
            self.open_tunnel(&mut stream).await?;
        }
        Ok(stream)
    }

    async fn open_tunnel(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> Result<(), Failure> {
        let broken = |e: io::Error| Failure::new(ErrorKind::Connect, e.to_string());
        stream.write_all(self.connect.as_bytes()).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        let head = read_to_end_of_head(stream).await.map_err(broken)?;
        let refused = |what: String| Err(Failure::new(ErrorKind::Connect, what));
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let is_whole = response.parse(&head).is_ok_and(|read| read.is_complete());
        match response.code.filter(|_| is_whole) {
            Some(200..=299) => Ok(()),
            Some(407) => refused(match self.authorization {
                None => "it wants a user and a password (407): write them in its URL".to_owned(),
                Some(_) => "it refuses the user and the password of its URL (407)".to_owned(),
            }),
            Some(status) => {
                let reason = response.reason.unwrap_or_default().chars().take(80);
                let reason: String = reason.flat_map(char::escape_debug).collect();
                refused(format!("it opens no tunnel to the server: {status} {reason}"))
            }
            None => refused("its answer to CONNECT is not HTTP".to_owned()),
        }
    }
}

/// Reads a head, and not a byte more: what follows it belongs to the tunnel.
async fn read_to_end_of_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(END) {
        // As many bytes as are missing at least.
        let has = (0..END.len()).rev().find(|length| head.ends_with(&END[..*length])).unwrap_or(0);
        let mut next = [0; END.len()];
        match stream.read(&mut next[has..]).await? {
            0 => return Err(io::Error::other("it closed the connection")),
            read => head.extend_from_slice(&next[has..has + read]),
        }
        if head.len() > LONGEST_HEAD {
            return Err(io::Error::other("its answer to CONNECT is too long"));
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_head_is_read_to_its_last_byte_and_no_further() {
        for head in
            ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\na: \r\r\n\rb\r\n\r\n", "\r\n\r\n"]
        {
            let all = format!("{head}SETTINGS");
            let mut rest = all.as_bytes();
            assert_eq!(read_to_end_of_head(&mut rest).await.unwrap(), head.as_bytes());
            assert_eq!(rest, b"SETTINGS");
        }
        assert!(read_to_end_of_head(&mut &b"HTTP/1.1 200"[..]).await.is_err());
        assert!(read_to_end_of_head(&mut &vec![b'x'; 2 * LONGEST_HEAD][..]).await.is_err());
    }
}
