//! Builds a scenario of one request from URLs and options of the command line.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use clap::CommandFactory;
use serde::de::IgnoredAny;

use super::servers::{base_url, check_unlike, server_url, split_name};
use crate::cli::{Cli, CommonArgs, RequestArgs, RunArgs, TlsArgs};
use crate::experiment::subject::Server;
use crate::failure::{Exit, Failure};
use crate::process::{use_huge_pages, use_huge_pages_before_reading};
use crate::record::FROM_URL;
use crate::scenario::{
    Load, Scenario, ServerUrl, nearest, parse_to_run, process_environment, read_text,
};

/// Number of users, unless the command line has one: as many as hey and oha have.
const USERS: u32 = 50;

/// Scenario and servers that the URLs and options of the command line mean.
pub struct FromUrls {
    /// Scenario, with the load that applies without options.
    pub scenario: Scenario,
    /// Servers to load; `None` for those that other options name, to which a path is sent.
    pub servers: Option<Vec<Server>>,
    /// Table of the only step, as text.
    step: String,
}

impl FromUrls {
    /// Reads the URLs and the options of the request.
    pub fn of(request: &RequestArgs, common: &CommonArgs) -> Result<Self, Failure> {
        let (path, servers) = match request.urls.as_slice() {
            [path] if path.starts_with('/') => (path.clone(), None),
            urls => {
                refuse_others(common)?;
                let urls = urls.iter().map(|word| Parts::of(word)).collect::<Result<_, _>>()?;
                let (path, servers) = common_path(urls)?;
                (path, Some(servers))
            }
        };
        let step = step(&path, request)?;
        let read = parse_to_run(FROM_URL, "the command line", &step, &process_environment);
        let mut scenario = read.map_err(Failure::with(Exit::Usage))?;
        scenario.load.users = USERS;
        Ok(Self { scenario, servers, step })
    }

    /// Returns the scenario with the load of the command line, as the text of a file.
    pub fn text(&self, args: &RunArgs) -> String {
        let load = load(args, &self.scenario.load);
        let tls = tls(&args.common.tls);
        format!("# Written by loadgen, from the command line.\n\n{load}\n{tls}{}", self.step)
    }
}

/// Returns an error if options name servers, although each URL has its own.
fn refuse_others(common: &CommonArgs) -> Result<(), Failure> {
    let given =
        [("--target", !common.target.is_empty()), ("--url", !common.measuring.url.is_empty())];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let message = format!("{option} names servers, but each URL has its own");
    let help = "write only the path, such as /search?q=a, or leave out the option";
    Err(Failure::message(Exit::Usage, "unused_option", message, help))
}

/// Writes a scenario to a new file.
pub fn save(path: &Path, text: &str) -> Result<(), Failure> {
    // After a restart, the file would no longer be new.
    use_huge_pages();
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| {
        let message = format!("--save: cannot write {}: {e}", path.display());
        if e.kind() == io::ErrorKind::AlreadyExists {
            return Failure::message(Exit::Usage, "file_exists", message, "choose another name");
        }
        let help = "name a file in a folder that exists and is writable";
        Failure::message(Exit::Failed, "unwritable_file", message, help)
    })
}

/// Parts of a URL.
struct Parts {
    /// Name that the user gave to the server, if any.
    name: Option<String>,
    /// Server, without a path.
    origin: ServerUrl,
    /// Path as written; may be empty.
    path: String,
    /// Query as written, with its question mark; may be empty.
    query: String,
}

impl Parts {
    /// Splits a word of the command line. The path stays as written, because it is a template.
    fn of(word: &str) -> Result<Self, Failure> {
        let (name, url) = split_name("URL", word)?;
        let Some((origin, path)) = ServerUrl::split(url) else { return Err(not_a_url(word)) };
        let origin = server_url("URL", origin)?;
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        Ok(Self { name, origin, path: path.to_owned(), query: query.to_owned() })
    }
}

/// Returns the failure for a word that is no URL. It may be a misspelt command.
fn not_a_url(word: &str) -> Failure {
    // The part before may be a user with a password.
    let word = word.rsplit('@').next().unwrap_or(word);
    let commands = Cli::command();
    let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    let help = match nearest(word, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        // A host and its port, as browsers accept them.
        None if word.contains(':') => format!("write the whole URL: http://{word}"),
        None => {
            "write a URL such as http://127.0.0.1:8000/search?q=a, or unix:/run/app.sock:/search?q=a"
                .to_owned()
        }
    };
    let message = format!("`{word}` is neither a URL nor a command");
    Failure::message(Exit::Usage, "bad_url", message, &help)
}

/// Divides URLs into the part in which they differ, which is the address of each server, and the end
/// that all have in common, which is the path of the request.
fn common_path(urls: Vec<Parts>) -> Result<(String, Vec<Server>), Failure> {
    let query = urls.first().map(|url| url.query.clone()).unwrap_or_default();
    if urls.iter().any(|url| url.query != query) {
        let message = "URLs that are compared must have the same query".to_owned();
        let help = "write a scenario for each query, and compare the runs: loadgen compare";
        return Err(Failure::message(Exit::Usage, "bad_url", message, help));
    }
    let first = urls.first().map(|url| url.path.as_str()).unwrap_or_default();
    let starts = first.match_indices('/').map(|(at, _)| at).chain([first.len()]);
    // The longest common end begins at the first slash that has one.
    let ends_all = |end: &&str| urls.iter().all(|url| url.path.ends_with(end));
    let path = starts.map(|at| &first[at..]).find(ends_all).unwrap_or_default().to_owned();
    let servers = urls.iter().map(|url| {
        let own = url.path.strip_suffix(&path).unwrap_or_default();
        let address = url.origin.with_path(own);
        let refused = |why: &str| {
            let message = format!("URL {address}: {why}");
            let help = "write a scenario for each URL, and compare the runs: loadgen compare";
            Err(Failure::message(Exit::Usage, "bad_url", message, help))
        };
        if own.contains("{{") {
            return refused("the part in which URLs differ cannot have templates");
        }
        if path.is_empty() && own.len() > 1 && own.ends_with('/') {
            return refused("the part in which URLs differ cannot end in a slash");
        }
        let url_of = base_url("URL", &address)?;
        let name = url.name.clone().unwrap_or_else(|| url_of.clone());
        Ok(Server { name, url: url_of, deployed: None })
    });
    let servers = servers.collect::<Result<Vec<Server>, Failure>>()?;
    check_unlike("URL", &servers)?;
    Ok((path + &query, servers))
}

/// Returns the table of the step.
fn step(path: &str, request: &RequestArgs) -> Result<String, Failure> {
    let usual = if request.body.is_some() { "POST" } else { "GET" };
    let method = request.method.as_deref().unwrap_or(usual);
    let mut text = format!("[[step]]\nrequest = {}\n", quoted(&format!("{method} {path}")));
    let mut headers = headers(&request.header)?;
    if let Some(body) = &request.body {
        let body = body_text(body)?;
        let is_type = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("content-type");
        let own = headers.iter().position(is_type).map(|index| headers.remove(index).1);
        let is_json = serde_json::from_str::<IgnoredAny>(&body).is_ok();
        let usual = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        let (kind, body) = (quoted(own.unwrap_or(usual)), quoted(&body));
        let _ = writeln!(text, "body = {{ content_type = {kind}, text = {body} }}");
    }
    if !headers.is_empty() {
        text += "\n[step.headers]\n";
        for (name, value) in headers {
            let _ = writeln!(text, "{} = {}", quoted(name), quoted(value));
        }
    }
    Ok(text)
}

/// Splits each header into name and value. Errors do not show values, which may be secret.
fn headers(written: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let wrong = |message: String, help: &str| {
        Err(Failure::message(Exit::Usage, "bad_header", message, help))
    };
    let mut headers: Vec<(&str, &str)> = Vec::new();
    for header in written {
        let Some((name, value)) = header.split_once(':') else {
            let help = "write a header such as --header 'accept: text/html'";
            return wrong("--header: there is no colon after the name".to_owned(), help);
        };
        let name = name.trim();
        if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return wrong(format!("--header: `{name}` is given twice"), "give each header once");
        }
        headers.push((name, value.trim()));
    }
    Ok(headers)
}

/// Returns the table `[load]`, with values of `usual` where the command line has none.
fn load(args: &RunArgs, usual: &Load) -> String {
    let mut text = "[load]\n".to_owned();
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    let time = |time| quoted(&humantime::format_duration(time).to_string());
    let users = args.users.iter().copied().max();
    match args.rate {
        Some(rate) => {
            line("model", quoted("open"));
            line("rate", format!("{rate:?}"));
            users.into_iter().for_each(|users| line("users", users.to_string()));
        }
        None => line("users", users.unwrap_or(usual.users).to_string()),
    }
    args.ramp_up.into_iter().for_each(|ramp_up| line("ramp_up", time(ramp_up)));
    match args.iterations {
        Some(iterations) => line("iterations", iterations.to_string()),
        None => {
            let duration = args.duration.or(usual.held());
            duration.into_iter().for_each(|duration| line("duration", time(duration)));
        }
    }
    args.common.drain.into_iter().for_each(|drain| line("drain", time(drain)));
    text
}

/// Returns the table `[http.tls]`; empty without options.
fn tls(args: &TlsArgs) -> String {
    let mut lines = String::new();
    if args.insecure {
        lines += "insecure = true\n";
    }
    for (key, file) in [("ca", &args.cacert), ("cert", &args.cert), ("key", &args.key)] {
        // The saved file may be in another folder.
        let path = file.as_ref().map(|file| std::path::absolute(file).unwrap_or(file.clone()));
        if let Some(path) = path {
            let _ = writeln!(lines, "{key} = {}", quoted(&path.to_string_lossy()));
        }
    }
    if lines.is_empty() { lines } else { format!("[http.tls]\n{lines}\n") }
}

/// Largest size of a body in a file, in bytes: that of `body.file` in a scenario.
const LARGEST: u64 = 16 << 20;

/// Returns the text of `--body`, which may be in a file.
fn body_text(body: &str) -> Result<String, Failure> {
    let Some(file) = body.strip_prefix('@') else { return Ok(body.to_owned()) };
    use_huge_pages_before_reading(Path::new(file));
    let fault = |what: String| {
        let message = format!("--body: cannot read {file}: {what}");
        Failure::message(Exit::Usage, "unreadable_body", message, "name a file of UTF-8 text")
    };
    read_text(LARGEST, Path::new(file)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            fault(format!("{error}; a scenario sends any bytes, with `body.file`"))
        }
        _ => fault(error.to_string()),
    })
}

/// Returns a string as TOML, whose basic strings are those of JSON, but without the character DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(words: &[&str]) -> Result<(String, Vec<String>), String> {
        let urls = words.iter().map(|word| Parts::of(word)).collect::<Result<_, _>>();
        let found = urls.and_then(common_path);
        let (path, servers) = found.map_err(|failure| failure.report.to_string())?;
        let shown = servers.into_iter().map(|server| format!("{}={}", server.name, server.url));
        Ok((path, shown.collect()))
    }

    #[test]
    fn the_common_end_of_urls_is_the_path_of_the_request() {
        for (words, path, servers) in [
            (&["http://a:1/search?q=a/b"][..], "/search?q=a/b", &["http://a:1=http://a:1"][..]),
            (&["http://a"], "", &["http://a=http://a"]),
            (&["http://a?x=1"], "?x=1", &["http://a=http://a"]),
            (&["http://a/items/{{ int 1 9 }}"], "/items/{{ int 1 9 }}", &["http://a=http://a"]),
            (
                &["old=http://a/x/y", "new=https://b/x/y"],
                "/x/y",
                &["old=http://a", "new=https://b"],
            ),
            (
                &["http://a/v1/items", "http://a/v2/items"],
                "/items",
                &["http://a/v1=http://a/v1", "http://a/v2=http://a/v2"],
            ),
            (
                &["http://a/fast", "http://a/slow"],
                "",
                &["http://a/fast=http://a/fast", "http://a/slow=http://a/slow"],
            ),
        ] {
            let servers = servers.iter().map(|server| (*server).to_owned()).collect();
            assert_eq!(common(words), Ok((path.to_owned(), servers)), "{words:?}");
        }
        for (words, reason) in [
            (&["chek"][..], "neither a URL nor a command"),
            (&["127.0.0.1:8000"], "neither a URL nor a command"),
            (&["ftp://a/b"], "not an http:// or https:// URL"),
            (&["http://a/x", "http://a/x"], "is given twice"),
            (&["http://a/x?q=1", "http://a/x?q=2"], "the same query"),
        ] {
            let refused = common(words).unwrap_err();
            assert!(refused.contains(reason), "{words:?}: {refused}");
        }
    }
}
