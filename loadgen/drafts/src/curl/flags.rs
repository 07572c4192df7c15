//! Flags of curl.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::DraftError;

/// Flags with a value that the draft uses: short and long.
const VALUES: [(Option<char>, &str); 30] = [
    (Some('X'), "request"),
    (Some('H'), "header"),
    (Some('d'), "data"),
    (None, "data-raw"),
    (None, "data-binary"),
    (None, "data-ascii"),
    (None, "data-urlencode"),
    (None, "json"),
    (Some('F'), "form"),
    (None, "form-string"),
    (Some('u'), "user"),
    (None, "oauth2-bearer"),
    (Some('b'), "cookie"),
    (Some('c'), "cookie-jar"),
    (Some('A'), "user-agent"),
    (Some('e'), "referer"),
    (None, "max-redirs"),
    (Some('x'), "proxy"),
    (None, "cacert"),
    (Some('E'), "cert"),
    (None, "key"),
    (Some('m'), "max-time"),
    (None, "unix-socket"),
    (Some('T'), "upload-file"),
    (None, "url"),
    (None, "url-query"),
    (None, "proxy-user"),
    (None, "connect-to"),
    (None, "resolve"),
    (None, "pass"),
];

/// Flags without a value that the draft uses.
const SWITCHES: [(Option<char>, &str); 8] = [
    (Some('G'), "get"),
    (Some('I'), "head"),
    (Some('L'), "location"),
    (None, "location-trusted"),
    (Some('k'), "insecure"),
    (None, "compressed"),
    (None, "http2"),
    (None, "http2-prior-knowledge"),
];

/// Flags with a value that change nothing of the request.
const IGNORED_VALUES: [(Option<char>, &str); 19] = [
    (Some('o'), "output"),
    (Some('D'), "dump-header"),
    (Some('w'), "write-out"),
    (None, "connect-timeout"),
    (None, "keepalive-time"),
    (None, "limit-rate"),
    (None, "max-filesize"),
    (None, "noproxy"),
    (None, "output-dir"),
    (None, "retry"),
    (None, "retry-delay"),
    (None, "retry-max-time"),
    (None, "stderr"),
    (None, "trace"),
    (None, "trace-ascii"),
    (Some('y'), "speed-time"),
    (Some('Y'), "speed-limit"),
    (None, "interface"),
    (None, "ciphers"),
];

/// Flags without a value that change nothing of the request.
const IGNORED: [(Option<char>, &str); 34] = [
    (Some('s'), "silent"),
    (Some('S'), "show-error"),
    (Some('v'), "verbose"),
    (Some('i'), "include"),
    (None, "show-headers"),
    (Some('O'), "remote-name"),
    (Some('J'), "remote-header-name"),
    (Some('f'), "fail"),
    (None, "fail-with-body"),
    (None, "fail-early"),
    (Some('#'), "progress-bar"),
    (None, "no-progress-meter"),
    (Some('N'), "no-buffer"),
    (Some('g'), "globoff"),
    (Some('q'), "disable"),
    (Some('Z'), "parallel"),
    (Some('4'), "ipv4"),
    (Some('6'), "ipv6"),
    (Some('0'), "http1.0"),
    (None, "http1.1"),
    (None, "basic"),
    (None, "create-dirs"),
    (None, "no-keepalive"),
    (None, "no-sessionid"),
    (None, "path-as-is"),
    (None, "proto-default-https"),
    (None, "raw"),
    (None, "retry-all-errors"),
    (None, "retry-connrefused"),
    (None, "ssl-no-revoke"),
    (None, "tcp-nodelay"),
    (None, "tlsv1.2"),
    (None, "tlsv1.3"),
    (None, "trace-time"),
];

/// Flags of a command.
pub(super) struct Flags(ArgMatches);

impl Flags {
    /// Reads the words of a command after its name.
    pub(super) fn read(words: &[String]) -> Result<Self, DraftError> {
        command().try_get_matches_from(words).map(Self).map_err(|error| {
            let of = |kind| match error.get(kind) {
                // Without a value, which may be a secret.
                Some(ContextValue::String(text)) => {
                    text.split(['=', ' ']).next().map(str::to_owned)
                }
                _ => None,
            };
            let flag = of(ContextKind::InvalidArg).unwrap_or_else(|| "a flag".to_owned());
            match error.kind() {
                ErrorKind::UnknownArgument => DraftError::new(
                    format!("the flag `{flag}` of curl is not known"),
                    "leave it out, and add to the scenario what it does",
                ),
                ErrorKind::InvalidValue | ErrorKind::NoEquals => DraftError::new(
                    format!("the flag `{flag}` of curl has no value"),
                    "copy the whole command, with its last line",
                ),
                _ => DraftError::new("the flags of curl cannot be read", "copy the command again"),
            }
        })
    }

    /// Whether one of the flags is set.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get_flag(name)
    }

    /// Returns the last value of a flag, which replaces earlier ones.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        self.0.get_many::<String>(name)?.next_back().map(String::as_str)
    }

    /// Returns all values of some flags with the flags' names, in the order of the command.
    pub(super) fn all<'a>(&'a self, names: &[&'a str]) -> Vec<(&'a str, &'a str)> {
        let mut found = Vec::new();
        for name in names {
            let values = self.0.get_many::<String>(name).into_iter().flatten();
            let places = self.0.indices_of(name).into_iter().flatten();
            found.extend(places.zip(values).map(|(place, value)| (place, *name, value.as_str())));
        }
        found.sort_unstable_by_key(|(place, ..)| *place);
        found.into_iter().map(|(_, name, value)| (name, value)).collect()
    }

    /// Returns the URLs.
    pub(super) fn urls(&self) -> Vec<&str> {
        self.all(&["words", "url"]).into_iter().map(|(_, url)| url).collect()
    }
}

fn command() -> Command {
    let flag = |(short, long): &(Option<char>, &'static str)| {
        let arg = Arg::new(*long).long(*long);
        match short {
            Some(short) => arg.short(*short),
            None => arg,
        }
    };
    let value = |it| flag(it).action(ArgAction::Append).num_args(1).allow_hyphen_values(true);
    let switch = |it| flag(it).action(ArgAction::SetTrue).overrides_with(it.1);
    Command::new("curl")
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(VALUES.iter().chain(&IGNORED_VALUES).map(value))
        .args(SWITCHES.iter().chain(&IGNORED).map(switch))
        .arg(Arg::new("words").action(ArgAction::Append).num_args(0..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Flags, DraftError> {
        Flags::read(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_flags_are_without_a_contradiction() {
        command().debug_assert();
    }

    #[test]
    fn data_keep_their_order() {
        let flags =
            read("-sSL -XPOST http://a --data-raw 1 -d2 --data-urlencode 3 -d -4 -s").unwrap();
        let data = flags.all(&["data", "data-raw", "data-urlencode"]);
        assert_eq!(
            data,
            [("data-raw", "1"), ("data", "2"), ("data-urlencode", "3"), ("data", "-4")]
        );
        assert_eq!(flags.urls(), ["http://a"]);
        assert_eq!(flags.last("request"), Some("POST"));
    }

    #[test]
    fn an_unknown_flag_is_named_without_its_value() {
        let error = read("http://a --frobnicate=hunter2").err().unwrap();
        assert_eq!(error.message, "the flag `--frobnicate` of curl is not known");
        let error = read("http://a -H").err().unwrap();
        assert_eq!(error.message, "the flag `--header` of curl has no value");
    }
}
