//! Holds the encoders of queries and forms against parsers of other authors, for tests and fuzzers.

// A value that cannot be sent or read back is what tests and fuzzers look for.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use tokio::runtime::Builder;
use url::{Url, form_urlencoded};

use super::body::{Attachment, Body, Content, Part};
use super::data::Data;
use super::escape::Position;
use super::multipart::{Field, encode, escaped};
use super::parse;
use super::template::{Piece, Template};

/// A name and a value to send, and where the value comes from.
#[derive(Debug, Clone)]
struct Pair {
    name: String,
    value: String,
    origin: Origin,
}

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The scenario itself.
    Scenario,
    /// A captured value; in a multipart form also the name of a file.
    Captured,
    /// In a multipart form, a file.
    File,
}

/// Character between two names or values in a fuzzer's input.
const BETWEEN: char = '\0';

/// Sends the names and values in a fuzzer's input, and reads them back.
///
/// # Panics
/// Panics if another parser reads other names or values than were sent.
pub fn encode_foreign(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut words = text.split(BETWEEN);
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        let origin = [Origin::Scenario, Origin::Captured, Origin::File][name.len() % 3];
        pairs.push(Pair { name: name.to_owned(), value: value.to_owned(), origin });
    }
    read_back(&pairs);
}

fn read_back(pairs: &[Pair]) {
    pairs_are_read_back(pairs);
    fields_are_read_back(pairs);
}

/// Sends pairs as the query and the form of a step.
fn pairs_are_read_back(pairs: &[Pair]) {
    // A table has each name once: pairs of one name are the items of an array.
    let mut names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let (mut captures, mut table) = (String::new(), String::new());
    let mut sent = Vec::new();
    let mut data = Data::new(1, 1);
    for name in names {
        let mut items = String::new();
        for (index, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair.name == name) {
            let text = match pair.origin {
                Origin::Captured => {
                    let _ = write!(captures, "v{index} = {{ json = \"\" }}, ");
                    data.capture(&format!("v{index}"), pair.value.clone());
                    format!("{{{{ v{index} }}}}")
                }
                _ => pair.value.replace("{{", "{{{{"),
            };
            let _ = write!(items, "{}, ", quoted(&text));
            sent.push((pair.name.clone(), pair.value.clone()));
        }
        let _ = write!(table, "{} = [{items}], ", quoted(name));
    }
    let text = format!(
        "[[step]]\nget = \"/\"\ncapture = {{ {captures} }}\n\
         [[step]]\npost = \"/x\"\nquery = {{ {table} }}\nbody = {{ form = {{ {table} }} }}"
    );
    let scenario = parse("fuzz", "fuzz.toml", &text).unwrap_or_else(|e| panic!("{e:?}: {text}"));
    let step = &scenario.steps[1];
    let mut path = String::new();
    step.path.render(&mut data, &mut path).unwrap();
    let url = Url::parse(&format!("http://host{path}")).unwrap();
    let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let body = sent_bytes(step.body.as_ref().unwrap(), &mut data);
    let form: Vec<(String, String)> = form_urlencoded::parse(&body).into_owned().collect();
    assert_eq!((&query, &form), (&sent, &sent), "{path}");
}

/// Sends pairs as the fields of a multipart form.
fn fields_are_read_back(pairs: &[Pair]) {
    // The parser takes a backslash before a quotation mark for an escape; browsers send none.
    let can_be_read = |name: &str| escaped(name).is_ok() && !name.contains('\\');
    let pairs: Vec<&Pair> = pairs.iter().filter(|pair| can_be_read(&pair.name)).collect();
    let mut data = Data::new(1, 1);
    let mut fields = Vec::new();
    for (index, Pair { name, value, origin }) in pairs.iter().enumerate() {
        let captured = |kind: &str, place| {
            let name = format!("{kind}{index}");
            Template { pieces: vec![Piece::Captured { name, place }] }
        };
        let (file_name, content) = match origin {
            Origin::Scenario => (None, Part::Text(Template::literal(value))),
            Origin::Captured => {
                data.capture(&format!("name{index}"), name.clone());
                data.capture(&format!("value{index}"), value.clone());
                let file_name = captured("name", Position::Quoted);
                (Some(file_name), Part::Text(captured("value", Position::Text)))
            }
            Origin::File => {
                let file_name = Template::literal(escaped(name).unwrap());
                (
                    Some(file_name),
                    Part::File(Attachment::new("a", Content::Kept(value.clone().into()))),
                )
            }
        };
        let content_type = file_name.is_some().then(|| "image/png".to_owned());
        fields.push(Field { name: name.clone(), file_name, content_type, content });
    }
    let body = encode(fields);
    let boundary = multer::parse_boundary(&body.content_type).unwrap();
    let sent = sent_bytes(&body, &mut data);
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut form = multer::Multipart::with_reader(&sent[..], boundary);
        for Pair { name, value, origin } in pairs {
            let field = form.next_field().await.unwrap();
            let field = field.unwrap_or_else(|| panic!("{name:?} is missing"));
            let name = escaped(name).unwrap();
            let is_file = *origin != Origin::Scenario;
            let file_name = is_file.then_some(name.as_str());
            assert_eq!((field.name(), field.file_name()), (Some(name.as_str()), file_name));
            assert_eq!(field.content_type().is_some(), is_file);
            assert_eq!(field.bytes().await.unwrap(), value.as_bytes());
        }
        assert!(form.next_field().await.unwrap().is_none(), "one field too many");
    });
}

/// Returns the body as it is sent.
fn sent_bytes(body: &Body, data: &mut Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in &body.parts {
        match part {
            Part::File(file) => bytes.extend_from_slice(file.kept().unwrap()),
            Part::Text(text) => {
                let mut out = String::new();
                text.render(data, &mut out).unwrap();
                bytes.extend_from_slice(out.as_bytes());
            }
        }
    }
    bytes
}

/// Returns a string as TOML, whose basic strings are those of JSON, but without the character DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Folder of the inputs from which the fuzzer starts.
    const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/encoding");

    #[test]
    fn every_seed_of_the_fuzzer_is_read_back() {
        let mut count = 0;
        for seed in std::fs::read_dir(SEEDS).unwrap() {
            encode_foreign(&std::fs::read(seed.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 3, "{count} seeds");
    }

    #[test]
    fn a_boundary_occurs_in_no_constant_part() {
        let field = |value: String| Field {
            name: "a".to_owned(),
            file_name: None,
            content_type: None,
            content: Part::Text(Template::literal(value)),
        };
        let first = encode(vec![field("x".to_owned())]);
        let same = encode(vec![field("x".to_owned())]);
        assert_eq!(first, same, "the same fields have the same boundary");
        // A value that has the boundary of the field changes the boundary.
        let boundary = multer::parse_boundary(&first.content_type).unwrap();
        let quoting = encode(vec![field(format!("--{boundary}--"))]);
        assert!(!quoting.content_type.contains(&boundary));
    }

    fn pair() -> impl Strategy<Value = Pair> {
        let text = || prop_oneof![".*", "[\"\r\n%&=+;{}\\-]{0,8}"];
        let origin =
            prop_oneof![Just(Origin::Scenario), Just(Origin::Captured), Just(Origin::File)];
        (text(), text(), origin).prop_map(|(name, value, origin)| Pair { name, value, origin })
    }

    proptest! {
        #[test]
        fn any_names_and_values_are_read_back(pairs in prop::collection::vec(pair(), 0..6)) {
            read_back(&pairs);
        }
    }
}
