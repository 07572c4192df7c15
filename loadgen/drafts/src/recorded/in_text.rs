//! Finds secrets within text, such as JSON in a string, XML, GraphQL or the lines of a header.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Place;
use crate::secrets::is_secret;

/// Longest name, in bytes. A longer word is data, such as base64.
const LONGEST_NAME: usize = 100;

/// Words that may be names.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[A-Za-z0-9_-]+").ok());

/// Text between a name and its value. The first group is empty if only quotes and spaces separate them.
static SEPARATOR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^["'\\\]]*\s*(=>|[=:]|&gt;)?\s*"#).ok());

/// The member that has the value of a name: `"name": "password", "value": "…"`.
static VALUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^(?i),?\s*\\*["']?value\\*["']?\s*[=:]\s*"#).ok());

/// Schemes of credentials, which are no secrets.
static SCHEME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?i)(?:bearer|basic|token|digest)\s+").ok());

/// Variables of GraphQL.
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\$[A-Za-z_][A-Za-z0-9_]*$").ok());

/// Returns the names and the ranges of the secrets in a text, in their order.
pub(super) fn find<'a>(text: &'a str, place: &Place) -> Vec<(&'a str, Range<usize>)> {
    let mut found: Vec<(&str, Range<usize>)> = Vec::new();
    let is_graphql = ["query", "mutation", "subscription"].iter().any(|it| text.contains(it));
    for name in NAME.iter().flat_map(|regex| regex.find_iter(text)) {
        let is_within = found.last().is_some_and(|(_, last)| name.start() < last.end);
        if is_within || name.len() > LONGEST_NAME || !is_secret(name.as_str()) {
            continue;
        }
        let range = value(text, name.range(), place).filter(|range| {
            let is_variable = VARIABLE.iter().any(|it| it.is_match(&text[range.clone()]));
            !(range.is_empty() || (is_graphql && is_variable))
        });
        found.extend(range.map(|range| (name.as_str(), range)));
    }
    found
}

/// Returns the range of the value that belongs to a name.
fn value(text: &str, name: Range<usize>, place: &Place) -> Option<Range<usize>> {
    let before = &text[..name.start];
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    // Without the namespace of XML.
    let before = before.strip_suffix(':').map_or(before, |it| it.trim_end_matches(is_of_name));
    if before.ends_with("</") {
        return None;
    }
    if before.ends_with('<')
        && let Some(content) = of_element(text, name.end)
    {
        return Some(content);
    }
    let rest = &text[name.end..];
    let separator = SEPARATOR.as_ref()?.captures(rest)?;
    let sign = separator.get(1).map_or("", |sign| sign.as_str());
    let mut at = name.end + separator.get(0)?.end();
    let member = VALUE.as_ref()?.find(&text[at..]).filter(|_| sign.is_empty());
    at += member.map_or(0, |member| member.end());
    let is_separate = match place {
        // `token:refresh` is an action.
        Place::Path(_) => sign == "=",
        // Also `password hunter2`, and a field of a multipart body.
        Place::Text => at > name.end,
        _ => !sign.is_empty() || member.is_some(),
    };
    // The type of a variable of GraphQL: `$password: String!`.
    if !is_separate || sign == ":" && before.ends_with('$') {
        return None;
    }
    let scheme = |from: usize| {
        let found = SCHEME.as_ref().and_then(|regex| regex.find(&text[from..]));
        found.map_or("", |found| found.as_str())
    };
    let value = &text[at..];
    let slashes = value.len() - value.trim_start_matches('\\').len();
    if let Some(quote) = value[slashes..].chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let begin = at + slashes + 1;
        let end = begin + closing(&text[begin..], quote, slashes);
        return Some((begin + scheme(begin).len()).min(end)..end);
    }
    let scheme = scheme(at);
    let begin = at + scheme.len();
    let bare = &text[begin..];
    let is_authorization = text[name].to_ascii_lowercase().ends_with("authorization");
    let is_digest = scheme.to_ascii_lowercase().starts_with("digest");
    let is_end = |c: char| match c {
        '\r' | '\n' | '&' | '<' => true,
        '"' | '\'' => !(is_authorization && is_digest),
        _ if is_authorization => false,
        '>' | ';' => true,
        // Such characters of JSON and GraphQL are plain ones of a form.
        ',' | ')' | '}' | ']' | '{' | '(' | '[' => sign != "=",
        c => c.is_whitespace(),
    };
    let bare = &bare[..bare.find(is_end).unwrap_or(bare.len())];
    let bare = bare.trim_end().trim_end_matches('\\');
    let is_word = matches!(bare, "null" | "true" | "false" | "undefined");
    (!is_word).then_some(begin..begin + bare.len())
}

/// Returns the range of an element's content, which has no elements. Begins after the element's name.
fn of_element(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let close = rest.find(['<', '>'])?;
    if rest[close..].starts_with('<') || rest[..close].ends_with('/') {
        return None;
    }
    let content = &rest[close + 1..];
    let content = match content.trim_start().strip_prefix("<![CDATA[") {
        Some(data) => &data[..data.find("]]>").unwrap_or(data.len())],
        None => &content[..content.find('<').unwrap_or(content.len())],
    };
    let begin = content.as_ptr() as usize - text.as_ptr() as usize;
    Some(begin..begin + content.len())
}

/// Returns the position of the quote that closes a value, or the end of the text. `slashes` is the number of
/// backslashes before the opening quote.
fn closing(text: &str, quote: char, slashes: usize) -> usize {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        match c {
            '\\' => count += 1,
            c if c == quote && slashes == 0 && count % 2 == 0 => return at,
            c if c == quote && slashes > 0 && count <= slashes => return at - count,
            _ => count = 0,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let place = Place::Json("/a".to_owned());
        let found = find(text, &place).into_iter().map(|(_, range)| &text[range]);
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn secrets_have_names_before_them() {
        check(r#"mutation { login(password: "hunter2") { id } }"#, &["hunter2"]);
        check(r#"{"pass":"two words","pin":1234,"a":1}"#, &["two words", "1234"]);
        check(r#"{\"pwd\":\"hun\\\"ter2\",\"a\":\"b\"}"#, &[r#"hun\\\"ter2"#]);
        check(r#"{"token":"a\\","b":"c"}"#, &[r"a\\"]);
        check("a=1&user[password]=x,y&otp=9", &["x,y", "9"]);
        check(r#"{"name":"password","value":"hunter2"}"#, &["hunter2"]);
        check(r#"<input name="password" value="hunter2">"#, &["hunter2"]);
    }

    #[test]
    fn schemes_are_no_secrets() {
        check("Authorization: Bearer ya29.x\r\nHost: a", &["ya29.x"]);
        check(r#"{"authorization":"Basic YTpi"}"#, &["YTpi"]);
        check("Authorization: Digest a=\"b\", c=\"d\"\n", &["a=\"b\", c=\"d\""]);
        check("curl -H 'Authorization: Token t' -d x", &["t"]);
    }

    #[test]
    fn elements_end_at_the_next_one() {
        check("<password><![CDATA[hunter2 <&]]></password>", &["hunter2 <&"]);
        check("<a:Password Type=\"x\">two words</a:Password>tail", &["two words"]);
        check("<token/><token value=\"x\"/><session><id>1</id></session>", &["x"]);
    }

    #[test]
    fn plain_text_has_no_secrets() {
        check("forgot my password please", &[]);
        check("query($token: String!, $a: Int) { me(token: $token) { session { id } } }", &[]);
        check(r#"{"session":{"id":1},"token":null,"sidecar":"b","compass":"c"}"#, &[]);
    }
}
