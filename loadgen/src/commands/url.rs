//! The URL of a server that runs already.

use super::{Exit, Failure};

/// Scheme, host and port, and a path if any, without the slash at its end; or what is wrong with the
/// value of `option`.
pub fn base_url(option: &str, url: &str) -> Result<String, Failure> {
    let wrong = |what: &str| {
        let message = format!("{option} {url}: {what}");
        Failure::message(Exit::Usage, message, "write it like http://127.0.0.1:8000")
    };
    let parsed = reqwest::Url::parse(url).map_err(|e| wrong(&e.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(wrong("not an http:// or https:// address"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(wrong(
            "holds a name or a password, which would be saved with the result; \
                          use a step's headers",
        ));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(wrong("has a query or a fragment; those belong into the scenario's steps"));
    }
    Ok(parsed.as_str().trim_end_matches('/').to_owned())
}
