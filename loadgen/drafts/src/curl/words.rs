//! Splits a text into commands, and these into words.
//!
//! shlex splits words as a POSIX shell does. It knows neither the ends of commands nor the quotes of bash
//! for escapes, `$'…'`, which browsers write around bodies; both are handled before.

use crate::DraftError;

/// Returns the words of each command.
pub(super) fn commands(text: &str) -> Result<Vec<Vec<String>>, DraftError> {
    let text = text.replace("\r\n", "\n");
    let text = if is_of_windows(&text) { from_windows(&text) } else { text };
    let mut commands = Vec::new();
    for command in split(&text) {
        let words = shlex::split(&command).ok_or_else(|| {
            DraftError::new(
                "a quote of the command is not closed",
                "copy the whole command, with its last line",
            )
        })?;
        // Of a prompt, such as `$ curl`.
        let begin = words.iter().position(|word| word != "$" && word != "%").unwrap_or(words.len());
        if begin < words.len() {
            commands.push(words[begin..].to_vec());
        }
    }
    Ok(commands)
}

/// Splits a text at `;`, `&`, `|` and line breaks outside of quotes, and writes `$'…'` as `'…'`.
fn split(text: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut quote = None;
    let mut is_begin = true;
    while let Some(c) = chars.next() {
        let Some(command) = commands.last_mut() else { break };
        let is_between = matches!(c, ' ' | '\t' | '\n');
        match (quote, c) {
            (None, '#') if is_begin => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (None, '$') if chars.next_if_eq(&'\'').is_some() => {
                command.push_str(&quoted(&decoded(&mut chars)));
            }
            // A line goes on. shlex would make an empty word of it.
            (None | Some('"'), '\\') if chars.next_if_eq(&'\n').is_some() => {}
            (None | Some('"'), '\\') => {
                command.push(c);
                command.extend(chars.next());
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                command.push(c);
            }
            (Some(open), _) if open == c => {
                quote = None;
                command.push(c);
            }
            (None, ';' | '&' | '|' | '\n') => commands.push(String::new()),
            _ => command.push(c),
        }
        is_begin = quote.is_none() && (is_between || matches!(c, ';' | '&' | '|'));
    }
    commands
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Decodes a text up to its closing quote, as bash does (its manual, "ANSI-C Quoting").
fn decoded(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    let mut surrogate = None;
    let push = |bytes: &mut Vec<u8>, c: char| {
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => break,
            '\\' => match chars.next() {
                Some('a') => bytes.push(7),
                Some('b') => bytes.push(8),
                Some('e' | 'E') => bytes.push(27),
                Some('f') => bytes.push(12),
                Some('n') => bytes.push(b'\n'),
                Some('r') => bytes.push(b'\r'),
                Some('t') => bytes.push(b'\t'),
                Some('v') => bytes.push(11),
                // Bytes, of which several may be a character.
                Some('x') => bytes.push(number(chars, 2, 16) as u8),
                Some(digit @ '0'..='7') => {
                    let first = digit.to_digit(8).unwrap_or_default();
                    let digits = chars.clone().take(2).take_while(|c| c.is_digit(8)).count();
                    bytes.push((first * 8_u32.pow(digits as u32) + number(chars, digits, 8)) as u8);
                }
                Some(size @ ('u' | 'U')) => {
                    let unit = number(chars, if size == 'u' { 4 } else { 8 }, 16);
                    match (surrogate.take(), unit) {
                        (_, 0xD800..0xDC00) => surrogate = Some(unit),
                        (Some(high), 0xDC00..0xE000) => {
                            let c = 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
                            push(
                                &mut bytes,
                                char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER),
                            );
                        }
                        _ => push(
                            &mut bytes,
                            char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                        ),
                    }
                }
                Some(c @ ('\\' | '\'' | '"' | '?')) => push(&mut bytes, c),
                Some(c) => {
                    bytes.push(b'\\');
                    push(&mut bytes, c);
                }
                None => break,
            },
            c => push(&mut bytes, c),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads up to `most` digits.
fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, most: usize, radix: u32) -> u32 {
    let mut number = 0_u32;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        number = number.wrapping_mul(radix).wrapping_add(digit);
        chars.next();
    }
    number
}

/// Whether the command is for cmd.exe, whose carets escape what a shell reads in another way.
fn is_of_windows(text: &str) -> bool {
    text.contains("curl ^\"") || text.lines().any(|line| line.ends_with(" ^"))
}

/// Rewrites a command for cmd.exe for a shell: a caret escapes the next character, and the words are in
/// double quotes, in which `\"` is a quote.
fn from_windows(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A line break that is escaped twice is one of the value.
            '^' => match chars.next() {
                Some('\n') if chars.next_if_eq(&'\n').is_some() => plain.push('\n'),
                Some('\n') => plain.push(' '),
                Some(c) => plain.push(c),
                None => {}
            },
            c => plain.push(c),
        }
    }
    // In the quotes of a shell, `$` and a backtick would be no plain characters either.
    plain.replace('$', "\\$").replace('`', "\\`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        assert_eq!(commands(text).unwrap(), expected);
    }

    #[test]
    fn commands_end_outside_of_quotes() {
        check(
            "curl a;\ncurl 'b;c' && curl \"d&e\" # f",
            &[&["curl", "a"], &["curl", "b;c"], &["curl", "d&e"]],
        );
        check("$ curl a \\\n  -b c\n\n% curl d#e", &[&["curl", "a", "-b", "c"], &["curl", "d#e"]]);
    }

    #[test]
    fn quotes_of_bash_are_decoded() {
        check(r"curl $'a\u0021\'b\n\x41\xc3\xa9\101'", &[&["curl", "a!'b\nAéA"]]);
        check(r"curl $'\ud83d\ude00;' c", &[&["curl", "😀;", "c"]]);
        check(r#"curl "$'a'""#, &[&["curl", "$'a'"]]);
    }

    #[test]
    fn carets_of_windows_are_removed() {
        let text = "curl ^\"http://a/?b=1^&c=^%^24^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\"";
        check(text, &[&["curl", "http://a/?b=1&c=%24", "--data-raw", "{\"a\":1}"]]);
    }

    #[test]
    fn a_caret_before_a_quote_may_be_one_of_the_value() {
        check("curl -d 'a=^\"b^\"' http://a", &[&["curl", "-d", "a=^\"b^\"", "http://a"]]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert!(commands("curl 'a").is_err());
    }
}
