//! The command line of this process, for the record.

use std::sync::OnceLock;

use url::Url;

/// Substrings of the names of headers whose values are usually secret.
pub(super) const SECRET: [&str; 7] =
    ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// Letter of the short option whose value is a header. Letters of options without a value may precede
/// it: `-kH`.
const SHORT: char = 'H';

/// Beginning of the option whose value is the URL of a collector, which may have a password or a key.
const COLLECTOR: &str = "--otlp=";

/// The command line of a user on another host, for whom this process works.
static TOLD: OnceLock<Vec<String>> = OnceLock::new();

/// Makes [`command_line`] return these words, which another host's [`command_line`] has returned. The first call counts.
pub fn tell(words: Vec<String>) {
    let _ = TOLD.set(words);
}

/// Returns the command line of this process, or of the user for whom it works, without the values of headers that are usually secret, and without the
/// user, the password and the query of a collector's URL.
pub fn command_line() -> Vec<String> {
    if let Some(words) = TOLD.get() {
        return words.clone();
    }
    shown(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}

fn shown(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_header = false;
    let one = |word: String| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let short = word.find(SHORT).filter(|_| is_short);
        let has_next = word == "--header" || short.is_some_and(|at| at + 1 == word.len());
        let is_value = std::mem::replace(&mut is_header, has_next);
        let is_option = short.is_some() || word.starts_with("--header");
        match word.strip_prefix(COLLECTOR) {
            Some(url) => format!("{COLLECTOR}{}", without_password(url)),
            None if is_value || is_option => without_secret(&word),
            None => word,
        }
    };
    words.map(one).collect()
}

/// Returns a header without its value if that is usually secret.
fn without_secret(word: &str) -> String {
    match word.split_once(':') {
        Some((name, _)) if SECRET.iter().any(|part| name.to_lowercase().contains(part)) => {
            format!("{name}: …")
        }
        _ => word.to_owned(),
    }
}

/// Returns a URL without user, password, query and fragment, each of which may be a secret.
fn without_password(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    // Refused only by URLs that cannot have one.
    let _ = url.set_password(None).and_then(|()| url.set_username(""));
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_headers_are_not_recorded() {
        let words = |words: &[&str]| shown(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(
            words(&[
                "loadgen",
                "-H",
                "Authorization: Bearer abc",
                "-Hx-api-key:abc",
                "-kH",
                "Authorization: Bearer abc",
                "-kHx-token: abc",
                "--header=Cookie: a=b",
                "--header",
                "accept: text/html",
                "authorization: no option",
                "-u5",
                "--otlp=https://me:abc@host/otlp?key=abc#abc",
                "--otlp=https://abc@host",
                "--otlp=http://host:4318",
                "--otlp",
            ]),
            [
                "loadgen",
                "-H",
                "Authorization: …",
                "-Hx-api-key: …",
                "-kH",
                "Authorization: …",
                "-kHx-token: …",
                "--header=Cookie: …",
                "--header",
                "accept: text/html",
                "authorization: no option",
                "-u5",
                "--otlp=https://host/otlp",
                "--otlp=https://host/",
                "--otlp=http://host:4318/",
                "--otlp",
            ]
        );
    }
}
