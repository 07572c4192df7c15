//! Tokens of HTTP.

/// Returns whether a text is a token (RFC 9110, section 5.6.2), as methods and the names of headers and cookies are.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_of_token)
}

/// Returns whether a request can have the method: any token but `CONNECT`, which opens a tunnel.
#[must_use]
pub fn is_method(text: &str) -> bool {
    is_token(text) && !text.eq_ignore_ascii_case("CONNECT")
}
