//! A tool's parameters, and a call's arguments for them.

use super::names::{Plain, Role, role};
use crate::value::{Map, Value, Vector};

/// Most parameters of a tool that are looked at.
const MOST: usize = 64;
/// Longest text of a call that is kept to be compared, in bytes.
const LONGEST_TEXT: usize = 4096;

/// The type of a parameter, as far as paging depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Numbers.
    Number,
    /// Texts.
    Text,
    /// Either, or unknown.
    Any,
}

/// A parameter of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name as the tool spells it.
    pub name: String,
    /// Its type.
    pub kind: ParameterKind,
    /// Its default.
    pub default: Option<i64>,
    /// The least that it may be.
    pub minimum: Option<i64>,
    /// The most that it may be.
    pub maximum: Option<i64>,
}

impl Parameter {
    pub(super) fn plain(&self) -> Plain {
        Plain::of(&self.name)
    }

    /// Its role in paging. A page or a place that is a text is no number of ours.
    pub(super) fn role(&self) -> Option<Role> {
        match (role(self.plain().as_str())?, self.kind) {
            (Role::Offset, ParameterKind::Text) if self.plain().as_str() == "offset" => Some(Role::Cursor),
            (Role::Offset | Role::Page | Role::Limit, ParameterKind::Text) => None,
            (role, _) => Some(role),
        }
    }

    /// The value as this parameter takes it.
    pub(super) fn fitted(&self, value: &Value) -> Value {
        match (value, self.kind) {
            (Value::Str(text), ParameterKind::Number) => {
                text.as_str().parse().map_or_else(|_| value.clone(), Value::Int)
            }
            (Value::Int(number), ParameterKind::Text) => Value::str(number.to_string()),
            _ => value.clone(),
        }
    }
}

/// The parameters of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    list: Vec<Parameter>,
}

impl Parameters {
    /// The parameters that a tool describes; none where it describes none.
    pub fn new(list: impl IntoIterator<Item = Parameter>) -> Parameters {
        Parameters { list: list.into_iter().take(MOST).collect() }
    }

    /// Whether the tool describes its parameters.
    pub(super) fn are_known(&self) -> bool {
        !self.list.is_empty()
    }

    pub(super) fn named(&self, plain: &str) -> Option<&Parameter> {
        self.list.iter().find(|parameter| parameter.plain().as_str() == plain)
    }

    pub(super) fn of_role(&self, role: Role) -> impl Iterator<Item = &Parameter> {
        self.list.iter().filter(move |parameter| parameter.role() == Some(role))
    }

    /// Whether any of them chooses a page or its size.
    pub(super) fn choose_pages(&self) -> bool {
        self.list.iter().any(|parameter| parameter.role().is_some())
    }

    /// The role of an argument of this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        let plain = Plain::of(name);
        match self.named(plain.as_str()) {
            Some(parameter) => parameter.role(),
            None => role(plain.as_str()),
        }
    }

    /// The first of their names, for a reader.
    pub(crate) fn shown(&self, most: usize) -> String {
        let names = self.list.iter().take(most).map(|parameter| parameter.name.as_str());
        let names: Vec<String> = names.map(|name| crate::print::literal(&Value::str(name))).collect();
        if names.is_empty() { "not described".to_owned() } else { names.join(", ") }
    }

    /// As a value, for [`of_value`](Self::of_value).
    pub(crate) fn to_value(&self) -> Value {
        let number = |number: Option<i64>| number.map_or(Value::Nil, Value::Int);
        let parameter = |parameter: &Parameter| {
            let kind = match parameter.kind {
                ParameterKind::Number => 0,
                ParameterKind::Text => 1,
                ParameterKind::Any => 2,
            };
            Value::Vector(Vector::from_vec(vec![
                Value::str(&parameter.name),
                Value::Int(kind),
                number(parameter.default),
                number(parameter.minimum),
                number(parameter.maximum),
            ]))
        };
        Value::Vector(Vector::from_vec(self.list.iter().map(parameter).collect()))
    }

    /// Reads the output of [`to_value`](Self::to_value); empty for any other value.
    pub(crate) fn of_value(value: &Value) -> Parameters {
        let Value::Vector(list) = value else { return Parameters::default() };
        let parameter = |value: Value| {
            let Value::Vector(parts) = &value else { return None };
            let number = |at| match parts.get(at) {
                Some(Value::Int(number)) => Some(number),
                _ => None,
            };
            let Some(Value::Str(name)) = parts.get(0) else { return None };
            let kind = match number(1)? {
                0 => ParameterKind::Number,
                1 => ParameterKind::Text,
                _ => ParameterKind::Any,
            };
            let (default, minimum, maximum) = (number(2), number(3), number(4));
            Some(Parameter { name: name.as_str().to_owned(), kind, default, minimum, maximum })
        };
        Parameters::new(list.iter().filter_map(parameter))
    }
}

/// A value of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// One argument of a call that chooses a page or its size.
#[derive(Clone, Debug)]
struct SentArgument {
    name: String,
    role: Role,
    value: Scalar,
}

/// A call's arguments that choose a page or its size.
#[derive(Clone, Debug, Default)]
pub struct PageArguments {
    list: Vec<SentArgument>,
}

impl PageArguments {
    /// Adds an argument, if it is such a one.
    pub fn push(&mut self, parameters: &Parameters, name: &str, value: Scalar) {
        let is_short = !matches!(&value, Scalar::Text(text) if text.len() > LONGEST_TEXT);
        if let (Some(role), true) = (parameters.role(name), is_short && self.list.len() < MOST) {
            self.list.push(SentArgument { name: name.to_owned(), role, value });
        }
    }

    /// Those among these arguments of a program.
    pub(crate) fn of_map(arguments: &Map, parameters: &Parameters) -> PageArguments {
        let mut sent = PageArguments::default();
        for (key, value) in arguments.iter().take(MOST) {
            let (Some(name), Some(value)) = (super::page::key_name(key), scalar(value)) else { continue };
            sent.push(parameters, name, value);
        }
        sent
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = &SentArgument> {
        self.list.iter().filter(move |sent| sent.role == role)
    }

    /// The number that it gave for this role, and under which name.
    pub(super) fn number(&self, role: Role) -> Option<(i64, &str)> {
        self.of_role(role).find_map(|sent| match &sent.value {
            Scalar::Number(number) => Some((*number, sent.name.as_str())),
            Scalar::Text(text) => Some((text.parse().ok()?, sent.name.as_str())),
        })
    }

    /// The name under which it gave something for this role.
    pub(super) fn name(&self, role: Role) -> Option<&str> {
        self.of_role(role).next().map(|sent| sent.name.as_str())
    }

    /// The size of a page that it asked for.
    pub(super) fn limit(&self) -> Option<i64> {
        self.number(Role::Limit).map(|(limit, _)| limit).filter(|limit| *limit > 0)
    }

    /// The argument for the page after the one whose number it gave.
    pub(crate) fn next_page(&self) -> Option<(String, Value)> {
        let (page, name) = self.number(Role::Page)?;
        Some((name.to_owned(), Value::Int(page.checked_add(1)?)))
    }

    /// Whether it chose where to begin.
    pub(crate) fn chooses_a_place(&self) -> bool {
        self.list.iter().any(|sent| sent.role != Role::Limit)
    }

    /// Whether it gave this very value under this name.
    pub(super) fn has(&self, plain: &str, value: &Value) -> bool {
        let value = scalar(value);
        self.list
            .iter()
            .any(|sent| Plain::of(&sent.name).as_str() == plain && Some(&sent.value) == value.as_ref())
    }
}

fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Int(number) => Some(Scalar::Number(*number)),
        Value::Str(text) if text.len() <= LONGEST_TEXT => Some(Scalar::Text(text.as_str().to_owned())),
        _ => None,
    }
}
