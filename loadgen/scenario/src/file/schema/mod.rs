//! The JSON Schema of a scenario file, with which editors complete, explain and underline keys.
//!
//! Words and bounds are those of the readers in the parent module. Tests compare the schema's keys
//! with the readers' keys, and its defaults with the meaning of a file without these keys. The
//! readers alone check what only the whole file shows, such as whether a step of some name exists.
//! The schema refuses nothing that the readers accept.
//!
//! The schema is draft 7 without `$ref`: most editors use taplo for TOML, and taplo supports no
//! newer draft and ignores everything beside a `$ref`, including descriptions. Where a key excludes
//! another key, the schema of the excluded key is `false`, so that an editor underlines the
//! excluded key. `allOf` could say the same, but taplo completes nothing in a table with `allOf`.

mod expect;
mod kinds;
mod load;
mod step;
#[cfg(test)]
mod tests;
mod thresholds;

use kinds::{
    Schema, any, array, boolean, choice, each_required, integer, matching, name, named, partly,
    says, table, text,
};
use serde_json::{Value, json};

use super::flow::ASSIGN;
use super::{
    BACKENDS, MOST_EXISTING_ITEMS, MOST_EXISTING_PROFILES, ON_ERROR, http, proof, rows, tls,
};

/// Returns the JSON Schema of a whole scenario file.
pub(crate) fn schema() -> Value {
    let about = "The requests, the load, and the expected responses of a test.";
    let targets = name("Name of a target.");
    let backends = choice(&BACKENDS, "Name of a backend.");
    let existing = "Number of rows that the table items holds before each round. Needs the backend \
                    postgres.";
    let profiles = "Number of profiles that each backend holds before each round, for the profile \
                    services. Needs a backend.";
    let on_error = "Action of a user after a failed step: begin the next iteration, or continue \
                    with the next step.";
    let assign = "Time at which a user takes a flow: before each iteration, or once, for all its \
                  iterations.";
    let keys = [
        ("description", text("Description for people, in one line.")),
        ("targets", unique("Targets to compare. Not needed with --url.", targets)),
        ("backends", unique("Backends that the targets need.", backends)),
        ("existing_items", integer(0..=MOST_EXISTING_ITEMS, existing).or(0)),
        ("existing_profiles", integer(0..=MOST_EXISTING_PROFILES, profiles).or(0)),
        ("on_error", choice(&ON_ERROR, on_error).or("next_iteration")),
        ("http", http_table()),
        ("grpc", grpc_table()),
        ("load", load::load()),
        ("rows", rows_tables()),
        ("step", step::steps()),
        ("flow", step::flows()),
        ("assign", choice(&ASSIGN, assign)),
        ("thresholds", thresholds::thresholds()),
        ("proof", proofs()),
    ];
    let mut with_steps = partly([("step", json!({ "minItems": 1 }))]);
    with_steps["required"] = json!(["step"]);
    let with_flows = json!({ "required": ["flow"] });
    table(about, keys)
        .with("$schema", "http://json-schema.org/draft-07/schema#")
        .with("title", "A scenario of loadgen")
        .with("anyOf", vec![with_steps, with_flows])
        .into()
}

fn unique(about: &str, item: Schema) -> Schema {
    array(about, item).with("uniqueItems", true)
}

fn grpc_table() -> Schema {
    let paths = |about: &str| {
        let several = array("Several paths.", name("A path.")).with("minItems", 1);
        let forms = [name("A path."), several].map(Value::from);
        any(about).with("oneOf", forms.to_vec())
    };
    let proto =
        "Path of the .proto file of the services, or several, relative to the scenario file.";
    let include = "Folders in which imports of the .proto files are searched, before the files' own \
                   folders.";
    let keys = [("proto", paths(proto)), ("include", paths(include))];
    table("Services that steps call with gRPC.", keys).requires(["proto"])
}

fn http_table() -> Schema {
    let redirects = "Largest number of consecutive redirects that a request follows.";
    let keys = [
        ("version", choice(&http::VERSIONS, "Version of HTTP. With gRPC calls, the default is 2.").or("1.1")),
        (
            "connections",
            integer(
                1..=http::MOST_SHARED,
                "Number of HTTP/2 connections over all workers, which users share evenly. Default: each \
                 user has its own connection.",
            ),
        ),
        (
            "streams",
            integer(
                1..=http::MOST_SHARED,
                "Largest number of users who share an HTTP/2 connection, and thus of its concurrent \
                 requests.",
            ),
        ),
        ("redirects", integer(0..=http::MOST_REDIRECTS, redirects).or(0)),
        (
            "cookies",
            boolean("Whether each user keeps the cookies of responses, as a browser does.")
                .or(false),
        ),
        (
            "proxy",
            matching(
                r"^\s*[Hh][Tt][Tt][Pp][Ss]?:",
                "URL of a proxy, such as \"http://10.0.0.1:3128\".",
            ),
        ),
        (
            "transport",
            choice(
                &http::TRANSPORTS,
                "Transport of the requests. http1 and http2 cost the generator least; reqwest supports \
                 redirects, cookies and proxies.",
            )
            .or("auto"),
        ),
        (
            "connection",
            choice(
                &http::CONNECTIONS,
                "Whether all requests of a user share a connection (keep-alive), or each request \
                 opens one (per-request).",
            )
            .or("keep-alive"),
        ),
        (
            "resend",
            boolean(
                "Whether a request that the server did not process is sent again, as browsers do.",
            )
            .or(true),
        ),
        ("tls", tls_table()),
        (
            "auth",
            step::auth(
                "User and password of all steps that have neither an `auth` nor a header \
                 `authorization` (HTTP Basic authentication).",
            ),
        ),
    ];
    let without_reqwest = [
        ("redirects", json!({ "const": 0 })),
        ("cookies", json!({ "const": false })),
        ("proxy", json!(false)),
    ];
    let http1 = [("version", json!({ "const": "1.1" }))];
    let http2 = [("version", json!({ "const": "2" }))];
    let shared = [
        ("transport", json!({ "enum": ["auto", "http2"] })),
        ("connection", json!({ "const": "keep-alive" })),
    ];
    let shared: Vec<_> = http2.iter().cloned().chain(shared).collect();
    // A scenario with gRPC calls may leave the version out.
    let needing_version = |keys: &[(&'static str, Value)]| {
        partly(keys.iter().cloned().chain(without_reqwest.clone()))
    };
    let shares = json!({ "anyOf": [{ "required": ["connections"] }, { "required": ["streams"] }] });
    let within_http1 = partly(http1.into_iter().chain(without_reqwest.clone()));
    let conditions = json!([
        { "if": says("transport", "http1"), "then": within_http1 },
        { "if": says("transport", "http2"), "then": needing_version(&http2) },
        { "if": shares, "then": needing_version(&shared) },
    ]);
    table("Options of HTTP.", keys).with("allOf", conditions)
}

fn tls_table() -> Schema {
    let ca = "Path of a PEM file with certificates of authorities to trust besides the system's.";
    let keys = [
        ("insecure", boolean("Whether any certificate of a server is accepted.").or(false)),
        ("version", choice(&tls::VERSIONS, "The only TLS version that is offered.")),
        (
            "server_name",
            name("Name that is requested from the server and that its certificate must have."),
        ),
        (
            "resumption",
            boolean("Whether a user's later connections resume the session of an earlier one.")
                .or(true),
        ),
        ("ca", name(ca)),
        ("cert", name("Path of a PEM file with the client's certificate.")),
        (
            "key",
            name(
                "Path of a PEM file with the private key of the client's certificate, or \
                 {{ env NAME }} for its text in an environment variable.",
            ),
        ),
        (
            "password",
            name("Password of an encrypted private key: {{ env NAME }}, an environment variable."),
        ),
    ];
    let both = json!({ "cert": ["key"], "key": ["cert"], "password": ["key"] });
    table("TLS options, for https:// URLs.", keys).with("dependencies", both)
}

fn rows_tables() -> Schema {
    let file =
        "Path of a CSV file, relative to the scenario file. The first line names the columns.";
    let order = "Order of the rows: each row at most once in a round (once), all rows in turn, \
                 repeatedly (cycle), or any row with equal probability (random).";
    let keys = [("file", name(file)), ("use", choice(&rows::ORDERS, order).or("cycle"))];
    let about = "A CSV file. {{ NAME.COLUMN }} in a step stands for a column of the user's row.";
    let one = table(about, keys).requires(["file"]);
    named("CSV files whose rows the users send, each in a table [rows.NAME].", one)
}

fn proofs() -> Schema {
    let keys = [
        ("postgres", name("SQL query that returns one row with one integer.")),
        ("redis", name("Redis command whose answer is an integer, such as \"LLEN queue\".")),
        ("counter", name("The answer must equal the sum of this counter of the steps.")),
        ("value", integer(0..=proof::MOST, "The answer must equal this number.")),
    ];
    let about = "A question to a backend after each round, and the expected answer.";
    let one = table(about, keys)
        .requires_one_of(&proof::QUESTIONS.map(|(key, _)| key))
        .with("anyOf", each_required(&["counter", "value"]))
        .excludes("counter", &["value"]);
    array("Checks of the backends' contents after each round, each in a table [[proof]].", one)
}
