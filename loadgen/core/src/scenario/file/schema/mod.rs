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

mod kinds;
mod load;
mod step;
#[cfg(test)]
mod tests;
mod thresholds;

use kinds::{
    Schema, array, boolean, choice, each_required, integer, matching, name, named, partly, says,
    table, text,
};
use serde_json::{Value, json};

use super::{BACKENDS, ON_ERROR, http, proof, rows};

/// Returns the schema of a whole file.
pub(in crate::scenario) fn schema() -> Value {
    let about = "What is sent, how much of it, and what counts as a right answer.";
    let targets = name("A target.");
    let on_error = "What a user does after a failed step: begins its next iteration, or goes on \
                    with the next step.";
    let keys = [
        ("description", text("One line for people.")),
        ("targets", unique("The targets that are compared; not needed with --url.", targets)),
        ("backends", unique("What must run beside the target.", choice(&BACKENDS, "A backend."))),
        ("on_error", choice(&ON_ERROR, on_error).or("next_iteration")),
        ("http", http_table()),
        ("load", load::load()),
        ("rows", rows_tables()),
        ("step", step::steps()),
        ("thresholds", thresholds::thresholds()),
        ("proof", proofs()),
    ];
    table(about, keys)
        .with("$schema", "http://json-schema.org/draft-07/schema#")
        .with("title", "A scenario of loadgen")
        .requires(["step"])
        .into()
}

fn unique(about: &str, item: Schema) -> Schema {
    array(about, item).with("uniqueItems", true)
}

fn http_table() -> Schema {
    let redirects = "How many redirects in a row a request follows.";
    let keys = [
        ("version", choice(&http::VERSIONS, "The version of HTTP.").or("1.1")),
        ("redirects", integer(0..=http::MOST_REDIRECTS, redirects).or(0)),
        (
            "cookies",
            boolean("Each user keeps the cookies that it is given, as a browser does.").or(false),
        ),
        (
            "proxy",
            matching(
                r"^\s*[Hh][Tt][Tt][Pp][Ss]?:",
                "The URL of a proxy, such as \"http://10.0.0.1:3128\".",
            ),
        ),
        (
            "transport",
            choice(
                &http::TRANSPORTS,
                "What carries the requests: http1 costs the generator least, reqwest can do all that \
                 this table has.",
            )
            .or("auto"),
        ),
    ];
    let within_http1 = [
        ("version", json!({ "const": "1.1" })),
        ("redirects", json!({ "const": 0 })),
        ("cookies", json!({ "const": false })),
        ("proxy", json!(false)),
    ];
    table("How requests travel.", keys)
        .with("if", says("transport", "http1"))
        .with("then", partly(within_http1))
}

fn rows_tables() -> Schema {
    let file =
        "The path of a CSV file, from the scenario's file on. Its first line names the columns.";
    let order = "Which row comes next: each once in a round, one after another round and round, or \
                 any, each as likely.";
    let keys = [("file", name(file)), ("use", choice(&rows::ORDERS, order).or("cycle"))];
    let about = "A CSV file. {{ NAME.COLUMN }} in a step is a column of the user's row.";
    let one = table(about, keys).requires(["file"]);
    named("CSV files whose rows users send, each headed [rows.NAME].", one)
}

fn proofs() -> Schema {
    let keys = [
        ("postgres", name("An SQL query that gives one row of one whole number.")),
        ("redis", name("A command whose answer is a whole number, such as \"LLEN queue\".")),
        ("counter", name("The answer must be all that the steps counted under this name.")),
        ("value", integer(0..=proof::MOST, "The answer must be this number.")),
    ];
    let about = "A question to a backend after each round, and what its answer must be.";
    let one = table(about, keys)
        .requires_one_of(&proof::QUESTIONS.map(|(key, _)| key))
        .with("anyOf", each_required(&["counter", "value"]))
        .excludes("counter", &["value"]);
    array("What a backend must hold after each round, each headed [[proof]].", one)
}
