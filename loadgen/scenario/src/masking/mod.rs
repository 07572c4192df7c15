//! Hides secret values in texts that may quote a server, in every form in which a server may send them back.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod reading;

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use self::reading::readings;
use super::model::{Scenario, Step};
use super::template::{Piece, Template};

/// Secret values to hide in text.
#[derive(Default)]
pub struct Secrets {
    forms: Vec<Form>,
    /// Whether each user has credentials of its own, so that all credentials of HTTP Basic
    /// authentication are hidden.
    hides_basic: bool,
}

/// A secret value to find in text, as it is or as a whole in base64 or hexadecimal, and the text to show instead.
struct Form {
    value: Vec<char>,
    shown: String,
}

/// Length of the shortest value to hide, in bytes. A shorter value is no secret, and would match
/// everywhere.
const SHORTEST: usize = 4;

/// Most places to which a value may have come in a text, for a value and a text of nothing but backslashes. One takes 1,
/// 2 or 4 bytes, so that n in a row end in up to 3 n + 1 places: enough for 7.
const MOST_PLACES: usize = 22;

/// Longest escape of a character, also within another, in bytes.
const LONGEST_ESCAPE: usize = 32;

/// Character that ends a quote that was cut short.
const CUT: char = '…';

impl Secrets {
    /// Collects the values of a scenario's environment variables, and its credentials.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let variables = scenario.environment().filter_map(|(name, value)| {
            Some((value?.reveal().to_owned(), format!("{{{{ env {name} }}}}")))
        });
        let credentials = scenario.all_steps().flat_map(Step::templates);
        let credentials: Vec<_> = credentials.flat_map(Template::credentials).collect();
        let is_own = |it: &(&Template, &Template)| {
            it.0.as_constant().is_none() || it.1.as_constant().is_none()
        };
        let hides_basic = credentials.iter().any(is_own);
        let credentials = credentials.into_iter().flat_map(of_credentials);
        let proxy = scenario.http.proxy_credentials().into_iter().flat_map(|(user, password)| {
            let shown = "(password of the proxy)".to_owned();
            [(format!("{user}:{password}"), shown.clone()), (password, shown)]
        });
        Self { hides_basic, ..Self::new(variables.chain(credentials).chain(proxy)) }
    }

    /// Hides these values, each behind the text to show instead.
    fn new(values: impl Iterator<Item = (String, String)>) -> Self {
        let values = values.filter(|(value, _)| value.len() >= SHORTEST);
        let forms = values.flat_map(|(value, shown)| {
            let form =
                move |text: String| Form { value: text.chars().collect(), shown: shown.clone() };
            forms(value).into_iter().map(form).collect::<Vec<_>>()
        });
        let mut forms: Vec<Form> = forms.collect();
        // Many steps may send the same value.
        forms.sort_by(|a, b| a.value.cmp(&b.value));
        forms.dedup_by(|a, b| a.value == b.value);
        Self { forms, hides_basic: false }
    }

    /// Whether a value may begin with `c`: its first character, or the beginning of an escape of it.
    fn may_begin(&self, c: char) -> bool {
        "\\%&+ ".contains(c) || self.forms.iter().any(|form| form.value.first() == Some(&c))
    }

    /// Replaces secrets in a text that may quote a server, so that the text can be shown and saved. Recognises each
    /// value as it is, and in the escapes of JSON, URLs and HTML, also in escapes within escapes, and as a whole in base64
    /// or hexadecimal.
    #[must_use]
    pub fn hidden<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let mut text = text.into();
        if self.forms.is_empty() && !self.hides_basic {
            return text;
        }
        // Such a value would end a quote below.
        for form in self.forms.iter().filter(|form| form.value.contains(&CUT)) {
            let value: String = form.value.iter().collect();
            text = text.replace(&value, &form.shown).into();
        }
        let whole: String =
            text.split_inclusive(CUT).map(|part| self.without_values(part)).collect();
        if self.hides_basic { without_basic(&whole).into() } else { whole.into() }
    }

    /// Replaces the values in `part`, and the beginning of a value at its end if [`CUT`] marks it as cut short.
    fn without_values(&self, part: &str) -> String {
        let (text, cut) = match part.strip_suffix(CUT) {
            Some(text) => (text, &part[text.len()..]),
            None => (part, ""),
        };
        let (mut out, mut rest) = (String::new(), text);
        while let Some(next) = rest.chars().next() {
            let forms = if self.may_begin(next) { self.forms.as_slice() } else { &[] };
            let found = forms.iter().filter_map(|form| {
                let length = form.length_in(rest, !cut.is_empty())?;
                Some((length, form))
            });
            let length = match found.max_by_key(|(length, _)| *length) {
                Some((length, form)) => {
                    out.push_str(&form.shown);
                    length
                }
                None => {
                    out.push(next);
                    next.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        out + cut
    }
}

impl Form {
    /// Returns the number of bytes that the value takes at the beginning of `text`; `None` if it is not there. If
    /// `is_cut`, the beginning of the value suffices at the end of the text.
    fn length_in(&self, text: &str, is_cut: bool) -> Option<usize> {
        // Where the value may have come to: an escape may be read in several ways.
        let (mut places, mut next, mut matched) = (vec![0], Vec::new(), 0);
        for wanted in &self.value {
            if is_cut && matched >= SHORTEST && places.iter().any(|at| is_cut_off(&text[*at..])) {
                return Some(text.len());
            }
            next.clear();
            for place in &places {
                for (c, length) in readings(&text[*place..]) {
                    let end = place + length;
                    if is_shown_as(*wanted, c)
                        && next.len() < MOST_PLACES
                        && let Err(at) = next.binary_search(&end)
                    {
                        next.insert(at, end);
                    }
                }
            }
            if next.is_empty() {
                return None;
            }
            std::mem::swap(&mut places, &mut next);
            matched += wanted.len_utf8();
        }
        places.into_iter().max()
    }
}

/// Whether the text ends here, or within an escape.
fn is_cut_off(text: &str) -> bool {
    text.is_empty() || (text.starts_with(['\\', '%', '&']) && text.len() <= LONGEST_ESCAPE)
}

/// Whether a character may be shown as `c`: messages are on one line.
fn is_shown_as(wanted: char, c: char) -> bool {
    wanted == c || (c == ' ' && wanted.is_control())
}

/// Returns a value as it is, and as a whole in base64 and hexadecimal, without those that are too short to be told from
/// other text.
fn forms(value: String) -> Vec<String> {
    let hex = |upper: bool| {
        value.bytes().fold(String::new(), |mut hex, byte| {
            // Writing to a `String` cannot fail.
            let _ = if upper { write!(hex, "{byte:02X}") } else { write!(hex, "{byte:02x}") };
            hex
        })
    };
    let in_base64 = [
        STANDARD.encode(&value),
        URL_SAFE.encode(&value),
        STANDARD_NO_PAD.encode(&value),
        URL_SAFE_NO_PAD.encode(&value),
    ];
    let mut forms: Vec<String> = in_base64.into_iter().chain([hex(true), hex(false)]).collect();
    forms.push(value);
    forms.sort();
    forms.dedup();
    forms
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

#[cfg(test)]
mod tests;
