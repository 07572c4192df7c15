//! Streams: times of events within the promised 5 ms, and a reader that is starved on purpose.

use std::process::Stdio;
use std::time::Duration;

use loadgen::lab::cpus::pin_self;
use loadgen::measure::Counts;
use serde_json::json;

use super::bottleneck::{Spinner, renice_threads};
use crate::common::engine::{finish, hold, plan};
use crate::common::machine;
use crate::common::program::{Finished, Project};
use crate::common::streaming::{Events, Streaming};

const MS: Duration = Duration::from_millis(1);

/// Precision that is promised for the times of events.
const PROMISED: Duration = Duration::from_millis(5);

/// Twenty events, 50 ms apart, of which one is 500 ms late.
const ONE_LATE: Events = Events {
    count: 20,
    every: Duration::from_millis(50),
    late: Some((7, Duration::from_millis(500))),
};

/// Streams once by each of three users, and returns the counts beside the server's own figures: the
/// median and the longest time between two sends.
async fn streamed(transport: &str) -> (Counts, [Duration; 2]) {
    let server = Streaming::start(ONE_LATE);
    let text = format!(
        "load = {{ users = 3, iterations = 3 }}\nhttp = {{ transport = \"{transport}\" }}\n[[step]]\n\
         get = \"/\"\nexpect.stream = {{ events = 20, end = \"[DONE]\" }}\n"
    );
    let (series, finished) = finish(plan(&server.url, &text)).await;
    assert!(!finished.reading_lag.is_empty());
    let gaps = server.gaps();
    (hold(&series), [gaps[gaps.len() / 2], gaps[gaps.len() - 1]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_event_is_reported_within_five_milliseconds() {
    let _alone = machine::alone().await;
    for transport in ["http1", "reqwest"] {
        let mut off = Vec::new();
        // Other programs may delay the threads of this test. They do not delay each attempt.
        for _ in 0..5 {
            let (counts, sent) = streamed(transport).await;
            assert_eq!(counts.answered.len(), 3, "{:?}", counts.examples);
            let stream = counts.stream.unwrap();
            assert_eq!((stream.events, stream.first_event.len(), stream.gaps.len()), (60, 3, 57));
            let us = |us: Option<u64>| Duration::from_micros(us.unwrap());
            let read = [us(stream.gaps.quantile(0.5)), us(stream.gaps.max())];
            let first = us(stream.first_event.max());
            let is_within = |(read, sent): (Duration, Duration)| read.abs_diff(sent) <= PROMISED;
            let all = [(read[0], sent[0]), (read[1], sent[1]), (first, 50 * MS)];
            if all.into_iter().all(is_within)
                && is_within((sent[0], 50 * MS))
                && is_within((sent[1], 550 * MS))
            {
                off.clear();
                break;
            }
            off.push(all);
        }
        assert!(off.is_empty(), "{transport}: read and sent: {off:?}");
    }
}

#[test]
fn a_starved_reader_is_blamed_and_not_the_server() {
    let _alone = machine::alone_now();
    let allowed = loadgen::lab::cpus::available();
    let [cpu, _, ..] = allowed[..] else {
        return eprintln!("skipped: it takes a second CPU, on which the server is not starved");
    };
    let server = Streaming::start(Events { count: 20, every: 20 * MS, late: None });
    let project = Project::bare().file(
        "stream.toml",
        "[[step]]\nname = \"stream\"\nget = \"/\"\nexpect.stream = { events = 20, end = \"[DONE]\" }\n",
    );
    let arguments =
        ["-s=stream.toml", "--users=40", "--rounds=1", "--warmup=500ms", "--duration=3s"];
    let mut command =
        project.command(&[&arguments[..], &["--url", &server.url, "--json"]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // The child runs where the thread that starts it may run.
    let child = std::thread::spawn(move || {
        pin_self(&[cpu]).unwrap();
        command.spawn().unwrap()
    });
    let child = child.join().unwrap();
    std::thread::sleep(200 * MS);
    renice_threads(child.id(), 19);
    let spinner = Spinner::on(&[cpu]);
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    drop(spinner);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let verdicts = document["verdicts"].as_array().unwrap();
    let lag = &document["targets"][0]["rounds"][0]["reading_lag_us"];
    let slow = verdicts.iter().find(|it| it["kind"] == json!("slow_reader"));
    let blamed = slow.and_then(|it| it["message"].as_str()).unwrap_or_default();
    assert!(
        blamed.starts_with("loadgen read streams late, in 1 of 1 round"),
        "{lag}: {verdicts:#?}"
    );
    // The server sent on time.
    let gaps = server.gaps();
    assert!(gaps[gaps.len() / 2] < 25 * MS, "{:?}", gaps[gaps.len() / 2]);
}
