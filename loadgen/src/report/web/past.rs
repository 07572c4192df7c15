//! Holds what happened so far in rounds, as texts in JSON, in the order in which it happened.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::report::view::{PlannedLoad, Second};

/// Greatest number of entries that are retained: one for each second of five hours, about 1 MB.
const MOST: usize = 20_000;

/// Something that happened in a round.
#[derive(Debug)]
pub(in crate::report) enum Entry {
    /// A round began.
    Round {
        /// Number of the round, counted from 1.
        number: u32,
        /// Name of the target.
        target: String,
    },
    /// The next second of the round is over. Holds the load that was planned for it, if known.
    Second(Second, Option<PlannedLoad>),
    /// The round is over.
    Over {
        /// Answers per second as expected, while the full load was held.
        rate_per_s: f64,
        /// Number of failed requests.
        failed: u64,
    },
}

impl Entry {
    fn json(&self) -> Value {
        match self {
            Self::Round { number, target } => json!({ "round": [number, target] }),
            Self::Second(second, load) => {
                let Second { answered, failed, p50_us, p95_us, p99_us } = second;
                let load = match load {
                    Some(PlannedLoad::Users(users)) => json!(users),
                    Some(PlannedLoad::Rate(per_s)) => json!(per_s),
                    None => Value::Null,
                };
                json!({ "second": [answered, failed, p50_us, p95_us, p99_us, load] })
            }
            Self::Over { rate_per_s, failed } => json!({ "over": [rate_per_s, failed] }),
        }
    }
}

/// The latest entries, each with its number.
#[derive(Debug, Default)]
pub(super) struct Past {
    next: usize,
    entries: VecDeque<(usize, String)>,
}

impl Past {
    pub(super) fn add(&mut self, entry: &Entry) {
        self.entries.push_back((self.next, entry.json().to_string()));
        self.next += 1;
        if self.entries.len() > MOST {
            // The rounds stay, so that no second belongs to another round.
            let is_second = |(_, entry): &(usize, String)| entry.starts_with("{\"second\"");
            let second = self.entries.iter().position(is_second);
            self.entries.remove(second.unwrap_or(0));
        }
    }

    /// Returns the entries from that of this number on, as JSON, and the number of the next entry.
    pub(super) fn since(&self, number: usize) -> (String, usize) {
        let first = self.entries.partition_point(|(of, _)| *of < number);
        let entries: Vec<&str> =
            self.entries.range(first..).map(|(_, text)| text.as_str()).collect();
        (format!("[{}]", entries.join(",")), self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_told_once() {
        let mut past = Past::default();
        past.add(&Entry::Round { number: 1, target: "a \"b\"".to_owned() });
        let (told, next) = past.since(0);
        assert_eq!((told.as_str(), next), (r#"[{"round":[1,"a \"b\""]}]"#, 1));
        let second = Second { answered: 7, p50_us: Some(5), ..Second::default() };
        past.add(&Entry::Second(second, Some(PlannedLoad::Users(10))));
        past.add(&Entry::Over { rate_per_s: 6.5, failed: 2 });
        let told = r#"[{"second":[7,0,5,null,null,10]},{"over":[6.5,2]}]"#;
        assert_eq!(past.since(next), (told.to_owned(), 3));
        assert_eq!(past.since(3), ("[]".to_owned(), 3));
        // A viewer of an earlier command.
        assert_eq!(past.since(99), ("[]".to_owned(), 3));
    }

    #[test]
    fn a_long_run_keeps_its_rounds_and_its_latest_seconds() {
        let mut past = Past::default();
        past.add(&Entry::Round { number: 1, target: "a".to_owned() });
        for answered in 0..MOST as u64 + 10 {
            past.add(&Entry::Second(Second { answered, ..Second::default() }, None));
        }
        let (told, next) = past.since(0);
        assert!(told.starts_with(r#"[{"round":[1,"a"]},{"second":[11,"#), "{}", &told[..60]);
        assert_eq!(next, MOST + 11);
        // Whoever has the round does not get it again, though seconds before it are gone.
        assert!(past.since(1).0.starts_with(r#"[{"second":[11,"#));
        assert_eq!(past.since(MOST + 10).0, r#"[{"second":[20009,0,null,null,null,null]}]"#);
    }
}
