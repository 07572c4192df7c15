//! Reads a text as the decoders of escapes would, one character at a time.

/// Number of encodings that may lie within each other, such as JSON in JSON.
const DEPTH: usize = 2;

/// Longest name of an HTML entity, in characters.
const LONGEST_ENTITY: usize = 10;

/// Returns each character that `text` may begin with, and the number of bytes that it takes there: as it stands,
/// and as an escape of JSON, of a URL or of HTML, or as an escape within an escape.
pub(super) fn readings(text: &str) -> impl Iterator<Item = (char, usize)> {
    let mut last = None;
    let each = (0..=DEPTH).filter_map(move |depth| decoded(text, depth));
    each.filter(move |reading| last.replace(*reading) != Some(*reading))
}

/// Returns the character at the beginning of `text`, after `depth` decodings.
fn decoded(text: &str, depth: usize) -> Option<(char, usize)> {
    let Some(outer) = depth.checked_sub(1) else {
        let c = text.chars().next()?;
        return Some((c, c.len_utf8()));
    };
    let (c, length) = decoded(text, outer)?;
    let rest = Reader { rest: &text[length..], outer };
    let escape = match c {
        '\\' => rest.backslash(),
        '%' => rest.percent(),
        '&' => rest.entity(),
        // In a form.
        '+' => Some((' ', 0)),
        _ => None,
    };
    Some(escape.map_or((c, length), |(c, more)| (c, length + more)))
}

/// Longest number of a character, in hexadecimal digits.
const LONGEST_NUMBER: usize = 6;

/// Reads what follows the first character of an escape.
#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a str,
    /// Number of decodings that apply to the characters of the escape.
    outer: usize,
}

impl Reader<'_> {
    /// Returns the next character, and removes it.
    fn next(&mut self) -> Option<char> {
        let (c, length) = decoded(self.rest, self.outer)?;
        self.rest = &self.rest[length..];
        Some(c)
    }

    /// Reads a number of `digits` hexadecimal digits.
    fn hex(&mut self, digits: u32) -> Option<u32> {
        (0..digits).try_fold(0, |number, _| Some(number << 4 | self.next()?.to_digit(16)?))
    }

    /// Returns what an escape stands for, and the number of bytes since `begin`.
    fn end(self, begin: Self, c: char) -> Option<(char, usize)> {
        Some((c, begin.rest.len() - self.rest.len()))
    }

    /// Reads an escape of JSON (RFC 8259, section 7), or of a string in Python or JavaScript.
    fn backslash(mut self) -> Option<(char, usize)> {
        let begin = self;
        let c = match self.next()? {
            c @ ('"' | '\'' | '\\' | '/') => c,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'x' => char::from_u32(self.hex(2)?)?,
            'u' => self.unit()?,
            _ => return None,
        };
        self.end(begin, c)
    }

    /// Reads the number after `\u`: a character, or the first half of a pair for one.
    fn unit(&mut self) -> Option<char> {
        let mut braced = *self;
        if braced.next()? == '{' {
            return self.braced();
        }
        let first = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        (self.next()? == '\\' && self.next()? == 'u').then_some(())?;
        let second = self.hex(4)?.checked_sub(0xdc00).filter(|second| *second < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
    }

    /// Reads a number in braces, as Rust and JavaScript write it.
    fn braced(&mut self) -> Option<char> {
        self.next()?;
        let mut number = 0_u32;
        for _ in 0..=LONGEST_NUMBER {
            match self.next()? {
                '}' => return char::from_u32(number),
                digit => number = number << 4 | digit.to_digit(16)?,
            }
        }
        None
    }

    /// Reads the rest of a character in percent-encoding (RFC 3986, section 2.1), which takes up to four bytes.
    fn percent(mut self) -> Option<(char, usize)> {
        let begin = self;
        // Two digits make a byte.
        let mut bytes = vec![self.hex(2)? as u8];
        let more = match bytes[0] {
            0xc0..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xff => 3,
            _ => 0,
        };
        for _ in 0..more {
            (self.next()? == '%').then_some(())?;
            bytes.push(self.hex(2)? as u8);
        }
        let c = std::str::from_utf8(&bytes).ok()?.chars().next()?;
        self.end(begin, c)
    }

    /// Reads the rest of an entity of HTML, by its name or its number.
    fn entity(mut self) -> Option<(char, usize)> {
        let begin = self;
        let mut name = String::new();
        while name.len() <= LONGEST_ENTITY {
            match self.next()? {
                ';' => return self.end(begin, named(&name)?),
                c => name.push(c),
            }
        }
        None
    }
}

/// Returns the character of an entity with this name or number.
fn named(name: &str) -> Option<char> {
    let number = match name.strip_prefix('#') {
        None => {
            return Some(match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => return None,
            });
        }
        Some(number) => number,
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_read() {
        for (text, c) in [
            ("a", 'a'),
            (r"\/", '/'),
            (r"\u0026", '&'),
            (r"\u00df", 'ß'),
            (r"\ud83d\uDE00", '😀'),
            (r"\xDF", 'ß'),
            (r"\u{df}", 'ß'),
            ("%2f", '/'),
            ("%C3%9f", 'ß'),
            ("%f0%9f%98%80", '😀'),
            ("+", ' '),
            ("&amp;", '&'),
            ("&#39;", '\''),
            ("&#x27;", '\''),
            // An escape in an escape.
            (r"\\/", '/'),
            (r"\\u0026", '&'),
            ("%252F", '/'),
            ("&amp;amp;", '&'),
            ("&amp;#39;", '\''),
            ("%5Cu0026", '&'),
            (r"\u0026amp;", '&'),
            ("%26lt%3B", '<'),
        ] {
            assert!(readings(text).any(|reading| reading == (c, text.len())), "{text}");
        }
        for text in
            ["", "\\", r"\u00", "%", "%4", "%zz", "&", "&amp", "&unknownname;", r"\ud83d\u0020"]
        {
            let as_it_is = text.chars().next().map(|c| (c, c.len_utf8()));
            assert!(readings(text).eq(as_it_is), "{text}");
        }
    }
}
