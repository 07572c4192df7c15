//! Tests users that share connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadgen::engine::{GooseRound, Plan, Share};
use loadgen::measure::ErrorKind;

use super::peer::{CANCEL, NO_ERROR, Server};
use super::run::run;
use crate::common::dead_address;
use crate::common::engine::plan;

#[tokio::test(flavor = "multi_thread")]
async fn users_share_as_many_connections_as_the_scenario_says() {
    for (keys, users, expected) in [
        ("connections = 3", 10, 3),
        ("streams = 4", 10, 3),
        ("connections = 5, streams = 2", 10, 5),
        ("connections = 10", 4, 4),
        ("streams = 1", 3, 3),
    ] {
        let server = Server::answering(&[]);
        let load = format!("users = {users}, iterations_per_user = 50");
        let http = format!("version = \"2\", {keys}");
        let came = run(&server.url(), &http, &load, "get = \"/\"").await;
        let all = 50 * users;
        assert_eq!((came.answered(), came.errors()), (all, vec![]), "{:?}", came.counts.examples);
        assert_eq!((server.requests() as u64, server.connections()), (all, expected), "{keys}");
        assert_eq!(came.connections.opened, expected as u64, "{keys}");
        assert_eq!(came.connections.versions, [("HTTP/2".to_owned(), expected as u64)].into());
    }
}

/// Counts the requests of each connection that are in flight at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn users_are_spread_evenly_over_connections() {
    let most: Arc<Mutex<BTreeMap<usize, usize>>> = Arc::default();
    let seen = most.clone();
    let server = Server::start(&[], move |peer, number| {
        // Waits until all users of the connection have sent, and then some.
        let mut streams = Vec::new();
        peer.stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        while let Ok(stream) = peer.request() {
            streams.push(stream);
        }
        seen.lock().unwrap().insert(number, streams.len());
        streams.into_iter().try_for_each(|stream| peer.answer(stream))?;
        peer.stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        peer.outlast()
    });
    let load = "users = 12, iterations_per_user = 1";
    let came = run(&server.url(), "version = \"2\", connections = 4", load, "get = \"/\"").await;
    assert_eq!((came.answered(), came.errors()), (12, vec![]), "{:?}", came.counts.examples);
    assert_eq!(most.lock().unwrap().values().copied().collect::<Vec<_>>(), [3; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_of_one_user_leaves_the_others_alone() {
    let server = Server::start(&[], |peer, _| {
        // The first request is never answered.
        peer.request()?;
        loop {
            let stream = peer.request()?;
            peer.answer(stream)?;
        }
    });
    let step = "get = \"/\"\ntimeout = \"300ms\"";
    let load = "users = 4, iterations_per_user = 40, think_time = \"10ms\"";
    let came = run(&server.url(), "version = \"2\", connections = 1", load, step).await;
    assert_eq!((came.answered(), came.errors()), (159, vec![(ErrorKind::Timeout, 1)]));
    assert_eq!((server.connections(), server.resets(1)), (1, vec![(1, CANCEL)]));
}

/// The server ends each connection gracefully after ten requests: what it has begun ends well, and what
/// it has not begun fails or takes the next connection.
#[tokio::test(flavor = "multi_thread")]
async fn users_go_on_over_a_new_connection_after_goaway() {
    let server = Server::start(&[], |peer, _| {
        let mut last = 0;
        for _ in 0..10 {
            last = peer.request()?;
            peer.answer(last)?;
        }
        peer.go_away(last, NO_ERROR, b"")?;
        peer.outlast()
    });
    let load = "users = 5, iterations_per_user = 20, think_time = \"20ms\"";
    let http = "version = \"2\", connections = 1";
    let came = run(&server.url(), http, load, "get = \"/\"\ntimeout = \"2s\"").await;
    let resets = came.counts.errors.get(&ErrorKind::Reset).copied().unwrap_or(0);
    assert_eq!(came.answered() + resets, 100, "{:?}", came.errors());
    assert!(came.answered() >= 50, "{:?}", came.errors());
    assert!((5..=20).contains(&server.connections()), "{}", server.connections());
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_an_unreachable_server_each_count_an_error() {
    let nowhere = dead_address();
    let load = "users = 6, iterations_per_user = 3";
    let http = "version = \"2\", connections = 2";
    let came = run(&format!("http://{nowhere}"), http, load, "get = \"/\"").await;
    assert_eq!(came.errors(), [(ErrorKind::Connect, 18)]);
}

fn part(keys: &str, users: u32, index: u32, of: u32) -> Result<(), String> {
    let text = format!(
        "http = {{ version = \"2\", {keys} }}\nload = {{ users = {users} }}\n[[step]]\nget = \"/\""
    );
    let plan = Plan { share: Share { index, of }, ..plan("http://127.0.0.1:1", &text) };
    GooseRound::prepare(plan).map(drop).map_err(|e| e.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_enough_connections_is_refused() {
    let too_few = part("connections = 2", 9, 2, 3).unwrap_err();
    assert!(too_few.contains("connections = 2 is fewer than the 3 workers"), "{too_few}");
    let uneven = part("connections = 5, streams = 2", 10, 2, 3).unwrap_err();
    assert!(uneven.contains("worker 3 of 3 has 3 of the users"), "{uneven}");
    for index in 0..3 {
        assert_eq!(part("connections = 6, streams = 2", 10, index, 3), Ok(()));
        assert_eq!(part("streams = 2", 10, index, 3), Ok(()));
        assert_eq!(part("connections = 3", 2, index, 3), Ok(()));
    }
}
