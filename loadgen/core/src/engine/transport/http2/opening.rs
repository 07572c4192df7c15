//! Opens connections.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{self, SendRequest};

use super::failure::failure;
use super::wire::{Line, Wire};
use crate::engine::transport::Failure;
use crate::engine::transport::dialer::{Dialer, Sessions};
use crate::engine::transport::stream::Stream;

/// An h2 connection, which sends and receives only while it is polled.
pub(super) type Connection = client::Connection<Wire<Stream>, Bytes>;

/// Bytes that a server may send before loadgen has read them, in total and for each stream. So large
/// that flow control never holds a server back.
const CONNECTION_WINDOW: u32 = 1 << 30;
pub(super) const STREAM_WINDOW: u32 = 16 << 20;

/// Longest header section of a response, as HTTP/2 counts it: as long as `http1` accepts.
const LONGEST_HEADERS: u32 = 408 << 10;

/// Number of requests that may be in flight until the server tells its limit: the least that servers
/// should allow (RFC 9113, section 6.5.2).
const STREAMS_AT_FIRST: usize = 100;

/// Number of abandoned requests whose late responses are still ignored, and the time for which they are.
const ABANDONED: usize = 1 << 16;
const ABANDONED_FOR: Duration = Duration::from_secs(60);

/// Number of requests after which a connection is replaced. It has numbers for 2^30 requests (RFC 9113,
/// section 5.1.1); the rest is for those that users of a shared connection begin meanwhile.
pub(super) const MOST_REQUESTS: u32 = (1 << 30) - (1 << 20);

/// A connection that was opened.
pub(super) enum Opened {
    Http2(Box<Http2>),
    /// The server has chosen HTTP/1.1.
    Http1(Stream),
}

/// An open connection of HTTP/2.
pub(super) struct Http2 {
    pub(super) connection: Connection,
    pub(super) sender: SendRequest<Bytes>,
    pub(super) line: Arc<Line>,
}

/// Opens a connection for the user with this global number. Over TLS, the server chooses the version of
/// HTTP; without TLS, loadgen takes it for granted that the server speaks HTTP/2 ("prior knowledge").
pub(super) async fn open(
    dialer: &Dialer,
    user: u32,
    sessions: &mut Sessions,
) -> Result<Opened, Failure> {
    let stream = dialer.connect(user, sessions).await?;
    if stream.refuses_http2() {
        return Ok(Opened::Http1(stream));
    }
    let line = Arc::new(Line::default());
    let mut builder = client::Builder::new();
    builder
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_window_size(STREAM_WINDOW)
        .max_header_list_size(LONGEST_HEADERS)
        .enable_push(false)
        .initial_max_send_streams(STREAMS_AT_FIRST)
        .max_concurrent_reset_streams(ABANDONED)
        .reset_stream_duration(ABANDONED_FOR)
        // Each malformed response fails one request, and not all requests of the connection.
        .max_local_error_reset_streams(None);
    let shaken = builder.handshake(Wire::new(stream, line.clone())).await;
    let (sender, connection) = shaken.map_err(|e| failure(&e, &line))?;
    Ok(Opened::Http2(Box::new(Http2 { connection, sender, line })))
}
