//! Text from servers and files that a terminal would obey: none of it reaches the terminal.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::program::Project;
use loadgen::text::is_obeyed;

const BAD: &str = "\u{1b}]0;t\u{7}\u{9b}31m\u{7f}\u{202e}\r\u{1b}[2J";

/// Starts a server that gives `fine` good answers, and then only the body `bad`.
fn server(fine: usize, bad: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answered = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answered) = (stream.unwrap(), answered.clone());
            thread::spawn(move || {
                let mut head = [0; 4096];
                while stream.read(&mut head).is_ok_and(|read| read > 0) {
                    let body = match answered.fetch_add(1, Ordering::SeqCst) < fine {
                        true => "{\"said\": \"fine\"}",
                        false => bad,
                    };
                    let answer =
                        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Returns [`BAD`] escaped for JSON, as a string, and [`BAD`] as it is.
fn bodies() -> [&'static str; 2] {
    [serde_json::json!({ "said": BAD }).to_string().leak(), format!("{BAD} and no JSON").leak()]
}

#[track_caller]
fn harmless(project: &Project, arguments: &[&str], code: i32) {
    let output = project.command(arguments).output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    let obeyed = text.chars().filter(|c| is_obeyed(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(obeyed.count(), 0, "{}", text.escape_debug());
}

#[test]
fn text_from_a_server_never_controls_the_terminal() {
    let scenario = "load = { users = 1, iterations = 20 }\n[[step]]\nget = \"/\"\n\
                    expect = { json = { \"/said\" = \"fine\" } }\n\
                    capture = { said = { json = \"/said\" } }\n";
    let project = Project::real().file("mine.toml", scenario);
    for body in bodies() {
        let url = server(0, body);
        harmless(&project, &["-s=mine.toml", "--url", &url], 4);
        harmless(&project, &["check", "--try", &url, "mine.toml"], 1);
        for format in ["table", "json", "csv", "markdown", "svg"] {
            let url = server(1, body);
            let format = format!("--format={format}");
            harmless(
                &project,
                &["-s=mine.toml", "--url", &url, "--warmup=0s", "--no-calibrate", &format],
                1,
            );
        }
    }
}

#[test]
fn text_from_a_file_never_controls_the_terminal() {
    let text =
        format!("# {}\nload = {{ users = 0 }}\n[[step]]\nget = \"/\"\n", BAD.replace('\r', ""));
    let project = Project::real()
        .file("mine.toml", &text)
        .file("join", &format!("{{\"{BAD}\": 1}}"))
        .file("run.json", &format!("{{\"schema\": {}}}", serde_json::json!(BAD)));
    harmless(&project, &["check", "mine.toml"], 2);
    harmless(&project, &["report", "run.json"], 2);
    harmless(&project, &["worker", "--once", "--join=join"], 1);
    harmless(&project, &["check", &format!("{BAD}.toml")], 2);
    harmless(&project, &["ctl", "--run", BAD, "stop"], 1);
}
