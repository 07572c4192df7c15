//! The text of `loadgen.toml`.

use std::fmt::Write as _;

use super::Server;
use super::outcome::Outcome;
use crate::drafts::Value;

/// Beginning of each file.
const HEAD: &str = "\
# Servers that loadgen starts, each in a table [target.NAME]: loadgen --target NAME,… /PATH
#
# The first word of a command is a program of the active Python environment or on the PATH, or a path in this folder.
# loadgen fills in {host}, {port} and {workers} (--server-workers), in commands and in `env`. In `env`, {redis} and
# {postgres} are the URLs of a Redis and a PostgreSQL that loadgen starts.
";

/// Options of a target, as comments.
const OPTIONS: &str = "\
#ready = \"/health\"                # ready once this path gets a 2xx; without it, once the port accepts connections
#env = { DATABASE_URL = \"{postgres}\" }
#build = [\"pip\", \"install\", \"-q\", \".\"]    # runs once before the first start
";

/// A target that the file has if nothing was found.
const EXAMPLE: &str = "\
[target.my-server]
command = [\"my-server\", \"--host={host}\", \"--port={port}\"]
";

/// Files of backends, as comments.
const TAIL: &str = "
#[backend.postgres]
#init = \"schema.sql\"              # SQL; each round begins with the database as it is afterwards
";

/// Longest line of a comment, in characters.
const WIDTH: usize = 240;

/// Returns the text of `loadgen.toml` with these servers.
pub(super) fn text(servers: &[Server]) -> String {
    let mut text = HEAD.to_owned();
    for Server { found, outcome } in servers {
        text += "\n";
        let tried = match outcome {
            Outcome::Answered(status) => format!("started, and answered GET / with {status}"),
            Outcome::Failed(failed) => format!("a guess: {}", failed.kind),
            Outcome::Untried => "a guess: not tried".to_owned(),
        };
        for line in [&found.about(), &tried].into_iter().chain(&found.notes) {
            let _ = writeln!(text, "# {}", comment(line));
        }
        let _ = writeln!(text, "[target.{}]", found.name);
        let _ = writeln!(text, "command = {}", list(&found.command));
        if !found.env.is_empty() {
            let pairs = found.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let _ = writeln!(text, "env = {}", Value::table(pairs));
        }
        if let Some(build) = &found.build {
            let _ = writeln!(text, "build = {}", list(build));
        }
        // A key stands once, also if its comment becomes an option.
        let has = |option: &str| match option {
            _ if option.starts_with("#env") => !found.env.is_empty(),
            _ if option.starts_with("#build") => found.build.is_some(),
            _ => false,
        };
        for option in OPTIONS.lines().filter(|option| !has(option)) {
            let _ = writeln!(text, "{option}");
        }
    }
    if servers.is_empty() {
        let _ = write!(text, "\n{EXAMPLE}{OPTIONS}");
    }
    text + TAIL
}

/// Returns a text as one line of a comment.
fn comment(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn list(words: &[String]) -> Value {
    Value::Array(words.iter().map(|word| Value::from(word.as_str())).collect())
}
