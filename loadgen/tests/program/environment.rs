//! Tokens from the environment, through the real binary: they are sent, and written nowhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::any;
use tokio::net::TcpListener;

use crate::common::program::{Finished, Project};

/// A token with characters that are escaped in a path and in JSON, in different ways.
const TOKEN: &str = "s3cr3t/\"token\" of=some&length";
const IN_A_PATH: &str = "s3cr3t%2F%22token%22%20of%3Dsome%26length";

/// Part of the token that no file and no message may contain. The part is in the plain token, in
/// both escaped forms, and in a token that is cut short.
const TRACE: &str = "s3cr3t";

const SCENARIO: &str = r#"
on_error = "continue"

[load]
users = 2
iterations = 20

[[step]]
name = "right"
post = "/right/{{ env API_TOKEN }}"
headers = { authorization = "Bearer {{ env API_TOKEN }}" }
body = { json = { key = "{{ env API_TOKEN }}" } }

[[step]]
get = "/echo?{{ env API_TOKEN }}"
headers = { authorization = "{{ env API_TOKEN }}" }

[[step]]
name = "cut"
get = "/cut"
headers = { authorization = "{{ env API_TOKEN }}" }
"#;

/// Numbers of requests. The first request to each path is the verification's.
#[derive(Default)]
struct Asked {
    echo: AtomicU64,
    cut: AtomicU64,
}

async fn answer(State(asked): State<Arc<Asked>>, request: Request) -> (StatusCode, String) {
    let (parts, body) = request.into_parts();
    let token = parts.headers["authorization"].to_str().unwrap().to_owned();
    let body = axum::body::to_bytes(body, 10_000).await.unwrap();
    match parts.uri.path() {
        "/echo" if asked.echo.fetch_add(1, Ordering::SeqCst) > 0 => {
            (StatusCode::UNAUTHORIZED, format!("{token} {}", parts.uri))
        }
        "/cut" if asked.cut.fetch_add(1, Ordering::SeqCst) > 0 => {
            let pad = "x".repeat(110);
            (StatusCode::UNAUTHORIZED, format!("{pad}{token}"))
        }
        "/echo" | "/cut" => (StatusCode::OK, String::new()),
        path => {
            assert_eq!(path, format!("/right/{IN_A_PATH}"));
            assert_eq!(token, format!("Bearer {TOKEN}"));
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body, serde_json::json!({ "key": TOKEN }));
            (StatusCode::OK, String::new())
        }
    }
}

async fn server() -> String {
    let app = Router::new().fallback(any(answer)).with_state(Arc::<Asked>::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

/// Runs the binary with the token in its environment.
fn run(project: &Project, arguments: &[&str]) -> Finished {
    let mut command = project.command(arguments);
    let output = command.env("API_TOKEN", TOKEN).output().unwrap();
    Finished::of(output, &project.path(""))
}

/// Returns the contents of all files below a folder, as one text.
fn everything_in(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text += &match path.is_dir() {
            true => everything_in(&path),
            false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
        };
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_sent_and_never_written() {
    for (format, more) in [("json", None), ("table", None), ("json", Some("--workers=2"))] {
        for transport in ["http1", "reqwest"] {
            let url = server().await;
            let scenario = format!("http = {{ transport = \"{transport}\" }}\n{SCENARIO}");
            let project = Project::real().file("mine.toml", &scenario);
            let fixed =
                ["-s", "mine.toml", "--url", &url, "--warmup=0s", "--out=run", "--format", format];
            let arguments: Vec<&str> = fixed.into_iter().chain(more).collect();
            let finished = tokio::task::block_in_place(|| run(&project, &arguments));
            assert_eq!(finished.code, Some(0), "{}", finished.said());
            let saved = everything_in(&project.path("run"));
            for quoted in
                ["got 401: {{ env API_TOKEN }} /echo?{{ env API_TOKEN }}", "x{{ env API_TOKEN }}…"]
            {
                assert!(saved.contains(quoted), "the server is quoted: {saved}");
            }
            for text in [&saved, &finished.stdout, &finished.stderr] {
                assert!(!text.contains(TRACE), "{text}");
            }
            let record: serde_json::Value =
                serde_json::from_slice(&fs::read(project.path("run/run.json")).unwrap()).unwrap();
            let right = &record["targets"][0]["steps"][0];
            assert_eq!((&right["requests"], &right["errors"]), (&20.into(), &0.into()), "{right}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_in_the_verification_does_not_show_the_token() {
    let url = server().await;
    let scenario = "[[step]]\nget = \"/echo?{{ env API_TOKEN }}\"\nexpect = { status = 418 }\n\
                    headers = { authorization = \"{{ env API_TOKEN }}\" }";
    let project = Project::real().file("mine.toml", scenario);
    for _ in 0..2 {
        let arguments = ["-s", "mine.toml", "--url", &url];
        let finished = tokio::task::block_in_place(|| run(&project, &arguments));
        assert_eq!(finished.code, Some(4), "{}", finished.said());
        assert!(finished.stderr.contains("/echo?{{ env API_TOKEN }}"), "{}", finished.said());
        assert!(!finished.said().contains(TRACE), "{}", finished.said());
    }
}

#[test]
fn an_unset_variable_prevents_the_start() {
    let project = Project::real().file("mine.toml", SCENARIO);
    let run = project.command(&["-s", "mine.toml", "--url", "http://127.0.0.1:1"]);
    let said = Finished::of(without_token(run), &project.path("")).said();
    assert!(said.starts_with("exit code 2"), "{said}");
    assert!(said.contains("the environment variable `API_TOKEN` is not set"), "{said}");
    assert!(said.contains("mine.toml:10"), "{said}");
}

#[test]
fn a_check_lists_the_needed_variables() {
    let project = Project::real().file("mine.toml", SCENARIO);
    let check = || project.command(&["check", "mine.toml"]);
    let finished = Finished::of(without_token(check()), &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stdout.contains("  environment API_TOKEN (not set)\n"), "{}", finished.stdout);
    let finished = run(&project, &["check", "mine.toml"]);
    assert!(finished.stdout.contains("  environment API_TOKEN\n"), "{}", finished.stdout);
    assert!(!finished.stdout.contains(TRACE), "{}", finished.stdout);
}

fn without_token(mut command: std::process::Command) -> std::process::Output {
    command.env_remove("API_TOKEN").output().unwrap()
}
