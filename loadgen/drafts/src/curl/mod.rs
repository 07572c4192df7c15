//! A scenario from `curl` commands, as browsers and API clients copy them.

mod flags;
mod request;
mod words;

use flags::Flags;
use request::Part;

use crate::draft::usual_load;
use crate::names::Names;
use crate::recorded::{Request, Secrets};
use crate::{Draft, DraftError, Entry, Flow, Step, Value};

/// Drafts a scenario from one or several commands, each of which becomes a step.
///
/// # Errors
/// If the text has no curl command, or a command has a flag or a URL that cannot be read.
pub fn draft(command: &str) -> Result<Draft, DraftError> {
    let mut parts = Vec::new();
    for words in words::commands(command)? {
        let is_curl = |word: &str| {
            word.rsplit(['/', '\\']).next().is_some_and(|it| matches!(it, "curl" | "curl.exe"))
        };
        match words.split_first() {
            Some((first, rest)) if is_curl(first) => {
                for words in rest.split(|word| word == "--next" || word == "-:") {
                    parts.extend(request::read(&Flags::read(words)?)?);
                }
            }
            // A program that reads the output of curl.
            Some(_) if !parts.is_empty() => {}
            _ => return Err(no_curl()),
        }
    }
    let Some(first) = parts.first() else { return Err(no_curl()) };
    let url = first.socket.clone().unwrap_or_else(|| first.request.origin.clone());
    Ok(write(parts, url))
}

fn no_curl() -> DraftError {
    DraftError::new("the text has no curl command", "copy a request as cURL, or begin with `curl`")
}

fn write(mut parts: Vec<Part>, url: String) -> Draft {
    let origin = parts.first().map(|part| part.request.origin.clone()).unwrap_or_default();
    let all = parts.len();
    parts.retain(|part| part.request.origin == origin);
    let mut draft = Draft { description: "From a curl command".to_owned(), ..Draft::default() };
    if parts.len() > 1 {
        draft.description = format!("From {} curl commands", parts.len());
    }
    if parts.len() < all {
        draft.notes.push(match all - parts.len() {
            1 => "1 request to another server is left out.".to_owned(),
            many => format!("{many} requests to other servers are left out."),
        });
    }
    let mut secrets = Secrets::default();
    parts.iter().for_each(|part| secrets.note(&part.request));
    for part in &parts {
        part.credentials().for_each(|(hint, secret)| secrets.note_one(hint, secret));
    }
    secrets.sort();
    let mut names = Names::default();
    let mut steps = Vec::new();
    for part in &mut parts {
        secrets.conceal(&mut part.request);
        steps.push(step(part, &mut names, &mut secrets));
        for note in &part.notes {
            if !draft.notes.contains(note) {
                draft.notes.push(note.clone());
            }
        }
    }
    draft.http = http(&parts, &mut secrets);
    draft.load = usual_load();
    draft.flows = vec![Flow { name: "commands".to_owned(), weight: 1, steps, ..Flow::default() }];
    draft.url = Some(url);
    draft
}

fn step(part: &Part, names: &mut Names, secrets: &mut Secrets) -> Step {
    let Part { request, .. } = part;
    let name = names.take_title(&format!("{} {}", request.method, request.shape()));
    let mut step = Request::step(request, name);
    step.about.extend(part.about.iter().cloned());
    if let Some((user, password)) = &part.auth {
        let user = secrets.placeholder("API_USER", user);
        let password = secrets.placeholder("API_PASSWORD", password);
        step.push("auth", Value::table([("user", user), ("password", password)]));
    }
    if let Some(cookie) = &part.cookie {
        let cookie = Value::from(secrets.placeholder("COOKIE", cookie));
        match step.entries.iter_mut().find(|entry| entry.key == "headers") {
            Some(Entry { value: Value::Table(headers), .. }) => {
                headers.push(("cookie".to_owned(), cookie))
            }
            _ => step.push("headers", Value::table([("cookie", cookie)])),
        }
    }
    if let Some(redirects) = part.redirects {
        step.push("redirects", redirects);
    }
    if let Some(timeout) = &part.timeout {
        step.push("timeout", timeout.as_str());
    }
    step
}

/// Returns the options of all requests. One command's option holds for the others, too.
fn http(parts: &[Part], secrets: &mut Secrets) -> Vec<Entry> {
    let mut http = Vec::new();
    let last = |find: fn(&Part) -> Option<&String>| parts.iter().rev().find_map(find);
    if parts.iter().any(|part| part.is_http2) {
        http.push(Entry::new("version", "2"));
    }
    if parts.iter().any(|part| part.keeps_cookies) {
        http.push(Entry::new("cookies", true));
    }
    if let Some(proxy) = last(|part| part.proxy.as_ref()) {
        http.push(Entry::new("proxy", proxy.as_str()));
    }
    let mut tls = Vec::new();
    if parts.iter().any(|part| part.is_insecure) {
        tls.push(("insecure", Value::from(true)));
    }
    let files = [
        last(|part| part.ca.as_ref()),
        last(|part| part.cert.as_ref()),
        last(|part| part.key.as_ref()),
    ];
    for (key, file) in ["ca", "cert", "key"].into_iter().zip(files) {
        tls.extend(file.map(|path| (key, Value::from(path.as_str()))));
    }
    if let Some(password) = last(|part| part.key_password.as_ref()) {
        let password = secrets.placeholder("KEY_PASSWORD", password);
        tls.push(("password", password.into()));
    }
    if !tls.is_empty() {
        http.push(Entry::new("tls", Value::table(tls)));
    }
    http
}

#[cfg(test)]
mod tests;
