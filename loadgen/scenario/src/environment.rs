//! Values from the environment, which are sent but never shown.

use std::collections::BTreeSet;

use super::data::Data;
use super::model::{Scenario, Step};
use super::secret::Secret;
use super::template::{Piece, Template};

/// Function that returns the value of an environment variable; `None` if the variable is not set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads an environment variable of this process; returns `None` if the variable is not set or not
/// Unicode.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Scenario {
    /// Returns the names of the environment variables in the scenario's requests.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<&str> {
        self.environment().map(|(name, _)| name).collect()
    }

    pub(super) fn environment(&self) -> impl Iterator<Item = (&str, Option<&Secret>)> {
        self.all_steps().flat_map(Step::templates).flat_map(Template::variables)
    }
}

impl Template {
    /// Returns the environment variables in the template, each with its value if the environment
    /// was read.
    pub(super) fn variables(&self) -> Vec<(&str, Option<&Secret>)> {
        let pieces = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Variable { name, value, .. } => vec![(name.as_str(), value.as_ref())],
            Piece::Repeat { inner, .. } | Piece::Once { inner, .. } => inner.variables(),
            Piece::Credentials { user, password } => {
                [user.variables(), password.variables()].concat()
            }
            _ => Vec::new(),
        });
        pieces.collect()
    }

    /// Returns the value of the environment variable that the template consists of; `Some(None)` if the
    /// environment was not read, and `None` if the template is anything else.
    pub(super) fn only_variable(&self) -> Option<Option<&str>> {
        match self.pieces.as_slice() {
            [Piece::Variable { value, .. }] => Some(value.as_ref().map(Secret::reveal)),
            _ => None,
        }
    }

    /// Returns the users and passwords in the template.
    pub(super) fn credentials(&self) -> impl Iterator<Item = (&Template, &Template)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Credentials { user, password } => Some((user, password)),
            _ => None,
        })
    }

    /// Renders the text of the next request for display. Environment variables, credentials and
    /// placeholders without a value stay as written. A repeated part shows the values of its environment
    /// variables, so the caller must still pass the text to [`Secrets::hidden`](super::Secrets::hidden).
    pub fn shown(&self, data: &mut Data) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            let before = out.len();
            let secret = matches!(piece, Piece::Variable { .. } | Piece::Credentials { .. });
            if secret || piece.render(data, &mut out).is_err() {
                out.truncate(before);
                out.push_str(&piece.to_string());
            }
        }
        out
    }

    /// Returns the first environment variable whose value is not allowed at the variable's position
    /// in the request.
    pub(super) fn misplaced_variable(&self) -> Option<&str> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Variable { name, value: Some(value), place } => place
                .push(value.reveal(), name, &mut String::new())
                .is_err()
                .then_some(name.as_str()),
            _ => None,
        })
    }

    /// Returns this template with environment variables replaced by their values, for requests that
    /// are sent many times. The result must never be shown.
    pub fn revealed(self) -> Self {
        let mut revealed = Self::default();
        for piece in self.pieces {
            revealed.push(match piece {
                Piece::Variable { name, value: Some(value), place } => {
                    let mut text = String::new();
                    match place.push(value.reveal(), &name, &mut text) {
                        Ok(()) => Piece::Literal(text),
                        Err(_) => Piece::Variable { name, value: Some(value), place },
                    }
                }
                Piece::Repeat { count, separator, inner } => {
                    Piece::Repeat { count, separator, inner: inner.revealed() }
                }
                Piece::Once { key, inner } => Piece::Once { key, inner: inner.revealed() },
                Piece::Credentials { user, password } => {
                    let (user, password) = (user.revealed(), password.revealed());
                    let piece = Piece::Credentials { user, password };
                    encoded(&piece).map_or(piece, Piece::Literal)
                }
                piece => piece,
            });
        }
        revealed
    }
}

/// Returns the text that `piece` always renders to, if it has credentials without generated parts.
fn encoded(piece: &Piece) -> Option<String> {
    let Piece::Credentials { user, password } = piece else { return None };
    user.as_constant().and(password.as_constant())?;
    let mut text = String::new();
    piece.render(&mut Data::new(0, 0), &mut text).ok().map(|()| text)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{parse, parse_to_run};

    pub const TEXT: &str = r#"[[step]]
post = "/{{ env PLACE }}"
headers = { authorization = "Bearer {{ env TOKEN }}" }
body = { repeat = 2, json = { key = "{{ env TOKEN }}", at = "{{ env PLACE }}" } }"#;

    pub fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("to\"ken-1234".to_owned()),
            "PLACE" => Some("a/b c".to_owned()),
            _ => None,
        }
    }

    pub fn scenario() -> Scenario {
        parse_to_run("test", "test.toml", TEXT, &environment).unwrap()
    }

    pub fn sent(template: &Template) -> Option<String> {
        let mut out = String::new();
        template.render(&mut Data::new(1, 1), &mut out).ok().map(|()| out)
    }

    #[test]
    fn a_value_is_escaped_for_its_position() {
        let step = scenario().steps.remove(0);
        let body = step.body.unwrap().texts().next().unwrap().clone();
        for (template, expected) in [
            (step.path, "/a%2Fb%20c"),
            (step.headers[0].1.clone(), "Bearer to\"ken-1234"),
            (body, r#"[{"at":"a/b c","key":"to\"ken-1234"},{"at":"a/b c","key":"to\"ken-1234"}]"#),
        ] {
            let as_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
            let rendered = sent(&template).unwrap();
            assert!(rendered == expected || as_json(&rendered) == as_json(expected), "{rendered}");
            assert_eq!(sent(&template.clone().revealed()), Some(rendered));
            assert!(!format!("{template:?} {template}").contains("1234"), "{template:?}");
        }
    }

    #[test]
    fn a_scenario_without_an_environment_can_be_explained_but_not_sent() {
        let scenario = parse("test", "test.toml", TEXT).unwrap();
        assert_eq!(scenario.variables(), BTreeSet::from(["PLACE", "TOKEN"]));
        assert_eq!(sent(&scenario.steps[0].path), None);
        assert_eq!(scenario.steps[0].path.to_string(), "/{{ env PLACE }}");
    }

    #[test]
    fn values_survive_serialization() {
        let bytes = rmp_serde::to_vec_named(&scenario()).unwrap();
        assert_eq!(rmp_serde::from_slice::<Scenario>(&bytes).unwrap(), scenario());
    }
}
