//! Encodes multipart forms (RFC 7578) as browsers do (WHATWG HTML, "multipart/form-data encoding
//! algorithm"). Line breaks in values stay as they are.

use memchr::memmem;
use sha2::{Digest, Sha256};

use super::body::{Body, Content, Part};
use super::escape::{Position, RenderError};
use super::template::Template;

/// A field of a form.
pub(super) struct Field {
    /// Name of the field.
    pub(super) name: String,
    /// Name of the file, escaped; `None` for a field that is no file.
    pub(super) file_name: Option<Template>,
    /// Media type of the content; `None` for plain text.
    pub(super) content_type: Option<String>,
    /// Content of the field.
    pub(super) content: Part,
}

/// Returns the body that contains these fields, in order.
pub(super) fn encode(fields: Vec<Field>) -> Body {
    let boundary = boundary(&fields);
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let mut body = Body { content_type, parts: Vec::new() };
    for Field { name, file_name, content_type, content } in fields {
        let name = escaped(&name).unwrap_or_default();
        let mut head = Template::literal(format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\""
        ));
        if let Some(file_name) = file_name {
            head.append(Template::literal("; filename=\""));
            head.append(file_name);
            head.append(Template::literal("\""));
        }
        if let Some(content_type) = content_type {
            head.append(Template::literal(format!("\r\nContent-Type: {content_type}")));
        }
        head.append(Template::literal("\r\n\r\n"));
        body.push(Part::Text(head));
        body.push(content);
        body.push(Part::Text(Template::literal("\r\n")));
    }
    body.push(Part::Text(Template::literal(format!("--{boundary}--\r\n"))));
    body
}

/// Escapes the name of a field or of a file.
pub(super) fn escaped(name: &str) -> Result<String, RenderError> {
    let mut out = String::new();
    Position::Quoted.push(name, "name", &mut out).map(|()| out)
}

/// Returns a boundary that occurs in no constant part of the fields. The same fields have the same
/// boundary, so that a run can be repeated.
///
/// Generated parts are not searched: a text from the server or a file contains these 128
/// bits of a hash only if it quotes an earlier request.
fn boundary(fields: &[Field]) -> String {
    let mut hash = Sha256::new();
    for constant in fields.iter().flat_map(constants) {
        hash.update((constant.len() as u64).to_le_bytes());
        hash.update(constant);
    }
    let candidates = (0_u64..).map(|attempt| {
        let digest = hash.clone().chain_update(attempt.to_le_bytes()).finalize();
        let digits: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("loadgen-{digits}")
    });
    let occurs = |boundary: &str| {
        let finder = memmem::Finder::new(boundary);
        fields.iter().flat_map(constants).any(|constant| finder.find(constant).is_some())
    };
    // Some candidate is always free: the constant parts have fewer places than there are candidates.
    candidates.into_iter().find(|boundary| !occurs(boundary)).unwrap_or_default()
}

/// Returns the constant parts of a field.
fn constants(field: &Field) -> Vec<&[u8]> {
    let mut all = vec![field.name.as_bytes()];
    all.extend(field.content_type.as_deref().map(str::as_bytes));
    all.extend(field.file_name.iter().flat_map(Template::literals).map(str::as_bytes));
    match &field.content {
        Part::Text(text) => all.extend(text.literals().map(str::as_bytes)),
        // A boundary that follows from the digest of a content is not in the content.
        Part::File(file) => all.push(match &file.content {
            Content::Kept(bytes) => bytes,
            Content::OnDisk(file) => file.digest().as_bytes(),
        }),
    }
    all
}
