//! Makes a step's request for h2. Constant parts are made once; only generated parts are rendered for
//! each request.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use url::Url;

use crate::engine::grpc::{self, Call};
use crate::engine::transport::{Failure, step_request};
use crate::measure::ErrorKind;
use crate::scenario::{Action, Body, Data, Protos, Step, Template};

/// A step's request.
pub(super) struct Message {
    method: Method,
    scheme: Scheme,
    target: Target,
    /// The headers that are the same each time.
    headers: HeaderMap,
    /// The headers with generated values.
    generated: Vec<(HeaderName, Template)>,
    content: Content,
    /// The gRPC call that the step makes; `None` for an HTTP request.
    call: Option<Call>,
}

/// The `:authority` and `:path` of a request.
enum Target {
    Constant(Uri),
    Generated { authority: Template, path: Template },
}

/// The body of a request.
enum Content {
    None,
    Constant(Bytes),
    Generated(Body),
}

/// A request with all generated parts rendered.
pub(super) struct Rendered {
    pub(super) head: Request<()>,
    /// The body; `None` if it is empty.
    pub(super) body: Option<Bytes>,
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
        // The scenario's parser accepts only tokens, as `Method` does.
        let method = Method::from_bytes(step.method.name().as_bytes()).unwrap_or_default();
        let scheme = if url.scheme() == "https" { Scheme::HTTPS } else { Scheme::HTTP };
        let (mut headers, mut generated) = (HeaderMap::new(), Vec::new());
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
                    headers.insert(name, text);
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
            headers.insert(TE, HeaderValue::from_static("trailers"));
            let timeout = HeaderValue::from_str(&grpc::timeout(step.timeout));
            headers.extend(timeout.map(|timeout| (grpc::TIMEOUT, timeout)));
        }
        let path = step_request::path(step, url).revealed();
        let target = match (authority.as_constant(), path.as_constant()) {
            (Some(host), Some(path)) => {
                let uri = uri(&scheme, host, path);
                Target::Constant(uri.map_err(|what| wrong(&format!("an invalid {what}")))?)
            }
            _ => Target::Generated { authority, path },
        };
        Ok(Self { method, scheme, target, headers, generated, content, call })
    }

    /// Returns the gRPC call that the step makes; `None` for an HTTP request.
    pub(super) fn call(&self) -> Option<&Call> {
        self.call.as_ref()
    }

    /// Renders the next request. `text` is a buffer.
    pub(super) fn render(&self, data: &mut Data, text: &mut String) -> Result<Rendered, Failure> {
        let failed = |message: String| Failure::new(ErrorKind::Expectation, message);
        let mut head = Request::new(());
        *head.version_mut() = Version::HTTP_2;
        head.method_mut().clone_from(&self.method);
        *head.uri_mut() = match &self.target {
            Target::Constant(uri) => uri.clone(),
            Target::Generated { authority, path } => {
                text.clear();
                authority.render(data, text).map_err(|e| failed(e.to_string()))?;
                let end = text.len();
                path.render(data, text).map_err(|e| failed(e.to_string()))?;
                let (authority, path) = text.split_at(end);
                let uri = uri(&self.scheme, authority, path);
                uri.map_err(|what| failed(format!("the request has an invalid {what}")))?
            }
        };
        head.headers_mut().clone_from(&self.headers);
        for (name, value) in &self.generated {
            text.clear();
            value.render(data, text).map_err(|e| failed(e.to_string()))?;
            let value = HeaderValue::from_str(text)
                .map_err(|_| failed(format!("the request has an invalid value of `{name}`")))?;
            head.headers_mut().insert(name.clone(), value);
        }
        let body = match &self.content {
            Content::None => None,
            Content::Constant(bytes) => Some(bytes.clone()),
            Content::Generated(body) => {
                let body = step_request::body(body, data).map_err(|e| failed(e.to_string()))?;
                Some(match &self.call {
                    Some(call) => call.request(&body).map_err(failed)?,
                    None => {
                        head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
                        body
                    }
                })
            }
        };
        Ok(Rendered { head, body: body.filter(|bytes| !bytes.is_empty()) })
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
        match call.map(|call| call.request(&bytes)) {
            None => Self::Constant(bytes),
            Some(Ok(message)) => Self::Constant(message),
            Some(Err(_)) => Self::Generated(body),
        }
    }
}

/// Returns the URI of a request, or the name of the part that is invalid.
fn uri(scheme: &Scheme, authority: &str, path: &str) -> Result<Uri, &'static str> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme.clone());
    parts.authority = Some(Authority::try_from(authority).map_err(|_| "host")?);
    parts.path_and_query = Some(PathAndQuery::try_from(path).map_err(|_| "path")?);
    Uri::from_parts(parts).map_err(|_| "URI")
}
