//! A bounded preview, in the notation of the language, of a JSON value that is too large to send.

use ptc_host::text::clip;

use ptc_mcp::json::{Kind, Raw, Scanner, write_string};

/// Items of a collection that are shown.
const ITEMS: usize = 20;

/// Renders `json` with at most [`ITEMS`] items a level and `max_string` bytes a string, and returns whether anything
/// was omitted. The text has at most `max_text` bytes.
pub fn preview(json: &str, max_string: usize, max_text: usize) -> (String, bool) {
    let Ok(raw) = Raw::parse(json) else { return (String::new(), true) };
    let mut preview = Preview { out: String::new(), max_string, max_text, lossy: false };
    preview.value(raw);
    (preview.out, preview.lossy)
}

struct Preview {
    out: String,
    max_string: usize,
    max_text: usize,
    lossy: bool,
}

impl Preview {
    /// Recursion is as deep as the value, which the scanner bounds.
    fn value(&mut self, raw: Raw<'_>) {
        if self.out.len() > self.max_text {
            self.lossy = true;
            return;
        }
        match raw.kind() {
            Kind::Null => self.out.push_str("nil"),
            Kind::String => self.string(&raw.as_str().unwrap_or_default()),
            Kind::Array => self.array(raw),
            Kind::Object => self.object(raw),
            Kind::Boolean | Kind::Integer | Kind::Number => self.out.push_str(raw.text()),
        }
    }

    fn string(&mut self, text: &str) {
        let shown = clip(text, self.max_string);
        let mut quoted = Vec::new();
        write_string(&mut quoted, shown);
        self.out.push_str(&String::from_utf8_lossy(&quoted));
        if shown.len() < text.len() {
            self.lossy = true;
            self.out.push_str("...");
        }
    }

    fn array(&mut self, raw: Raw<'_>) {
        let mut scanner = Scanner::new(raw.text());
        let mut first = true;
        let mut count = 0;
        self.out.push('[');
        if scanner.enter_array().is_ok() {
            while let Ok(true) = scanner.next_element(&mut first) {
                let Ok(element) = scanner.value() else { break };
                if count < ITEMS {
                    if count > 0 {
                        self.out.push(' ');
                    }
                    self.value(element);
                }
                count += 1;
            }
        }
        self.close(']', count);
    }

    fn object(&mut self, raw: Raw<'_>) {
        let mut count = 0;
        self.out.push('{');
        for (key, value) in raw.members().into_iter().flatten() {
            if count < ITEMS {
                if count > 0 {
                    self.out.push(' ');
                }
                self.string(&key);
                self.out.push(' ');
                self.value(value);
            }
            count += 1;
        }
        self.close('}', count);
    }

    fn close(&mut self, bracket: char, count: usize) {
        if count > ITEMS {
            self.lossy = true;
            self.out.push_str(&format!(" ...{bracket} ({ITEMS}/{count})"));
        } else {
            self.out.push(bracket);
        }
    }
}
