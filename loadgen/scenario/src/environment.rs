//! Values from the environment, which are sent but never shown.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::data::Data;
use super::escape::Position;
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

    fn environment(&self) -> impl Iterator<Item = (&str, Option<&Secret>)> {
        self.steps.iter().flat_map(Step::templates).flat_map(Template::variables)
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
    fn credentials(&self) -> impl Iterator<Item = (&Template, &Template)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Credentials { user, password } => Some((user, password)),
            _ => None,
        })
    }

    /// Renders the text of the next request for display. Environment variables, credentials and
    /// placeholders without a value stay as written. A repeated part shows the values of its environment
    /// variables, so the caller must still pass the text to [`Secrets::hidden`].
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

/// Secret values to hide in text, in every form in which a server may send them back.
#[derive(Default)]
pub struct Secrets {
    forms: Vec<Form>,
    /// Whether each user has credentials of its own, so that all credentials of HTTP Basic
    /// authentication are hidden.
    hides_basic: bool,
}

/// One form of a secret value to find in text, and the text to show instead.
struct Form {
    text: String,
    shown: String,
}

/// Length of the shortest value to hide, in bytes. A shorter value is no secret, and would match
/// everywhere.
const SHORTEST: usize = 4;

impl Secrets {
    /// Collects the values of a scenario's environment variables, and its credentials.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let mut forms = Vec::new();
        let variables = scenario.environment().filter_map(|(name, value)| {
            Some((value?.reveal().to_owned(), format!("{{{{ env {name} }}}}")))
        });
        let credentials = scenario.steps.iter().flat_map(Step::templates);
        let credentials: Vec<_> = credentials.flat_map(Template::credentials).collect();
        let is_own = |it: &(&Template, &Template)| {
            it.0.as_constant().is_none() || it.1.as_constant().is_none()
        };
        let hides_basic = credentials.iter().any(is_own);
        let credentials = credentials.into_iter().flat_map(of_credentials);
        for (value, shown) in variables.chain(credentials) {
            if value.len() < SHORTEST {
                continue;
            }
            let written = |place: Position| {
                let mut text = String::new();
                place.push(&value, "", &mut text).ok().map(|()| text)
            };
            let in_one_line = value.replace(char::is_control, " ");
            let places = [Position::Text, Position::Path, Position::Json, Position::Quoted];
            let texts = places.map(written);
            for text in texts.into_iter().flatten().chain([in_one_line]) {
                forms.push(Form { text, shown: shown.clone() });
            }
        }
        // Longest first, because a form may be part of another form.
        forms.sort_by_key(|form| std::cmp::Reverse(form.text.len()));
        forms.dedup_by(|a, b| a.text == b.text);
        Self { forms, hides_basic }
    }

    /// Replaces secrets in a text that may quote a server, so that the text can be shown and saved.
    #[must_use]
    pub fn hidden<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = text.into();
        if self.forms.is_empty() && !self.hides_basic {
            return text;
        }
        let forms = self.forms.iter();
        let whole =
            forms.fold(text.into_owned(), |text, form| text.replace(&form.text, &form.shown));
        let whole = if self.hides_basic { without_basic(&whole) } else { whole };
        whole.split_inclusive(CUT).map(|part| self.without_beginning(part)).collect()
    }

    /// Replaces the beginning of a secret value at the end of `part`, if [`CUT`] marks `part` as
    /// cut short.
    fn without_beginning(&self, part: &str) -> String {
        let Some(quote) = part.strip_suffix(CUT) else { return part.to_owned() };
        for Form { text, shown } in &self.forms {
            let beginnings = text.char_indices().map(|(end, _)| &text[..end]).rev();
            let mut beginnings = beginnings.take_while(|beginning| beginning.len() >= SHORTEST);
            if let Some(rest) = beginnings.find_map(|beginning| quote.strip_suffix(beginning)) {
                return format!("{rest}{shown}{CUT}");
            }
        }
        part.to_owned()
    }
}

/// Replaces the credentials of HTTP Basic authentication (RFC 7617) in a text.
fn without_basic(text: &str) -> String {
    const SCHEME: &str = "basic ";
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    // Lower case has the same length in ASCII.
    let lower = text.to_ascii_lowercase();
    let (mut out, mut from) = (String::new(), 0);
    while let Some(at) = lower[from..].find(SCHEME) {
        let begin = from + at + SCHEME.len();
        let rest = &text[begin..];
        let end = begin + rest.find(|c: char| !is_base64(c)).unwrap_or(rest.len());
        out += &text[from..begin];
        // Credentials that are hidden already have a colon.
        match text[end..].starts_with(':') || end == begin {
            true => out += &text[begin..end],
            false => out.push_str("(credentials)"),
        }
        from = end;
    }
    out + &text[from..]
}

/// Returns the secrets of a user and a password in the scenario, each with the text to show instead:
/// the text that is sent, and the password if the file itself has it.
fn of_credentials((user, password): (&Template, &Template)) -> Vec<(String, String)> {
    let piece = Piece::Credentials { user: user.clone(), password: password.clone() };
    let shown = piece.to_string();
    let sent = Template { pieces: vec![piece] }.revealed();
    let sent = sent.as_constant().map(|text| (text.to_owned(), shown));
    let written = password.as_constant().map(|text| (text.to_owned(), "(password)".to_owned()));
    sent.into_iter().chain(written).collect()
}

/// Character that ends a quote that was cut short.
const CUT: char = '…';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, parse_to_run};

    const TEXT: &str = r#"[[step]]
post = "/{{ env PLACE }}"
headers = { authorization = "Bearer {{ env TOKEN }}" }
body = { repeat = 2, json = { key = "{{ env TOKEN }}", at = "{{ env PLACE }}" } }"#;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("to\"ken-1234".to_owned()),
            "PLACE" => Some("a/b c".to_owned()),
            _ => None,
        }
    }

    fn scenario() -> Scenario {
        parse_to_run("test", "test.toml", TEXT, &environment).unwrap()
    }

    fn sent(template: &Template) -> Option<String> {
        let mut out = String::new();
        template.render(&mut Data::new(1, 1), &mut out).ok().map(|()| out)
    }

    #[test]
    fn credentials_of_each_user_are_hidden_in_any_text() {
        let text = "[[step]]\nget = \"/\"\n\
                    auth = { user = \"u-{{ user }}\", password = \"{{ env TOKEN }}\" }";
        let scenario = parse_to_run("test", "test.toml", text, &environment).unwrap();
        let hidden = Secrets::of(&scenario);
        let said = "got 401: {\"authorization\": \"Basic dS0xOnRvImtlbi0xMjM0\"}, basic auth";
        let shown = "got 401: {\"authorization\": \"Basic (credentials)\"}, basic (credentials)";
        assert_eq!(hidden.hidden(said), shown);
        assert_eq!(Secrets::default().hidden(said), said);
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

    #[test]
    fn values_quoted_from_a_server_are_hidden() {
        let secrets = Secrets::of(&scenario());
        for (said, shown) in [
            ("got: to\"ken-1234!", "got: {{ env TOKEN }}!"),
            (r#"got: {"key":"to\"ken-1234"}"#, r#"got: {"key":"{{ env TOKEN }}"}"#),
            ("/a%2Fb%20c and a/b c", "/{{ env PLACE }} and {{ env PLACE }}"),
            ("cut: to\"ken-…", "cut: {{ env TOKEN }}…"),
            ("cut: to\"… at \"/x\"", "cut: to\"… at \"/x\""),
            ("cut: to\"k… at \"/x\"", "cut: {{ env TOKEN }}… at \"/x\""),
            ("token-12", "token-12"),
        ] {
            assert_eq!(secrets.hidden(said), shown);
        }
        assert_eq!(Secrets::default().hidden("as it is…"), "as it is…");
    }

    #[test]
    fn credentials_are_sent_in_base64_and_never_shown() {
        let step = "post = \"/\"\nauth = { user = \"anna\", password = \"{{ env TOKEN }}\" }";
        let text = format!(
            "http.auth = {{ user = \"{{{{ user }}}}\", password = \"open sesame\" }}\n\
             [[step]]\n{step}\n[[step]]\nget = \"/\"\n[[step]]\nget = \"/own\"\n\
             headers = {{ Authorization = \"Bearer x\" }}"
        );
        let scenario = parse_to_run("test", "test.toml", &text, &environment).unwrap();
        let headers = scenario.steps.iter().flat_map(|step| &step.headers);
        let values: Vec<&Template> = headers.map(|(_, value)| value).collect();
        // Of `anna:to"ken-1234` and `1:open sesame`.
        let expected = ["Basic YW5uYTp0byJrZW4tMTIzNA==", "Basic MTpvcGVuIHNlc2FtZQ==", "Bearer x"];
        for (value, expected) in values.iter().zip(expected) {
            assert_eq!(sent(value).as_deref(), Some(expected));
            assert_eq!(sent(&(*value).clone().revealed()).as_deref(), Some(expected));
        }
        assert!(values[0].clone().revealed().as_constant().is_some(), "encoded once");
        let shown = values.iter().map(|value| value.shown(&mut Data::new(1, 1)));
        let written = ["Basic anna:(password)", "Basic {{ user }}:(password)", "Bearer x"];
        assert!(shown.eq(written) && values.iter().map(ToString::to_string).eq(written));
        assert_eq!(scenario.variables(), BTreeSet::from(["TOKEN"]));
        let secrets = Secrets::of(&scenario);
        for (said, shown) in [
            ("got Basic YW5uYTp0byJrZW4tMTIzNA==", "got Basic anna:(password)"),
            ("sesame? open sesame", "sesame? (password)"),
            ("to\"ken-1234", "{{ env TOKEN }}"),
        ] {
            assert_eq!(secrets.hidden(said), shown);
        }
    }
}
