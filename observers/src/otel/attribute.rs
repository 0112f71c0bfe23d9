//! Attributes of the process and of figures, and texts of others as they are shown.

use std::borrow::Cow;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use ptc_host::text::clip;
use ptc_host::visible::visible_line;

/// Longest text of an attribute or name, in bytes before hidden characters are made visible.
const MAX_TEXT: usize = 256;

/// A text that others chose, as it is shown.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    visible_line(clip(text, MAX_TEXT))
}

/// An attribute that is a text.
pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    let value = Some(AnyValue { value: Some(Value::StringValue(value.into())) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
