//! Text with generated parts.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::escape::{Position, RenderError};
use super::secret::Secret;

/// Text with generated parts, parsed once and rendered for each request.
///
/// `Display` shows the text as written, except for spaces in placeholders and for repeated parts,
/// which are shown once with their count.
///
/// ```
/// use loadgen_scenario::{Data, Template};
///
/// let template = Template::parse("/items/{{ int 1 6 }}?user={{ user }}").unwrap();
/// let mut path = String::new();
/// template.render(&mut Data::new(42, 7), &mut path).unwrap();
/// assert!(path.starts_with("/items/") && path.ends_with("?user=7"));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Template {
    pub(super) pieces: Vec<Piece>,
}

/// A part of a template. Adjacent literals are always joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    /// Text that is the same every time.
    Literal(String),
    /// A random UUID (RFC 9562, version 4).
    Uuid,
    /// A random integer from `min` to `max`, both included.
    Int { min: i64, max: i64 },
    /// A random first name and a random last name, separated by `between`.
    Name { between: String },
    /// Number of the user that sends the request, counted from 0.
    User,
    /// Number of the user's iteration, counted from 0.
    Iteration,
    /// A value captured from an earlier answer, or a cell of the user's row.
    Captured { name: String, place: Position },
    /// Value of an environment variable; `None` if the environment was not read.
    Variable { name: String, value: Option<Secret>, place: Position },
    /// The template `inner`, rendered `count` times anew, with `separator` between the results.
    Repeat { count: u32, separator: String, inner: Template },
    /// The template `inner`, rendered once for each user. `key` differs from that of any other such
    /// piece of the scenario.
    Once { key: usize, inner: Template },
    /// User and password, separated by a colon, in base64 (RFC 7617). The password is never shown.
    Credentials { user: Template, password: Template },
}

impl Template {
    /// Creates a template without generated parts; braces have no meaning in `text`.
    pub fn literal(text: impl Into<String>) -> Self {
        let mut template = Self::default();
        template.push(Piece::Literal(text.into()));
        template
    }

    /// Returns the whole text if no part is generated; `None` otherwise.
    pub fn as_constant(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns whether the rendered text is the same each time.
    pub(super) fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Literal(_) => true,
            Piece::Credentials { user, password } => user.is_constant() && password.is_constant(),
            _ => false,
        })
    }

    /// Returns whether each rendered text begins with the character `first`, because the template
    /// begins with this character as literal text.
    #[must_use]
    pub fn begins_with(&self, first: char) -> bool {
        matches!(self.pieces.first(), Some(Piece::Literal(text)) if text.starts_with(first))
    }

    /// Returns whether each rendered text can follow a host in a URL without changing the host:
    /// whether the text is a path, a query, or always empty.
    #[must_use]
    pub fn can_follow_host(&self) -> bool {
        self.begins_with('/') || self.begins_with('?') || self.as_constant() == Some("")
    }

    /// Renders the text of the next request and appends the text to `out`. Allocates only to grow
    /// `out`. After an error, `out` contains the text before the error.
    #[inline]
    pub fn render(&self, data: &mut Data, out: &mut String) -> Result<(), RenderError> {
        self.pieces.iter().try_for_each(|piece| piece.render(data, out))
    }

    /// Appends a piece; joins adjacent literals and skips empty literals.
    pub(super) fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => self.pieces.push(piece),
        }
    }

    /// Appends the pieces of another template.
    pub fn append(&mut self, other: Template) {
        for piece in other.pieces {
            self.push(piece);
        }
    }

    /// Returns this template with `map` applied to each literal text. Repeated parts stay
    /// unchanged.
    pub fn map_literals(self, mut map: impl FnMut(&str) -> String) -> Self {
        let pieces = self.pieces.into_iter().map(|piece| match piece {
            Piece::Literal(text) => Piece::Literal(map(&text)),
            piece => piece,
        });
        Self { pieces: pieces.collect() }
    }

    /// Returns this template with captured values and environment variables set to be escaped for
    /// the position `here`.
    pub(super) fn standing_in(mut self, here: Position) -> Self {
        for piece in &mut self.pieces {
            if let Piece::Captured { place, .. } | Piece::Variable { place, .. } = piece {
                *place = here;
            }
        }
        self
    }

    /// Returns the literal texts between the generated parts.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the names of the captured values and of the columns that the template uses.
    pub(super) fn taken(&self) -> Vec<&str> {
        let pieces = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Captured { name, .. } => vec![name.as_str()],
            Piece::Repeat { inner, .. } | Piece::Once { inner, .. } => inner.taken(),
            Piece::Credentials { user, password } => [user.taken(), password.taken()].concat(),
            _ => Vec::new(),
        });
        pieces.collect()
    }

    /// Returns whether the template has what only users have: their numbers, rows and captured values.
    pub(super) fn is_of_users(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::User | Piece::Iteration | Piece::Captured { .. } => true,
            Piece::Repeat { inner, .. } | Piece::Once { inner, .. } => inner.is_of_users(),
            Piece::Credentials { user, password } => user.is_of_users() || password.is_of_users(),
            _ => false,
        })
    }

    /// Returns whether the template sends captured values, cells of rows or environment variables
    /// without any encoding.
    pub(super) fn has_plain_values(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Captured { place, .. } | Piece::Variable { place, .. } => {
                *place == Position::Text
            }
            Piece::Repeat { inner, .. } | Piece::Once { inner, .. } => inner.has_plain_values(),
            _ => false,
        })
    }

    /// Returns this template repeated `count` times, with `separator` between the copies. A
    /// constant template is repeated as a literal.
    pub(super) fn repeated(self, count: u32, separator: &str) -> Self {
        if let Some(text) = self.as_constant() {
            let copies = vec![text; count as usize];
            return Self::literal(copies.join(separator));
        }
        let separator = separator.to_owned();
        Self { pieces: vec![Piece::Repeat { count, separator, inner: self }] }
    }

    /// Returns a template that renders this template once for each user. `key` must differ from that
    /// of any other such template of the scenario. A constant template stays as it is.
    pub(super) fn once(self, key: usize) -> Self {
        match self.as_constant() {
            Some(_) => self,
            None => Self { pieces: vec![Piece::Once { key, inner: self }] },
        }
    }
}

impl Piece {
    #[inline]
    pub(super) fn render(&self, data: &mut Data, out: &mut String) -> Result<(), RenderError> {
        match self {
            Self::Literal(text) => out.push_str(text),
            Self::Uuid => data.push_uuid(out),
            Self::Int { min, max } => data.push_int(*min, *max, out),
            Self::Name { between } => data.push_name(between, out),
            Self::User => data.push_user(out),
            Self::Iteration => data.push_iteration(out),
            Self::Captured { name, place } => return push_captured(name, *place, data, out),
            Self::Variable { name, value, place } => {
                let Some(value) = value else {
                    return Err(RenderError::NotRead { name: name.clone() });
                };
                return place.push(value.reveal(), name, out);
            }
            Self::Repeat { count, separator, inner } => {
                for index in 0..*count {
                    if index > 0 {
                        out.push_str(separator);
                    }
                    inner.render(data, out)?;
                }
            }
            Self::Once { key, inner } => {
                if data.rendered(*key).is_none() {
                    let mut text = String::new();
                    inner.render(data, &mut text)?;
                    data.keep_rendered(*key, text);
                }
                out.push_str(data.rendered(*key).unwrap_or_default());
            }
            Self::Credentials { user, password } => {
                let mut plain = String::new();
                user.render(data, &mut plain)?;
                plain.push(':');
                password.render(data, &mut plain)?;
                STANDARD.encode_string(plain, out);
            }
        }
        Ok(())
    }

    /// Returns whether the piece always renders as a JSON number.
    pub(super) fn is_numeric(&self) -> bool {
        matches!(self, Self::Int { .. } | Self::User | Self::Iteration)
    }
}

fn push_captured(
    name: &str,
    place: Position,
    data: &Data,
    out: &mut String,
) -> Result<(), RenderError> {
    let Some(value) = data.captured(name) else {
        return Err(RenderError::NotCaptured { name: name.to_owned() });
    };
    place.push(value, name, out)
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| piece.fmt(f))
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(&text.replace("{{", "{{{{")),
            Self::Uuid => f.write_str("{{ uuid }}"),
            Self::Int { min, max } => write!(f, "{{{{ int {min} {max} }}}}"),
            Self::Name { .. } => f.write_str("{{ name }}"),
            Self::User => f.write_str("{{ user }}"),
            Self::Iteration => f.write_str("{{ iteration }}"),
            Self::Captured { name, .. } => write!(f, "{{{{ {name} }}}}"),
            Self::Variable { name, .. } => write!(f, "{{{{ env {name} }}}}"),
            Self::Repeat { count, separator, inner } => {
                write!(f, "{inner}{separator} … ({count} in all)")
            }
            Self::Once { inner, .. } => write!(f, "{inner} (once for each user)"),
            Self::Credentials { user, .. } => write!(f, "{user}:(password)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERYTHING: &str =
        "{{ uuid }} {{int -5 5}} {{ name }} {{ user }} {{ iteration }} {{{{ }} ü";

    fn rendered(template: &Template, data: &mut Data) -> String {
        let mut out = String::new();
        template.render(data, &mut out).unwrap();
        out
    }

    #[test]
    fn constant_templates_are_recognized() {
        assert_eq!(Template::literal("{{ uuid }}").as_constant(), Some("{{ uuid }}"));
        assert_eq!(Template::literal("").as_constant(), Some(""));
        assert_eq!(Template::parse("a {{{{ b }} c").unwrap().as_constant(), Some("a {{ b }} c"));
        assert_eq!(Template::parse("a {{ user }}").unwrap().as_constant(), None);
    }

    #[test]
    fn each_repetition_is_rendered_separately() {
        let pair = Template::parse("{{ uuid }}").unwrap().repeated(2, ",");
        let text = rendered(&pair, &mut Data::new(1, 1));
        let (one, two) = text.split_once(',').unwrap();
        assert_ne!(one, two);
        assert_eq!(pair.to_string(), "{{ uuid }}, … (2 in all)");
        assert_eq!(Template::literal("x").repeated(3, ",").as_constant(), Some("x,x,x"));
    }

    #[test]
    fn a_template_survives_serialization() {
        let template = Template::parse(EVERYTHING).unwrap().repeated(3, ",");
        let bytes = rmp_serde::to_vec_named(&template).unwrap();
        assert_eq!(rmp_serde::from_slice::<Template>(&bytes).unwrap(), template);
        let bytes = rmp_serde::to_vec(&template).unwrap();
        assert_eq!(rmp_serde::from_slice::<Template>(&bytes).unwrap(), template);
    }

    #[test]
    fn a_template_prints_as_written() {
        let template = Template::parse(EVERYTHING).unwrap();
        assert_eq!(template.to_string(), EVERYTHING.replace("{{int -5 5}}", "{{ int -5 5 }}"));
    }

    proptest! {
        #[test]
        fn the_same_seed_and_user_give_the_same_texts(seed: u64, user: u32, iteration in 0u64..1 << 40) {
            let template = Template::parse(EVERYTHING).unwrap();
            let render_twice = |mut data: Data| {
                data.set_iteration(iteration);
                (rendered(&template, &mut data), rendered(&template, &mut data))
            };
            let texts = render_twice(Data::new(seed, user));
            prop_assert_eq!(&texts, &render_twice(Data::new(seed, user)));
            prop_assert_ne!(&texts.0, &texts.1);
            prop_assert_ne!(&texts.0, &render_twice(Data::new(seed, user ^ 1)).0);
            prop_assert_ne!(&texts.0, &render_twice(Data::new(seed ^ 1, user)).0);
        }

        #[test]
        fn a_printed_template_parses_to_the_same(text in "([{}a ]|\\{\\{ (user|uuid) \\}\\}){0,12}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template);
            }
        }
    }
}
