//! A step's request as it goes over the wire: written once, with only its generated parts made
//! anew each time.

use std::fmt::Write;

use url::Url;

use crate::scenario::{Data, Method, Step, Template};

/// What a request says about who sends it, as the other transport does too.
const USER_AGENT: &str = concat!("loadgen/", env!("CARGO_PKG_VERSION"));

/// A step's request.
pub enum Message {
    /// The same each time.
    Constant(String),
    /// With generated parts; without a body, the head ends in an empty line.
    Generated { head: Template, body: Option<Template> },
}

/// Where one user's generated requests are made.
#[derive(Debug, Default)]
pub struct Buffers {
    request: String,
    body: String,
}

impl Message {
    /// The request of `step` to a server whose base URL is `url`.
    pub fn new(step: &Step, url: &Url) -> Self {
        let head = head(step, url);
        let body = step.body.as_ref().map(|body| &body.text);
        let length = match (body.map(Template::as_constant), step.method) {
            (None, Method::Get | Method::Head | Method::Delete) => None,
            // A request that could have a body says that it has none (RFC 9110, section 8.6).
            (None, Method::Post | Method::Put | Method::Patch) => Some(0),
            (Some(Some(text)), _) => Some(text.len()),
            (Some(None), _) => {
                let body = body.cloned();
                return Self::Generated { head: joined(head, "content-length: "), body };
            }
        };
        let length = length.map(|n| format!("content-length: {n}\r\n")).unwrap_or_default();
        let text = body.and_then(Template::as_constant).unwrap_or_default();
        let head = joined(head, &format!("{length}\r\n{text}"));
        match head.as_constant() {
            Some(text) => Self::Constant(text.to_owned()),
            None => Self::Generated { head, body: None },
        }
    }

    /// Makes the next request of this kind.
    pub fn render(&self, data: &mut Data, buffers: &mut Buffers) {
        let Self::Generated { head, body } = self else { return };
        let Buffers { request, body: text } = buffers;
        request.clear();
        head.render(data, request);
        if let Some(body) = body {
            text.clear();
            body.render(data, text);
            // Writing to a `String` cannot fail.
            let _ = write!(request, "{}\r\n\r\n{text}", text.len());
        }
    }

    /// The request that was rendered last.
    pub fn bytes<'a>(&'a self, buffers: &'a Buffers) -> &'a [u8] {
        match self {
            Self::Constant(text) => text.as_bytes(),
            Self::Generated { .. } => buffers.request.as_bytes(),
        }
    }
}

/// Request line and headers, but for the body's length and the empty line.
fn head(step: &Step, url: &Url) -> Template {
    let mut head =
        Template::literal(format!("{} {}", step.method, url.path().trim_end_matches('/')));
    head.append(step.path.clone());
    head.append(Template::literal(" HTTP/1.1\r\n"));
    let own = |name| step.headers.iter().any(|(own, _)| own == name);
    for (name, value) in
        [("host", host(url).as_str()), ("user-agent", USER_AGENT), ("accept", "*/*")]
    {
        if !own(name) {
            head.append(Template::literal(format!("{name}: {value}\r\n")));
        }
    }
    for (name, value) in &step.headers {
        head.append(Template::literal(format!("{name}: ")));
        head.append(value.clone());
        head.append(Template::literal("\r\n"));
    }
    if let Some(body) = &step.body {
        head.append(Template::literal(format!("content-type: {}\r\n", body.content_type)));
    }
    head
}

/// Host and port, the port only where it is not the scheme's own.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn joined(mut template: Template, text: &str) -> Template {
    template.append(Template::literal(text));
    template
}
