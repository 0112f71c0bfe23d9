//! Result text, as the language prints it, back into tagged values.

use num_bigint::BigInt;

/// A value as far as comparing needs it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the kind of value of that name")]
pub enum Tagged {
    Nil,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Str(String),
    Keyword(String),
    Symbol(String),
    Var(String),
    Regex(String),
    Function,
    Duration(i64),
    Sequence(Vec<Tagged>),
    Map(Vec<(Tagged, Tagged)>),
    Set(Vec<Tagged>),
    /// Only in Clojure's canonical form: its tag and text.
    Foreign(String, String),
}

/// Parses one printed value. `None` when the text is none.
pub fn parse(text: &str) -> Option<Tagged> {
    let mut reader = Reader { rest: text };
    reader.skip();
    let value = reader.value()?;
    reader.skip();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t']);
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn token(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '{' | '}' | '(' | ')' | '"'))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token
    }

    fn until(&mut self, close: char) -> Option<Vec<Tagged>> {
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.rest.starts_with(close) {
                self.next();
                return Some(items);
            }
            items.push(self.value()?);
        }
    }

    fn through(&mut self, close: char) -> Option<&'a str> {
        let (inside, rest) = self.rest.split_once(close)?;
        self.rest = rest;
        Some(inside)
    }

    fn value(&mut self) -> Option<Tagged> {
        if self.eat("[") {
            return self.until(']').map(Tagged::Sequence);
        }
        if self.eat("(") {
            return self.until(')').map(Tagged::Sequence);
        }
        if self.eat("{") {
            let items = self.until('}')?;
            if items.len() % 2 != 0 {
                return None;
            }
            let pairs = items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
            return Some(Tagged::Map(pairs));
        }
        if self.eat("#{") {
            return self.until('}').map(Tagged::Set);
        }
        if self.eat("\"") {
            return self.string().map(Tagged::Str);
        }
        if self.eat("#\"") {
            return self.regex().map(Tagged::Regex);
        }
        if self.eat("#fn[") {
            return self.through(']').map(|_| Tagged::Function);
        }
        if self.eat("#<builtin>") || self.eat("#<fn>") {
            return Some(Tagged::Function);
        }
        if self.eat("#duration[") {
            let text = self.through(']')?;
            return text.strip_suffix("ms")?.parse().ok().map(Tagged::Duration);
        }
        if self.eat("#'") {
            return Some(Tagged::Var(self.token().to_owned()));
        }
        if self.eat(":") {
            return Some(Tagged::Keyword(self.token().to_owned()));
        }
        if self.eat("'") {
            return Some(Tagged::Symbol(self.token().to_owned()));
        }
        match self.token() {
            "" => None,
            "nil" => Some(Tagged::Nil),
            "true" => Some(Tagged::Bool(true)),
            "false" => Some(Tagged::Bool(false)),
            "##Inf" => Some(Tagged::Float(f64::INFINITY)),
            "##-Inf" => Some(Tagged::Float(f64::NEG_INFINITY)),
            "##NaN" => Some(Tagged::Float(f64::NAN)),
            token => {
                let digits = token.strip_prefix('-').unwrap_or(token);
                if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                    token.parse().ok().map(Tagged::Int)
                } else {
                    token.parse().ok().map(Tagged::Float)
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.next()? {
                '"' => return Some(out),
                '\\' => match self.next()? {
                    'x' => out.push(self.code(2)?),
                    'u' => out.push(self.code(4)?),
                    c => out.push(unescape(c)),
                },
                c => out.push(c),
            }
        }
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let hex = if self.eat("{") {
            self.through('}')?
        } else {
            let (hex, rest) = self.rest.split_at_checked(digits)?;
            self.rest = rest;
            hex
        };
        char::from_u32(u32::from_str_radix(hex, 16).ok()?)
    }

    fn regex(&mut self) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.next()? {
                '"' => return Some(out),
                '\\' => {
                    out.push('\\');
                    out.push(self.next()?);
                }
                c => out.push(c),
            }
        }
    }
}

fn unescape(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'd' => '\x7f',
        'e' => '\x1b',
        'f' => '\x0c',
        'v' => '\x0b',
        '0' => '\0',
        's' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_values_read_back() {
        let text =
            r##"[1 -2.5 "a\nb" :k {:a nil} #{true} #"x\"y" #'v 'a/b #fn[x & y] #duration[5ms] ##Inf]"##;
        let Some(Tagged::Sequence(items)) = parse(text) else { panic!("not a sequence") };
        assert_eq!(items.len(), 12);
        assert_eq!(items[2], Tagged::Str("a\nb".into()));
        assert_eq!(items[6], Tagged::Regex("x\\\"y".into()));
        assert_eq!(parse("(1 [2])"), parse("[1 (2)]"));
        assert!(parse("[1").is_none() && parse("1 2").is_none() && parse("{1}").is_none());
    }
}
