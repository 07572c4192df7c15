//! [`Lab`] over a real Redis, a real PostgreSQL and real targets.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loadgen::lab::service::{Service, ServiceSpec};
use loadgen::lab::{Home, Lab, LabError, Layout, Options, RowCount, Watched, Window};
use loadgen::scenario::Backend;
use rustix::process::Signal;

use super::support::{Process, assert_gone, below, http, project, project_with, send};

async fn lab(project: &Path) -> Lab {
    let options = Options { logs: project.join("logs"), cpus: Layout::here(1) };
    let home = Home::at(project.to_owned()).unwrap();
    Lab::prepare(home, options, Arc::new(|what: &str| eprintln!("{what}"))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_over_both_backends() {
    let project = project().await;
    let mut lab = lab(project.path()).await;
    lab.start_backends(&[Backend::Redis, Backend::Postgres]).await.unwrap();
    lab.fill().await.unwrap();
    assert_eq!(lab.count_rows().await.unwrap(), Some(RowCount { rows: 0, nulls: 0 }));

    let target = lab.start_target("fastapi", "fastapi-1.log", 1).await.unwrap();
    let mut watched: Vec<Watched> = lab.backend_services().into_iter().map(Watched::from).collect();
    watched.push(Watched::from(target.service()));
    let window = Window::open(watched).unwrap();
    let (status, values) = http(&target.url, "GET /redis3", "");
    assert_eq!((status, values.as_str()), (200, r#"{"values":["value-1","value-2","value-3"]}"#));
    let item = r#"{"sku": "11111111-2222-3333-4444-555555555555", "name": "n", "quantity": 1, "price_cents": 2}"#;
    let (status, _) = http(&target.url, "POST /items", &format!("[{item},{item}]"));
    assert_eq!(status, 201);
    assert_eq!(lab.count_rows().await.unwrap(), Some(RowCount { rows: 2, nulls: 0 }));
    let usage = window.close();
    assert_eq!(usage.services.keys().collect::<Vec<_>>(), ["fastapi", "postgres", "redis"]);
    assert!(usage.services.values().all(|usage| usage.rss_mean_bytes > 1_000_000), "{usage:?}");

    lab.fill().await.unwrap();
    assert_eq!(lab.count_rows().await.unwrap(), Some(RowCount { rows: 0, nulls: 0 }));
    let services = lab.backend_services().into_iter().chain([target.service()]);
    let processes: Vec<Process> = services.flat_map(|service| below(service.guard_pid())).collect();
    assert!(processes.len() > 6, "{processes:?}");
    target.stop().await.unwrap();
    lab.stop().await.unwrap();
    assert!(processes.iter().all(|process| !process.is_alive()));
    assert!(project.path().join("logs/fastapi-1.log").is_file());
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
    let error = lab.start_target("broken", "broken-1.log", 1).await.unwrap_err();
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
    let target = lab(project.path()).await.start_target("late", "late-1.log", 1).await.unwrap();
    assert_eq!(http(&target.url, "GET /health", "").0, 200);
    target.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_installed_is_named() {
    let project = project_with(
        "[gone]\nframework = \"\"\nserver = \"\"\npackages = []\ncommand = [\"no-such-server\"]\n",
    )
    .await;
    let error = lab(project.path()).await.start_target("gone", "gone-1.log", 1).await.unwrap_err();
    assert!(matches!(error, LabError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("no-such-server"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_guard_was_killed_is_ended_all_the_same() {
    let project = project().await;
    let argv = ["sh", "-c", "sleep 1000 & sleep 1000"];
    let spec = ServiceSpec::new("sleep", argv, project.path(), project.path().join("sleep.log"));
    let service = Service::start(&spec).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let processes = below(service.guard_pid());
    assert!(processes.len() >= 2, "{processes:?}");
    send(service.guard_pid(), Signal::KILL);
    service.stop().await.unwrap();
    assert_gone(&processes);
}
