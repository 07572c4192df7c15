//! Hides a fuzzer's secret in what a server may make of it.

use super::Secrets;

/// Character between the secret and the text in a fuzzer's input.
const BETWEEN: char = '\0';

/// Hides a secret in a text, both from the input. Panics if the secret is still there.
pub fn mask_foreign(data: &[u8]) {
    const SHOWN: &str = "\u{1}";
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (secret, text) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let values = [(secret.to_owned(), SHOWN.to_owned())];
    let secrets = Secrets::new(values.into_iter());
    for text in [text.to_owned(), format!("{text}{secret}{text}"), format!("{secret}…{text}")] {
        let hidden = secrets.hidden(text.as_str());
        // A cut separates two quotes.
        let is_one_quote = !secret.contains('…') && !secret.contains(SHOWN);
        if is_one_quote && secret.len() >= super::SHORTEST {
            assert!(!hidden.contains(secret), "{secret:?} in {hidden:?}");
        }
    }
}
