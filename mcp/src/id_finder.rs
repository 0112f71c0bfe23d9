//! Finding the `id` of a message whose bytes are not kept.

use bytes::Bytes;

/// Longest id that is kept, in bytes of JSON.
const MAX_ID: usize = 1024;
const ID: &[u8] = b"id";

/// Looks for the member `id` of a JSON object as its bytes go by. Keeps no more than a key and the id.
#[derive(Debug, Default)]
pub(crate) struct IdFinder {
    /// Open brackets.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The role of the next string of the outermost object.
    place: MemberPart,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Whether the current bytes are the id.
    taking: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MemberPart {
    #[default]
    Key,
    Value,
}

impl IdFinder {
    /// Looks at further bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id as JSON text, if it went by.
    pub(crate) fn found(self) -> Option<Bytes> {
        (!self.value.is_empty() && !self.taking).then(|| Bytes::from(self.value))
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            return self.step_in_string(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.place == MemberPart::Key {
                    self.key.clear();
                }
                self.take(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                // An id is no object and no array.
                self.drop_id();
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.taking = false;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.taking = false;
                self.place = MemberPart::Key;
            }
            b':' if self.depth == 1 && self.place == MemberPart::Key => {
                self.place = MemberPart::Value;
                self.taking = self.key == ID && self.value.is_empty();
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.take(byte),
        }
    }

    fn step_in_string(&mut self, byte: u8) {
        self.take(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
        if self.in_string && self.depth == 1 && self.place == MemberPart::Key && self.key.len() <= ID.len() {
            self.key.push(byte);
        }
    }

    fn take(&mut self, byte: u8) {
        if !self.taking {
            return;
        }
        if self.value.len() == MAX_ID {
            self.drop_id();
        } else {
            self.value.push(byte);
        }
    }

    fn drop_id(&mut self) {
        if self.taking {
            self.taking = false;
            self.value.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(text: &str) -> Option<String> {
        let mut finder = IdFinder::default();
        // One byte at a time: nothing may depend on how they arrive.
        for byte in text.as_bytes() {
            finder.feed(&[*byte]);
        }
        finder.found().map(|id| String::from_utf8(id.to_vec()).unwrap())
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let long = format!("{{\"x\":\"{}\"}}", "y".repeat(5000));
        for text in [
            format!(r#"{{"id":7,"params":{long}}}"#),
            format!(r#"{{"params":{long},"id":7}}"#),
            format!(r#"{{"params":{long}, "id" : 7 ,"method":"m"}}"#),
        ] {
            assert_eq!(id_of(&text).as_deref(), Some("7"), "{text}");
        }
        assert_eq!(id_of(r#"{"id":"a\"b,}","m":1}"#).as_deref(), Some(r#""a\"b,}""#));
    }

    #[test]
    fn other_members_are_not_taken_for_it() {
        for text in [
            r#"{"params":{"id":7},"a":[{"id":8}],"b":"\"id\":9,"}"#,
            r#"{"ids":7,"i":8,"Id":9}"#,
            r#"{"id":{"a":1}}"#,
            r#"{"id":[1]}"#,
            r#"{"a":"id","b":"id"}"#,
            r#"{"id":7"#,
            "",
        ] {
            assert_eq!(id_of(text), None, "{text}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(2000));
        assert_eq!(id_of(&long), None);
    }
}
