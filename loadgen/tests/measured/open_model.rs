//! The open model against real servers: planned requests are sent or counted as unsent, and a stall
//! shows in all requests that should have been served during it.

use std::time::Duration;

use loadgen::measure::{Phase, SendGaps};
use tokio_util::sync::CancellationToken;

use crate::common::engine::{finish, hold, plan, planned, run_round};
use crate::common::machine;
use crate::common::{Counting, stalling};

fn open(load: &str) -> String {
    format!("[load]\nmodel = \"open\"\n{load}\n[[step]]\nget = \"/\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planned_request_is_sent_by_the_fewest_users() {
    let _alone = machine::alone().await;
    let server = Counting::start().await;
    let load = "rate = 500\nramp_up = \"400ms\"\nduration = \"1s\"";
    let mut plan = plan(&server.url, &open(load));
    plan.warmup = Duration::from_millis(200);
    let (series, finished) = finish(plan).await;
    // 100 in the warm-up, 100 in the ramp-up, 500 in the hold: the sum is right to within one.
    assert!(planned(&series).abs_diff(700) <= 1, "{}", planned(&series));
    let unsent: u64 = series.phase(Phase::Hold).iter().map(|counts| counts.unsent).sum();
    assert_eq!(server.requests() + unsent, planned(&series));
    assert_eq!(finished.held, Duration::from_secs(1));
    let hold = hold(&series);
    assert_eq!((hold.service.len(), hold.delay.len()), (hold.answered.len(), hold.answered.len()));
    let gaps = &finished.send_gaps;
    assert_eq!(gaps.planned.len(), gaps.sent.len());
    // The first request of the hold has no gap.
    let sent = gaps.sent.len() + unsent + 1;
    assert!(sent.abs_diff(500) <= 2, "{sent} requests of the hold");
    let mean = gaps.planned.mean().unwrap();
    assert!((mean - 2_000.0).abs() <= 20.0, "one each 2 ms, not {mean} us");
    // A thousand users could send, but the user that was answered last sends first.
    assert!(server.connections() <= 200, "{} connections", server.connections());
}

#[tokio::test(flavor = "multi_thread")]
async fn poisson_arrivals_end_after_the_configured_iterations() {
    let _beside = machine::beside().await;
    let server = Counting::start().await;
    let load = "rate = 2000\narrivals = \"poisson\"\niterations = 321";
    let (series, _) = finish(plan(&server.url, &open(load))).await;
    assert_eq!((hold(&series).requests(), server.requests()), (321, 321));
}

/// Of 25 ms, loadgen's only thread is stalled for 20: most requests of these are sent at once.
#[tokio::test]
async fn a_stalled_generator_sends_in_clumps() {
    const STALL: Duration = Duration::from_millis(20);
    let _alone = machine::alone().await;
    let server = Counting::start().await;
    let stalling = tokio::spawn(async {
        loop {
            std::thread::sleep(STALL);
            tokio::time::sleep(STALL / 4).await;
        }
    });
    for arrivals in ["even", "poisson"] {
        let load = format!("rate = 1000\nduration = \"1s\"\narrivals = \"{arrivals}\"");
        let (_, finished) = finish(plan(&server.url, &open(&load))).await;
        let gaps = finished.send_gaps;
        let distance = gaps.distance().unwrap();
        assert!(distance >= 0.3, "{arrivals}: {distance}");
        assert!(gaps.clump >= 10 && gaps.clump > gaps.planned_clump, "{arrivals}: {}", gaps.clump);
    }
    stalling.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_closed_model_has_no_schedule() {
    let _beside = machine::beside().await;
    let server = Counting::start().await;
    let load = "[load]\nusers = 2\niterations = 20\n[[step]]\nget = \"/\"";
    let (_, finished) = finish(plan(&server.url, load)).await;
    assert_eq!(*finished.send_gaps, SendGaps::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_free_user_are_unsent() {
    let _alone = machine::alone().await;
    let server = Counting::start().await;
    let load = "[load]\nmodel = \"open\"\nrate = 100\nusers = 2\nduration = \"1s\"\n\
                [[step]]\nget = \"/slow/400\"";
    let (series, _) = finish(plan(&server.url, load)).await;
    assert_eq!(planned(&series), 100);
    let hold = hold(&series);
    // Two users, each with an answer every 400 ms.
    assert!((90..=96).contains(&hold.unsent), "{} unsent", hold.unsent);
    assert_eq!(server.requests() + hold.unsent, 100);
    let waited = hold.answered.max().unwrap();
    assert!(waited >= 775_000, "the second pair waited for the first: {waited} us");
    assert!(hold.service.max().unwrap() < waited, "but not once it was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_plan_at_once() {
    let _alone = machine::alone().await;
    let server = Counting::start().await;
    let stop = CancellationToken::new();
    let load = open("rate = 200\nduration = \"1m\"");
    let ((series, finished), ()) =
        tokio::join!(run_round(plan(&server.url, &load), stop.clone()), async {
            while server.requests() < 100 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.cancel();
        });
    let expected = finished.held.as_secs_f64() * 200.0;
    let planned = planned(&series) as f64;
    assert!((planned - expected).abs() <= 2.0, "{planned} of {expected} planned until the stop");
}

/// Of ten seconds at an even rate, the requests of one second wait for 0 to 1 s, evenly
/// distributed. So 5 % of all requests wait for longer than 500 ms, 1 % for longer than
/// 900 ms, and 0.1 % for longer than 990 ms.
#[tokio::test(flavor = "multi_thread")]
async fn a_stall_counts_for_all_requests_planned_during_it() {
    let _alone = machine::alone().await;
    let address = stalling(Duration::from_secs(4)).await;
    let load = open("rate = 1100\nusers = 2000\nduration = \"10s\"");
    let (series, _) = finish(plan(&format!("http://{address}"), &load)).await;
    let hold = hold(&series);
    assert_eq!(hold.failures(), 0);
    // The last request is planned 0.9 ms before the end: a pause of loadgen there leaves it unsent.
    // A user that the stall holds would leave more: 1,100 requests are planned in its second.
    assert!(hold.unsent <= 55, "{} unsent: more than those of the last 50 ms", hold.unsent);
    for (q, expected) in [(0.95, 500_000), (0.99, 900_000), (0.999, 990_000)] {
        let found = hold.answered.quantile(q).unwrap();
        // A busy machine delays the stall and its end, but requests that were planned during the
        // stall and do not count would change the figure by hundreds of milliseconds.
        assert!(found.abs_diff(expected) <= 100_000, "{q}: {found} us, expected {expected}");
    }
    let median = hold.answered.quantile(0.5).unwrap();
    assert!(median < 100_000, "half of them saw nothing of it: {median} us");
}
