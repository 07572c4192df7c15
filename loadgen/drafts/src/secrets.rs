//! Secrets of a source, which a scenario names by environment variables instead.

use std::collections::BTreeSet;

/// Environment variables that stand for the secrets of a source.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Variables with the secrets that they stand for.
    known: Vec<(String, String)>,
}

impl Variables {
    /// Returns the placeholder of a secret. A secret that is known already keeps its variable; another one
    /// gets a variable that is named after `hint`, such as the name of a header or of a field.
    pub(crate) fn placeholder(&mut self, hint: &str, secret: &str) -> String {
        if let Some((name, _)) = self.known.iter().find(|(_, known)| known == secret) {
            return format!("{{{{ env {name} }}}}");
        }
        let taken: BTreeSet<&str> = self.known.iter().map(|(name, _)| name.as_str()).collect();
        let base = variable(hint);
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        let name = names.find(|name| !taken.contains(name.as_str())).unwrap_or(base);
        self.known.push((name.clone(), secret.to_owned()));
        format!("{{{{ env {name} }}}}")
    }

    /// Returns the names of all variables, in the order of their first use.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<&str> {
        self.known.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Returns `hint` as the name of an environment variable.
fn variable(hint: &str) -> String {
    let mut name = String::new();
    for c in hint.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => name.push(c.to_ascii_uppercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        None => "SECRET".to_owned(),
        Some('0'..='9') => format!("SECRET_{name}"),
        Some(_) => name.to_owned(),
    }
}

/// Whether a header, a cookie, a field of a form or a member of JSON has a secret by its name.
pub(crate) fn is_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    const PARTS: [&str; 13] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "accesskey",
        "privatekey",
        "authorization",
        "credential",
        "session",
        "cookie",
        "signature",
    ];
    const WHOLE: [&str; 8] = ["pwd", "pass", "auth", "otp", "pin", "cvv", "cvc", "jwt"];
    PARTS.iter().any(|part| plain.contains(part)) || WHOLE.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_secret_has_one_variable() {
        let mut variables = Variables::default();
        assert_eq!(variables.placeholder("x-api-key", "a"), "{{ env X_API_KEY }}");
        assert_eq!(variables.placeholder("other", "a"), "{{ env X_API_KEY }}");
        assert_eq!(variables.placeholder("X-Api-Key", "b"), "{{ env X_API_KEY_2 }}");
        assert_eq!(variables.placeholder("2fa[]", "c"), "{{ env SECRET_2FA }}");
        assert_eq!(variables.placeholder("ü", "d"), "{{ env SECRET }}");
        assert_eq!(variables.names(), ["X_API_KEY", "X_API_KEY_2", "SECRET_2FA", "SECRET"]);
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
