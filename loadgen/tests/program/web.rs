//! The live page of `--web`: what a browser is told of a real run, and what it may do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStderr, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::task::block_in_place;

use crate::common::Counting;
use crate::common::processes::Started;
use crate::common::program::{Finished, Project};

/// A run with a live page.
struct Run {
    started: Started,
    said: BufReader<ChildStderr>,
    /// Host and port of the page.
    host: String,
    /// Right to change the load; empty without `--web-control`.
    token: String,
    project: Project,
}

impl Run {
    fn start(server: &Counting, words: &[&str]) -> Self {
        let project = Project::real();
        let fixed = ["run", "--url", &server.url, "-s=direct", "--warmup=0s", "--no-calibrate"];
        let mut command = project.command(&[&fixed[..], &["--out=run", "--json"], words].concat());
        let mut started = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut said = BufReader::new(started.stderr.take().unwrap());
        let mut url_after = |words: &str| {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            line.trim().strip_prefix(words).unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let url = url_after("live page: http://");
        let host = url.strip_suffix('/').unwrap().to_owned();
        let token = match words.contains(&"--web-control") {
            true => url_after(&format!("with controls: http://{url}#control=")),
            false => String::new(),
        };
        Self { started, said, host, token, project }
    }

    fn send(&self, line: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let Self { host, token, .. } = self;
        let (auth, length) = (format!("authorization: Bearer {token}"), body.len());
        write!(
            stream,
            "{line} HTTP/1.0\r\nhost: {host}\r\n{auth}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        BufReader::new(stream)
    }

    fn ask(&self, line: &str, body: &str) -> String {
        let mut response = String::new();
        self.send(line, body).read_to_string(&mut response).unwrap();
        response
    }

    /// Returns what a browser is told, message by message, until the connection ends.
    fn messages(&self) -> impl Iterator<Item = Value> + use<> {
        let lines = self.send("GET /events", "").lines();
        let data = |line: String| Some(line.strip_prefix("data: ")?.to_owned());
        lines
            .map_while(Result::ok)
            .filter_map(data)
            .map(|data| serde_json::from_str(&data).unwrap())
    }

    fn finished(self) -> (Finished, Project) {
        let output = self.started.output();
        (Finished::of(output, &self.project.path("")), self.project)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_told_of_all_seconds_and_gets_the_report() {
    let server = Counting::start().await;
    block_in_place(|| {
        let run = Run::start(&server, &["--web", "--rounds=2", "--duration=2s", "--users=3"]);
        let (mut past, mut is_loaded, mut report) = (Vec::new(), false, String::new());
        for message in run.messages() {
            past.extend(message["past"].as_array().unwrap().iter().cloned());
            is_loaded |= message["now"]["usage"].as_array().unwrap().iter().any(|used| {
                used["name"] == "generator" && used["memory_bytes"].as_u64().unwrap() > 1_000_000
            });
            if message["ended"] == "report" {
                report = run.ask("GET /report.html", "");
                break;
            }
        }
        assert!(is_loaded, "the generator uses CPU time and memory");
        let (finished, project) = run.finished();
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let page = std::fs::read_to_string(project.path("run/report.html")).unwrap();
        assert!(report.starts_with("HTTP/1.0 200") && report.ends_with(&page), "{report:.300}");
        let kinds: String = past
            .iter()
            .map(|entry| &entry.as_object().unwrap().keys().next().unwrap()[..1])
            .collect();
        assert!(
            kinds.starts_with("rs") && kinds.ends_with("so") && kinds.contains("sors"),
            "{kinds}"
        );
        // The last second of a round may still be incomplete when the round is over.
        let told: u64 = past.iter().filter_map(|entry| entry["second"][0].as_u64()).sum();
        let document = finished.json();
        let counted: u64 = document["targets"][0]["rounds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|round| round["total"]["requests"].as_u64().unwrap())
            .sum();
        assert!((counted / 4..=counted).contains(&told), "{told} of {counted}");
        let second = past.iter().find(|entry| entry["second"].is_array()).unwrap();
        assert_eq!(second["second"][5], 3, "{second}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_changes_the_load_and_ends_the_run() {
    let server = Counting::start().await;
    block_in_place(|| {
        let run = Run::start(&server, &["--web", "--web-control", "--duration=60s", "--users=2"]);
        let mut messages = run.messages();
        messages.find(|message| message["now"]["round"]["load"] == 2.0).unwrap();
        let answer = run.ask("POST /control", "{\"users\":9}");
        assert!(
            answer.starts_with("HTTP/1.0 200") && answer.contains("9 users from second "),
            "{answer}"
        );
        let message = messages.find(|message| message["now"]["round"]["load"] == 9.0).unwrap();
        let notes = message["now"]["notes"].to_string();
        assert!(notes.contains("9 users from second ") && !notes.contains(&run.token), "{notes}");
        assert!(!run.ask("GET /", "").contains(&run.token), "only the terminal has the token");
        let answer = run.ask("POST /control", "{\"rate\":9}");
        assert!(
            answer.starts_with("HTTP/1.0 409") && answer.contains("change the number of users"),
            "{answer}"
        );
        let answer = run.ask("POST /control", "\"faster\"");
        assert!(
            answer.starts_with("HTTP/1.0 409") && answer.contains("unknown request"),
            "{answer}"
        );
        assert!(run.ask("POST /control", "\"stop\"").contains("the run ends"));
        messages.find(|message| message["ended"] == "report").unwrap();
        drop(messages);
        let token = run.token.clone();
        let (finished, project) = run.finished();
        assert_eq!(finished.code, Some(130), "{}", finished.said());
        for file in std::fs::read_dir(project.path("run")).unwrap() {
            let text = std::fs::read(file.unwrap().path()).unwrap();
            let has_token = text.windows(token.len()).any(|part| part == token.as_bytes());
            assert!(!has_token, "no file has the token");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_control_the_page_only_shows() {
    let server = Counting::start().await;
    block_in_place(|| {
        let mut run = Run::start(&server, &["--web=localhost", "--duration=60s", "--users=2"]);
        assert!(run.host.starts_with("localhost:"), "{}", run.host);
        assert!(!run.ask("GET /", "").contains("id=\"controls\""));
        assert!(run.ask("POST /control", "\"stop\"").starts_with("HTTP/1.0 403"));
        // Whoever is killed tells nothing: the browser notices that the connection ends.
        run.messages().find(|message| message["now"]["phase"] == "holding the load").unwrap();
        let messages = run.messages();
        run.started.kill().unwrap();
        assert!(messages.last().is_none_or(|message| message["ended"].is_null()));
        run.said.read_to_string(&mut String::new()).unwrap();
    });
}

#[test]
fn an_address_that_cannot_be_served_is_an_error_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("--web={}", taken.local_addr().unwrap().port());
    let project = Project::real();
    let words = ["-s=direct", "--url=http://127.0.0.1:1", "--out=run"];
    let finished = project.run(&[&words[..], &[&port]].concat());
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    assert!(finished.stderr.starts_with("cannot_serve_page"), "{}", finished.stderr);
    assert!(finished.stderr.contains("in use"), "{}", finished.stderr);
    assert!(!project.path("run").exists());
    for wrong in ["--web=http://127.0.0.1", "--web=localhost:http", "--web="] {
        let finished = project.run(&[&words[..], &[wrong]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
    }
}
