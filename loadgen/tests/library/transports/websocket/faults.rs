//! Servers that refuse or break a WebSocket.

use std::time::Instant;

use loadgen::measure::ErrorKind;

use super::peer::*;
use super::run;

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
        sends(frame(0x88, b"\x03\xf6bad gateway")), // 1014, which is registered
        sends(frame(0x88, b"\x03\xe7")),            // 999, which no server may send
        sends(frame(0x88, b"\x13\x88odd")),         // 5000
        sends(b""),                                 // silence
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
    reset: the server closed the WebSocket with code 1014: "bad gateway"
    reset: the server closed the WebSocket with code 999
    reset: the server closed the WebSocket with code 5000: "odd"
    timeout: no message within 500ms
    reset: the connection of the WebSocket was closed without a close frame
    reset: the connection of the WebSocket was closed without a close frame
    reset: Connection reset by peer (os error 104)
    "#);
}
