//! `[grpc]` and the step key `grpc`: services, and calls of their methods.

use std::ops::Range;
use std::path::PathBuf;

use miette::Diagnostic;
use prost_reflect::MessageDescriptor;
use protox::Compiler;
use toml::de::DeValue;

use super::keys::schema::{self, Schema};
use super::keys::{Custom, Key, Keys, custom, key};
use super::reader::{Faults, Table, Value};
use super::services::Services;
use super::{body, json, message};
use crate::body::Body;
use crate::bounded::read_at_most;
use crate::error::Fault;
use crate::http::{Http, HttpVersion, TransportKind};
use crate::nearest::suggestion;
use crate::protos::Protos;
use crate::stream::{ExpectedStream, StreamFormat};
use crate::template::Template;

/// Key of a step whose value is a service and a method, and of the table with the `.proto` files.
pub(super) const KEY: &str = "grpc";

keys! {
    /// services that steps call with gRPC
    pub(super) const KEYS: Keys = table("[grpc]");

    /// `.proto` files of the services, relative to the scenario file
    const PROTO: Key<Custom> = key("proto", custom("path, or an array of paths", paths)).required();
    /// folders in which `import` looks for files, before the folder of each file in `proto`
    const INCLUDE: Key<Custom> = key("include", custom("path, or an array of paths", paths))
        .otherwise("only the folder of each file");
}

fn paths() -> Schema {
    let several = schema::array(schema::name("A path.")).with("minItems", 1);
    schema::one_of([schema::name("A path."), several])
}

/// Media type of a call's messages.
const MEDIA_TYPE: &str = "application/grpc";

/// Largest `.proto` file, in bytes.
const LARGEST: u64 = 16 << 20;

/// Returns whether a step of the scenario makes a call. Steps are not read yet.
pub(super) fn is_used(scenario: &Table<'_>) -> bool {
    let steps = scenario.peek("step").into_iter();
    let flows = scenario.peek("flow").into_iter().flat_map(|flows| json::items(&flows));
    let of_flows = flows.flat_map(|flow| json::fields(&flow)).filter(|field| field.key == "step");
    let mut steps = steps.chain(of_flows).flat_map(|steps| json::items(&steps));
    steps.any(|step| json::fields(&step).iter().any(|field| field.key == KEY))
}

/// Reads the table `[grpc]`: compiles its `.proto` files.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Services {
    read_table(value, faults).map_or(Services::Faulty, Services::Read)
}

fn read_table(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Protos> {
    let mut table = KEYS.open(value, faults)?;
    let [proto, include] = [PROTO, INCLUDE].map(|key| key.take(&mut table));
    table.finish(faults);
    let Some(proto) = proto else {
        let help = "name the file that describes the service, such as proto = \"greeter.proto\"";
        return value.fault("[grpc] has no `proto`", "no file", help, faults);
    };
    let files = read_paths(&proto, faults);
    let roots = include.map_or(Some(Vec::new()), |value| read_paths(&value, faults));
    compile(&files?, &roots?, faults)
}

/// Reads a path, or an array of paths.
fn read_paths<'a>(value: &Value<'a>, faults: &mut Faults<'_>) -> Option<Vec<(&'a str, Value<'a>)>> {
    let values = match value.node.get_ref() {
        DeValue::Array(_) => value.array("a path, or an array of paths", faults)?,
        _ => vec![value.clone()],
    };
    if values.is_empty() {
        return value.fault(format!("`{}` names no path", value.key), "empty", "", faults);
    }
    let paths: Vec<_> =
        values.into_iter().map(|value| Some((value.name(faults)?, value))).collect();
    paths.into_iter().collect()
}

/// Compiles files, whose imports are relative to one of `roots` or to the folder of a file.
fn compile(
    files: &[(&str, Value<'_>)],
    roots: &[(&str, Value<'_>)],
    faults: &mut Faults<'_>,
) -> Option<Protos> {
    let folder = faults.folder.clone();
    let folders = files.iter().filter_map(|(path, _)| Some(folder.join(path).parent()?.to_owned()));
    let mut all: Vec<PathBuf> = Vec::new();
    for root in roots.iter().map(|(path, _)| folder.join(path)).chain(folders) {
        if !all.contains(&root) {
            all.push(root);
        }
    }
    let (_, first) = files.first()?;
    let mut compiler = match Compiler::new(all) {
        Ok(compiler) => compiler,
        Err(error) => return first.fault(error.to_string(), "these files", "", faults),
    };
    compiler.include_imports(true);
    for (path, value) in files {
        let file = folder.join(path);
        if let Err(error) = read_at_most(LARGEST, &file) {
            let help = "name a file, relative to this file";
            return value.fault(format!("cannot read {path}: {error}"), "this file", help, faults);
        }
        if let Err(error) = compiler.open_file(&file) {
            let help = match error.is_file_not_found() {
                true => "imports are relative to the file's folder, or to a folder in `include`",
                false => "correct the .proto file",
            };
            return value.fault(said(&error), "cannot be compiled", help, faults);
        }
    }
    match Protos::new(compiler.encode_file_descriptor_set().into()) {
        Ok(protos) => Some(protos),
        Err(message) => first.fault(message, "these files", "correct the .proto files", faults),
    }
}

/// Returns an error of the compiler, after the file and the line.
fn said(error: &protox::Error) -> String {
    let message = error.to_string();
    let label = error.labels().and_then(|mut labels| labels.next());
    let place = label.zip(error.source_code()).and_then(|(label, source)| {
        let place = source.read_span(label.inner(), 0, 0).ok()?;
        Some(format!(":{}:{}", place.line() + 1, place.column() + 1))
    });
    match (error.file(), place) {
        (Some(file), Some(place)) => format!("{file}{place}: {message}"),
        (Some(file), None) => format!("{file}: {message}"),
        (None, _) => message,
    }
}

/// A method that a step calls.
pub(super) struct Called {
    /// Type of the messages that the client sends.
    kind: MessageDescriptor,
    /// Whether the client sends a stream of messages.
    sends_many: bool,
    /// Whether the server answers with a stream of messages.
    pub answers_many: bool,
}

/// Reads the service and the method of a step. Returns the path of the request, and the method.
pub(super) fn read_call(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<(Template, Called)> {
    let text = value.text(faults)?;
    let protos = match &faults.services {
        Services::Read(protos) => protos.clone(),
        Services::Faulty => return None,
        Services::Missing => {
            let help = "add the table [grpc] with the file that describes the service, such as \
                        proto = \"greeter.proto\"";
            let message = "a step with `grpc` needs the table [grpc]";
            return value.fault(message, "unknown service", help, faults);
        }
    };
    let path = format!("/{text}");
    let Some(method) = protos.method(&path) else {
        let methods = protos.methods();
        let help = match methods.is_empty() {
            true => "the files in [grpc] have no service".to_owned(),
            false => suggestion(text, methods.iter().map(String::as_str)),
        };
        let message = format!("\"{text}\" is not a method of a service in [grpc]");
        return value.fault(message, "unknown method", help, faults);
    };
    let called = Called {
        kind: method.input(),
        sends_many: method.is_client_streaming(),
        answers_many: method.is_server_streaming(),
    };
    Some((Template::literal(path), called))
}

/// Reads the `body` of a call of the method `called`: the JSON form of its message, or a JSON array of the messages
/// of a stream.
pub(super) fn read_body(
    value: Option<&Value<'_>>,
    called: &Called,
    faults: &mut Faults<'_>,
) -> Option<Body> {
    let Called { kind, sends_many, .. } = called;
    let Some(value) = value else {
        let empty = if *sends_many { "[{}]" } else { "{}" };
        return Some(Body::of_text(MEDIA_TYPE, Template::literal(empty)));
    };
    let mut table = body::KEYS.open(value, faults)?;
    let repeat = if *sends_many { body::REPEAT.take(&mut table) } else { None };
    let others = table.take_any(body::OF_REQUESTS);
    for other in &others {
        let message = format!("`{}` has no meaning in a step with `grpc`", other.key);
        let fault = Fault::new(message).at(other.key_place.clone(), "no effect");
        faults.add(fault.help("write the request's message as body = { json = { … } }"));
    }
    let json = body::JSON.take(&mut table);
    let once = body::ONCE.read(&mut table, faults);
    table.finish(faults);
    let Some(json) = json else {
        if others.is_empty() {
            let help = "write body = { json = { … } }, or leave out `body` for an empty message";
            value.fault::<()>("the body has no `json`", "nothing to send", help, faults);
        }
        return None;
    };
    let is_array = *sends_many && json.node.get_ref().as_array().is_some();
    let is_alone = repeat.is_none();
    let messages = match is_array && is_alone {
        true => json::items(&json),
        false => vec![json.clone()],
    };
    let template = body::read_json(&json, repeat, faults)?;
    let template = match *sends_many && !is_array && is_alone {
        true => body::in_array(template),
        false => template,
    };
    messages.iter().for_each(|json| message::check(json, kind, faults));
    let body = Body::of_text(MEDIA_TYPE, template);
    Some(if once? { body.once(value.place().start) } else { body })
}

/// Returns what a call expects of the messages with which the server answers: `stream`, if it is there. `expect` is the
/// table of the step. Adds a fault for what has no meaning for messages.
pub(super) fn expected_stream(
    stream: Option<ExpectedStream>,
    expect: Option<&Value<'_>>,
    faults: &mut Faults<'_>,
) -> ExpectedStream {
    let fields = expect.map_or_else(Vec::new, json::fields);
    let stream_keys = fields.iter().find(|field| field.key == "stream");
    let keys = stream_keys.map_or_else(Vec::new, json::fields);
    for key in keys.iter().filter(|key| ["format", "end"].contains(&key.key)) {
        let message = format!("`{}` has no meaning in a step with `grpc`", key.key);
        let help = "the events of a call are its messages, and the server says when they end";
        faults.add(Fault::new(message).at(key.key_place.clone(), "no effect").help(help));
    }
    ExpectedStream { format: Some(StreamFormat::Messages), ..stream.unwrap_or_default() }
}

/// Adds a fault for each header that is a part of every call.
pub(super) fn check_headers(written: Option<&Value<'_>>, faults: &mut Faults<'_>) {
    for value in written.iter().flat_map(|value| json::fields(value)) {
        let name = value.key.to_ascii_lowercase();
        if name != "content-type" && !name.starts_with("grpc-") {
            continue;
        }
        let help = match name.as_str() {
            "grpc-timeout" => "set the `timeout` of the step: loadgen sends it",
            _ => "leave the header out: gRPC reserves it",
        };
        let message = format!("`{}` cannot be set in a step with `grpc`", value.key);
        faults.add(Fault::new(message).at(value.key_place, "not allowed").help(help));
    }
}

/// Adds a fault if steps make calls with options of `[http]` that a call cannot have. `place` is the
/// first such step.
pub(super) fn check_http(
    http: &Http,
    table: Option<&Value<'_>>,
    place: Range<usize>,
    faults: &mut Faults<'_>,
) {
    let asked = [
        ("redirects", http.redirects > 0),
        ("cookies", http.cookies),
        ("a proxy", http.proxy.is_some()),
    ];
    let asked = asked.into_iter().find(|(_, asked)| *asked);
    let (what, help) = match (asked, http.version, http.transport()) {
        (Some((feature, _)), ..) => (feature.to_owned(), "leave out the key in [http]"),
        (None, HttpVersion::Http11, _) => {
            ("HTTP/1.1".to_owned(), "leave out `version`: a scenario with calls uses HTTP/2")
        }
        (None, HttpVersion::Http2, TransportKind::Http2) => return,
        (None, HttpVersion::Http2, transport) => {
            (format!("the transport `{transport}`"), "leave out `transport`")
        }
    };
    let fault = Fault::new(format!("gRPC cannot be used with {what}")).at(place, "calls a method");
    faults.add_beside(fault.help(help), table);
}

/// Adds a fault: `call` and `websocket` are the first steps that call a method and use a WebSocket.
pub(super) fn refuse_websocket(
    call: Range<usize>,
    websocket: Range<usize>,
    faults: &mut Faults<'_>,
) {
    let fault = Fault::new("a scenario cannot have both gRPC calls and a WebSocket")
        .at(call, "needs HTTP/2")
        .at(websocket, "needs HTTP/1.1");
    faults.add(fault.help("write two scenarios"));
}
