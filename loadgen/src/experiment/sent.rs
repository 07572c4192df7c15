//! Computes digests of what a scenario sends, for the record.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::command_line::SECRET;
use crate::record::{SENT_FORM, SentRecord};
use crate::scenario::{Action, Body, Http, Part, Rows, Scenario, Step};

/// Returns digests of the requests that a scenario sends. The digests do not depend on the target.
pub(super) fn sent(scenario: &Scenario) -> SentRecord {
    let names: Vec<&str> = scenario.steps.iter().map(|step| step.name.as_str()).collect();
    let mut http = scenario.http.clone();
    // Each target's record has the transport, and the user of a proxy is a secret.
    http.transport = None;
    http.tls = http.tls.without_key();
    http.proxy = http.proxy.map(|proxy| without_user(&proxy));
    let mut all_steps = BTreeMap::from(
        [
            ("order_of_steps", digest(&names)),
            ("http", digest(&http)),
            ("on_error", digest(&scenario.on_error)),
            ("flows", digest(&(&scenario.flows, scenario.assign))),
        ]
        .map(|(part, digest)| (part.to_owned(), digest)),
    );
    all_steps.extend(scenario.grpc.iter().map(|protos| ("grpc".to_owned(), digest(protos))));
    all_steps
        .extend(scenario.rows.iter().map(|rows| (format!("rows.{}", rows.name), of_rows(rows))));
    for (part, steps) in [("once", &scenario.once), ("finally", &scenario.finally)] {
        // Scenarios without such steps keep their digests of earlier versions.
        if !steps.is_empty() {
            let each: Vec<_> =
                steps.iter().map(|step| (&step.name, parts(step, &scenario.http))).collect();
            all_steps.insert(part.to_owned(), digest(&each));
        }
    }
    let steps = scenario
        .steps
        .iter()
        .map(|step| (step.name.clone(), parts(step, &scenario.http)))
        .collect();
    SentRecord { form: SENT_FORM, all_steps, steps }
}

/// Returns digests of the parts of one step, such as the path,
/// the body and the expected answer, by the part's name.
fn parts(step: &Step, http: &Http) -> BTreeMap<String, String> {
    let mut headers: Vec<(&str, String)> = step
        .headers
        .iter()
        .map(|(name, value)| {
            // A short secret can be found from a digest by trial.
            let is_secret = SECRET.iter().any(|part| name.contains(part));
            let value = if is_secret { String::new() } else { value.to_string() };
            (name.as_str(), value)
        })
        .collect();
    headers.sort_unstable();
    let body = step.body.as_ref().map(|body| (&body.content_type, content(body)));
    // Requests have no part of this name, so that their digests are those of earlier versions.
    let action = (step.action != Action::Request).then(|| ("action", digest(&step.action)));
    let has_own = step.action == Action::Request && step.redirects != http.redirects;
    let redirects = has_own.then(|| ("redirects", digest(&step.redirects)));
    BTreeMap::from_iter(
        [
            ("method", digest(&step.method)),
            ("path", digest(&step.path.to_string())),
            ("headers", digest(&headers)),
            ("body", digest(&body)),
            ("expect", digest(&step.expect)),
            ("counters", digest(&step.counters)),
            ("capture", digest(&step.captures)),
            ("timeout", digest(&step.timeout)),
            ("weight", digest(&step.weight)),
            ("when", digest(&(step.when, &step.given))),
            ("repeat", digest(&step.repeat)),
        ]
        .into_iter()
        .chain(action)
        .chain(redirects)
        .map(|(part, digest)| (part.to_owned(), digest)),
    )
}

/// Returns the texts of a body as written, with digests of the files between them.
fn content(body: &Body) -> String {
    let one = |part: &Part| match part {
        Part::Text(text) => text.to_string(),
        Part::File(file) => format!("{{{{ file {} }}}}", file.digest()),
    };
    body.parts.iter().map(one).collect()
}

fn of_rows(rows: &Rows) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{:?} {} {}", rows.order, rows.at_start, rows.in_iterations));
    for (column, cell) in (0..rows.len()).flat_map(|index| rows.row(index)) {
        for text in [column, cell] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }
    format!("{:x}", hash.finalize())
}

fn digest(value: &impl Serialize) -> String {
    // All values of the model are valid JSON.
    format!("{:x}", Sha256::digest(serde_json::to_vec(value).unwrap_or_default()))
}

fn without_user(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| String::new(),
        |mut url| {
            let _ = url.set_username("").and_then(|()| url.set_password(None));
            url.to_string()
        },
    )
}

/// Returns the name of the HTTP client that sends requests to this URL, as shown in the record:
/// `http1`, `reqwest`, `http1 with TLS`.
pub(super) fn transport(scenario: &Scenario, base_url: &str) -> String {
    let kind = scenario.http.transport();
    match base_url.starts_with("https://") {
        true => format!("{kind} with TLS"),
        false => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse_to_run;

    const STEP: &str = "[[step]]\nname = \"a\"\npost = \"/items?n={{ int 1 6 }}\"\n\
                        headers = { x-kind = \"one\", authorization = \"Bearer abc\" }\n\
                        body = { text = \"{{ env BODY }} {{ uuid }}\" }\nexpect = { status = 201 }";

    fn of(text: &str, value: &str) -> SentRecord {
        let environment = |_: &str| Some(value.to_owned());
        sent(&parse_to_run("test", "test.toml", text, &environment).unwrap())
    }

    /// Returns the names of the parts whose digests differ between two scenarios.
    fn changed(from: &str, to: &str) -> Vec<String> {
        let [before, after] = [of(from, "x"), of(to, "x")];
        let of_step =
            after.steps["a"].iter().filter(|(part, it)| before.steps["a"].get(*part) != Some(*it));
        let of_all =
            after.all_steps.iter().filter(|(part, it)| before.all_steps.get(*part) != Some(it));
        of_step.chain(of_all).map(|(part, _)| part.clone()).collect()
    }

    #[test]
    fn each_part_has_a_separate_digest() {
        let to = |from: &str, to: &str| {
            assert!(STEP.contains(from), "{from}");
            changed(STEP, &STEP.replace(from, to))
        };
        assert_eq!(changed(STEP, STEP), [""; 0]);
        assert_eq!(to("/items", "/other"), ["path"]);
        assert_eq!(to("int 1 6", "int 1 7"), ["path"]);
        assert_eq!(to("post =", "put ="), ["method"]);
        assert_eq!(to("\"one\"", "\"two\""), ["headers"]);
        assert_eq!(to("x-kind", "x-sort"), ["headers"]);
        assert_eq!(to("uuid", "name"), ["body"]);
        assert_eq!(to("201", "200"), ["expect"]);
        assert_eq!(to("[[step]]", "on_error = \"continue\"\n[[step]]"), ["on_error"]);
        assert_eq!(to("[[step]]", "http = { cookies = true }\n[[step]]"), ["http"]);
        assert_eq!(changed(STEP, &format!("{STEP}\ntimeout = \"7s\"")), ["timeout"]);
        assert_eq!(changed(STEP, &format!("{STEP}\nredirects = 1")), ["redirects"]);
        assert_eq!(changed(STEP, &format!("{STEP}\nredirects = 0")), [""; 0]);
    }

    #[test]
    fn a_use_of_a_websocket_is_a_part() {
        let text = |send: &str| {
            format!("[[step]]\nwebsocket = \"/\"\n[[step]]\nname = \"a\"\nsend = {{ {send} }}")
        };
        let to = |send: &str| changed(&text("text = \"x\""), &text(send));
        assert_eq!(to("text = \"x\", reply = true"), [""; 0]);
        assert_eq!(to("text = \"x\", reply = false"), ["action"]);
        assert_eq!(to("text = \"y\""), ["body"]);
    }

    #[test]
    fn what_is_called_is_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let of = |proto: &str, step: &str| {
            std::fs::write(folder.path().join("a.proto"), proto).unwrap();
            let text = format!("[grpc]\nproto = 'a.proto'\n[[step]]\nname = 'a'\n{step}");
            let path = folder.path().join("s.toml");
            sent(&parse_to_run("s", &path.to_string_lossy(), &text, &|_: &str| None).unwrap())
        };
        let proto = "syntax = 'proto3'; message M { int32 n = 1; } service S { rpc A(M) returns (M); \
                     rpc B(M) returns (M); }";
        let before = of(proto, "grpc = 'S/A'");
        assert_eq!(before, of(&format!("// The same.\n{proto}"), "grpc = 'S/A'"));
        let other = of(&proto.replace("n = 1", "n = 2"), "grpc = 'S/A'");
        assert_ne!(before.all_steps["grpc"], other.all_steps["grpc"]);
        assert_eq!(before.steps, other.steps);
        for (step, part) in [
            ("grpc = 'S/B'", "path"),
            ("grpc = 'S/A'\nbody.json.n = 1", "body"),
            ("grpc = 'S/A'\nexpect.grpc_status = 'ABORTED'", "expect"),
        ] {
            let after = of(proto, step);
            let differs = |(name, it): (&String, &String)| {
                (before.steps["a"][name] != *it).then(|| name.clone())
            };
            let changed: Vec<String> = after.steps["a"].iter().filter_map(differs).collect();
            assert_eq!(changed, [part]);
        }
    }

    #[test]
    fn digests_contain_no_secret() {
        assert_eq!(of(STEP, "hunter1"), of(STEP, "hunter2"));
        assert_eq!(changed(STEP, &STEP.replace("Bearer abc", "Bearer def")), [""; 0]);
        let proxied = |user| format!("http = {{ proxy = \"http://{user}@proxy:1\" }}\n{STEP}");
        assert_eq!(changed(&proxied("a:b"), &proxied("c:d")), [""; 0]);
    }

    #[test]
    fn rows_are_distinguished_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let text =
            "rows.people.file = \"p.csv\"\n[[step]]\nname = \"a\"\nget = \"/{{ people.id }}\"";
        let with = |rows: &str| {
            std::fs::write(folder.path().join("p.csv"), rows).unwrap();
            let environment = |_: &str| None;
            sent(&parse_to_run("test", &path.to_string_lossy(), text, &environment).unwrap())
        };
        let [one, same, other] = ["id\n1\n23\n", "id\n1\n23\n", "id\n12\n3\n"].map(with);
        assert_eq!(one, same);
        assert_ne!(one.all_steps["rows.people"], other.all_steps["rows.people"]);
    }
}
