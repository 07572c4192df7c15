//! The command line of this process, for the record.

/// Substrings of the names of headers whose values are usually secret.
pub(super) const SECRET: [&str; 7] =
    ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// Letter of the short option whose value is a header. Letters of options without a value may precede
/// it: `-kH`.
const SHORT: char = 'H';

/// Returns the command line of this process, without the values of headers that are usually secret.
pub(super) fn command_line() -> Vec<String> {
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
        if is_value || is_option { without_secret(&word) } else { word }
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
            ]
        );
    }
}
