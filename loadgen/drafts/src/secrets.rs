//! Secrets of a source, which a scenario names by environment variables instead.

use std::collections::HashMap;

use crate::names::Names;

/// Most variables. Further secrets share one, as nobody sets so many.
const MOST: usize = 1_000;

/// Environment variables that stand for the secrets of a source.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Variables by the secrets that they stand for.
    known: HashMap<String, String>,
    names: Names,
}

impl Variables {
    /// Returns the placeholder of a secret. A secret that is known already keeps its variable; another one
    /// gets a variable that is named after `hint`, such as the name of a header or of a field.
    pub(crate) fn placeholder(&mut self, hint: &str, secret: &str) -> String {
        let name = match self.known.get(secret) {
            Some(name) => name.clone(),
            None if self.known.len() >= MOST => variable("OTHER_SECRETS"),
            None => {
                let hint = if looks_secret(hint) { "TOKEN" } else { hint };
                let name = self.names.take_word(&variable(hint));
                self.known.insert(secret.to_owned(), name.clone());
                name
            }
        };
        format!("{{{{ env {name} }}}}")
    }
}

/// Begins each name of a variable. A source must not choose which variables of the user's environment are sent to
/// a server, such as `AWS_SECRET_ACCESS_KEY` or the `PWD` of a shell.
const PREFIX: &str = "API_";

/// Returns `hint` as the name of an environment variable.
fn variable(hint: &str) -> String {
    let mut name = String::new();
    for c in hint.chars().take(60) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => name.push(c.to_ascii_uppercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    match name.trim_end_matches('_') {
        "" => format!("{PREFIX}SECRET"),
        name if name.starts_with(PREFIX) => name.to_owned(),
        name => format!("{PREFIX}{name}"),
    }
}

/// Parts of names, without separators and in lower case, whose values are secret.
pub(crate) const PARTS: [&str; 23] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "authkey",
    "privatekey",
    "subscriptionkey",
    "authorization",
    "credential",
    "session",
    "sessid",
    "cookie",
    "signature",
    "cardnumber",
    "creditcard",
    "assertion",
    "samlresponse",
    "securityanswer",
    "captcha",
    "csrf",
];

/// Whole names, likewise.
pub(crate) const WHOLE: [&str; 15] = [
    "pwd", "pw", "pass", "auth", "otp", "pin", "cvv", "cvc", "jwt", "sid", "sig", "tok", "ticket",
    "ssn", "iban",
];

/// Whether a header, a cookie, a field of a form or a member of JSON has a secret by its name.
pub(crate) fn is_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    PARTS.iter().any(|part| plain.contains(part)) || WHOLE.contains(&plain.as_str())
}

/// Whether a cookie is likely a secret, and no preference.
pub(crate) fn is_secret_cookie(name: &str, value: &str) -> bool {
    is_secret(name) || name.to_ascii_lowercase().ends_with("sid") || is_token_like(value)
}

/// Whether a value is likely a secret by its form: a JSON Web Token, or a long random text.
pub(crate) fn looks_secret(value: &str) -> bool {
    // Keys of well-known services begin so.
    const KEYS: [&str; 10] =
        ["sk_", "pk_", "rk_", "sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA"];
    let is_key = value.len() >= 12 && KEYS.iter().any(|key| value.starts_with(key));
    // The beginning of a JSON Web Token: `{"` in base64.
    is_key || (value.starts_with("eyJ") && value.contains('.')) || is_long_token(value)
}

/// Whether a value without a secret's name is likely one.
pub(crate) fn is_long_token(value: &str) -> bool {
    value.len() >= 32 && is_token_like(value) && !is_uuid(value)
}

/// Whether a server has likely made the value: no word, but letters with digits, or a UUID.
pub(crate) fn is_token_like(value: &str) -> bool {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    value.len() >= 16
        && value.chars().all(is_of_token)
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
        // A path, a version or a slug has short words.
        && value.split(['-', '.', '/', '_']).any(|word| word.len() >= 8 && word.contains(|c: char| c.is_ascii_digit()))
}

/// Whether the value is a UUID with its hyphens.
pub(crate) fn is_uuid(value: &str) -> bool {
    let is_group = |(group, length): (&str, usize)| {
        group.len() == length && group.chars().all(|c| c.is_ascii_hexdigit())
    };
    value.len() == 36
        && value.split('-').count() == 5
        && value.split('-').zip([8, 4, 4, 4, 12]).all(is_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_secret_has_one_variable() {
        let mut variables = Variables::default();
        assert_eq!(variables.placeholder("x-api-key", "a"), "{{ env API_X_API_KEY }}");
        assert_eq!(variables.placeholder("other", "a"), "{{ env API_X_API_KEY }}");
        assert_eq!(variables.placeholder("X-Api-Key", "b"), "{{ env API_X_API_KEY_2 }}");
        assert_eq!(variables.placeholder("2fa[]", "c"), "{{ env API_2FA }}");
        assert_eq!(variables.placeholder("ü", "d"), "{{ env API_SECRET }}");
        assert_eq!(variables.placeholder("API_USER", "e"), "{{ env API_USER }}");
        assert_eq!(
            variables.placeholder("aws-secret-access-key", "f"),
            "{{ env API_AWS_SECRET_ACCESS_KEY }}"
        );
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "password",
            "user[password1]",
            "X-Auth-Token",
            "api_key",
            "csrftoken",
            "PIN",
            "sessionid",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["user", "shipping", "author", "keyboard", "passenger"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
