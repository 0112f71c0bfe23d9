//! Values that have a literal: what a program can write, print and read again.

use super::Choices;
use num_bigint::BigInt;
use ptc_vm::Value;
use ptc_vm::value::{Map, Set};

/// A value, as a tree without sharing.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer of at most 100 digits, as many as a literal may have (language.md 1.3).
    Int(BigInt),
    /// A finite float.
    Float(f64),
    /// A string. Without backspace, which prints as `\b`, two characters when read (ruling 8).
    Str(String),
    /// A keyword by its name.
    Keyword(String),
    /// A vector.
    Vector(Vec<Datum>),
    /// A list.
    List(Vec<Datum>),
    /// A map. No two keys print the same.
    Map(Vec<(Datum, Datum)>),
    /// A set. No two elements print the same.
    Set(Vec<Datum>),
}

const KEYWORDS: [&str; 12] =
    ["a", "b", "k", "id", "total-sum", "total_sum", "ok?", "x1", "name", "a-", "nil", "Z"];
const CHARACTERS: [char; 24] = [
    'a', 'b', 'Z', ' ', '0', '"', '\\', '\n', '\t', '\r', '\u{c}', '\u{0}', 'é', 'ß', '\u{301}', '世', '👍',
    '\u{200d}', '👩', '\u{feff}', '{', '(', ';', '\u{2028}',
];

/// What a datum may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Value,
    /// Part of a map key or of a set. Floats are quarters there, so that many of them meet an equal integer.
    Key,
}

/// A datum.
pub fn datum(choices: &mut Choices<'_>) -> Datum {
    make(choices, 0, Purpose::Value)
}

/// A datum made of what JSON has: strings are the only keys.
pub fn json_datum(choices: &mut Choices<'_>) -> Datum {
    make_json(choices, 0)
}

fn make(choices: &mut Choices<'_>, depth: usize, purpose: Purpose) -> Datum {
    let kinds = if depth > 5 { 10 } else { 16 };
    match choices.below(kinds) {
        0 => Datum::Nil,
        1 => Datum::Bool(choices.below(2) == 1),
        2..=4 => Datum::Int(integer(choices)),
        5 => Datum::Float(float(choices, purpose)),
        6 | 7 => Datum::Str(text(choices)),
        8 | 9 => Datum::Keyword((*choices.one(&KEYWORDS)).to_owned()),
        10 => Datum::Vector((0..size(choices)).map(|_| make(choices, depth + 1, purpose)).collect()),
        11 => Datum::List((0..size(choices)).map(|_| make(choices, depth + 1, purpose)).collect()),
        12..=14 => {
            let mut entries: Vec<(Datum, Datum)> = Vec::new();
            for _ in 0..size(choices) {
                let key = make(choices, depth + 2, Purpose::Key);
                let value = make(choices, depth + 1, purpose);
                if !entries.iter().any(|(known, _)| known.value_equals(&key)) {
                    entries.push((key, value));
                }
            }
            Datum::Map(entries)
        }
        _ => {
            let mut items: Vec<Datum> = Vec::new();
            for _ in 0..size(choices) {
                let item = make(choices, depth + 1, Purpose::Key);
                if !items.iter().any(|known| known.value_equals(&item)) {
                    items.push(item);
                }
            }
            Datum::Set(items)
        }
    }
}

fn make_json(choices: &mut Choices<'_>, depth: usize) -> Datum {
    let kinds = if depth > 5 { 7 } else { 10 };
    match choices.below(kinds) {
        0 => Datum::Nil,
        1 => Datum::Bool(choices.below(2) == 1),
        2 | 3 => Datum::Int(integer(choices)),
        4 => Datum::Float(float(choices, Purpose::Value)),
        5 | 6 => Datum::Str(text(choices)),
        7 => Datum::Vector((0..size(choices)).map(|_| make_json(choices, depth + 1)).collect()),
        _ => {
            let mut entries: Vec<(Datum, Datum)> = Vec::new();
            for _ in 0..size(choices) {
                let key = Datum::Str(text(choices));
                let value = make_json(choices, depth + 1);
                if !entries.iter().any(|(known, _)| *known == key) {
                    entries.push((key, value));
                }
            }
            Datum::Map(entries)
        }
    }
}

/// Mostly few, now and then enough for the persistent representations.
fn size(choices: &mut Choices<'_>) -> usize {
    match choices.below(12) {
        11 => 20 + choices.below(60),
        few => few.min(5),
    }
}

/// An integer around the edges of its representations.
pub fn integer(choices: &mut Choices<'_>) -> BigInt {
    let edge = |bits: u32| BigInt::from(1) << bits;
    match choices.below(10) {
        0..=3 => BigInt::from(choices.byte() as i8),
        4 => BigInt::from(choices.word() as i64),
        5 => edge(63) + BigInt::from(choices.byte() as i8),
        6 => -edge(63) + BigInt::from(choices.byte() as i8),
        7 => edge(31) + BigInt::from(choices.byte() as i8),
        8 => edge(53) + BigInt::from(choices.byte() as i8),
        _ => {
            let digits = choices.bytes(40);
            let negative = choices.below(2) == 1;
            let magnitude = BigInt::from_bytes_le(num_bigint::Sign::Plus, digits);
            if negative { -magnitude } else { magnitude }
        }
    }
}

fn float(choices: &mut Choices<'_>, purpose: Purpose) -> f64 {
    let quarter = f64::from(choices.byte() as i8) / 4.0;
    if purpose == Purpose::Key {
        // One zero: the other is equal to it and prints alike.
        return quarter + 0.0;
    }
    match choices.below(6) {
        0 | 1 => quarter,
        2 => quarter * 1e15,
        3 => quarter * 1e-7,
        4 => Some(f64::from_bits(choices.word())).filter(|x| x.is_finite()).unwrap_or(f64::MAX),
        _ => *choices.one(&[-0.0, f64::MIN_POSITIVE, 5e-324, f64::MAX, 0.1, 1e16, 1e-6, 9.999_999_999e15]),
    }
}

/// A string of at most 40 characters.
pub fn text(choices: &mut Choices<'_>) -> String {
    let length = match choices.below(8) {
        7 => choices.below(40),
        few => few,
    };
    (0..length)
        .map(|_| match choices.below(30) {
            usual if usual < CHARACTERS.len() => CHARACTERS[usual],
            _ => {
                let code = choices.word() as u32 % 0x11_0000;
                char::from_u32(code).filter(|c| *c != '\u{8}').unwrap_or('\u{fffd}')
            }
        })
        .collect()
}

impl Datum {
    /// The value itself.
    pub fn value(&self) -> Value {
        match self {
            Datum::Nil => Value::Nil,
            Datum::Bool(flag) => Value::bool(*flag),
            Datum::Int(n) => Value::integer(n.clone()),
            Datum::Float(x) => Value::float(*x),
            Datum::Str(text) => Value::str(text),
            Datum::Keyword(name) => Value::keyword(name),
            Datum::Vector(items) => Value::vector(items.iter().map(Datum::value).collect::<Vec<_>>()),
            Datum::List(items) => Value::list(items.iter().map(Datum::value).collect::<Vec<_>>()),
            Datum::Map(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(key.value(), value.value());
                }
                Value::Map(map)
            }
            Datum::Set(items) => {
                let mut set = Set::new();
                for item in items {
                    set.insert(item.value());
                }
                Value::Set(set)
            }
        }
    }

    /// Program text that means this value, written without any printer of the project.
    pub fn literal(&self) -> String {
        let joined = |items: &[Datum]| items.iter().map(Datum::literal).collect::<Vec<_>>().join(" ");
        match self {
            Datum::Nil => "nil".to_owned(),
            Datum::Bool(flag) => flag.to_string(),
            Datum::Int(n) => n.to_string(),
            Datum::Float(x) => format!("{x:?}"),
            Datum::Str(text) => {
                let mut out = String::from("\"");
                for c in text.chars() {
                    match c {
                        '"' => out.push_str("\\\""),
                        '\\' => out.push_str("\\\\"),
                        '\n' => out.push_str("\\n"),
                        '\t' => out.push_str("\\t"),
                        '\r' => out.push_str("\\r"),
                        other => out.push(other),
                    }
                }
                out + "\""
            }
            Datum::Keyword(name) => format!(":{name}"),
            Datum::Vector(items) => format!("[{}]", joined(items)),
            Datum::List(items) => format!("(list {})", joined(items)),
            Datum::Set(items) => format!("#{{{}}}", joined(items)),
            Datum::Map(entries) => {
                let entry = |(key, value): &(Datum, Datum)| format!("{} {}", key.literal(), value.literal());
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// Whether a list is anywhere in it.
    pub fn has_list(&self) -> bool {
        match self {
            Datum::List(_) => true,
            Datum::Vector(items) | Datum::Set(items) => items.iter().any(Datum::has_list),
            Datum::Map(entries) => entries.iter().any(|(key, value)| key.has_list() || value.has_list()),
            _ => false,
        }
    }

    fn value_equals(&self, other: &Datum) -> bool {
        ptc_vm::value::equal(&self.value(), &other.value())
    }
}
