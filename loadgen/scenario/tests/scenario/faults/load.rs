//! Faults of `[load]`.

use super::message;

/// Returns the message for a scenario that is valid except for this `[load]`.
fn load_table(lines: &str) -> String {
    message(&format!("[load]\n{lines}\n\n[[step]]\nget = \"/\"\n"))
}

faults! {
    unknown_key_near: load_table("usres = 5");
    unknown_key_far: load_table("pacing = 5");

    zero_users: load_table("users = 0");
    too_many_users: load_table("users = 1_000_001");
    users_of_a_wrong_type: load_table("users = \"100\"");
    rate_in_the_closed_model: load_table("users = 5\nrate = 500\narrivals = \"even\"");
    no_rate_in_the_open_model: load_table("model = \"open\"\nduration = \"3s\"");
    rate_of_zero: load_table("model = \"open\"\nrate = 0");
    rate_as_a_text: load_table("model = \"open\"\nrate = \"500/s\"");
    incomplete_think_time: load_table("think_time = { min = \"1s\" }");
    think_time_of_an_empty_range: load_table("think_time = { min = \"3s\", max = \"1s\" }");
    unknown_arrivals: load_table("model = \"open\"\nrate = 1\narrivals = \"poison\"");
    unknown_model: load_table("model = \"opne\"\nrate = 1");
    iterations_per_user_in_the_open_model:
        load_table("model = \"open\"\nrate = 1\niterations_per_user = 3");
    stages_beside_users_and_duration:
        load_table("users = 5\nduration = \"3s\"\nstages = [{ users = 5, over = \"1s\" }]");
    stages_without_load: load_table("stages = [{ users = 0, over = \"1s\" }]");
    stages_of_the_other_model: load_table("stages = [{ rate = 5, over = \"1s\" }, { users = 1 }]");
    stages_longer_than_a_day:
        load_table("stages = [{ users = 1, over = \"20h\" }, { users = 1, over = \"20h\" }]");
    negative_duration: load_table("duration = \"-3s\"");
    duration_without_unit: load_table("duration = \"10\"");
    duration_as_a_number: load_table("duration = 10");
    duration_of_zero: load_table("duration = \"0s\"");
    two_ends: load_table("duration = \"3s\"\niterations = 100");
    load_longer_than_a_day: load_table("ramp_up = \"1h\"\nduration = \"24h\"");
}
