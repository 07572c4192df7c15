//! Parses durations as people write them: `500ms`, `3s`, `1.5s`, `2m30s`.

use std::time::Duration;

use humantime::DurationError;

/// Longest duration that a scenario or an option can set.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Largest number of digits in the text of a duration: 24 hours have fewer digits, even in
/// microseconds. The limit also keeps [`humantime`] away from the ends of `u64`, where the sum of
/// two parts can panic.
const MOST_DIGITS: usize = 12;

/// Parses a duration of at most 24 hours, such as `2m30s`. The error is a message for the user.
///
/// ```
/// use loadgen_scenario::parse_duration;
/// use std::time::Duration;
///
/// assert_eq!(parse_duration("2m30s"), Ok(Duration::from_secs(150)));
/// assert_eq!(parse_duration("-3s"), Err("a duration cannot be negative".to_owned()));
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("the duration is empty; {HOW}"));
    }
    if text.starts_with(['-', '−']) {
        return Err("a duration cannot be negative".to_owned());
    }
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if text.chars().filter(char::is_ascii_digit).count() > MOST_DIGITS {
        return Err(format!("`{text}` has more than {MOST_DIGITS} digits"));
    }
    let duration = humantime::parse_duration(text).map_err(|error| explain(text, &error))?;
    if duration > LONGEST {
        return Err(format!("`{text}` is longer than 24h"));
    }
    Ok(duration)
}

const HOW: &str = "write a number and its unit, such as 500ms, 3s or 2m30s";

fn explain(text: &str, error: &DurationError) -> String {
    match error {
        DurationError::UnknownUnit { unit, .. } if unit.is_empty() => {
            format!("`{text}` has no unit; did you mean `{text}s`?")
        }
        DurationError::UnknownUnit { unit, .. } => {
            format!("`{unit}` is not a unit of time; use ms, s, m or h")
        }
        _ => format!("`{text}` is not a duration; {HOW}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_notations_of_durations_are_read() {
        let cases = [
            ("0s", 0),
            ("0", 0),
            ("500ms", 500),
            ("1.5s", 1_500),
            (" 3s ", 3_000),
            ("2m30s", 150_000),
            ("24h", 86_400_000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_refused_with_a_reason() {
        let messages: Vec<String> = ["", "-3s", "10", "3 sx", "soon", "25h", "1s 1000000000000ms"]
            .iter()
            .map(|text| parse_duration(text).unwrap_err())
            .collect();
        assert_eq!(
            messages,
            [
                "the duration is empty; write a number and its unit, such as 500ms, 3s or 2m30s",
                "a duration cannot be negative",
                "`10` has no unit; did you mean `10s`?",
                "`sx` is not a unit of time; use ms, s, m or h",
                "`soon` is not a duration; write a number and its unit, such as 500ms, 3s or 2m30s",
                "`25h` is longer than 24h",
                "`1s 1000000000000ms` has more than 12 digits",
            ]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics_or_exceeds_the_limit(text in "[0-9.smhdwy µ-]{0,40}|\\PC{0,20}") {
            if let Ok(duration) = parse_duration(&text) {
                prop_assert!(duration <= LONGEST);
            }
        }
    }
}
