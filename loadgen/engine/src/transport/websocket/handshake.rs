//! The client's side of the opening handshake (RFC 6455, section 4.1).

use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::transport::{Failure, Headers};
use loadgen_measure::ErrorKind;
use loadgen_scenario::Step;

/// Status of a response that accepts the handshake.
pub const ACCEPTED: u16 = 101;

/// Headers of each request for a handshake, apart from the key.
pub const HEADERS: &str =
    "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";

/// Name of the header with the key. It is the last header of the request.
const KEY: &str = "sec-websocket-key: ";

/// End of a request.
const END: &str = "\r\n\r\n";

/// Length of a key: 16 bytes in base64.
const KEY_LENGTH: usize = 24;

/// Ends the head of a request with a new key.
pub fn push_key(request: &mut String) {
    request.push_str(KEY);
    request.push_str(&generate_key());
    request.push_str(END);
}

/// Checks that a response with the status [`ACCEPTED`] accepts `request`, which [`push_key`] has ended.
pub fn check(request: &str, step: &Step, headers: Headers<'_>) -> Result<(), Failure> {
    let end = request.len().saturating_sub(END.len());
    let key = request.get(end.saturating_sub(KEY_LENGTH)..end).unwrap_or_default();
    let has = |name: &str, word: &str| {
        headers.joined(name).split(',').any(|it| it.trim().eq_ignore_ascii_case(word))
    };
    if !has("upgrade", "websocket") || !has("connection", "upgrade") {
        return Err(refused("the response does not upgrade the connection to a WebSocket"));
    }
    if headers.joined("sec-websocket-accept") != derive_accept_key(key.as_bytes()) {
        return Err(refused("`sec-websocket-accept` does not belong to the key of the request"));
    }
    if !headers.joined("sec-websocket-extensions").trim().is_empty() {
        return Err(refused("the server uses an extension that was not offered"));
    }
    let offered = step.headers.iter().find(|(name, _)| name == "sec-websocket-protocol");
    let offered = offered.and_then(|(_, value)| value.as_constant());
    match (offered, headers.joined("sec-websocket-protocol").trim()) {
        (None, "") => Ok(()),
        (Some(offered), chosen) if offered == chosen => Ok(()),
        (Some(offered), "") => {
            Err(refused(&format!("the server does not speak the subprotocol {offered:?}")))
        }
        (_, chosen) => Err(refused(&format!(
            "the server chose the subprotocol {chosen:?}, which was not offered"
        ))),
    }
}

fn refused(what: &str) -> Failure {
    Failure::new(ErrorKind::Protocol, format!("the opening handshake failed: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_scenario as scenario;

    /// Returns the error of a response with these headers, to a request with the key of RFC 6455.
    fn fault(keys: &str, accept: &str, others: &str) -> Option<String> {
        let text = format!("[[step]]\nwebsocket = \"/\"\n{keys}");
        let step = scenario::parse("test", "test.toml", &text).unwrap().steps.remove(0);
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\
             connection: keep-alive, Upgrade\r\nsec-websocket-accept: {accept}\r\n{others}\r\n"
        );
        let request = format!("GET / HTTP/1.1\r\n{KEY}dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        let checked = check(&request, &step, Headers::Head(head.as_bytes()));
        checked.err().map(|failure| format!("{}: {}", failure.kind, failure.message))
    }

    #[test]
    fn only_the_right_response_accepts_a_handshake() {
        let right = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        let chat = "subprotocol = \"chat\"";
        assert_eq!(fault("", right, ""), None);
        assert_eq!(fault(chat, right, "sec-websocket-protocol: chat\r\n"), None);
        insta::assert_snapshot!(
            [
                fault("", "s3pPLMBiTxaQ9kYGzzhZRbK+xOp=", ""),
                fault("", right, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
                fault("", right, "sec-websocket-protocol: chat\r\n"),
                fault(chat, right, ""),
                fault(chat, right, "sec-websocket-protocol: superchat\r\n"),
            ]
            .map(Option::unwrap)
            .join("\n"),
            @r#"
        protocol: the opening handshake failed: `sec-websocket-accept` does not belong to the key of the request
        protocol: the opening handshake failed: the server uses an extension that was not offered
        protocol: the opening handshake failed: the server chose the subprotocol "chat", which was not offered
        protocol: the opening handshake failed: the server does not speak the subprotocol "chat"
        protocol: the opening handshake failed: the server chose the subprotocol "superchat", which was not offered
        "#
        );
    }

    #[test]
    fn each_request_has_its_own_key() {
        let [mut one, mut other] = [String::new(), String::new()];
        push_key(&mut one);
        push_key(&mut other);
        assert_ne!(one, other);
        assert_eq!(one.len(), KEY.len() + KEY_LENGTH + END.len());
    }
}
