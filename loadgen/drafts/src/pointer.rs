//! Parts of JSON pointers (RFC 6901).

/// Escapes the name of a member as a part of a pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the name of the member that a part of a pointer means.
pub(crate) fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
