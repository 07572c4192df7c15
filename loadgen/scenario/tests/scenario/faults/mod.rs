//! Tests the messages for wrong scenarios: the whole message, for each kind of fault.

use loadgen_scenario::{ScenarioError, parse, parse_to_run};
use miette::{GraphicalReportHandler, GraphicalTheme};

/// Defines a snapshot test of each message.
macro_rules! faults {
    ($($name:ident: $message:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!($message); })*
    };
}

mod bodies;
mod calls;
mod file;
mod flows;
mod http;
mod load;
mod proofs;
mod requests;
mod responses;
mod rows;
mod templates;
mod thresholds;
mod websocket;

/// Renders the message as a terminal of 80 columns shows it, without colour.
fn rendered(error: &ScenarioError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(80)
        .render_report(&mut out, error)
        .unwrap();
    out
}

fn message(text: &str) -> String {
    rendered(&parse("broken", "scenarios/broken.toml", text).unwrap_err())
}

/// Returns the message for a scenario in the folder of the tests' data.
fn beside_data(text: &str) -> String {
    rendered(&parse("broken", "tests/data/broken.toml", text).unwrap_err())
}

/// Returns the message for a scenario to be run with
/// one environment variable, `LINES`, of two lines.
fn to_run(text: &str) -> String {
    let environment = |name: &str| (name == "LINES").then(|| "secret\nlines".to_owned());
    let message =
        rendered(&parse_to_run("broken", "scenarios/broken.toml", text, &environment).unwrap_err());
    assert!(!message.contains("secret"), "{message}");
    message
}

/// Returns the message for a scenario that is valid except for this step.
fn step(lines: &str) -> String {
    message(&format!("[[step]]\n{lines}\n"))
}
