//! The tests by name.

use crate::error::Result;
use crate::machine::Ctx;
use crate::value::{Value, parts_of_name};

/// Whether the text of a keyword or a symbol has a namespace.
fn is_qualified(text: &str) -> bool {
    parts_of_name(text).0.is_some()
}

/// The text of a keyword or a symbol.
fn identifier(value: &Value) -> Option<&str> {
    match value {
        Value::Keyword(keyword) => Some(keyword.name()),
        Value::Symbol(symbol) => Some(symbol.as_str()),
        _ => None,
    }
}

fn is_finite_collection(value: &Value) -> bool {
    matches!(value, Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_))
}

macro_rules! predicates {
    ($($name:ident = $test:expr;)*) => {
        $(pub(super) fn $name(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
            let test: fn(&Value) -> bool = $test;
            Ok(Value::bool(test(&args[0])))
        })*
    };
}

predicates! {
    is_any = |_| true;
    is_never = |_| false;
    is_nil = Value::is_nil;
    is_some = |v| !v.is_nil();
    is_boolean = |v| matches!(v, Value::True | Value::False);
    is_true = |v| matches!(v, Value::True);
    is_false = |v| matches!(v, Value::False);
    is_number = Value::is_number;
    is_integer = |v| matches!(v, Value::Int(_) | Value::BigInt(_));
    is_float = |v| matches!(v, Value::Float(_));
    is_string = |v| matches!(v, Value::Str(_));
    is_char = |v| matches!(v, Value::Str(s) if s.len() == 1);
    is_keyword = |v| matches!(v, Value::Keyword(_));
    is_symbol = |v| matches!(v, Value::Symbol(_));
    is_identifier = |v| matches!(v, Value::Keyword(_) | Value::Symbol(_));
    is_qualified_keyword = |v| matches!(v, Value::Keyword(name) if is_qualified(name.name()));
    is_simple_keyword = |v| matches!(v, Value::Keyword(name) if !is_qualified(name.name()));
    is_qualified_symbol = |v| matches!(v, Value::Symbol(name) if is_qualified(name.as_str()));
    is_simple_symbol = |v| matches!(v, Value::Symbol(name) if !is_qualified(name.as_str()));
    is_qualified_identifier = |v| identifier(v).is_some_and(is_qualified);
    is_simple_identifier = |v| identifier(v).is_some_and(|text| !is_qualified(text));
    is_vector = |v| matches!(v, Value::Vector(_));
    is_list = |v| matches!(v, Value::List(_) | Value::Queue(_));
    is_sequential = |v| matches!(v, Value::Vector(_) | Value::List(_) | Value::Queue(_)) || v.is_endless();
    is_map = |v| matches!(v, Value::Map(_));
    is_set = |v| matches!(v, Value::Set(_));
    is_counted = is_finite_collection;
    is_collection = |v| is_finite_collection(v) || v.is_endless();
    is_associative = |v| matches!(v, Value::Vector(_) | Value::Map(_));
    is_seqable = |v| v.is_seqable() || v.is_endless();
    is_function = Value::is_function;
    is_callable = Value::is_callable;
    is_regex = |v| matches!(v, Value::Regex(_));
}

/// `(type x)`: the kind as a keyword, `nil` for `nil`.
pub(super) fn type_of(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = match &args[0] {
        Value::Nil => return Ok(Value::Nil),
        Value::True | Value::False => "boolean",
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::Keyword(_) => "keyword",
        Value::Vector(_) => "vector",
        Value::List(_) | Value::Queue(_) => "list",
        Value::Map(_) => "map",
        Value::Set(_) => "set",
        Value::Regex(_) => "regex",
        Value::Blob(_) => "reference",
        Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_) => "function",
        Value::Temporal(_) | Value::Var(_) | Value::Symbol(_) | Value::Tool(_) | Value::Cursor(_) => {
            "unknown"
        }
    };
    Ok(Value::keyword(name))
}

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::{Map, Set, Str, Value};

    /// For each predicate, the values of the list that it holds for, by position.
    #[test]
    fn predicates_hold_for_their_kinds_only() {
        let values = [
            Value::Nil,
            Value::True,
            Value::False,
            Value::Int(7),
            Value::float(1.5),
            Value::float(f64::INFINITY),
            Value::str("ab"),
            Value::str("👨‍👩‍👧"),
            Value::keyword("k"),
            Value::vector([]),
            Value::Map(Map::new()),
            Value::Set(Set::new()),
            crate::builtins::library().function_named("type").unwrap(),
            Value::Tool(Str::new("search")),
            Value::list([]),
            Value::Symbol(Str::new("a")),
            Value::Symbol(Str::new("a/b")),
            Value::keyword("a/b"),
        ];
        for (name, holds) in [
            ("nil?", &[0][..]),
            ("boolean?", &[1, 2]),
            ("true?", &[1]),
            ("false?", &[2]),
            ("number?", &[3, 4, 5]),
            ("int?", &[3]),
            ("rational?", &[3]),
            ("float?", &[4, 5]),
            ("string?", &[6, 7]),
            ("char?", &[7]),
            ("keyword?", &[8, 17]),
            ("simple-keyword?", &[8]),
            ("vector?", &[9]),
            ("list?", &[14]),
            ("sequential?", &[9, 14]),
            ("seq?", &[9, 14]),
            ("map?", &[10]),
            ("set?", &[11]),
            ("coll?", &[9, 10, 11, 14]),
            ("associative?", &[9, 10]),
            ("counted?", &[9, 10, 11, 14]),
            ("indexed?", &[9]),
            ("seqable?", &[0, 6, 7, 9, 10, 11, 14]),
            ("fn?", &[12]),
            ("ifn?", &[8, 9, 10, 11, 12, 13, 15, 16, 17]),
            ("symbol?", &[15, 16]),
            ("simple-symbol?", &[15]),
            ("qualified-symbol?", &[16]),
            ("ident?", &[8, 15, 16, 17]),
            ("simple-ident?", &[8, 15]),
            ("qualified-ident?", &[16, 17]),
            ("qualified-keyword?", &[17]),
            ("any?", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]),
        ] {
            let found: Vec<usize> =
                (0..values.len()).filter(|i| display(name, [values[*i].clone()]) == "true").collect();
            assert_eq!(found, holds, "{name}");
        }
    }

    #[test]
    fn types_are_keywords() {
        assert_eq!(display("type", [Value::Nil]), "nil");
        assert_eq!(display("type", [Value::list([])]), ":list");
        assert_eq!(display("type", [Value::float(f64::NAN)]), ":number");
        assert_eq!(display("type", [Value::Tool(Str::new("x"))]), ":unknown");
    }
}
