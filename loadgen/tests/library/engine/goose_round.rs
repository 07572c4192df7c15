//! Tests the engine against real servers: the counts must match what happened.

use std::time::{Duration, Instant};

use loadgen::engine::Share;
use loadgen::measure::{ErrorKind, Phase};
use tokio_util::sync::CancellationToken;

use crate::common::engine::{ONE_AT_A_TIME, finish, hold, plan, planned, run_in_turn, run_round};
use crate::common::{Counting, dead_address, ill_behaved};

/// The kernel refuses a connection to a broadcast address without
/// any wait, as it does when files or ports have run out.
#[test]
fn users_that_are_refused_at_once_yield_the_thread() {
    let text = "load = { users = 3, duration = \"90s\" }\n[[step]]\nget = \"/\"";
    let running = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let _turn = ONE_AT_A_TIME.lock().await;
            let stop = CancellationToken::new();
            let stopping = stop.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                stopping.cancel();
            });
            run_in_turn(plan("http://127.255.255.255:9", text), stop).await.0
        })
    });
    // Other tests may run first.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !running.is_finished() {
        assert!(Instant::now() < deadline, "the stop is not heeded");
        std::thread::sleep(Duration::from_millis(20));
    }
    let errors = hold(&running.join().unwrap()).errors;
    assert!(errors[&ErrorKind::Connect] > 0, "{errors:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_iterations_are_exact() {
    let server = Counting::start().await;
    let text = "load = { users = 7, iterations = 1000 }\n[[step]]\nget = \"/\"";
    let (series, _) = finish(plan(&server.url, text)).await;
    assert_eq!(hold(&series).answered.len(), 1_000);
    assert_eq!(server.requests(), 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_per_user_are_exact() {
    let server = Counting::start().await;
    let text = "load = { users = 7, iterations_per_user = 30 }\n[[step]]\nget = \"/\"";
    let (series, _) = finish(plan(&server.url, text)).await;
    assert_eq!((hold(&series).requests(), server.requests()), (210, 210));
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_exact_after_a_warm_up_of_several_slow_steps() {
    let server = Counting::start().await;
    let text = "load = { users = 7, ramp_up = \"200ms\", iterations = 50 }\n\
                [[step]]\nname = \"a\"\nget = \"/slow/20\"\n[[step]]\nname = \"b\"\nget = \"/slow/20\"";
    let mut plan = plan(&server.url, text);
    plan.warmup = Duration::from_millis(130);
    let (series, _) = finish(plan).await;
    let steps = series.phase(Phase::Hold);
    assert_eq!((steps[0].requests(), steps[1].requests()), (50, 50));
    assert!(series.phase(Phase::RampUp).is_empty(), "iterations count from the first");
    assert_eq!(planned(&series), server.requests());
}

/// The requests cut by the beginning of the hold must balance those cut by its
/// end: N users that wait for a time L get `held / L` answers each, for any L.
#[tokio::test(flavor = "multi_thread")]
async fn the_rate_of_a_slow_server_is_not_biased() {
    let server = Counting::start().await;
    let text = "load = { users = 20, duration = \"1s\" }\n[[step]]\nget = \"/slow/150\"";
    let mut plan = plan(&server.url, text);
    plan.warmup = Duration::from_millis(400);
    let (series, finished) = finish(plan).await;
    let answered = hold(&series).answered;
    let expected = 20.0 * finished.held.as_secs_f64() / (answered.mean().unwrap() / 1e6);
    // At most one answer per user is on the wrong side of a mark.
    let off = (answered.len() as f64 - expected).abs();
    assert!(off <= 20.0, "{} of {expected}", answered.len());
    assert_eq!(planned(&series), server.requests(), "none is lost at a mark");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_think_before_each_next_request() {
    let server = Counting::start().await;
    let text = "load = { users = 4, duration = \"1s\", think_time = \"200ms\" }\n\
                [[step]]\nname = \"a\"\nget = \"/\"\n[[step]]\nname = \"b\"\nget = \"/\"";
    let (series, _) = finish(plan(&server.url, text)).await;
    // Each user sends at 0, 200, 400, 600 and 800 ms, or slightly later, and not after the end.
    let requests = planned(&series);
    assert!((16..=20).contains(&requests), "{requests} requests of 4 users");
    assert_eq!(requests, server.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_think_time_of_a_step_follows_the_step() {
    let server = Counting::start().await;
    let text = "load = { users = 4, duration = \"1s\", think_time = \"0s\" }\n\
                [[step]]\nname = \"a\"\nget = \"/\"\nthink_time = \"400ms\"\n\
                [[step]]\nname = \"b\"\nget = \"/\"";
    let (series, _) = finish(plan(&server.url, text)).await;
    // Each user sends `a` at 0, 400 and 800 ms, or slightly later, and `b` 400 ms after `a`.
    let found: Vec<u64> = (0..2).map(|step| series.phase(Phase::Hold)[step].requests()).collect();
    assert!((9..=12).contains(&found[0]) && (5..=8).contains(&found[1]), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_takes_one_of_the_weighted_steps() {
    let server = Counting::start().await;
    let step =
        |name: &str, weight: &str| format!("[[step]]\nname = \"{name}\"\n{weight}\nget = \"/\"\n");
    let load = "load = { users = 4, iterations = 2000 }\n";
    let steps = [step("always", ""), step("often", "weight = 9"), step("seldom", "weight = 1")];
    let (series, _) = finish(plan(&server.url, &(load.to_owned() + &steps.concat()))).await;
    let found: Vec<u64> = series.phase(Phase::Hold).iter().map(|step| step.requests()).collect();
    assert_eq!((found[0], found[1] + found[2]), (2_000, 2_000));
    // The limits are 200 ± five standard deviations.
    assert!(found[2].abs_diff(200) < 67, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duration_counts_what_the_server_counts() {
    let server = Counting::start().await;
    let text = "load = { users = 10, ramp_up = \"500ms\", duration = \"1200ms\" }\n[[step]]\nget = \"/slow/20\"";
    let mut plan = plan(&server.url, text);
    plan.warmup = Duration::from_millis(300);
    let (series, finished) = finish(plan).await;
    assert_eq!(planned(&series), server.requests());
    assert_eq!(finished.held, Duration::from_millis(1_200));
    let tail = &series.phase(Phase::Tail)[0];
    assert!((1..=10).contains(&tail.cancelled), "{} cut off by the end", tail.cancelled);
    assert_eq!(tail.requests(), 0, "a request after the end is cancelled and nothing else");
    for phase in [Phase::Warmup, Phase::RampUp] {
        assert!(series.phase(phase)[0].requests() > 0, "{phase:?} is kept apart");
    }
    // 10 users send for 1.2 s, with 20 ms or slightly more per request.
    let held = hold(&series).requests();
    assert!((100..=600).contains(&held), "{held}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_cancels_requests_in_flight_at_once() {
    let server = Counting::start().await;
    let text = "load = { users = 5, duration = \"1m\" }\n[[step]]\nget = \"/slow/30000\"";
    let stop = CancellationToken::new();
    let (result, stopped) = tokio::join!(run_round(plan(&server.url, text), stop.clone()), async {
        while server.requests() < 5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
        Instant::now()
    });
    assert!(stopped.elapsed() < Duration::from_secs(2));
    let counts = hold(&result.0);
    assert_eq!((counts.requests(), counts.cancelled), (0, 5));
    assert!(result.1.held < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_is_counted_by_its_kind() {
    let server = Counting::start().await;
    let cases: [(String, &str, ErrorKind); 8] = [
        (format!("http://{}", dead_address()), "get = \"/\"", ErrorKind::Connect),
        (server.url.clone(), "get = \"/slow/5000\"\ntimeout = \"50ms\"", ErrorKind::Timeout),
        (format!("http://{}", ill_behaved(b"").await), "get = \"/\"", ErrorKind::Reset),
        (
            format!(
                "http://{}",
                ill_behaved(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await
            ),
            "get = \"/\"",
            ErrorKind::Reset,
        ),
        (
            format!("http://{}", ill_behaved(b"What?\r\n\r\n").await),
            "get = \"/\"",
            ErrorKind::Protocol,
        ),
        (
            format!(
                "http://{}",
                ill_behaved(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").await
            ),
            "get = \"/\"",
            ErrorKind::Protocol,
        ),
        (server.url.clone(), "get = \"/status/503\"", ErrorKind::Status),
        (
            server.url.clone(),
            "get = \"/\"\nexpect = { json = { \"/message\" = \"Bye\" } }",
            ErrorKind::Expectation,
        ),
    ];
    for (url, step, kind) in cases {
        let text = format!("load = {{ users = 2, iterations = 6 }}\n[[step]]\n{step}");
        let counts = hold(&finish(plan(&url, &text)).await.0);
        assert_eq!(counts.errors.get(&kind), Some(&6), "{kind}: {:?}", counts.examples);
        assert_eq!((counts.failures(), counts.answered.len()), (6, 0));
        assert_eq!(counts.failed.len(), 6, "failures have a histogram of their own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_ends_the_iteration_unless_on_error_is_continue() {
    let server = Counting::start().await;
    for (on_error, second) in [("next_iteration", 0), ("continue", 5)] {
        let text = format!(
            "on_error = \"{on_error}\"\nload = {{ users = 1, iterations = 5 }}\n\
             [[step]]\nget = \"/status/500\"\n[[step]]\nget = \"/\""
        );
        let steps = finish(plan(&server.url, &text)).await.0.phase(Phase::Hold);
        assert_eq!((steps[0].failures(), steps[1].requests()), (5, second), "{on_error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_summed_over_generated_bodies() {
    let server = Counting::start().await;
    let text = "load = { users = 3, iterations = 40 }\n[[step]]\npost = \"/items\"\n\
                body = { json = { id = \"{{ uuid }}\", n = \"{{ int 1 9 }}\" }, repeat = 25 }\n\
                expect = { status = 201 }\ncounters = { inserted_items = \"/inserted\" }";
    let counts = hold(&finish(plan(&server.url, text)).await.0);
    assert_eq!((counts.answered.len(), counts.counters[0]), (40, 1_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_workers_than_users_lose_no_iteration() {
    let server = Counting::start().await;
    let text = "load = { users = 3, iterations = 100 }\n[[step]]\nget = \"/\"";
    let mut total = 0;
    for index in 0..4 {
        let mut plan = plan(&server.url, text);
        plan.share = Share { index, of: 4 };
        total += hold(&finish(plan).await.0).requests();
    }
    assert_eq!((total, server.requests()), (100, 100));
}
