//! `identical?`, and the hashes of Clojure and Java (functions.md 17).

use super::Builtin;
use super::math::to_int;
use super::namespaces::{CORE, OBJECT};
use super::row::{fun, section};
use super::support::cursor;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{self, Hashing, Value, combined, hash_of_elements, mix_collection, program_hash};

/// `(identical? a b)`
fn identical(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(value::same_object(&args[0], &args[1])))
}

/// The error of a value that has no hash which is the same in each run.
#[cold]
fn no_hash(name: &str, value: &Value) -> Error {
    let kind = match value {
        Value::Regex(_) => "pattern",
        Value::Temporal(_) => "date",
        Value::Blob(_) => "file",
        Value::Var(_) => "reference",
        Value::Tool(_) => "tool",
        other => other.kind_label(),
    };
    Error::type_error(format!("{name}: a {kind} has no hash; hash what it is made of"))
}

fn hashed(name: &str, value: &Value, hashing: Hashing) -> Result<i32> {
    program_hash(value, hashing).map_err(|value| no_hash(name, &value))
}

/// `(hash x)`
fn hash(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    hashed("hash", &args[0], Hashing::Clojure).map(|hash| Value::Int(hash.into()))
}

/// `(.hashCode x)`
fn hash_code(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args[0].is_nil() {
        return Err(Error::argument_types(".hashCode", args));
    }
    hashed(".hashCode", &args[0], Hashing::Java).map(|hash| Value::Int(hash.into()))
}

fn of_elements(ctx: &mut Ctx<'_>, name: &str, args: &[Value], ordered: bool) -> Result<Value> {
    let elements = match &args[0] {
        Value::Nil | Value::Str(_) => None,
        collection => cursor(ctx, collection)?,
    };
    let elements = elements.ok_or_else(|| Error::argument_types(name, args))?;
    let hash = hash_of_elements(elements, ordered).map_err(|value| no_hash(name, &value))?;
    Ok(Value::Int(hash.into()))
}

/// `(hash-ordered-coll c)`
fn hash_ordered(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    of_elements(ctx, "hash-ordered-coll", args, true)
}

/// `(hash-unordered-coll c)`
fn hash_unordered(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    of_elements(ctx, "hash-unordered-coll", args, false)
}

/// An argument that is an integer of 32 bits.
fn int(name: &str, args: &[Value], i: usize) -> Result<i32> {
    to_int(&args[i])?.ok_or_else(|| Error::argument_types(name, args))
}

/// `(mix-collection-hash hash n)`
fn mix(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (hash, count) = (int("mix-collection-hash", args, 0)?, int("mix-collection-hash", args, 1)?);
    Ok(Value::Int(mix_collection(hash, count).into()))
}

/// `(hash-combine n x)`
fn combine(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let seed = int("hash-combine", args, 0)?;
    let hash = hashed("hash-combine", &args[1], Hashing::Java)?;
    Ok(Value::Int(combined(seed, hash).into()))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("compare", "Comparison").of([
    fun("identical?", CORE, "a b", identical)
        .doc("Whether two values are one: equal scalars of one kind, or the same collection or function")
        .example("(identical? :a :a)", "true")
        .example("(identical? 1 1.0)", "false")
        .example("(let [v [1]] [(identical? v v) (identical? v (vec (list 1)))])", "[true false]"),
    fun("hash", CORE, "x", hash)
        .doc("Clojure's hash of a value, an integer of 32 bits; functions, patterns and dates have none")
        .example(r#"(hash "a")"#, "1455541201")
        .example("(= (hash [1 2]) (hash '(1 2)))", "true"),
    fun("hash-ordered-coll", CORE, "c", hash_ordered)
        .doc("Hash of the elements of a collection in their order, as hash of a vector")
        .example("(hash-ordered-coll [1 2])", "156247261"),
    fun("hash-unordered-coll", CORE, "c", hash_unordered)
        .doc("Hash of the elements of a collection in any order, as hash of a set")
        .example("(hash-unordered-coll [2 1])", "460223544"),
    fun("mix-collection-hash", CORE, "hash n", mix)
        .doc("The hash of a collection of n elements out of what their hashes come to")
        .example("(mix-collection-hash 0 0)", "-15128758"),
    fun("hash-combine", CORE, "n x", combine)
        .doc("One hash of a hash and of a value, whose hash is Java's")
        .example(r#"(hash-combine 100 "a")"#, "-1640524969"),
    fun(".hashCode", OBJECT, "x", hash_code)
        .doc("Java's hash of a value")
        .example(r#"(.hashCode "hello")"#, "99162322"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;
    use num_bigint::BigInt;

    #[test]
    fn scalars_are_identical_by_value_and_collections_by_allocation() {
        let vector = Value::vector([Value::Int(1)]);
        let big = Value::integer(BigInt::from(1) << 70_u32);
        for (a, b, expected) in [
            (Value::Int(1000), Value::Int(1000), true),
            (Value::Int(1), Value::float(1.0), false),
            (Value::float(0.0), Value::float(-0.0), false),
            (Value::float(f64::INFINITY), Value::float(f64::INFINITY), true),
            (Value::str("ab"), Value::str("ab"), true),
            (Value::str("a"), Value::keyword("a"), false),
            (Value::keyword("a"), Value::keyword("a"), true),
            (Value::Nil, Value::Nil, true),
            (Value::Nil, Value::False, false),
            (vector.clone(), vector.clone(), true),
            (vector.clone(), Value::vector([Value::Int(1)]), false),
            (vector.clone(), Value::list([Value::Int(1)]), false),
            (Value::vector([]), Value::list([]), true),
            (Value::vector([]), Value::Nil, false),
            (big.clone(), big.clone(), true),
            (big, Value::integer(BigInt::from(1) << 70_u32), false),
        ] {
            assert_eq!(display("identical?", [a.clone(), b.clone()]), expected.to_string(), "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_has_no_hash_is_refused() {
        let pattern = crate::value::Regex::literal("a").unwrap();
        let text = "! type_error: hash: a pattern has no hash; hash what it is made of";
        assert_eq!(display("hash", [Value::vector([pattern])]), text);
        let text = "! type_error: hash-ordered-coll: invalid argument types: string";
        assert_eq!(display("hash-ordered-coll", [Value::str("ab")]), text);
        let text = "! arithmetic_error: integer overflow";
        assert_eq!(display("mix-collection-hash", [Value::Int(1 << 40), Value::Int(1)]), text);
    }

    #[test]
    fn entries_are_hashed_as_vectors() {
        let map = Value::Map(crate::value::Map::from_entries(vec![(Value::Int(1), Value::Int(2))]));
        let entry = Value::vector([Value::Int(1), Value::Int(2)]);
        assert_eq!(display("hash-unordered-coll", [map.clone()]), display("hash", [map]));
        assert_eq!(
            display("hash", [Value::list([entry.clone()])]),
            display("hash", [Value::vector([entry])])
        );
    }
}
