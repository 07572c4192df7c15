//! Returns what a page calls a scenario.

use crate::record::{FROM_URL, SentRecord};

/// Returns the title of a scenario: its name, or the only step of one that was made from a URL, because all of those
/// have the same name.
pub fn title<'a>(scenario: &'a str, steps: impl IntoIterator<Item = &'a str>) -> &'a str {
    let mut steps = steps.into_iter();
    match (scenario, steps.next(), steps.next()) {
        (FROM_URL, Some(only), None) => only,
        _ => scenario,
    }
}

/// Returns the title of a scenario that sent this, if that is known.
pub fn title_of<'a>(scenario: &'a str, sent: Option<&'a SentRecord>) -> &'a str {
    title(scenario, sent.into_iter().flat_map(|sent| sent.steps.keys().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_from_a_url_is_called_by_its_request() {
        assert_eq!(title("url", ["GET /a"]), "GET /a");
        assert_eq!(title("url", ["GET /a", "GET /b"]), "url");
        assert_eq!(title("redis3", ["GET /a"]), "redis3");
        assert_eq!(title_of("url", None), "url");
    }
}
