//! Faults of `[thresholds]`.

use super::message;

/// Returns the message for a scenario with a step
/// `redis3` that is valid except for these thresholds.
fn thresholds(lines: &str) -> String {
    message(&format!("[[step]]\nname = \"redis3\"\nget = \"/\"\n\n[thresholds]\n{lines}\n"))
}

faults! {
    threshold_of_unknown_step: thresholds("\"redis.p99\" = \"< 1s\"");
    threshold_of_unknown_metric: thresholds("\"redis3.eror_rate\" = \"< 1%\"\nredis3 = \"< 1s\"");
    threshold_without_quotes: thresholds("redis3.p99.9 = \"< 1s\"");
    percentile_out_of_range: thresholds("p100 = \"< 1s\"\n\"redis3.p0\" = \"< 1s\"");
    percentage_over_100: thresholds("error_rate = \"< 101%\"");
    negative_percentage: thresholds("error_rate = \"< -1%\"");
    negative_latency: thresholds("p99 = \"< -1ms\"");
    threshold_of_a_counter_without_a_reader: thresholds("\"counter.items\" = \"> 5\"");
    threshold_of_unknown_counter: message("[[step]]\nget = \"/\"\ncounters = { items = \"/n\" }\n\n\
        [thresholds]\n\"counter.itms\" = \"> 5\"\n\"counter.items\" = \"> 1%\"\n");
    threshold_of_a_stream_without_one: thresholds("\"redis3.gap.p99\" = \"< 1ms\"\nevent_rate = \"> 1\"");
    threshold_of_the_first_byte_of_iterations: thresholds("\"iteration.ttfb.p99\" = \"< 1ms\"");
    threshold_without_operator: thresholds("rate = \"500\"\np99 = 100");
}
