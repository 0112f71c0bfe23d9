//! Writing JSON into bytes.

/// Writes the members of one object. The braces are written by [`Object::new`] and [`Object::end`].
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Object { out, first: true }
    }

    /// Writes a key; the caller writes the value.
    pub fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        write_string(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// A member that is a string.
    pub fn string(&mut self, name: &str, value: &str) {
        write_string(self.key(name), value);
    }

    /// A member whose value is JSON text already.
    pub fn raw(&mut self, name: &str, json: &str) {
        self.key(name).extend_from_slice(json.as_bytes());
    }

    /// A member that is a boolean.
    pub fn boolean(&mut self, name: &str, value: bool) {
        self.raw(name, if value { "true" } else { "false" });
    }

    /// A member that is an integer.
    pub fn integer(&mut self, name: &str, value: u64) {
        write_integer(self.key(name), value);
    }

    /// A member that is an array of strings.
    pub fn strings<'s>(&mut self, name: &str, values: impl IntoIterator<Item = &'s str>) {
        write_strings(self.key(name), values);
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// An object as text, its members written by `write`.
pub fn object_text(write: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = Vec::with_capacity(256);
    let mut object = Object::new(&mut out);
    write(&mut object);
    object.end();
    // Everything that is written here is UTF-8.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends an array of strings.
pub fn write_strings<'s>(out: &mut Vec<u8>, values: impl IntoIterator<Item = &'s str>) {
    write_array(out, values, write_string);
}

/// Appends an array whose elements are written by `write`.
pub fn write_array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Appends an integer.
pub fn write_integer(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `text` to `out` as a JSON string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            0..=0x1f => 0,
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        if short == 0 {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::super::{Raw, string_len};
    use super::*;

    #[test]
    fn strings_survive_decoding_and_encoding() {
        let all: String = (0..0x300u32).filter_map(char::from_u32).chain(['😀', '\u{ffff}']).collect();
        let mut written = Vec::new();
        write_string(&mut written, &all);
        assert_eq!(written.len(), string_len(&all));
        let text = String::from_utf8(written).unwrap();
        assert_eq!(text, serde_json::to_string(&all).unwrap());
        assert_eq!(Raw::parse(&text).unwrap().as_str().unwrap(), all);
        assert_eq!(Raw::parse(r#""\ud83d\ude00\/\b\f""#).unwrap().as_str().unwrap(), "😀/\u{8}\u{c}");
    }

    #[test]
    fn objects() {
        let text = object_text(|object| {
            object.string("a", "x\"y");
            object.boolean("b", true);
            object.integer("c", 7);
            object.strings("d", ["p", "q"]);
            object.raw("e", "null");
        });
        assert_eq!(text, r#"{"a":"x\"y","b":true,"c":7,"d":["p","q"],"e":null}"#);
        assert_eq!(object_text(|_| ()), "{}");
    }
}
