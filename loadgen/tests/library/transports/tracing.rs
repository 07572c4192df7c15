//! Tests that servers are told to which trace a request belongs, over all transports alike.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use loadgen::engine::Plan;
use loadgen::measure::{ErrorKind, Phase, TracedEnd, TracedRequest};
use tokio_util::sync::CancellationToken;

use super::journeys::{Seen, TRANSPORTS, start};
use crate::common::engine::{ONE_AT_A_TIME, plan, snapshots};

/// Runs the steps with one request in so many traced. Returns the requests that were traced, and the values of
/// `traceparent` that the two servers have seen, with path and number of the server.
async fn trace(
    transport: &str,
    one_in: u32,
    load: &str,
    steps: &str,
) -> (Vec<TracedRequest>, Vec<(usize, String, Option<String>)>) {
    let seen = Seen::default();
    let (home, other) = (start(0, &seen).await, start(1, &seen).await);
    let text = format!(
        "on_error = \"continue\"\nhttp = {{ {transport}, cookies = true, redirects = 3 }}\nload = {{ {load} }}\n{}",
        steps.replace("OTHER", &other)
    );
    let plan = Plan { trace_one_in: NonZeroU32::new(one_in), ..plan(&home, &text) };
    let _turn = ONE_AT_A_TIME.lock().await;
    let (snapshots, _) = snapshots(plan, CancellationToken::new()).await;
    let traced = snapshots.into_iter().flat_map(|snapshot| snapshot.traced).collect();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let told = seen
        .into_iter()
        .map(|mut request| (request.server, request.path, request.headers.remove("traceparent")));
    (traced, told.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_told_the_trace_and_another_server_is_not() {
    let steps = "[[step]]\nname = \"plain\"\nget = \"/give?a=1\"\n\
        [[step]]\nname = \"posted\"\npost = \"/b\"\nbody = { text = \"{{uuid}}\" }\nexpect = { status = 201 }\n\
        [[step]]\nname = \"led\"\nget = \"/to/302?/c\"\n\
        [[step]]\nname = \"away\"\nget = \"/to/302?OTHER/d\"\n\
        [[step]]\nname = \"own\"\nget = \"/e\"\nheaders = { traceparent = \"mine\" }\n";
    for transport in TRANSPORTS {
        let (traced, seen) = trace(transport, 1, "users = 1, iterations = 2", steps).await;
        let contexts: Vec<String> = traced.iter().map(|it| it.context.to_string()).collect();
        let [plain, posted, led, away] = [0, 1, 2, 3].map(|at| Some(contexts[at].clone()));
        let told = |server, path: &str, context: Option<String>| (server, path.to_owned(), context);
        let reqwest = transport.contains("reqwest");
        let expected = [
            told(0, "/give?a=1", plain),
            told(0, "/b", posted),
            told(0, "/to/302?/c", led.clone()),
            told(0, "/c", led),
            told(0, "LEADS AWAY", away.clone()),
            // reqwest keeps all headers but those that it knows to be secrets.
            told(1, "/d", away.filter(|_| reqwest)),
            told(0, "/e", Some("mine".to_owned())),
        ];
        let seen = seen.into_iter().map(|(server, path, context)| {
            let path = if path.contains("http:") { "LEADS AWAY".to_owned() } else { path };
            (server, path, context)
        });
        let seen: Vec<_> = seen.collect();
        assert_eq!(seen[..7], expected, "{transport}");
        // Two iterations, and none of the step with a header of its own.
        assert_eq!(traced.len(), 8, "{transport}");
        let ids: BTreeSet<&str> = contexts.iter().map(|it| &it[3..35]).collect();
        assert_eq!(ids.len(), 8, "{transport}: each is a trace of its own");
        for (at, request) in traced.iter().enumerate() {
            assert_eq!((request.step, request.phase), (at as u32 % 4, Phase::Hold));
            assert_eq!(request.status, Some(200), "{transport}: of the last response");
            match (at % 4, &request.end) {
                (1, TracedEnd::Failed(ErrorKind::Status)) | (0 | 2 | 3, TracedEnd::Answered) => {}
                (_, end) => panic!("{transport}: {end:?}"),
            }
        }
        // One after another.
        let times = traced.windows(2).map(|of| {
            let end = of[0].sent_unix_ns + of[0].took.as_nanos() as u64;
            of[1].sent_unix_ns.saturating_sub(end)
        });
        assert!(times.into_iter().all(|gap| gap < 1_000_000_000), "{transport}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_in_so_many_is_traced() {
    for transport in TRANSPORTS {
        let load = "users = 4, iterations = 2000";
        let (traced, seen) = trace(transport, 10, load, "[[step]]\nget = \"/\"\n").await;
        // 200 of 2,000: within seven standard deviations.
        assert!(traced.len().abs_diff(200) < 95, "{transport}: {}", traced.len());
        let mut told: Vec<String> =
            seen.into_iter().filter_map(|(_, _, context)| context).collect();
        let mut kept: Vec<String> = traced.iter().map(|it| it.context.to_string()).collect();
        told.sort();
        kept.sort();
        assert_eq!(told, kept, "{transport}");
    }
}
