//! Tests journeys: users take flows by their weights, and whole iterations are measured.

use std::time::Duration;

use loadgen::engine::Share;
use loadgen::measure::{Counts, ErrorKind, Phase, Series};

use crate::common::Counting;
use crate::common::engine::{finish, plan};

fn flows(series: &Series) -> Vec<Counts> {
    Series::flows_of([series], Phase::Hold)
}

fn steps(series: &Series) -> Vec<u64> {
    series.phase(Phase::Hold).iter().map(Counts::requests).collect()
}

const BROWSE_AND_BUY: &str = "[[flow]]\nname = \"browse\"\nweight = 80\n\
                              [[flow.step]]\nname = \"list\"\nget = \"/\"\nrepeat = 3\n\
                              [[flow]]\nname = \"buy\"\nweight = 20\n\
                              [[flow.step]]\nname = \"cart\"\nget = \"/\"\n\
                              [[flow.step]]\nname = \"order\"\nget = \"/\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn each_iteration_takes_a_flow_by_its_weight() {
    let server = Counting::start().await;
    let text = format!("load = {{ users = 4, iterations = 2000 }}\n{BROWSE_AND_BUY}");
    let (series, _) = finish(plan(&server.url, &text)).await;
    let counts: Vec<u64> = flows(&series).iter().map(Counts::requests).collect();
    assert_eq!(counts.iter().sum::<u64>(), 2_000);
    // Six standard deviations around 400.
    assert!((293..=507).contains(&counts[1]), "{counts:?}");
    assert_eq!(steps(&series), [3 * counts[0], counts[1], counts[1]]);
    assert_eq!(server.requests(), steps(&series).iter().sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn users_may_keep_a_flow() {
    let server = Counting::start().await;
    let load = "assign = \"user\"\nload = { users = 5, iterations_per_user = 10 }\n";
    let (mut browsing, mut buying) = (0, 0);
    // A user has the same flow in whichever process it runs.
    for index in 0..2 {
        let mut plan = plan(&server.url, &(load.to_owned() + BROWSE_AND_BUY));
        plan.share = Share { index, of: 2 };
        let (series, _) = finish(plan).await;
        let of = flows(&series);
        browsing += of[0].requests();
        buying += of[1].requests();
    }
    assert_eq!((browsing, buying), (40, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_lasts_from_its_first_request_to_its_last_response() {
    let server = Counting::start().await;
    let text = "load = { users = 2, iterations = 4 }\n\
                [[step]]\nname = \"a\"\nget = \"/slow/40\"\nthink_time = \"700ms\"\n\
                [[step]]\nname = \"b\"\nget = \"/slow/60\"\n";
    let (series, _) = finish(plan(&server.url, text)).await;
    let of = flows(&series);
    assert_eq!(of[0].requests(), 4);
    let least = of[0].answered.min().unwrap();
    assert!((100_000..700_000).contains(&least), "{least} µs, which leave out the think time");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_open_model_an_iteration_begins_when_it_was_planned() {
    let server = Counting::start().await;
    // One user needs 60 ms for each iteration, and another is due every 20 ms.
    let text = "load = { model = \"open\", rate = 100, users = 1, duration = \"1s\" }\n\
                [[step]]\nname = \"a\"\nget = \"/slow/30\"\n[[step]]\nname = \"b\"\nget = \"/slow/30\"\n";
    let (series, _) = finish(plan(&server.url, text)).await;
    let longest = flows(&series)[0].answered.max().unwrap();
    assert!(longest > 400_000, "{longest} µs, which include the wait for the user");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_request_fails_its_iteration() {
    let server = Counting::start().await;
    for (on_error, order) in [("next_iteration", 0), ("continue", 30)] {
        let text = format!(
            "on_error = \"{on_error}\"\nload = {{ users = 3, iterations = 30 }}\n\
             [[step]]\nname = \"cart\"\nget = \"/status/404\"\n[[step]]\nname = \"order\"\nget = \"/\"\n"
        );
        let (series, _) = finish(plan(&server.url, &text)).await;
        let of = &flows(&series)[0];
        assert_eq!((of.requests(), of.failures(), of.answered.len()), (30, 30, 0));
        assert_eq!(of.examples[&ErrorKind::Status], "the step `cart` failed");
        assert_eq!(steps(&series), [30, order]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_left_out_without_its_condition() {
    let server = Counting::start().await;
    // The first iteration of each user logs in, the others have the value.
    let text = "load = { users = 3, iterations_per_user = 10 }\n\
                [[step]]\nname = \"login\"\nget = \"/\"\nwhen = { absent = \"kind\" }\n\
                capture = { kind = { header = \"content-length\" } }\n\
                [[step]]\nname = \"never\"\nget = \"/\"\nwhen = { equal = { kind = \"none\" } }\n\
                [[step]]\nname = \"always\"\nget = \"/\"\nwhen = { present = \"kind\" }\n\
                capture = { other = { header = \"x-none\", optional = true } }\n\
                [[step]]\nname = \"optional\"\nget = \"/\"\nwhen = { present = \"other\" }\n";
    let (series, _) = finish(plan(&server.url, text)).await;
    let mut of_steps = steps(&series);
    of_steps.resize(4, 0);
    assert_eq!(of_steps, [3, 0, 30, 0]);
    assert_eq!(flows(&series)[0].answered.len(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_without_a_request_let_the_round_end() {
    let server = Counting::start().await;
    let text = "load = { users = 3, duration = \"300ms\" }\n\
                [[step]]\nname = \"a\"\nget = \"/\"\nwhen = { equal = { v = \"none\" } }\n\
                capture = { v = { header = \"content-length\" } }\n";
    let mut plan = plan(&server.url, text);
    plan.warmup = Duration::from_millis(50);
    let (series, _) = finish(plan).await;
    assert_eq!((server.requests(), flows(&series).len()), (0, 0));
}
