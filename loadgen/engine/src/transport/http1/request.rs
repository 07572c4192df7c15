//! Writes a step's request as it goes over the wire. Constant text is written once; only generated
//! parts are rendered for each request.

use std::fmt::Write;

#[cfg(any(test, fuzzing))]
use http::header::COOKIE;
use http::header::PROXY_AUTHORIZATION;
use url::Url;

use super::unsent::{Pieces, Unsent};
use crate::transport::fields::Fields;
use crate::transport::proxy::Proxy;
use crate::transport::redirect::Request;
use crate::transport::request_body::RequestBody;
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
    /// Bytes that are sent in place of the rendered ones.
    instead: Vec<u8>,
    /// Body that is sent after these; `None` if there is none, or if it is among these. Boxed, because few requests
    /// are replaced with a body.
    body_instead: Option<Box<RequestBody>>,
    replaces: Replaces,
}

/// Parts that requests have only if a proxy forwards them; empty if none does.
#[derive(Debug, Default)]
pub(super) struct Via {
    /// Scheme and host, which begin the target of each request (RFC 9112, section 3.2.2).
    origin: String,
    /// The line `proxy-authorization`, if the proxy wants one.
    field: String,
}

impl Via {
    /// Returns what requests to a server with the base URL `url` have through `proxy`.
    pub(super) fn of(url: &Url, proxy: Option<&Proxy>) -> Self {
        let Some(proxy) = proxy.filter(|_| url.scheme() == "http") else { return Self::default() };
        let field = |value| format!("{PROXY_AUTHORIZATION}: {value}\r\n");
        let field = proxy.authorization().map(field).unwrap_or_default();
        Self { origin: format!("http://{}", step_request::host(url)), field }
    }

    /// Returns path and query of a request with this target.
    pub(super) fn path<'a>(&self, target: &'a str) -> &'a str {
        target.strip_prefix(self.origin.as_str()).unwrap_or(target)
    }
}

/// Longest body, in bytes, that is copied beside a changed head: a copy costs less than a second piece to send.
const LONGEST_COPY: usize = 4 << 10;

/// The part of a request that is replaced.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Replaces {
    #[default]
    Nothing,
    /// All but the body.
    Head,
    All,
}

/// A body whose generated parts are rendered.
#[derive(Debug, Default)]
struct Rendered {
    text: String,
    /// For each part of a body with files, the end of the texts up to the part, in `text`.
    ends: Vec<usize>,
}

impl Message {
    /// Creates the request of `step` to a server with the base URL `url`. It goes `via` a proxy
    /// perhaps. `closes` asks the server to close the connection after its response.
    pub(super) fn new(step: &Step, url: &Url, via: &Via, closes: bool) -> Self {
        let head = head(step, url, via, closes).revealed();
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
        let Buffers { request, body: rendered, replaces, instead, body_instead } = buffers;
        (*replaces, *body_instead) = (Replaces::Nothing, None);
        // Frees the memory of a long body.
        instead.clear();
        instead.shrink_to(LONGEST_COPY);
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
                let mut of_files = 0_u64;
                for part in parts {
                    match part {
                        Part::Text(part) => part.render(data, text)?,
                        Part::File(file) => of_files += file.length(),
                    }
                    ends.push(text.len());
                }
                let _ = write!(request, "{}\r\n\r\n", text.len() as u64 + of_files);
            }
        }
        Ok(())
    }

    /// Returns the request that was rendered last, up to the pieces of its body.
    fn rendered<'a>(&'a self, buffers: &'a Buffers) -> &'a [u8] {
        match self {
            Self::Constant(bytes) => bytes,
            Self::Generated { .. } | Self::Handshake(_) | Self::WithFiles { .. } => {
                buffers.request.as_bytes()
            }
        }
    }

    /// Returns the pieces of the body that was rendered last; `None` if it is in one place with the head.
    fn pieces<'a>(&'a self, buffers: &'a Buffers) -> Option<Pieces<'a>> {
        match (self, buffers.body.as_deref()) {
            (Self::WithFiles { parts, .. }, Some(Rendered { text, ends })) => {
                Some(Pieces { parts, text, ends })
            }
            _ => None,
        }
    }
}

impl Buffers {
    /// Returns the next request. `message` is that of the step whose request was rendered last; `None` on the way to
    /// a server that no step names.
    pub(super) fn unsent<'a>(&'a self, message: Option<&'a Message>) -> Unsent<'a> {
        let instead = self.instead.as_slice();
        let (head, body, pieces) = match (message, self.replaces) {
            (None, _) | (_, Replaces::All) => {
                let body = self.body_instead.as_deref().cloned().unwrap_or_default();
                return Unsent::new(instead, body);
            }
            (Some(message), Replaces::Head) => {
                (instead, body_of(message.rendered(self)), message.pieces(self))
            }
            (Some(message), Replaces::Nothing) => {
                (message.rendered(self), &[][..], message.pieces(self))
            }
        };
        Unsent::of(head, body, pieces)
    }

    /// Makes a request that no step has the next one.
    pub(super) fn replace(&mut self, request: &Request, via: &Via) {
        let Request { method, fields, body, .. } = request;
        let to = &mut self.instead;
        to.clear();
        let host = fields.first("host").unwrap_or_default();
        let has_own = fields.first(PROXY_AUTHORIZATION.as_str()).is_some();
        let field = if has_own { "" } else { &via.field };
        for part in [
            method.name().as_bytes(),
            b" ",
            via.origin.as_bytes(),
            request.target().as_bytes(),
            b" HTTP/1.1\r\n",
            field.as_bytes(),
            b"host: ",
            host,
            b"\r\n",
        ] {
            to.extend_from_slice(part);
        }
        for (name, value) in fields.iter().filter(|(name, _)| *name != b"host") {
            [name, b": ", value, b"\r\n"].into_iter().for_each(|part| to.extend_from_slice(part));
        }
        if !body.is_empty() || method.expects_body() {
            to.extend_from_slice(format!("content-length: {}\r\n", body.length()).as_bytes());
        }
        to.extend_from_slice(b"\r\n");
        self.body_instead = (!body.is_empty()).then(|| Box::new(body.clone()));
        self.replaces = Replaces::All;
    }

    /// Adds a field to the next request, as its last header.
    pub(super) fn add_field(&mut self, message: Option<&Message>, name: &str, value: &str) {
        let line = [name, ": ", value, "\r\n"];
        if let (Some(message), Replaces::Nothing) = (message, self.replaces) {
            let mut to = std::mem::take(&mut self.instead);
            let rendered = message.rendered(self);
            let (end, body) = (end_of_fields(rendered), body_of(rendered));
            let is_copied = body.len() <= LONGEST_COPY && message.pieces(self).is_none();
            to.clear();
            to.extend_from_slice(&rendered[..end]);
            line.iter().for_each(|part| to.extend_from_slice(part.as_bytes()));
            to.extend_from_slice(b"\r\n");
            if is_copied {
                to.extend_from_slice(body);
            }
            self.instead = to;
            self.replaces = if is_copied { Replaces::All } else { Replaces::Head };
        } else {
            let end = end_of_fields(&self.instead);
            self.instead.splice(end..end, line.concat().into_bytes());
        }
    }

    /// Returns path and query of the request of `message`, which was rendered last.
    pub(super) fn target<'a>(&'a self, message: &'a Message) -> &'a str {
        let rendered = message.rendered(self);
        let mut words = rendered.split(|byte| *byte == b' ').skip(1);
        // Each request has a target of ASCII characters.
        words.next().and_then(|target| std::str::from_utf8(target).ok()).unwrap_or("/")
    }

    /// Returns the fields of the request of `message`, which was rendered last, without `content-length` and what
    /// it has `via` a proxy; and its body, if wanted.
    pub(super) fn parts(
        &self,
        message: &Message,
        via: &Via,
        with_body: bool,
    ) -> (Fields, RequestBody) {
        let rendered = message.rendered(self);
        let end = end_of_fields(rendered);
        let mut fields = Fields::default();
        let of_proxy = via.field.trim_end().as_bytes();
        for line in rendered[..end].split(|byte| *byte == b'\n').skip(1) {
            let line = line.trim_ascii_end();
            if let Some(colon) = memchr::memchr(b':', line) {
                let name = line[..colon].to_ascii_lowercase();
                if name != b"content-length" && line != of_proxy {
                    fields.push(&name, line[colon + 1..].trim_ascii());
                }
            }
        }
        let body =
            with_body.then(|| Unsent::of(body_of(rendered), &[], message.pieces(self)).rest());
        (fields, body.unwrap_or_default())
    }
}

/// Returns a request that no step has, as it is written, with these cookies.
#[cfg(any(test, fuzzing))]
pub(in crate::transport) fn written(request: &Request, cookies: &str) -> Vec<u8> {
    let mut buffers = Buffers::default();
    buffers.replace(request, &Via::default());
    if !cookies.is_empty() {
        buffers.add_field(None, COOKIE.as_str(), cookies);
    }
    let unsent = buffers.unsent(None);
    // What is in memory can be read.
    unsent.rest().into_bytes().map(Vec::from).unwrap_or_default()
}

/// Returns what follows the head of a request.
fn body_of(request: &[u8]) -> &[u8] {
    request.get(end_of_fields(request) + 2..).unwrap_or_default()
}

/// Returns where the fields of a request end: before its empty line.
fn end_of_fields(request: &[u8]) -> usize {
    memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |at| at + 2)
}

/// Returns the request line and the headers, without `content-length` and the empty line.
fn head(step: &Step, url: &Url, via: &Via, closes: bool) -> Template {
    let connects = step.action == Action::Connect;
    // A WebSocket takes a tunnel.
    let (origin, field) = if connects { ("", "") } else { (&*via.origin, &*via.field) };
    let has_own = step.headers.iter().any(|(name, _)| name == PROXY_AUTHORIZATION.as_str());
    let field = if has_own { "" } else { field };
    let mut head = Template::literal(format!("{} {origin}", step.method));
    head.append(step_request::path(step, url));
    head.append(Template::literal(format!(" HTTP/1.1\r\n{field}")));
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
        Message::new(&step, &Url::parse(url).unwrap(), &Via::default(), false)
    }

    fn text_of(request: Unsent<'_>) -> String {
        String::from_utf8(request.rest().into_bytes().unwrap().into()).unwrap()
    }

    /// Returns the request that a step with these `keys` sends to
    /// `http://host:81/`, and whether the request is constant.
    fn sent(keys: &str) -> (String, bool) {
        let (message, mut buffers) = (message(keys, "http://host:81/"), Buffers::default());
        // Rendered twice: nothing of the first request may be left in the second.
        message.render(&mut Data::new(1, 7), &mut buffers).unwrap();
        message.render(&mut Data::new(1, 7), &mut buffers).unwrap();
        let text = text_of(buffers.unsent(Some(&message)));
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
            let text = text_of(Buffers::default().unsent(Some(&message)));
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
