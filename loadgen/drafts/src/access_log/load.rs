//! `[load]`: the recorded rate over time, or a few users if the log has no times.

use std::time::Duration;

use loadgen_text::{count, duration, precise, tenths};

use super::Options;
use super::sessions::People;
use super::tally::Tally;
use super::timeline::Stage;
use crate::{DraftError, Entry, Value};

/// Time over which a load runs through a longer log, unless the options say otherwise.
const USUAL: Duration = Duration::from_secs(600);

/// Longest load of a scenario.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Shortest log whose rate says something, in seconds.
const SHORTEST_LOG: i64 = 60;

/// Highest rate of a scenario.
const HIGHEST: f64 = 10_000_000.0;

/// Checks the options.
pub(super) fn check(options: &Options) -> Result<(), DraftError> {
    if !(0.001..=1_000.0).contains(&options.speed) {
        let message = format!("a speed of {} is out of range", options.speed);
        return Err(DraftError::new(message, "use a speed from 0.001 to 1,000; 1 is as recorded"));
    }
    match options.duration {
        Some(length) if !(Duration::from_secs(1)..=LONGEST).contains(&length) => {
            let message = format!("a load of {} is out of range", duration(length));
            Err(DraftError::new(message, "use a duration from 1s to 24h"))
        }
        _ => Ok(()),
    }
}

/// Returns the keys of `[load]`, and sentences about them.
pub(super) fn entries(
    tally: &mut Tally,
    options: &Options,
) -> Result<(Vec<Entry>, Vec<String>), DraftError> {
    let timeline = &mut tally.timeline;
    let span = timeline.span();
    if span < SHORTEST_LOG {
        return Ok(without_times(span, options));
    }
    let recorded = Duration::from_secs(span.unsigned_abs());
    let length = options.duration.unwrap_or(recorded.min(USUAL));
    let stages = timeline.stages(length, options.speed);
    let highest = stages.iter().map(|stage| stage.rate).fold(0.0, f64::max);
    if highest > HIGHEST {
        let message = format!("the load would have {} requests/s", precise(highest));
        return Err(DraftError::new(
            message,
            "use a lower speed: a scenario has at most 10,000,000",
        ));
    }
    let (peak, width) = timeline.peak();
    let within = match width {
        1 => "within a second".to_owned(),
        _ => format!("over {}", duration(Duration::from_secs(width.unsigned_abs()))),
    };
    let rates = format!(
        "The requests that count came at {}/s on average, and at most at {}/s {within}.",
        precise(timeline.mean()),
        precise(peak)
    );
    let speed = match options.speed {
        1.0 => "at the recorded rates".to_owned(),
        speed => format!("at {} times the recorded rates", precise(speed)),
    };
    let total = timeline.mean() * length.as_secs_f64() * options.speed;
    let course = match (length.cmp(&recorded), duration(recorded)) {
        (std::cmp::Ordering::Equal, recorded) => {
            format!(
                "The load follows the {recorded} of the log, {speed}: {} in all.",
                about_count(total)
            )
        }
        (_, recorded) => format!(
            "The load runs through the {recorded} of the log in {}, {speed}: up to {} requests/s, {} in all.",
            duration(length),
            precise(highest),
            about_count(total)
        ),
    };
    let mut about = vec![rates, course];
    let mut list = Entry::new("stages", stages.iter().map(table).collect::<Vec<Value>>());
    list.about.clone_from(&about);
    let mut arrivals = Entry::new("arrivals", "poisson");
    arrivals.about.push("People come at random times, not at even intervals.".to_owned());
    let mut model = Entry::new("model", "open");
    let people = tally.sessions.people(tally.counted, span);
    if let Some(people) = people {
        let [they, instead] = about_people(&people, length, options.speed);
        model.about.extend([they.clone(), instead]);
        about.push(they);
    }
    Ok((vec![model, arrivals, list], about))
}

/// Says how the people of the log behave, and how to load by them instead of by rates.
fn about_people(people: &People, length: Duration, speed: f64) -> [String; 2] {
    let pause = tenths(people.pause_s);
    let think_time = written(Duration::from_millis((people.pause_s * 10.0).round() as u64 * 100));
    // Requests without a name come from people, too.
    let users = (people.at_once * speed / people.named).round().max(1.0) as u64;
    [
        format!(
            "The log names {} people. In a session (with pauses of up to half an hour), each waits {pause} s on \
             average between two requests, and {} of them are there at a time.",
            count(people.number as u64),
            tenths(people.at_once)
        ),
        format!(
            "To send users, about as many as make these requests, instead of rates, replace `model`, `arrivals` and `stages` by \
             `users = {users}`, `think_time = {{ mean = \"{think_time}\" }}` and `duration = \"{}\"`.",
            written(length)
        ),
    ]
}

/// Returns a number of requests, to three significant digits.
fn about_count(requests: f64) -> String {
    let rounded = format!("{requests:.2e}").parse().unwrap_or(requests);
    format!("about {}", count(rounded as u64))
}

fn without_times(span: i64, options: &Options) -> (Vec<Entry>, Vec<String>) {
    let reason = match span {
        0 => "The log has no times".to_owned(),
        span => format!("The log has only {span} s"),
    };
    let about = vec![format!("{reason}: the number of users is made up.")];
    let mut users = Entry::new("users", 10);
    users.about.clone_from(&about);
    let length = options.duration.unwrap_or(Duration::from_secs(30));
    (vec![users, Entry::new("duration", written(length))], about)
}

fn table(stage: &Stage) -> Value {
    let rate = match stage.rate {
        rate if rate.fract() == 0.0 => Value::Integer(rate as i64),
        rate => Value::Float(rate),
    };
    Value::table([("rate", rate), ("over", Value::from(written(stage.over)))])
}

/// Returns a duration as scenarios have it, rounded down to milliseconds.
fn written(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    if milliseconds.is_multiple_of(1_000) {
        format!("{}s", milliseconds / 1_000)
    } else {
        format!("{}s", milliseconds as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::draft;
    use crate::access_log::testing::{combined, drafted};
    use crate::testing::checked_with_rows;

    #[test]
    fn a_log_without_times_has_users() {
        let line = "INFO:     127.0.0.1:50020 - \"GET /items/1?page=2 HTTP/1.1\" 200 OK\n";
        let text = checked_with_rows(&drafted(&format!("INFO:     Started.\n{}", line.repeat(3))));
        assert!(text.contains("# The log has no times: the number of users is made up.\nusers = 10\nduration = \"30s\""), "{text}");
        assert!(text.contains("get = \"/items/1?page=2\"") && !text.contains("weight ="), "{text}");
    }

    #[test]
    fn the_pauses_of_people_are_said() {
        let log: String = (0..1_200).map(|n| combined(n / 4, "GET /a", 200)).collect();
        let anonymous = drafted(&log.replace(" - ann [", " - - ["));
        assert!(!anonymous.notes.join("\n").contains("people"));
        let people = ["ann", "bob", "eve", "joe", "zoe"];
        let lines = log.lines().zip(people.into_iter().cycle());
        let named: String =
            lines.map(|(line, name)| line.replace(" ann ", &format!(" {name} ")) + "\n").collect();
        let draft = drafted(&named);
        let said = "The log names 5 people. In a session (with pauses of up to half an hour), each waits 1.2 s \
                    on average between two requests, and 5 of them are there at a time.";
        assert!(draft.notes.join("\n").contains(said), "{}", draft.notes.join("\n"));
        let text = checked_with_rows(&draft);
        let text = text.replace("\n# ", " ");
        assert!(
            text.contains(
                "`users = 5`, `think_time = { mean = \"1.2s\" }` and `duration = \"300s\"`"
            ),
            "{text}"
        );
        assert!(!text.contains("zoe") && !text.contains("joe"), "{text}");
    }

    #[test]
    fn a_long_pause_is_a_duration_of_a_scenario() {
        let people = People { number: 7, pause_s: 1_234.56, at_once: 2.04, named: 0.5 };
        let [they, instead] = about_people(&people, Duration::from_secs(60), 3.0);
        assert!(they.contains("each waits 1,235 s") && they.contains("and 2 of them"), "{they}");
        assert!(
            instead.contains("`users = 12`, `think_time = { mean = \"1234.6s\" }`"),
            "{instead}"
        );
    }

    #[test]
    fn speed_and_duration_change_the_stages() {
        let log: String = (0..1_200).map(|n| combined(n / 4, "GET /a", 200)).collect();
        let stages = |options| {
            let draft = draft(log.as_bytes(), &options).unwrap();
            let text = checked_with_rows(&draft);
            let stages = text.lines().filter(|line| line.starts_with("  { rate"));
            (stages.map(str::to_owned).collect::<Vec<_>>(), draft.notes.join("\n"))
        };
        let (plain, notes) = stages(Options::default());
        assert_eq!(
            plain[..3],
            [
                "  { rate = 4, over = \"0s\" },",
                "  { rate = 4, over = \"6.25s\" },",
                "  { rate = 4, over = \"12.5s\" },"
            ]
        );
        assert!(
            notes.contains(
                "The load follows the 5m of the log, at the recorded rates: about 1,200 in all."
            ),
            "{notes}"
        );
        let (fast, notes) = stages(Options { speed: 2.5, duration: Some(Duration::from_secs(24)) });
        assert_eq!(
            fast[..3],
            [
                "  { rate = 10, over = \"0s\" },",
                "  { rate = 10, over = \"0.5s\" },",
                "  { rate = 10, over = \"1s\" },"
            ]
        );
        assert!(notes.contains("through the 5m of the log in 24s, at 2.5 times the recorded rates: up to 10 requests/s, about 240 in all."), "{notes}");
    }
}
