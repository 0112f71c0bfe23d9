//! Values from text, for tests of a crate that has no compiler.

use crate::builtins::library;
use crate::value::{Map, Set, Value};

/// The call that `text` writes: a function and its arguments, which are data or names of builtins.
///
/// # Panics
///
/// When the text is anything else.
pub(super) fn read_call(text: &str) -> (String, Vec<Value>) {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).expect("a call");
    let (name, args) = inside.split_once(' ').unwrap_or((inside, ""));
    let mut reader = LiteralReader { rest: args.trim_start() };
    let args =
        std::iter::from_fn(|| if reader.rest.is_empty() { None } else { Some(reader.value()) }).collect();
    (name.to_owned(), args)
}

/// The value that `text` writes.
///
/// # Panics
///
/// When it writes none, or more than one.
pub(crate) fn read(text: &str) -> Value {
    let mut reader = LiteralReader { rest: text };
    let value = reader.value();
    assert!(reader.rest.is_empty(), "text behind the value: {}", reader.rest);
    value
}

struct LiteralReader<'a> {
    rest: &'a str,
}

impl LiteralReader<'_> {
    fn value(&mut self) -> Value {
        if self.eat("[") {
            return Value::vector(self.until("]"));
        }
        if self.eat("#{") {
            return Value::Set(self.until("}").into_iter().collect::<Set>());
        }
        if self.eat("{") {
            let items = self.until("}");
            return Value::Map(
                items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect::<Map>(),
            );
        }
        if self.eat("\"") {
            let (text, rest) = self.rest.split_once('"').expect("a closing quote");
            self.rest = rest.trim_start();
            return Value::str(text);
        }
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "[]{}\"".contains(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        atom(token)
    }

    fn eat(&mut self, start: &str) -> bool {
        match self.rest.strip_prefix(start) {
            Some(rest) => {
                self.rest = if start == "\"" { rest } else { rest.trim_start() };
                true
            }
            None => false,
        }
    }

    fn until(&mut self, end: &str) -> Vec<Value> {
        let mut items = Vec::new();
        while !self.eat(end) {
            items.push(self.value());
        }
        items
    }
}

fn atom(token: &str) -> Value {
    match token {
        "nil" => return Value::Nil,
        "true" => return Value::True,
        "false" => return Value::False,
        "##NaN" => return Value::float(f64::NAN),
        _ => {}
    }
    if let Some(name) = token.strip_prefix(':') {
        return Value::keyword(name);
    }
    if let Ok(n) = token.parse() {
        return Value::Int(n);
    }
    if token.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && let Ok(x) = token.parse()
    {
        return Value::float(x);
    }
    library().function_named(token).unwrap_or_else(|| panic!("{token} is no builtin"))
}
