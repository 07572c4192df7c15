//! The fields of a header section, in one piece of memory that the next section reuses.

/// Names, in lower case, and values, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The name and the value of each field, one after another.
    text: Vec<u8>,
    ends: Vec<Ends>,
}

/// Where a field's name and value end in the text. The name begins where the last value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    name: usize,
    value: usize,
}

impl Fields {
    /// Forgets all fields, but not the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a field.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name = self.text.len();
        self.text.extend_from_slice(value);
        self.ends.push(Ends { name, value: self.text.len() });
    }

    /// Adds the field whose name and value `write` appends. `write` returns the length of the text after
    /// the name; `None` adds nothing.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<usize>) -> Option<()> {
        let Some(name) = write(&mut self.text) else {
            self.truncate();
            return None;
        };
        self.ends.push(Ends { name, value: self.text.len() });
        Some(())
    }

    /// Removes the last field.
    pub fn pop(&mut self) {
        self.ends.pop();
        self.truncate();
    }

    /// Removes the text after the last field.
    fn truncate(&mut self) {
        self.text.truncate(self.ends.last().map_or(0, |ends| ends.value));
    }

    /// Returns the last field.
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        self.ends.len().checked_sub(1).map(|last| self.field(last))
    }

    /// Returns the names and values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        (0..self.ends.len()).map(|index| self.field(index))
    }

    fn field(&self, index: usize) -> (&[u8], &[u8]) {
        let Ends { name, value } = self.ends[index];
        let start = index.checked_sub(1).map_or(0, |last| self.ends[last].value);
        (&self.text[start..name], &self.text[name..value])
    }

    /// Returns the value of the first field with this name, in lower case.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(other, _)| *other == name.as_bytes()).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_their_order() {
        let mut fields = Fields::default();
        assert_eq!((fields.len(), fields.last(), fields.first("a")), (0, None, None));
        for (name, value) in [("a", "1"), ("bb", ""), ("a", "3")] {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        let all: Vec<_> = fields.iter().collect();
        assert_eq!(all, [(&b"a"[..], &b"1"[..]), (b"bb", b""), (b"a", b"3")]);
        assert_eq!(fields.first("a"), Some(&b"1"[..]));
        fields.pop();
        assert_eq!((fields.len(), fields.last()), (2, Some((&b"bb"[..], &b""[..]))));
        fields.clear();
        fields.write(|text| {
            text.push(b'x');
            None
        });
        fields.write(|text| {
            text.extend_from_slice(b"c4");
            Some(1)
        });
        assert_eq!(fields.iter().collect::<Vec<_>>(), [(&b"c"[..], &b"4"[..])]);
    }
}
