//! Conversions into values, and comparisons with other types.

use std::borrow::Cow;

use super::{Map, Number, Value};

macro_rules! numbers {
    ($as:ident as $wide:ty: $($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Value::Number(number.into())
            }
        }

        comparable!($number, |value, other| value.$as() == <$wide>::try_from(*other).ok());
    )*};
}

macro_rules! comparable {
    ($other:ty, |$value:ident, $that:ident| $equal:expr) => {
        impl PartialEq<$other> for Value {
            fn eq(&self, $that: &$other) -> bool {
                let $value = self;
                $equal
            }
        }

        impl PartialEq<Value> for $other {
            fn eq(&self, $value: &Value) -> bool {
                let $that = self;
                $equal
            }
        }

        impl PartialEq<$other> for &Value {
            fn eq(&self, other: &$other) -> bool {
                **self == *other
            }
        }
    };
}

numbers!(as_i64 as i64: i8, i16, i32, i64, isize);
numbers!(as_u64 as u64: u8, u16, u32, u64, usize);
comparable!(f64, |value, other| value.as_f64() == Some(*other));
comparable!(bool, |value, other| value.as_bool() == Some(*other));
comparable!(str, |value, other| value.as_str() == Some(other));
comparable!(String, |value, other| value.as_str() == Some(other.as_str()));

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<Value> for &str {
    fn eq(&self, other: &Value) -> bool {
        other.as_str() == Some(*self)
    }
}

/// Null for values without a JSON number.
impl From<f64> for Value {
    fn from(float: f64) -> Self {
        Number::from_f64(float).map_or(Value::Null, Value::Number)
    }
}

/// Null for values without a JSON number.
impl From<f32> for Value {
    fn from(float: f32) -> Self {
        Number::from_f32(float).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Value::String(text.into_owned())
    }
}

impl From<Map> for Value {
    fn from(members: Map) -> Self {
        Value::Object(members)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Value::Object(members.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
