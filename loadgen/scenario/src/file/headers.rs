//! `headers`: headers of a step, besides those of every request.

use serde_json::json;

use super::keys::schema::{self, Schema};
use super::reader::{Faults, Value};
use super::services::Services;
use crate::error::Fault;
use crate::escape::{Position, may_be_in_header};
use crate::template::Template;
use crate::token::is_token;

/// Headers that a scenario cannot set, because they could contradict the actual framing of the
/// body.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Headers of a connection in HTTP/1.1, which make a request in HTTP/2 malformed (RFC 9113, section
/// 8.2.2).
const OF_CONNECTION: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "te", "upgrade"];

/// Returns the schema of header names, which are tokens (RFC 9110, section 5.6.2).
pub(super) fn names() -> serde_json::Value {
    json!({ "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" })
}

/// Returns the schema of the headers of a step.
pub(super) fn schema() -> Schema {
    let value = schema::text("Value of the header, a template.");
    schema::named(value).with("propertyNames", names())
}

pub(super) fn read(
    value: &Value<'_>,
    has_body: bool,
    faults: &mut Faults<'_>,
) -> Option<Vec<(String, Template)>> {
    let values = value.table("`headers`", faults)?.rest();
    check_duplicates(&values, faults);
    let headers: Vec<_> = values.iter().map(|value| read_header(value, has_body, faults)).collect();
    headers.into_iter().collect()
}

fn read_header(
    value: &Value<'_>,
    has_body: bool,
    faults: &mut Faults<'_>,
) -> Option<(String, Template)> {
    let name = value.key.to_ascii_lowercase();
    let without_connection = match (faults.is_http2, &faults.services) {
        (false, _) => None,
        (true, Services::Missing) => Some("leave the header out, or use `version = \"1.1\"`"),
        // gRPC needs HTTP/2.
        (true, _) => Some("leave the header out"),
    };
    let refusal = refusal(value.key, &name, has_body, without_connection);
    if let Some((message, help)) = refusal {
        faults.add(Fault::new(message).at(value.key_place.clone(), "not allowed").help(help));
        return None;
    }
    let template = value.template(faults)?;
    if let Some(bad) = template.literals().flat_map(str::chars).find(|c| !may_be_in_header(*c)) {
        let message =
            format!("the header `{}` contains {bad:?}, which a header cannot contain", value.key);
        let help = "a header consists of printable ASCII characters";
        return value.fault(message, "invalid header value", help, faults);
    }
    let template = template.standing_in(Position::Header);
    if let Some(variable) = template.misplaced_variable() {
        let message =
            format!("the value of `{variable}` has a character that a header cannot contain");
        let help = "a header consists of printable ASCII characters: check for a line break at the \
                    end of the value";
        return value.fault(message, "from the environment", help, faults);
    }
    Some((name, template))
}

/// Returns the reason why a scenario cannot set a header, and help; `None` if the header is
/// allowed. `written` is the header's name as written in the file, `name` the same name in lower
/// case. `without_connection` is the help for a header that HTTP/2 does not have; `None` for HTTP/1.1.
fn refusal(
    written: &str,
    name: &str,
    has_body: bool,
    without_connection: Option<&'static str>,
) -> Option<(String, &'static str)> {
    if !is_token(name) {
        let message = format!("`{written}` is not a valid header name");
        return Some((message, "use letters, digits and !#$%&'*+-.^_`|~"));
    }
    if FRAMING.contains(&name) {
        let message = format!("`{written}` follows from the body and cannot be set");
        return Some((message, "leave the header out: loadgen sets the header to match the body"));
    }
    if let Some(help) = without_connection
        && OF_CONNECTION.contains(&name)
    {
        return Some((format!("`{written}` does not exist in HTTP/2"), help));
    }
    if name == "content-type" && has_body {
        let message = format!("`{written}` is set by `body`");
        return Some((message, "set `content_type` in `body` instead"));
    }
    None
}

fn check_duplicates(values: &[Value<'_>], faults: &mut Faults<'_>) {
    for (index, value) in values.iter().enumerate() {
        let same = |other: &&Value<'_>| other.key.eq_ignore_ascii_case(value.key);
        if let Some(first) = values[..index].iter().find(same) {
            let fault = Fault::new(format!("the header `{}` is set twice", value.key))
                .at(first.key_place.clone(), "the first")
                .at(value.key_place.clone(), "the second");
            faults.add(fault.help("header names are case-insensitive"));
        }
    }
}
