//! Follows a redirect and keeps cookies of a response without a socket, for tests and fuzzers.

use bytes::Bytes;
use url::Url;

use super::jar::{Jar, MOST};
use crate::transport::Headers;
use crate::transport::fields::Fields;
use crate::transport::http1::written;
use crate::transport::redirect::{Request, have_one_origin};
use loadgen_scenario::Method;

/// Reads a fuzzer's input as a `location`, and after a line feed the values of `set-cookie`, one in each line.
///
/// # Panics
/// Panics if the next request is not one request with the fields that it should have, or if too many cookies are kept.
pub fn journey_foreign(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let location = lines.next().unwrap_or_default();
    let mut cookies = Fields::default();
    // As a response may have: the values of headers have no line ends.
    let fits = |byte: &u8| !matches!(byte, b'\r' | 0);
    lines.filter(|line| line.iter().all(fits)).for_each(|line| cookies.push(b"set-cookie", line));
    // An address that cannot fail to be parsed.
    let Ok(url) = Url::parse("https://www.shop.example/a/b") else { return };
    let mut jar = Jar::default();
    jar.take(&url, Headers::Fields(&cookies));
    assert!(jar.names().len() <= MOST, "{} cookies", jar.names().len());
    let mut fields = Fields::default();
    [("host", "www.shop.example"), ("authorization", "Bearer x"), ("accept", "*/*")]
        .iter()
        .for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
    let body = Bytes::from_static(b"body").into();
    let request = Request { method: Method::POST, url, fields, body };
    for status in [302, 307] {
        let Ok(next) = request.clone().redirected(status, location) else { continue };
        let cookies = jar.for_url(&next.url);
        let text = written(&next, &cookies);
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = parsed.parse(&text);
        let Ok(httparse::Status::Complete(length)) = length else {
            panic!("{length:?}: {}", String::from_utf8_lossy(&text));
        };
        assert_eq!(parsed.path, Some(next.target()));
        assert_eq!(text.len() - length, next.body.length() as usize);
        let is_here = have_one_origin(&next.url, &request.url);
        let expected = 2
            + usize::from(is_here)
            + usize::from(!cookies.is_empty())
            + usize::from(!next.body.is_empty());
        assert_eq!(parsed.headers.len(), expected, "{}", String::from_utf8_lossy(&text));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::journey_foreign;

    proptest! {
        #[test]
        fn any_redirect_leads_to_one_request(
            location in "(/|//|https?://|\\?|#|[a-z]{1,6}:)?[ -~\u{0}-\u{ff}]{0,40}",
            cookies in prop::collection::vec("[ -~\u{80}-\u{ff}\t]{0,30}(=[ -~]{0,20})?(; (Path=/|Max-Age=[0-9-]{1,20}|Domain=[a-z.]{1,20}|Secure|Expires=[ -~]{0,30}))*", 0..6),
        ) {
            journey_foreign(format!("{location}\n{}", cookies.join("\n")).as_bytes());
        }

        #[test]
        fn any_bytes_lead_to_one_request(data: Vec<u8>) {
            journey_foreign(&data);
        }
    }

    #[test]
    fn all_seeds_are_followed() {
        let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/journey");
        for seed in std::fs::read_dir(seeds).unwrap() {
            journey_foreign(&std::fs::read(seed.unwrap().path()).unwrap());
        }
    }
}
