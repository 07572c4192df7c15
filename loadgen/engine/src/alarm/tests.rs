//! Tests in real time, with margins that a busy machine keeps.

use std::future::pending;

use std::time::Duration;

use tokio::task::coop::consume_budget;

use super::*;
use crate::gate::Gate;
use crate::plan::{Plan, Share};
use loadgen_scenario as scenario;

const MS: Duration = Duration::from_millis(1);

/// Upper limit for the time after which a timer of these tests fires, even on a busy machine.
const LATE: Duration = Duration::from_secs(10);

/// Returns the gate of a round that begins now. `load` holds
/// the scenario's keys that end the round.
fn gate(load: &str) -> Gate {
    let text = format!("load = {{ users = 1, {load} }}\n[[step]]\nget = \"/\"");
    let plan = Plan {
        scenario: scenario::parse("test", "test.toml", &text).unwrap(),
        base_url: "http://127.0.0.1".to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    };
    Gate::new(&plan, Instant::now())
}

fn endless() -> Gate {
    gate("iterations = 1")
}

/// Returns the result of `work` with this `timeout`, and the time until the result.
async fn rang(
    alarm: &mut Alarm<'_>,
    timeout: Duration,
    work: impl Future<Output = ()>,
) -> (Result<(), Rang>, Duration) {
    let now = Instant::now();
    let result = alarm.guard(now, now + timeout, std::pin::pin!(work)).await;
    (result, now.elapsed())
}

#[tokio::test]
async fn work_done_in_time_is_not_interrupted() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    assert_eq!(rang(&mut alarm, MS, async {}).await.0, Ok(()));
    assert_eq!(rang(&mut alarm, LATE, tokio::time::sleep(20 * MS)).await.0, Ok(()));
}

#[tokio::test]
async fn a_deadline_is_kept() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    for timeout in [50 * MS, 20 * MS, 100 * MS] {
        let (result, after) = rang(&mut alarm, timeout, pending()).await;
        assert_eq!(result, Err(Rang::Deadline));
        assert!((timeout..LATE).contains(&after), "{timeout:?}: {after:?}");
    }
}

/// A server that sends faster than its client reads always has something to read.
#[tokio::test]
async fn a_deadline_is_kept_by_work_that_never_waits() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    let endless = async || {
        loop {
            consume_budget().await;
        }
    };
    for timeout in [50 * MS, 20 * MS] {
        let (result, after) = rang(&mut alarm, timeout, endless()).await;
        assert_eq!(result, Err(Rang::Deadline));
        assert!((timeout..LATE).contains(&after), "{timeout:?}: {after:?}");
    }
    // Pieces of work that end, one after another, until the deadline.
    let (begun, deadline) = (Instant::now(), Instant::now() + 50 * MS);
    let mut pieces = 0_u64;
    while alarm.guard(Instant::now(), deadline, std::pin::pin!(consume_budget())).await.is_ok() {
        pieces += 1;
        assert!(begun.elapsed() < LATE, "{pieces}");
    }
    assert!(pieces > 0 && begun.elapsed() >= 50 * MS);
}

/// A request's timer keeps running after the request, and must not interrupt later requests.
#[tokio::test]
async fn the_timer_of_an_earlier_request_interrupts_no_later_one() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    let short = tokio::time::sleep(5 * MS);
    assert_eq!(rang(&mut alarm, 60 * MS, short).await.0, Ok(()));
    // The old timer fires during this request.
    let long = tokio::time::sleep(150 * MS);
    assert_eq!(rang(&mut alarm, LATE, long).await.0, Ok(()));
    let (result, after) = rang(&mut alarm, 120 * MS, pending()).await;
    assert_eq!(result, Err(Rang::Deadline));
    assert!((120 * MS..LATE).contains(&after), "not early: {after:?}");
}

#[tokio::test]
async fn a_deadline_earlier_than_the_previous_one_is_kept() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    let short = tokio::time::sleep(5 * MS);
    assert_eq!(rang(&mut alarm, 2 * LATE, short).await.0, Ok(()));
    let (result, after) = rang(&mut alarm, 50 * MS, pending()).await;
    assert_eq!(result, Err(Rang::Deadline));
    assert!((50 * MS..LATE).contains(&after), "{after:?}");
}

/// Many requests are woken repeatedly and end; only the last request reaches its deadline.
#[tokio::test]
async fn a_deadline_is_kept_after_many_requests() {
    let gate = endless();
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    for _ in 0..200 {
        let work = async {
            tokio::task::yield_now().await;
            tokio::time::sleep(MS).await;
            tokio::task::yield_now().await;
        };
        let (result, _) = rang(&mut alarm, LATE, work).await;
        assert_eq!(result, Ok(()));
    }
    let (result, after) = rang(&mut alarm, 30 * MS, pending()).await;
    assert_eq!(result, Err(Rang::Deadline));
    assert!((30 * MS..LATE).contains(&after), "{after:?}");
}

#[tokio::test]
async fn the_end_of_the_round_cuts_requests_with_a_later_timeout() {
    let gate = gate("duration = \"1ms\"");
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    let (result, after) = rang(&mut alarm, 3 * LATE, pending()).await;
    assert_eq!(result, Err(Rang::Drained));
    // Answers may arrive for three more seconds.
    assert!(after >= Duration::from_millis(2_900) && after < LATE, "{after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halting_wakes_all_waiting_users() {
    let gate = std::sync::Arc::new(endless());
    // The first user waits for the first time. The second already has a timer and a registration.
    let users = [0, 20].map(|requests| {
        let gate = gate.clone();
        tokio::spawn(async move {
            let mut alarm = Alarm::new(gate.round_end(), Instant::now());
            for _ in 0..requests {
                let work = tokio::time::sleep(MS);
                assert_eq!(rang(&mut alarm, LATE, work).await.0, Ok(()));
            }
            rang(&mut alarm, LATE, pending()).await.0
        })
    });
    tokio::time::sleep(300 * MS).await;
    gate.halt();
    for user in users {
        assert_eq!(user.await.unwrap(), Err(Rang::Halted));
    }
    // A wait that begins after the halt ends at once.
    let mut alarm = Alarm::new(gate.round_end(), Instant::now());
    assert_eq!(rang(&mut alarm, LATE, pending()).await.0, Err(Rang::Halted));
}

#[tokio::test]
async fn a_wait_ends_at_its_time_or_when_the_round_is_halted() {
    let gate = endless();
    let begun = Instant::now();
    let mut alarm = Alarm::new(gate.round_end(), begun);
    assert!(alarm.sleep_until(begun + 50 * MS).await);
    assert!(begun.elapsed() >= 50 * MS);
    assert!(alarm.sleep_until(begun).await, "a time that is over");
    let halted = async {
        tokio::time::sleep(50 * MS).await;
        gate.halt();
    };
    let (waited, ()) = tokio::join!(alarm.sleep_until(begun + 2 * LATE), halted);
    assert!(!waited && begun.elapsed() < LATE);
}

#[tokio::test]
async fn work_with_grace_continues_until_its_end() {
    let gate = endless();
    gate.halt();
    let now = Instant::now();
    let mut alarm = Alarm::new(gate.round_end(), now);
    assert_eq!(rang(&mut alarm, LATE, tokio::time::sleep(5 * MS)).await.0, Err(Rang::Halted));
    alarm.grant(now + 200 * MS);
    assert_eq!(rang(&mut alarm, LATE, tokio::time::sleep(20 * MS)).await.0, Ok(()));
    assert_eq!(rang(&mut alarm, 20 * MS, pending()).await.0, Err(Rang::Deadline));
    let (result, _) = rang(&mut alarm, LATE, pending()).await;
    assert_eq!(result, Err(Rang::Drained));
    assert!((200 * MS..LATE).contains(&now.elapsed()), "{:?}", now.elapsed());
}
