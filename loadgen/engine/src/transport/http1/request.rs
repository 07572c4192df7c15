//! Writes a step's request as it goes over the wire. Constant text is written once; only generated
//! parts are rendered for each request.

use std::fmt::Write;

use url::Url;

use super::unsent::{Pieces, Unsent};
use crate::transport::step_request;
use crate::transport::websocket::handshake;
use loadgen_scenario::{Action, Data, Part, RenderError, Step, Template};

/// A step's request.
pub(super) enum Message {
    /// The whole request, the same each time.
    Constant(Vec<u8>),
    /// A request with generated parts. If `body` is `None`, `head` also contains
    /// the empty line and the constant body, if any.
    Generated { head: Template, body: Option<Template> },
    /// A request for the opening handshake of a WebSocket, without its key, which is generated.
    Handshake(Template),
    /// A request with generated parts and files. Files are sent from where they are.
    WithFiles { head: Template, parts: Vec<Part> },
}

/// Buffers into which one user's generated requests are rendered.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) request: String,
    /// The generated body; `None` before the first one. Boxed, because most users have none.
    body: Option<Box<Rendered>>,
}

/// A body whose generated parts are rendered.
#[derive(Debug, Default)]
struct Rendered {
    text: String,
    /// For each part of a body with files, the end of the texts up to the part, in `text`.
    ends: Vec<usize>,
}

impl Message {
    /// Creates the request of `step` to a server with the base URL `url`. `closes` asks the server to
    /// close the connection after its response.
    pub(super) fn new(step: &Step, url: &Url, closes: bool) -> Self {
        let head = head(step, url, closes).revealed();
        if step.action == Action::Connect {
            return Self::Handshake(head);
        }
        let Some(body) = &step.body else {
            let length = if step.method.expects_body() { "content-length: 0\r\n" } else { "" };
            let head = joined(head, &format!("{length}\r\n"));
            return match head.as_constant() {
                Some(text) => Self::Constant(text.into()),
                None => Self::Generated { head, body: None },
            };
        };
        let parts = body.revealed();
        let constant: Option<Vec<&[u8]>> = parts.iter().map(Part::as_constant).collect();
        let length = constant.as_ref().map(|bytes| bytes.iter().map(|part| part.len()).sum());
        if let (Some(bytes), Some(text)) = (&constant, head.as_constant()) {
            let length: usize = length.unwrap_or_default();
            let head = format!("{text}content-length: {length}\r\n\r\n");
            return Self::Constant([head.as_bytes(), &bytes.concat()].concat());
        }
        match (parts.as_slice(), length) {
            ([Part::Text(text)], Some(length)) => {
                let text = text.as_constant().unwrap_or_default();
                let head = joined(head, &format!("content-length: {length}\r\n\r\n{text}"));
                Self::Generated { head, body: None }
            }
            ([Part::Text(text)], None) => {
                Self::Generated { head: joined(head, "content-length: "), body: Some(text.clone()) }
            }
            _ => Self::WithFiles { head: joined(head, "content-length: "), parts },
        }
    }

    /// Renders the next request into `buffers`, unless the request is constant.
    pub(super) fn render(&self, data: &mut Data, buffers: &mut Buffers) -> Result<(), RenderError> {
        let Buffers { request, body: rendered } = buffers;
        match self {
            Self::Constant(_) => {}
            Self::Handshake(head) => {
                request.clear();
                head.render(data, request)?;
                handshake::push_key(request);
            }
            Self::Generated { head, body } => {
                request.clear();
                head.render(data, request)?;
                if let Some(body) = body {
                    let Rendered { text, .. } = &mut **rendered.get_or_insert_default();
                    text.clear();
                    body.render(data, text)?;
                    // Writing to a `String` cannot fail.
                    let _ = write!(request, "{}\r\n\r\n{text}", text.len());
                }
            }
            Self::WithFiles { head, parts } => {
                request.clear();
                head.render(data, request)?;
                let Rendered { text, ends } = &mut **rendered.get_or_insert_default();
                text.clear();
                ends.clear();
                let mut of_files = 0;
                for part in parts {
                    match part {
                        Part::Text(part) => part.render(data, text)?,
                        Part::File(file) => of_files += file.bytes().len(),
                    }
                    ends.push(text.len());
                }
                let _ = write!(request, "{}\r\n\r\n", text.len() + of_files);
            }
        }
        Ok(())
    }

    /// Returns the request that was rendered last.
    pub(super) fn unsent<'a>(&'a self, buffers: &'a Buffers) -> Unsent<'a> {
        match self {
            Self::Constant(bytes) => Unsent::new(bytes),
            Self::Generated { .. } | Self::Handshake(_) => Unsent::new(buffers.request.as_bytes()),
            Self::WithFiles { parts, .. } => match buffers.body.as_deref() {
                Some(Rendered { text, ends }) => {
                    let pieces = Pieces { parts, text, ends };
                    Unsent::with_parts(buffers.request.as_bytes(), pieces)
                }
                // Unreachable: a request is rendered before it is sent.
                None => Unsent::new(buffers.request.as_bytes()),
            },
        }
    }
}

/// Returns the request line and the headers, without `content-length` and the empty line.
fn head(step: &Step, url: &Url, closes: bool) -> Template {
    let mut head = Template::literal(format!("{} ", step.method));
    head.append(step_request::path(step, url));
    head.append(Template::literal(" HTTP/1.1\r\n"));
    let connects = step.action == Action::Connect;
    if closes && !connects && !step.headers.iter().any(|(name, _)| name == "connection") {
        head.append(Template::literal("connection: close\r\n"));
    }
    for (name, value) in step_request::headers(step, url) {
        head.append(Template::literal(format!("{name}: ")));
        head.append(value);
        head.append(Template::literal("\r\n"));
    }
    if connects {
        head.append(Template::literal(handshake::HEADERS));
    }
    head
}

fn joined(mut template: Template, text: &str) -> Template {
    template.append(Template::literal(text));
    template
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_scenario as scenario;

    fn message(keys: &str, url: &str) -> Message {
        let text = format!("[[step]]\n{keys}");
        let step = scenario::parse("test", "test.toml", &text).unwrap().steps.remove(0);
        Message::new(&step, &Url::parse(url).unwrap(), false)
    }

    /// Returns the request that a step with these `keys` sends to
    /// `http://host:81/`, and whether the request is constant.
    fn sent(keys: &str) -> (String, bool) {
        let (message, mut buffers) = (message(keys, "http://host:81/"), Buffers::default());
        // Rendered twice: nothing of the first request may be left in the second.
        message.render(&mut Data::new(1, 7), &mut buffers).unwrap();
        message.render(&mut Data::new(1, 7), &mut buffers).unwrap();
        let text = String::from_utf8(message.unsent(&buffers).rest()).unwrap();
        (text, matches!(message, Message::Constant(_)))
    }

    fn lines(lines: &[&str], body: &str) -> String {
        format!("{}\r\n\r\n{body}", lines.join("\r\n"))
    }

    const AGENT: &str = concat!("user-agent: loadgen/", env!("CARGO_PKG_VERSION"));

    #[test]
    fn a_constant_request_is_written_once() {
        let expected = lines(&["GET /a?b=c HTTP/1.1", "host: host:81", AGENT, "accept: */*"], "");
        assert_eq!(sent("get = \"/a?b=c\""), (expected, true));
        let post = ["POST / HTTP/1.1", "host: host:81", AGENT, "accept: */*", "content-length: 0"];
        assert_eq!(sent("post = \"/\""), (lines(&post, ""), true));
        let typed = |length| {
            let kind = "content-type: text/plain; charset=utf-8";
            [&post[..4], &[kind, length]].concat()
        };
        // The length counts bytes, not characters.
        let expected = lines(&typed("content-length: 6"), "h\u{e9}llo");
        assert_eq!(sent("post = \"/\"\nbody = { text = \"h\u{e9}llo\" }"), (expected, true));
        let expected = lines(&typed("content-length: 0"), "");
        assert_eq!(sent("post = \"/\"\nbody = { text = \"\" }"), (expected, true));
    }

    #[test]
    fn headers_of_the_scenario_replace_the_defaults() {
        let keys = "head = \"/\"\nheaders = { Host = \"a\", User-Agent = \"b\", Accept = \"c\", X = \"d\" }";
        let (text, constant) = sent(keys);
        let mut found: Vec<&str> = text.trim_end().split("\r\n").collect();
        found[1..].sort_unstable();
        let expected = ["HEAD / HTTP/1.1", "accept: c", "host: a", "user-agent: b", "x: d"];
        assert_eq!((&found[..], constant), (&expected[..], true));
    }

    #[test]
    fn generated_parts_are_rendered_in_path_header_and_body() {
        let keys = "put = \"/{{ user }}\"\nheaders = { X = \"n{{ user }}\" }\n\
                    body = { text = \"{{ user }}{{ user }}\" }";
        let expected = [
            "PUT /7 HTTP/1.1",
            "host: host:81",
            AGENT,
            "accept: */*",
            "x: n7",
            "content-type: text/plain; charset=utf-8",
            "content-length: 2",
        ];
        assert_eq!(sent(keys), (lines(&expected, "77"), false));
        let expected = ["DELETE /7 HTTP/1.1", "host: host:81", AGENT, "accept: */*"];
        assert_eq!(sent("delete = \"/{{ user }}\""), (lines(&expected, ""), false));
        // A constant body under a generated head is written once.
        let keys = "post = \"/{{ user }}\"\nbody = { text = \"abc\" }";
        assert!(sent(keys).0.ends_with("content-length: 3\r\n\r\nabc"));
    }

    #[test]
    fn the_host_header_omits_the_default_port() {
        let host = |url: &str| {
            let message = message("get = \"/\"", url);
            let text = String::from_utf8(message.unsent(&Buffers::default()).rest()).unwrap();
            text.lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(host("http://example.org"), "host: example.org");
        assert_eq!(host("http://example.org:80"), "host: example.org");
        assert_eq!(host("http://[::1]:8080/"), "host: [::1]:8080");
    }

    #[test]
    fn invalid_uri_characters_are_encoded_like_the_url_crate() {
        for path in ["/a{b}`c\"<>|^\\d", "/?a{b}`c\"<>|^\\d'", "/a?b?c{", "/%7b/~!$&'()*+,;=:@"] {
            let (text, _) = sent(&format!("get = '''{path}'''"));
            let url = Url::parse(&format!("http://host{path}")).unwrap();
            let expected = &url.as_str()["http://host".len()..];
            assert_eq!(text.split(' ').nth(1), Some(expected), "{path}");
        }
    }
}
