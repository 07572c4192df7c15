//! HTTP request methods.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An HTTP request method (RFC 9110, section 9): a token, in which case matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method(Cow<'static, str>);

#[expect(missing_docs, reason = "the names are the methods'")]
impl Method {
    pub const GET: Self = Self(Cow::Borrowed("GET"));
    pub const POST: Self = Self(Cow::Borrowed("POST"));
    pub const PUT: Self = Self(Cow::Borrowed("PUT"));
    pub const PATCH: Self = Self(Cow::Borrowed("PATCH"));
    pub const DELETE: Self = Self(Cow::Borrowed("DELETE"));
    pub const HEAD: Self = Self(Cow::Borrowed("HEAD"));
    pub const OPTIONS: Self = Self(Cow::Borrowed("OPTIONS"));
}

impl Method {
    /// Creates a method of this name. The caller has checked that the name is a token, and not
    /// `CONNECT`, which asks for a tunnel instead of an answer.
    pub(super) fn new(name: &str) -> Self {
        Self(Cow::Owned(name.to_owned()))
    }

    /// Returns the name as it is sent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns whether the method expects a body, so that a request without one declares an empty
    /// body (RFC 9110, section 8.6).
    #[must_use]
    pub fn expects_body(&self) -> bool {
        [Self::POST, Self::PUT, Self::PATCH].contains(self)
    }

    /// Returns whether sending the request twice has the effect of sending it once, as far as HTTP defines the
    /// method (RFC 9110, section 9.2.2).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        matches!(self.name(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
