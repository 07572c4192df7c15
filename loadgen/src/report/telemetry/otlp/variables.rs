//! Reads the values of environment variables.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// Where the collector is, unless somebody says otherwise.
pub(super) const ENDPOINT: &str = "http://localhost:4318";

/// A setting that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// The fault, with the name of the setting.
    pub message: String,
    /// The remedy.
    pub help: String,
}

pub(super) fn parsed(name: &str, text: &str) -> Result<Url, BadSetting> {
    let wrong = |what: &str| BadSetting {
        message: format!("{name}: {what}"),
        help: format!("name the URL of a collector, such as {ENDPOINT}"),
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(&format!(
            "a collector has an http:// or https:// URL, and this one begins with {scheme}:"
        ))),
    }
}

pub(super) fn headers(name: &str, text: &str) -> Result<HeaderMap, BadSetting> {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(name, text)? {
        // The value may be a secret.
        let wrong = || BadSetting {
            message: format!(
                "{name}: \"{key}\" is no header, or has a value that no header may have"
            ),
            help: "write NAME=VALUE,NAME=VALUE, with percent-encoded values".to_owned(),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(HeaderName::try_from(&key).map_err(|_| wrong())?, value);
    }
    Ok(headers)
}

/// Splits `key=value,key=value`, which is percent-encoded.
pub(super) fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, BadSetting> {
    let written = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
        let decoded =
            |text: &str| Some(percent_decode_str(text.trim()).decode_utf8().ok()?.into_owned());
        Some((decoded(key)?, decoded(value)?))
    };
    // An entry may be a secret.
    let wrong = |number: usize| BadSetting {
        message: format!("{name}: entry {} is not KEY=VALUE", number + 1),
        help: "write KEY=VALUE,KEY=VALUE, with percent-encoded values".to_owned(),
    };
    written.enumerate().map(|(number, text)| pair(text).ok_or_else(|| wrong(number))).collect()
}

pub(super) fn milliseconds(name: &str, text: &str) -> Result<Duration, BadSetting> {
    let ms = text.trim().parse().ok().filter(|ms| *ms > 0);
    ms.map(Duration::from_millis).ok_or_else(|| BadSetting {
        message: format!("{name} is \"{text}\", which is no number of milliseconds above 0"),
        help: format!("set it to a whole number, such as {name}=10000"),
    })
}

pub(super) fn one_of<T: Copy>(
    name: &str,
    text: &str,
    words: &[(&str, T)],
) -> Result<T, BadSetting> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim()));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        BadSetting {
            message: format!("{name} is \"{text}\", which loadgen does not know"),
            help: format!("use one of: {}", words.join(", ")),
        }
    })
}
