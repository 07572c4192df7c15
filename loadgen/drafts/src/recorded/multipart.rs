//! Reads the text of a multipart form (RFC 7578).

use super::Part;

/// Returns the names and values of the fields, or nothing if the text is no such form.
pub(super) fn parts(media_type: &str, text: &str) -> Option<Vec<(String, String, Part)>> {
    let boundary = parameter(media_type, "boundary").filter(|boundary| !boundary.is_empty())?;
    let delimiter = format!("--{boundary}");
    let fields = text.split(&delimiter).skip(1);
    fields.take_while(|field| !field.starts_with("--")).map(part).collect()
}

fn part(field: &str) -> Option<(String, String, Part)> {
    let field = field.trim_start_matches([' ', '\t']);
    let field = field.strip_prefix("\r\n").or_else(|| field.strip_prefix('\n'))?;
    let (head, content) = field.split_once("\r\n\r\n").or_else(|| field.split_once("\n\n"))?;
    let content = content.strip_suffix("\r\n").or_else(|| content.strip_suffix('\n'));
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let disposition = header("content-disposition")?;
    let name = parameter(&disposition, "name")?;
    let part = Part {
        file: None,
        filename: parameter(&disposition, "filename"),
        content_type: header("content-type"),
    };
    Some((name, content.unwrap_or_default().to_owned(), part))
}

/// Returns a parameter of a header, without its quotes.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (key, after) = rest.split_once('=')?;
        let key = key.trim().trim_start_matches(';').trim();
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(';').unwrap_or((after, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            // As browsers escape them.
            let value = value.trim().replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
            return Some(value);
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_files_are_told_apart() {
        let text = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"f\"; filename=\"p.png\"\r\n\
                    Content-Type: image/png\r\n\r\n\r\n--x--\r\n";
        let parts = parts("multipart/form-data; boundary=x", text).unwrap();
        assert_eq!((parts[0].0.as_str(), parts[0].1.as_str()), ("a", "1\r\n2"));
        assert_eq!(parts[1].2.filename.as_deref(), Some("p.png"));
        assert_eq!(parts[1].2.content_type.as_deref(), Some("image/png"));
    }
}
