//! A short text that matches a regular expression.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Longest text that is made: a pattern may ask for any number of repetitions.
const LONGEST: usize = 1_000;

/// Returns a text that matches the pattern of a schema, if there is a simple one. Each part of the pattern
/// gives the least that it allows, so that no text is found for some patterns, such as those with
/// word boundaries.
pub(super) fn example(pattern: &str, least: usize) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let regex = Regex::new(pattern).ok()?;
    let mut text = String::new();
    write(&hir, 0, &mut text)?;
    if text.chars().count() < least {
        text.clear();
        // The open repetitions take what is missing.
        write(&hir, least, &mut text)?;
    }
    (text.chars().count() >= least && regex.is_match(&text)).then_some(text)
}

/// Adds the least text for an expression, with at least `wanted` repetitions where their number is open.
fn write(hir: &Hir, wanted: usize, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(character(class)?),
        HirKind::Repetition(repetition) => {
            let least = usize::try_from(repetition.min).ok()?;
            let most = repetition.max.map_or(LONGEST, |most| most as usize);
            for _ in 0..least.max(wanted.min(most)) {
                write(&repetition.sub, 0, text)?;
                if text.len() > LONGEST {
                    return None;
                }
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, wanted, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, wanted, text))?,
        HirKind::Alternation(parts) => write(parts.first()?, wanted, text)?,
    }
    (text.len() <= LONGEST).then_some(())
}

/// Returns a character of a class: a plain one if it has one.
fn character(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has =
        |c: &char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(c));
    let plain = ('a'..='z').chain('A'..='Z').chain('1'..='9').chain(['0', '-', '_', '.', ' ']);
    plain.into_iter().find(has).or_else(|| class.ranges().first().map(|range| range.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        for (pattern, text) in [
            (r"^[A-Z]{3}-\d{4}$", "AAA-1111"),
            (r"^\+?[0-9 ]+$", "1"),
            (r"^(?:new|used)$", "new"),
            (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", "a"),
            (r"foo", "foo"),
            (r"^\d{3}(?:-\d{2}){2}$", "111-11-11"),
        ] {
            assert_eq!(example(pattern, 0).as_deref(), Some(text), "{pattern}");
        }
        assert_eq!(example("^[a-z]+$", 5).as_deref(), Some("aaaaa"));
        for pattern in [r"(?=a)b", "[", r"^a{5000}$", r"a\b\Bc"] {
            assert_eq!(example(pattern, 0), None, "{pattern}");
        }
    }
}
