//! Clojure's value, as the data carry it in tagged JSON, and when one of ours equals it.

use ptc_mcp::json::Value;

use super::read::Tagged;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Clojure's canonical value as a tagged value. `None` when it is malformed.
pub(super) fn canon(value: &Value) -> Option<Tagged> {
    let (tag, inner) = match value {
        Value::Null => return Some(Tagged::Nil),
        Value::Bool(b) => return Some(Tagged::Bool(*b)),
        Value::Object(object) => object.iter().next()?,
        _ => return None,
    };
    let text = || match inner {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let list = || inner.as_array()?.iter().map(canon).collect::<Option<Vec<_>>>();
    Some(match tag.as_str() {
        "i" => Tagged::Int(text()?.parse().ok()?),
        "f" => Tagged::Float(match text()?.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().ok()?,
        }),
        "s" => Tagged::Str(text()?),
        "k" => Tagged::Keyword(text()?),
        "sym" => Tagged::Symbol(text()?),
        "var" => Tagged::Var(text()?),
        "re" => Tagged::Regex(text()?),
        "fn" => Tagged::Function,
        "dur" => Tagged::Duration(text()?.parse().ok()?),
        "v" | "l" => Tagged::Sequence(list()?),
        "set" => Tagged::Set(list()?),
        "m" => Tagged::Map(
            inner
                .as_array()?
                .iter()
                .map(|pair| Some((canon(pair.get(0)?)?, canon(pair.get(1)?)?)))
                .collect::<Option<_>>()?,
        ),
        tag => Tagged::Foreign(tag.to_owned(), text().unwrap_or_default()),
    })
}

/// Whether two floats agree as far as the reference prints them.
pub(super) fn floats_agree(a: f64, b: f64) -> bool {
    if a.is_nan() || b.is_nan() {
        return a.is_nan() && b.is_nan();
    }
    if a == b {
        return true;
    }
    if a.is_infinite() || b.is_infinite() {
        return false;
    }
    let distance = (a - b).abs();
    distance <= 0.6e-10 || distance <= 1e-13 * a.abs().max(b.abs())
}

fn int_is_float(int: &BigInt, float: f64) -> bool {
    float.is_finite() && int.to_f64() == Some(float)
}

/// Whether our value equals Clojure's, up to what the two languages represent differently.
pub(super) fn equals_clojure(ours: &Tagged, theirs: &Tagged) -> bool {
    use Tagged::{Float, Foreign, Function, Int, Keyword, Map, Sequence, Set, Str, Var};
    match (ours, theirs) {
        (Sequence(a), Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equals_clojure(a, b))
        }
        (Map(a), Map(b)) => unordered(a, b, |(k, v), (l, w)| equals_clojure(k, l) && equals_clojure(v, w)),
        (Set(a), Set(b)) => unordered(a, b, equals_clojure),
        (Str(a), Keyword(b)) => a == b,
        (Str(a), Foreign(tag, b)) if tag == "c" => a == b,
        (Str(_), Foreign(tag, _)) => matches!(tag.as_str(), "date" | "inst" | "ld"),
        (Int(a), Float(b)) => int_is_float(a, *b),
        (Float(a), Int(b)) => int_is_float(b, *a),
        (Float(a), Float(b)) => floats_agree(*a, *b),
        (Float(a), Foreign(tag, text)) if tag == "ratio" => text
            .split_once('/')
            .and_then(|(n, d)| Some(n.parse::<f64>().ok()? / d.parse::<f64>().ok()?))
            .is_some_and(|ratio| floats_agree(*a, ratio)),
        (Float(a), Foreign(tag, text)) if tag == "dec" => text.parse().is_ok_and(|b| floats_agree(*a, b)),
        (Int(a), Foreign(tag, text)) if tag == "dec" => text.parse().is_ok_and(|b| int_is_float(a, b)),
        (Var(_), Var(_)) | (Function, Function) => true,
        (a, b) => a == b,
    }
}

/// Whether every element of one side has its own partner on the other.
pub(super) fn unordered<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    let mut left: Vec<&T> = b.iter().collect();
    a.len() == b.len()
        && a.iter().all(|x| match left.iter().position(|y| same(x, y)) {
            Some(i) => {
                left.remove(i);
                true
            }
            None => false,
        })
}
