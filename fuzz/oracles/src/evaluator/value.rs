//! Values: plain trees, maps and sets as sorted vectors.

use super::form::Form;
use num_bigint::BigInt;
use std::cmp::Ordering;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer.
    Int(BigInt),
    /// A string.
    Str(String),
    /// A keyword.
    Keyword(String),
    /// A vector.
    Vector(Vec<Value>),
    /// A list.
    List(Vec<Value>),
    /// A map, sorted by key.
    Map(Vec<(Value, Value)>),
    /// A set, sorted.
    Set(Vec<Value>),
    /// A function of the program.
    Closure(Rc<Closure>),
    /// A function of the library.
    Builtin(String),
}

/// Names and their values, innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(pub(super) Vec<(String, Value)>);

/// A function of the program.
#[derive(Debug)]
pub struct Closure {
    pub(super) parameters: Vec<Form>,
    pub(super) body: Vec<Form>,
    pub(super) scope: Scope,
}

/// Why a program has no value.
#[derive(Clone, Debug)]
pub enum Stop {
    /// It fails with this reason.
    Fail(&'static str),
    /// Outside what the evaluator knows.
    Open,
    /// `recur` on its way to its loop.
    Recur(Vec<Value>),
}

/// What evaluating gives.
pub type Result<T = Value> = std::result::Result<T, Stop>;

impl Value {
    /// Whether conditions take it as true.
    pub fn truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    fn rank(&self) -> Result<u8> {
        Ok(match self {
            Value::Nil => 0,
            Value::Int(_) => 1,
            Value::Bool(_) => 2,
            Value::Keyword(_) => 3,
            Value::Set(_) => 6,
            Value::Map(_) => 7,
            Value::Vector(_) | Value::List(_) => 8,
            Value::Str(_) => 9,
            Value::Closure(_) | Value::Builtin(_) => return Err(Stop::Open),
        })
    }

    /// The total order of language.md 2.11; functions are left open.
    pub fn compare(&self, other: &Value) -> Result<Ordering> {
        Ok(match (self, other) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Keyword(a), Value::Keyword(b)) | (Value::Str(a), Value::Str(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Vector(a) | Value::List(a), Value::Vector(b) | Value::List(b)) if a.len() == b.len() => {
                elementwise(a.iter(), b.iter())?
            }
            (Value::Vector(a) | Value::List(a), Value::Vector(b) | Value::List(b)) => a.len().cmp(&b.len()),
            (Value::Set(a), Value::Set(b)) if a.len() == b.len() => elementwise(a.iter(), b.iter())?,
            (Value::Set(a), Value::Set(b)) => a.len().cmp(&b.len()),
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                let keys = elementwise(a.iter().map(|e| &e.0), b.iter().map(|e| &e.0))?;
                keys.then(elementwise(a.iter().map(|e| &e.1), b.iter().map(|e| &e.1))?)
            }
            (Value::Map(a), Value::Map(b)) => a.len().cmp(&b.len()),
            _ => self.rank()?.cmp(&other.rank()?),
        })
    }

    /// A set of these.
    pub fn set(items: Vec<Value>) -> Result {
        let mut out: Vec<Value> = Vec::new();
        for item in items {
            if let Err(at) = place(&out, &item, |known| known)? {
                out.insert(at, item);
            }
        }
        Ok(Value::Set(out))
    }

    /// Puts an entry into a map; an equal key keeps its place.
    pub fn put(map: &mut Vec<(Value, Value)>, key: Value, value: Value) -> Result<()> {
        match place(map, &key, |entry| &entry.0)? {
            Ok(at) => map[at].1 = value,
            Err(at) => map.insert(at, (key, value)),
        }
        Ok(())
    }

    /// The value of a key that reads find exactly. Reads by another spelling are left open.
    pub fn find<'m>(map: &'m [(Value, Value)], key: &Value) -> Result<Option<&'m Value>> {
        if let Ok(at) = place(map, key, |entry| &entry.0)? {
            return Ok(Some(&map[at].1));
        }
        let named = |value: &Value| matches!(value, Value::Keyword(_) | Value::Str(_));
        let kind = std::mem::discriminant(key);
        let twins = map.iter().any(|(known, _)| named(known) && std::mem::discriminant(known) != kind);
        if matches!(key, Value::Vector(_)) || (named(key) && twins) { Err(Stop::Open) } else { Ok(None) }
    }

    /// `items` as a list if this is one, else as a vector.
    pub fn sequence_like(&self, items: Vec<Value>) -> Value {
        if matches!(self, Value::List(_)) { Value::List(items) } else { Value::Vector(items) }
    }

    /// As sequence functions see it; `None` if they refuse it.
    pub fn elements(&self) -> Option<Vec<Value>> {
        Some(match self {
            Value::Nil => Vec::new(),
            Value::Vector(items) | Value::List(items) | Value::Set(items) => items.clone(),
            Value::Str(text) => text.chars().map(|c| Value::Str(c.to_string())).collect(),
            Value::Map(entries) => {
                entries.iter().map(|(k, v)| Value::Vector(vec![k.clone(), v.clone()])).collect()
            }
            _ => return None,
        })
    }

    /// The readable form.
    pub fn print(&self) -> Result<String> {
        let all = |items: &[Value]| -> Result<String> {
            Ok(items.iter().map(Value::print).collect::<Result<Vec<_>>>()?.join(" "))
        };
        Ok(match self {
            Value::Nil => "nil".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Int(n) => n.to_string(),
            Value::Str(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            Value::Keyword(name) => format!(":{name}"),
            Value::Vector(items) => format!("[{}]", all(items)?),
            Value::List(items) => format!("({})", all(items)?),
            Value::Set(items) => format!("#{{{}}}", all(items)?),
            Value::Map(entries) => {
                let entry = |(k, v): &(Value, Value)| Ok(format!("{} {}", k.print()?, v.print()?));
                format!("{{{}}}", entries.iter().map(entry).collect::<Result<Vec<_>>>()?.join(" "))
            }
            Value::Closure(_) | Value::Builtin(_) => return Err(Stop::Open),
        })
    }
}

fn elementwise<'v>(
    a: impl Iterator<Item = &'v Value>,
    b: impl Iterator<Item = &'v Value>,
) -> Result<Ordering> {
    for (a, b) in a.zip(b) {
        let order = a.compare(b)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// Where in a sorted list a key is, or where it would stand.
fn place<T>(list: &[T], key: &Value, of: impl Fn(&T) -> &Value) -> Result<std::result::Result<usize, usize>> {
    for (at, item) in list.iter().enumerate() {
        match of(item).compare(key)? {
            Ordering::Less => {}
            Ordering::Equal => return Ok(Ok(at)),
            Ordering::Greater => return Ok(Err(at)),
        }
    }
    Ok(Err(list.len()))
}
