//! Tests the requests that each user sends once: at its
//! start, before its iterations, and when it stops.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use loadgen::measure::{Counts, ErrorKind, Phase, Series};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::common::Counting;
use crate::common::engine::{finish, plan, run_round};
use crate::common::program::Project;

/// Paths of the requests in order of arrival, and number of logins still to be refused.
#[derive(Default)]
struct Asked {
    paths: Mutex<Vec<String>>,
    refusals: AtomicU64,
}

impl Asked {
    fn count(&self, path: &str) -> usize {
        self.paths.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

async fn answer(State(asked): State<Arc<Asked>>, Path(path): Path<String>) -> StatusCode {
    asked.paths.lock().unwrap().push(path.clone());
    let refused = |left: u64| left.checked_sub(1);
    if path == "login"
        && asked.refusals.try_update(Ordering::SeqCst, Ordering::SeqCst, refused).is_ok()
    {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    StatusCode::OK
}

/// Starts a server that refuses the first `refusals` logins.
async fn server(refusals: u64) -> (String, Arc<Asked>) {
    let asked = Arc::new(Asked { refusals: refusals.into(), ..Asked::default() });
    let app = Router::new().route("/{path}", get(answer)).with_state(asked.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, asked)
}

const STEPS: &str = r#"
[[step]]
name = "login"
when = "start"
get = "/login"

[[step]]
name = "work"
get = "/work"

[[step]]
name = "logout"
when = "stop"
get = "/logout"
"#;

fn scenario(load: &str) -> String {
    format!("[load]\n{load}\n{STEPS}")
}

fn step(series: &Series, phase: Phase, index: usize) -> Counts {
    series.phase(phase).into_iter().nth(index).unwrap_or_default()
}

/// Returns the numbers of answered, failed and cancelled requests.
fn ended(counts: &Counts) -> (u64, u64, u64) {
    (counts.answered.len(), counts.failures(), counts.cancelled)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_user_starts_and_stops_once_outside_of_iterations() {
    let (url, asked) = server(0).await;
    let (series, _) = finish(plan(&url, &scenario("users = 4\niterations = 41"))).await;
    assert_eq!(ended(&step(&series, Phase::Hold, 1)), (41, 0, 0));
    assert_eq!(["login", "work", "logout"].map(|path| asked.count(path)), [4, 41, 4]);
    assert_eq!(ended(&step(&series, Phase::Hold, 0)), (4, 0, 0));
    assert_eq!(ended(&step(&series, Phase::Hold, 2)), (0, 0, 0), "it is not of the hold");
    assert_eq!(ended(&step(&series, Phase::Stop, 2)), (4, 0, 0));
    let paths = asked.paths.lock().unwrap();
    assert_eq!(paths[0], "login");
    assert!(paths[paths.len() - 4..].iter().all(|path| path == "logout"), "{paths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_in_the_warm_up_does_not_count() {
    let (url, asked) = server(0).await;
    let mut plan = plan(&url, &scenario("users = 3\niterations = 30"));
    plan.warmup = Duration::from_millis(200);
    let (series, _) = finish(plan).await;
    assert_eq!((asked.count("login"), asked.count("logout")), (3, 3));
    assert_eq!(ended(&step(&series, Phase::Warmup, 0)), (3, 0, 0));
    assert_eq!(ended(&step(&series, Phase::Hold, 0)), (0, 0, 0));
    assert_eq!(ended(&step(&series, Phase::Hold, 1)), (30, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_whose_start_fails_only_repeats_the_start() {
    let (url, asked) = server(1).await;
    let (series, _) = finish(plan(&url, &scenario("users = 1\nduration = \"1500ms\""))).await;
    assert_eq!(ended(&step(&series, Phase::Hold, 0)), (1, 1, 0));
    assert!(!step(&series, Phase::Hold, 1).answered.is_empty());
    assert_eq!(asked.paths.lock().unwrap()[..3], ["login", "login", "work"]);
    assert_eq!(asked.count("logout"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_never_started_neither_works_nor_stops() {
    let (url, asked) = server(u64::MAX).await;
    for load in [
        "users = 2\nduration = \"300ms\"",
        "model = \"open\"\nrate = 20\nusers = 2\nduration = \"300ms\"",
    ] {
        let (series, _) = finish(plan(&url, &scenario(load))).await;
        assert_eq!(step(&series, Phase::Hold, 0).errors[&ErrorKind::Status], 2, "at a slow pace");
        assert_eq!((asked.count("work"), asked.count("logout")), (0, 0));
        let unsent = step(&series, Phase::Hold, 1).unsent;
        assert_eq!(unsent, if load.contains("open") { 6 } else { 0 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_of_the_open_model_serve_arrivals_after_their_start() {
    let (url, asked) = server(0).await;
    let load = "model = \"open\"\nrate = 100\nusers = 5\nduration = \"500ms\"";
    let (series, _) = finish(plan(&url, &scenario(load))).await;
    let work = step(&series, Phase::Hold, 1);
    assert_eq!(work.requests() + work.unsent + step(&series, Phase::Tail, 1).cancelled, 50);
    assert_eq!((asked.count("login"), asked.count("logout")), (5, 5));
    assert_eq!(asked.paths.lock().unwrap()[0], "login");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_takes_too_long_is_cut_off_and_counted() {
    let server = Counting::start().await;
    let text = "[load]\nusers = 2\niterations = 2\n[[step]]\nget = \"/\"\n\
                [[step]]\nname = \"one\"\nwhen = \"stop\"\nget = \"/slow/60000\"\n\
                [[step]]\nname = \"two\"\nwhen = \"stop\"\nget = \"/slow/1\"";
    let (series, finished) = finish(plan(&server.url, text)).await;
    assert_eq!(ended(&step(&series, Phase::Stop, 1)), (0, 0, 2));
    assert_eq!(ended(&step(&series, Phase::Stop, 2)), (0, 0, 2), "never sent, and not lost");
    assert!(finished.held < Duration::from_secs(3), "{:?}", finished.held);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_send_their_stop_when_the_round_is_halted() {
    let (url, asked) = server(0).await;
    let stop = CancellationToken::new();
    let (halting, seen) = (stop.clone(), asked.clone());
    tokio::spawn(async move {
        while seen.count("work") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        halting.cancel();
    });
    let (series, _) = run_round(plan(&url, &scenario("users = 1\nduration = \"1m\"")), stop).await;
    assert_eq!(asked.count("logout"), 1);
    assert_eq!(ended(&step(&series, Phase::Stop, 2)), (1, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_stop_is_reported() {
    let server = Counting::start().await;
    // `/flaky` answers correctly once, for the verification.
    let text = "load = { users = 2, iterations = 20 }\n[[step]]\nget = \"/\"\n\
                [[step]]\nname = \"logout\"\nwhen = \"stop\"\nget = \"/flaky\"";
    let project = Project::real().file("mine.toml", text);
    for workers in [None, Some("--workers=2")] {
        let server = if workers.is_some() { &Counting::start().await } else { &server };
        let run = ["-s", "mine.toml", "--url", &server.url, "--warmup=0s", "--format=json"];
        let arguments: Vec<&str> = run.into_iter().chain(workers).collect();
        let finished = tokio::task::block_in_place(|| project.run(&arguments));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let document = finished.json();
        let target = &document["targets"][0];
        assert_eq!(
            (&target["total"]["requests"], &target["total"]["errors"]),
            (&20.into(), &0.into())
        );
        assert_eq!(target["steps"][1]["errors"], 2);
        let verdicts = document["verdicts"].as_array().unwrap();
        let verdict = verdicts.iter().find(|verdict| verdict["kind"] == "stop_failed").unwrap();
        assert_eq!(
            verdict["message"],
            "final requests of stopping users failed: 2 of 2 × logout (expected status 2xx, \
             got 500: an empty body)"
        );
    }
}
