//! Makes a step's request. Constant parts are made once; only generated parts are rendered for each
//! request.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TE};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderName, HeaderValue};
use url::Url;

use super::hpack::Head;
use crate::grpc::{self, Call};
use crate::transport::fields::Fields;
use crate::transport::redirect::Request;
use crate::transport::request_body::RequestBody;
use crate::transport::{Failure, step_request};
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Action, Body, Data, Method, Protos, RenderError, Step, Template};

/// A step's request.
pub(super) struct Message {
    method: Method,
    scheme: &'static str,
    authority: Text,
    path: Text,
    /// The headers that are the same each time.
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The headers with generated values.
    generated: Vec<(HeaderName, Template)>,
    content: Content,
    /// The gRPC call that the step makes; `None` for an HTTP request.
    call: Option<Call>,
    /// The fields of each request; `None` if they differ.
    constant: Option<Fields>,
}

/// A field's value.
enum Text {
    Constant(String),
    Generated(Template),
}

/// The body of a request.
enum Content {
    None,
    Constant(Bytes),
    Generated(Body),
}

/// A request with all generated parts rendered. The next one uses the same memory.
#[derive(Default)]
pub(super) struct Rendered {
    /// The fields, if they are not the same in each request.
    pub(super) fields: Fields,
    pub(super) body: RequestBody,
    /// Fields that were added to those of the step.
    added: Fields,
    /// Method of the request, if no step has it. All of its fields are in `fields` then.
    prepared: Option<Method>,
    /// Buffer for generated text.
    text: String,
}

impl Message {
    /// Creates the request of `step` to a server with the base URL `url`. Returns a sentence if no
    /// such request exists in HTTP/2.
    pub(super) fn new(step: &Step, protos: Option<&Protos>, url: &Url) -> Result<Self, String> {
        let wrong = |what: &str| format!("the step `{}` has {what}", step.name);
        let call = match step.action {
            Action::Call => Some(Call::of(step, protos).ok_or_else(|| wrong("an unknown method"))?),
            _ => None,
        };
        // Each name comes once: a scenario sets no header twice, and none that follows from the body.
        let (mut headers, mut generated) = (Vec::new(), Vec::new());
        let mut authority = Template::default();
        for (name, value) in step_request::headers(step, url) {
            let value = value.revealed();
            let shown = name.clone();
            let name = HeaderName::try_from(name).map_err(|_| wrong("an invalid header name"))?;
            match (name, value.as_constant()) {
                // HTTP/2 sends the host as `:authority` (RFC 9113, section 8.3.1).
                (HOST, _) => authority = value,
                (name, Some(text)) => {
                    let text = HeaderValue::from_str(text);
                    let text =
                        text.map_err(|_| wrong(&format!("an invalid value of `{shown}`")))?;
                    headers.push((name, text));
                }
                (name, None) => generated.push((name, value)),
            }
        }
        let content = Content::of(step, call.as_ref());
        let length = match &content {
            // The length of the message is in its prefix.
            _ if call.is_some() => None,
            Content::None if step.method.expects_body() => Some(0),
            Content::Constant(bytes) => Some(bytes.len()),
            Content::None | Content::Generated(_) => None,
        };
        headers.extend(length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
        if call.is_some() {
            // Tells proxies that drop trailers that the client needs these.
            headers.push((TE, HeaderValue::from_static("trailers")));
            let timeout = HeaderValue::from_str(&grpc::timeout(step.timeout));
            headers.extend(timeout.map(|timeout| (grpc::TIMEOUT, timeout)));
        }
        let invalid = |what: &str| wrong(&format!("an invalid {what}"));
        let authority = match authority.as_constant() {
            Some(text) if Authority::try_from(text).is_err() => return Err(invalid("host")),
            Some(text) => Text::Constant(text.to_owned()),
            None => Text::Generated(authority),
        };
        let path = step_request::path(step, url).revealed();
        let path = match path.as_constant() {
            Some(text) => {
                let path = PathAndQuery::try_from(text).map_err(|_| invalid("path"))?;
                Text::Constant(path.as_str().to_owned())
            }
            None => Text::Generated(path),
        };
        let (method, constant) = (step.method.clone(), None);
        let scheme = if url.scheme() == "https" { "https" } else { "http" };
        let mut message =
            Self { method, scheme, authority, path, headers, generated, content, call, constant };
        if message.is_constant() {
            let (mut data, mut rendered) = (Data::new(0, 0), Rendered::default());
            // Constant texts need no data, and cannot fail to render.
            if message.render_fields(&mut data, &mut rendered).is_ok() {
                message.constant = Some(rendered.fields);
            }
        }
        Ok(message)
    }

    /// Returns the gRPC call that the step makes; `None` for an HTTP request.
    pub(super) fn call(&self) -> Option<&Call> {
        self.call.as_ref()
    }

    /// Whether the fields of all requests are the same.
    fn is_constant(&self) -> bool {
        let has_length = matches!(self.content, Content::Generated(_)) && self.call.is_none();
        let parts = [&self.authority, &self.path];
        parts.iter().all(|text| matches!(text, Text::Constant(_)))
            && self.generated.is_empty()
            && !has_length
    }

    /// Renders the fields, without the length of a generated body. Generated texts are escaped for the
    /// places where they stand; of a host, this does not suffice.
    fn render_fields(&self, data: &mut Data, rendered: &mut Rendered) -> Result<(), Failure> {
        let Rendered { fields, text, .. } = rendered;
        fields.clear();
        fields.push(b":method", self.method.name().as_bytes());
        fields.push(b":scheme", self.scheme.as_bytes());
        let authority = self.authority.render(data, text)?;
        if matches!(self.authority, Text::Generated(_)) && Authority::try_from(authority).is_err() {
            return Err(failed("the request has an invalid host".to_owned()));
        }
        fields.push(b":authority", authority.as_bytes());
        fields.push(b":path", self.path.render(data, text)?.as_bytes());
        for (name, value) in &self.headers {
            fields.push(name.as_str().as_bytes(), value.as_bytes());
        }
        for (name, value) in &self.generated {
            text.clear();
            value.render(data, text)?;
            fields.push(name.as_str().as_bytes(), text.as_bytes());
        }
        Ok(())
    }

    /// Renders the next request.
    pub(super) fn render(&self, data: &mut Data, rendered: &mut Rendered) -> Result<(), Failure> {
        rendered.added.clear();
        rendered.prepared = None;
        if self.constant.is_none() {
            self.render_fields(data, rendered)?;
        }
        rendered.body = match &self.content {
            Content::None => RequestBody::default(),
            Content::Constant(bytes) => bytes.clone().into(),
            Content::Generated(body) => {
                let body = step_request::body(body, data)?;
                match &self.call {
                    Some(call) => call.request(&body.into_bytes()?).map_err(failed)?.into(),
                    None => {
                        let length = HeaderValue::from(body.length());
                        rendered.fields.push(CONTENT_LENGTH.as_str().as_bytes(), length.as_bytes());
                        body
                    }
                }
            }
        };
        Ok(())
    }

    /// Returns the fields of the request that was rendered last.
    fn fields<'a>(&'a self, rendered: &'a Rendered) -> &'a Fields {
        self.constant.as_ref().unwrap_or(&rendered.fields)
    }

    /// Returns the header section of the request that was rendered last. `index` is that of the step.
    fn head<'a>(&'a self, rendered: &'a Rendered, index: usize) -> Head<'a> {
        let constant = match self.authority {
            // All before the generated headers. The path among them is never added to a table.
            Text::Constant(_) => 4 + self.headers.len(),
            // Those before the host.
            Text::Generated(_) => 2,
        };
        let step = self.constant.is_some().then_some(index);
        Head { fields: self.fields(rendered), constant, step, added: &rendered.added }
    }
}

impl Rendered {
    /// Returns the header section of the next request. `message` is that of the step at `index`, whose request was
    /// rendered last; `None` on the way to a server that no step names.
    pub(super) fn head<'a>(&'a self, message: Option<&'a Message>, index: usize) -> Head<'a> {
        match message {
            Some(message) if self.prepared.is_none() => message.head(self, index),
            _ => Head { fields: &self.fields, constant: 0, step: None, added: &self.added },
        }
    }

    /// Makes a request that no step has the next one.
    pub(super) fn prepare(&mut self, request: &Request) {
        let Request { method, url, fields, body } = request;
        let host = fields.first("host").unwrap_or_default();
        self.fields.clear();
        self.fields.push(b":method", method.name().as_bytes());
        self.fields.push(b":scheme", url.scheme().as_bytes());
        self.fields.push(b":authority", host);
        self.fields.push(b":path", request.target().as_bytes());
        for (name, value) in fields.iter().filter(|(name, _)| *name != b"host") {
            self.fields.push(name, value);
        }
        if !body.is_empty() || method.expects_body() {
            let length = HeaderValue::from(body.length());
            self.fields.push(CONTENT_LENGTH.as_str().as_bytes(), length.as_bytes());
        }
        self.body = body.clone();
        self.added.clear();
        self.prepared = Some(method.clone());
    }

    /// Adds a field to the next request.
    pub(super) fn add_field(&mut self, name: &str, value: &str) {
        self.added.push(name.as_bytes(), value.as_bytes());
    }

    /// Method of the next request, if no step has it.
    pub(super) fn prepared(&self) -> Option<&Method> {
        self.prepared.as_ref()
    }

    /// Returns path and query of the request of `message`, which was rendered last.
    pub(super) fn target<'a>(&'a self, message: &'a Message) -> &'a str {
        let path = match &message.path {
            Text::Constant(path) => Some(path.as_str()),
            Text::Generated(_) => {
                let path = message.fields(self).first(":path");
                path.and_then(|path| std::str::from_utf8(path).ok())
            }
        };
        path.unwrap_or("/")
    }

    /// Returns the fields of the request of `message`, which was rendered last, without `content-length`; and its
    /// body.
    pub(super) fn parts(&self, message: &Message) -> (Fields, RequestBody) {
        let mut fields = Fields::default();
        for (name, value) in message.fields(self).iter() {
            match name {
                b":authority" => fields.push(HOST.as_str().as_bytes(), value),
                _ if name.starts_with(b":") || name == CONTENT_LENGTH.as_str().as_bytes() => {}
                _ => fields.push(name, value),
            }
        }
        (fields, self.body.clone())
    }
}

impl Text {
    /// Returns the value for the next request. `text` is a buffer.
    fn render<'a>(&'a self, data: &mut Data, text: &'a mut String) -> Result<&'a str, RenderError> {
        match self {
            Self::Constant(constant) => Ok(constant),
            Self::Generated(template) => {
                text.clear();
                template.render(data, text)?;
                Ok(text)
            }
        }
    }
}

impl Content {
    /// Returns the body of the requests of `step`, which makes `call`. A message that cannot be made is
    /// rendered for each request, so that the request fails and its error hides secrets.
    fn of(step: &Step, call: Option<&Call>) -> Self {
        let Some(body) = &step.body else { return Self::None };
        let body = Body { content_type: body.content_type.clone(), parts: body.revealed() };
        if body.parts.iter().any(|part| part.as_constant().is_none()) {
            return Self::Generated(body);
        }
        // Constant texts need no data, and cannot fail to render.
        let Ok(bytes) = step_request::body(&body, &mut Data::new(0, 0)) else { return Self::None };
        // All of it is in memory.
        let Ok(bytes) = bytes.into_bytes() else { return Self::None };
        match call.map(|call| call.request(&bytes)) {
            None => Self::Constant(bytes),
            Some(Ok(message)) => Self::Constant(message),
            Some(Err(_)) => Self::Generated(body),
        }
    }
}

fn failed(message: String) -> Failure {
    Failure::new(ErrorKind::Expectation, message)
}
