//! Reads lines of access logs, whose formats the lines tell by themselves.

use super::logged::{Format, Logged};
use super::{json, text};

/// Formats that are known, for messages.
pub(super) const KNOWN: &str = "known formats: Common and Combined Log Format (nginx, Apache, gunicorn), \
    JSON of Caddy or with the fields `request_method`, `request_uri`, `status` and `time`, and the access \
    logs of uvicorn, hypercorn and granian";

/// Reads a line of any format.
pub(super) fn read(line: &[u8]) -> Option<(Format, Logged<'_>)> {
    // A line of JSON has a status after a quotation mark only if a string looks like a log.
    let json = if line.ends_with(b"}") { json::read(line) } else { None };
    json.or_else(|| text::read(line))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Lines as the servers wrote them: nginx 1.22, gunicorn 27.0, hypercorn 0.18, granian 2.8,
    /// uvicorn 0.54, Caddy, Python's http.server; some with the prefix of a supervisor.
    pub(in crate::access_log) const REAL: [(Format, &str); 21] = [
        (
            Format::Combined,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "GET /items/1?page=2&q=a%20b%22 HTTP/1.1" 200 2 "-" "curl/7.88.1""#,
        ),
        (
            Format::Combined,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "HEAD /head HTTP/1.1" 200 0 "http://x/" "a\x22b\x5Cc""#,
        ),
        (
            Format::Combined,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "GET /a\x22b\x5Cc HTTP/1.1" 200 2 "-" "-""#,
        ),
        (
            Format::Combined,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "GET /a\"b\c HTTP/1.1" 200 2 "-" "-""#,
        ),
        (
            Format::Combined,
            r#"web_1  | shop.example:80 127.0.0.1 - ann [28/Nov/2026:06:59:35 +0000] "GET / HTTP/2.0" 304 0 "-" "-" "-""#,
        ),
        (
            Format::Combined,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "\x16\x03\x01" 400 157 "-" "-""#,
        ),
        (
            Format::Common,
            r#"127.0.0.1 - - [28/Nov/2026:06:59:35 +0000] "POST /login HTTP/1.1" 200 2"#,
        ),
        (Format::Common, r#"127.0.0.1 - - [28/Nov/2026 06:59:35] "GET /items/1 HTTP/1.1" 200 -"#),
        (
            Format::Hypercorn,
            r#"[2026-11-28 06:59:35 +0000] [14279] [INFO] 127.0.0.1:56344 - - [28/Nov/2026:06:59:35 +0000] "GET /items/1 1.1" 200 2 "-" "curl/7.88.1""#,
        ),
        (
            Format::Hypercorn,
            r#"[2026-11-28 06:59:35 +0000] [14279] [INFO] 127.0.0.1:56384 - - [28/Nov/2026:06:59:35 +0000] "GET /a"b\c 1.1" 200 2 "-" "-""#,
        ),
        (
            Format::Granian,
            r#"[2026-11-28 06:59:35 +0000] 127.0.0.1 - "GET /café/x HTTP/1.1" 200 0.108"#,
        ),
        (
            Format::Uvicorn,
            r#"INFO:     127.0.0.1:50020 - "GET /items/1?page=2&q=a%20b%22 HTTP/1.1" 200 OK"#,
        ),
        (
            Format::Uvicorn,
            "\u{1b}[32mINFO\u{1b}[0m:     127.0.0.1:50020 - \"\u{1b}[1mGET /items/1 HTTP/1.1\u{1b}[0m\" \u{1b}[32m200 OK\u{1b}[0m",
        ),
        (
            Format::Uvicorn,
            r#"2026-11-28 06:59:35,123 INFO uvicorn.access: 127.0.0.1:50020 - "GET /items/1 HTTP/1.1" 200"#,
        ),
        (
            Format::Caddy,
            r#"{"level":"info","ts":1795849175.3495686,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"33448","proto":"HTTP/1.1","method":"GET","host":"127.0.0.1:28102","uri":"/items/1?page=2&q=a%20b%22","headers":{"Accept":["*/*"],"User-Agent":["curl/7.88.1"]}},"user_id":"","duration":0.000019279,"size":2,"status":200,"resp_headers":{"Content-Type":["text/plain; charset=utf-8"],"Server":["Caddy"]}}"#,
        ),
        (
            Format::Caddy,
            "2026/11/28 06:59:35.349\tINFO\thttp.log.access\thandled request\t{\"request\": {\"method\": \"GET\", \"uri\": \"/\"}, \"status\": 200}",
        ),
        (
            Format::Uvicorn,
            r#"{"log":"INFO:     127.0.0.1:50020 - \"GET /items/1 HTTP/1.1\" 200 OK\n","stream":"stdout","time":"2026-11-28T06:59:35.123456789Z"}"#,
        ),
        (
            Format::Json,
            r#"{"time_iso8601":"2026-11-28T06:59:35+00:00","remote_addr":"127.0.0.1","request_method":"GET","request_uri":"/a\"b\\c","status":"200","request_time":0.000}"#,
        ),
        (
            Format::Json,
            r#"{"time":"2026-11-28T06:59:35+00:00","request":"GET /items/1?page=2&q=a%20b%22 HTTP/1.1","status":200}"#,
        ),
        (
            Format::Json,
            r#"{"DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/items/1?page=2","time":"2026-11-28T06:59:35Z"}"#,
        ),
        (
            Format::Json,
            r#"{"time":"2026-11-28T06:59:35+00:00","remote_user":"ann","request":"GET / HTTP/1.1","status":200}"#,
        ),
    ];

    #[test]
    fn lines_of_servers_are_read() {
        let mut all = String::new();
        for (format, line) in REAL {
            let line = text::without_colors(line.as_bytes());
            let (found, logged) = read(&line).unwrap();
            assert_eq!(found, format, "{}", String::from_utf8_lossy(&line));
            let target = String::from_utf8_lossy(&logged.target);
            let Logged { method, status, time, person, .. } = &logged;
            all += &format!("{found:?}: {method:?} {target} {status} {time:?}");
            let name = person.as_ref().map(|name| format!(" by {}", String::from_utf8_lossy(name)));
            all += &(name.unwrap_or_default() + "\n");
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "",
            "INFO:     Application startup complete.",
            "[2026-11-28 06:59:29 +0000] [14261] [INFO] Listening at: http://127.0.0.1:28107 (14261)",
            r#"INFO:httpx:HTTP Request: GET https://x/ "HTTP/1.1 200 OK""#,
            r#"INFO:     127.0.0.1:50020 - "WebSocket /ws" [accepted]"#,
            r#"say "hello world" 200 times"#,
            r#"{"level":"info","msg":"started"}"#,
            r#"{"status":200,"request":"hello"}"#,
            r#""GET /items HTTP/1.1" 2000"#,
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
    }
}
