use super::*;
use crate::testing::checked;

const ADA: &str = include_str!("recordings/ada.har");
const BOB: &str = include_str!("recordings/bob.har");

fn read(texts: &[&str]) -> Draft {
    let recordings: Vec<(String, String)> =
        texts.iter().map(|text| ("a.har".to_owned(), (*text).to_owned())).collect();
    draft(&recordings, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A journey through an application in Django, with a login, forms and requests of scripts.
#[test]
fn two_recordings_of_chromium() {
    let draft = read(&[ADA, BOB]);
    let notes = draft.notes.join("\n");
    insta::assert_snapshot!(format!("{}\n---\n{notes}", checked(&draft)));
}

#[test]
fn one_recording_of_chromium() {
    let draft = read(&[ADA]);
    insta::assert_snapshot!(checked(&draft));
}
