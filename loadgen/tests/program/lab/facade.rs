//! Tests [`Lab`] with a real Redis, a real PostgreSQL and real targets.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loadgen::lab::service::{Service, ServiceSpec};
use loadgen::lab::{Home, Lab, LabError, Layout, Options, Runtime, Size, Watched, Window};
use loadgen::scenario::{Backend, Existing, ExpectedContent, Proof};
use rustix::process::Signal;

use super::support::{Process, assert_gone, below, http, project, project_with};
use crate::common::processes::signal;

async fn lab(project: &Path) -> Lab {
    let options = Options {
        logs: project.join("logs"),
        cpus: Layout::here(1),
        runtime: Runtime::Process,
        connections: 0,
    };
    let home = Home::at(project.to_owned()).unwrap();
    Lab::prepare(home, options, Arc::new(|what: &str| eprintln!("{what}"))).await.unwrap()
}

/// Asks the lab a question. Returns the answer, or an error without loadgen's own words around it.
async fn ask(lab: &Lab, backend: Backend, question: &str) -> Result<i64, String> {
    let (question, expected) = (question.to_owned(), ExpectedContent::Value(0));
    let answer = lab.ask(&Proof { backend, question, expected }).await;
    answer.map_err(|error| match error {
        LabError::Question { said, .. } => said.join("\n"),
        other => panic!("{other}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_runs_over_both_backends() {
    let project = project().await;
    let mut lab = lab(project.path()).await;
    lab.start_backends(&[Backend::Redis, Backend::Postgres]).await.unwrap();
    lab.fill(Existing::default()).await.unwrap();
    assert_eq!(ask(&lab, Backend::Postgres, "SELECT count(*) FROM items").await, Ok(0));
    assert!(!lab.postgres_data().unwrap().is_memory(), "{:?}", lab.postgres_data());

    let target = lab.start_target("fastapi", "fastapi-1.log", Size::of_workers(1)).await.unwrap();
    let mut watched: Vec<Watched> = lab.backend_services().into_iter().map(Watched::from).collect();
    watched.push(Watched::from(&target.services()[0]));
    let window = Window::open(watched).unwrap();
    let (status, values) = http(&target.url, "GET /redis3", "");
    assert_eq!((status, values.as_str()), (200, r#"{"values":["value-1","value-2","value-3"]}"#));
    let item = r#"{"sku": "11111111-2222-3333-4444-555555555555", "name": "n", "quantity": 1, "price_cents": 2}"#;
    let (status, _) = http(&target.url, "POST /items", &format!("[{item},{item}]"));
    assert_eq!(status, 201);
    assert_eq!(ask(&lab, Backend::Postgres, "SELECT count(*) FROM items").await, Ok(2));
    let usage = window.close();
    assert_eq!(usage.services.keys().collect::<Vec<_>>(), ["fastapi", "postgres", "redis"]);
    assert!(usage.services.values().all(|usage| usage.memory_mean_bytes > 1_000_000), "{usage:?}");

    lab.fill(Existing::default()).await.unwrap();
    assert_eq!(ask(&lab, Backend::Postgres, "SELECT count(*) FROM items").await, Ok(0));
    let services = lab.backend_services().into_iter().chain(target.services());
    let processes: Vec<Process> = services.flat_map(|service| below(service.guard_pid())).collect();
    assert!(processes.len() > 6, "{processes:?}");
    target.stop().await.unwrap();
    lab.stop().await.unwrap();
    assert!(processes.iter().all(|process| !process.is_alive()));
    assert!(project.path().join("logs/fastapi-1.log").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_returns_one_integer_and_changes_nothing() {
    let project = project().await;
    let mut lab = lab(project.path()).await;
    lab.start_backends(&[Backend::Redis, Backend::Postgres]).await.unwrap();
    lab.fill(Existing::default()).await.unwrap();

    let sql = |query: &'static str| ask(&lab, Backend::Postgres, query);
    assert_eq!(sql("\n  SELECT\n    -5;\n").await, Ok(-5));
    assert_eq!(sql("SHOW statement_timeout").await, Err("1min".to_owned()));
    let none = "nothing, or NULL".to_owned();
    assert_eq!(sql("SELECT sum(quantity) FROM items").await, Err(none));
    assert_eq!(sql("SELECT 1 UNION SELECT 2").await, Err("1\n2".to_owned()));
    assert_eq!(sql("SELECT 1.5").await, Err("1.5".to_owned()));
    let refused = [
        ("DELETE FROM items RETURNING 1", "cannot execute DELETE in a read-only transaction"),
        ("SET transaction_read_only = off; DELETE FROM items", "permission denied for table items"),
        ("SELECT 1; COPY (SELECT 1) TO PROGRAM 'true'", "permission denied to COPY to or from an"),
        ("\\! echo 1", "syntax error at or near \"\\\""),
    ];
    for (query, said) in refused {
        let answer = sql(query).await;
        assert!(answer.as_ref().is_err_and(|all| all.contains(said)), "{query}: {answer:?}");
    }

    let redis = |command: &'static str| ask(&lab, Backend::Redis, command);
    assert_eq!(redis("LLEN queue").await, Ok(0));
    assert_eq!(redis(" STRLEN  loadgen:1\n").await, Ok(7));
    assert_eq!(redis("GET nowhere").await, Ok(0));
    assert_eq!(redis("GET loadgen:1").await, Err("value-1".to_owned()));
    assert_eq!(redis("KEYS *").await, Err("an array, not one value".to_owned()));
    for command in ["INCR queue", "FLUSHALL", "EVAL return(1) 0", "ACL WHOAMI"] {
        let answer = redis(command).await;
        assert!(answer.as_ref().is_err_and(|all| all.starts_with("NOPERM")), "{answer:?}");
    }
    assert_eq!(redis("DBSIZE").await, Ok(3));
    lab.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_exits_at_start_shows_its_log() {
    let project = project_with(
        r#"
        [broken]
        framework = "none"
        server = "none"
        packages = []
        command = ["python", "-c", "raise SystemExit('the sky is falling')"]
        "#,
    )
    .await;
    let lab = lab(project.path()).await;
    let error = lab.start_target("broken", "broken-1.log", Size::of_workers(1)).await.unwrap_err();
    assert!(!error.is_usage());
    assert_eq!(
        error.to_string(),
        "broken exited with code 1 before it was ready\n  | the sky is falling"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_loses_its_port_gets_another() {
    let script = r"
import http.server, os, sys
if not os.path.exists('health'):
    open('health', 'w').close()
    sys.exit('OSError: [Errno 98] Address already in use')
http.server.HTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).serve_forever()
";
    let manifest = format!(
        "[late]\nframework = \"none\"\nserver = \"none\"\npackages = []\ncommand = [\"python\", \"-c\", '''{script}''']\n"
    );
    let project = project_with(&manifest).await;
    let target = lab(project.path())
        .await
        .start_target("late", "late-1.log", Size::of_workers(1))
        .await
        .unwrap();
    assert_eq!(http(&target.url, "GET /health", "").0, 200);
    target.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_command_is_named() {
    let project = project_with(
        "[gone]\nframework = \"\"\nserver = \"\"\npackages = []\ncommand = [\"no-such-server\"]\n",
    )
    .await;
    let error = lab(project.path())
        .await
        .start_target("gone", "gone-1.log", Size::of_workers(1))
        .await
        .unwrap_err();
    assert!(matches!(error, LabError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("no-such-server"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_guard_was_killed_is_still_ended() {
    let project = project().await;
    let argv = ["sh", "-c", "sleep 1000 & sleep 1000"];
    let spec = ServiceSpec::new("sleep", argv, project.path(), project.path().join("sleep.log"));
    let service = Service::start(&spec).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let processes = below(service.guard_pid());
    assert!(processes.len() >= 2, "{processes:?}");
    signal(service.guard_pid(), Signal::KILL);
    service.stop().await.unwrap();
    assert_gone(&processes);
}
