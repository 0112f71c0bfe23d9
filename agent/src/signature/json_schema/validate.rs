//! Checks values against schemas.

use super::super::check::{Mismatches, is_integer, label};
use super::{Schema, members};
use ptc_base::json::{Map, Number, Value as Json};
use std::borrow::Cow;
use std::collections::HashSet;

/// How deep schemas within schemas are followed along one value.
const MAX_DEPTH: usize = 400;
/// Looks at schemas that a value is worth, and each value within it: alternatives that refer to each other multiply.
const MAX_LOOKS: usize = 10_000;
const MAX_LOOKS_EACH: usize = 64;
/// Bytes of a value that a message shows.
const MAX_SHOWN: usize = 60;

type Path<'p> = Vec<Cow<'p, str>>;

impl Schema {
    /// Checks a value strictly.
    ///
    /// # Errors
    /// All mismatches in the schema's order, as `l.0.n: expected int, got string`; the whole value is `root`.
    pub fn check(&self, value: &Json) -> Result<(), Mismatches> {
        let mut check = Check { schema: self, depth: 0, left: looks(value), quiet: false };
        let mut found = Mismatches::default();
        check.value(&self.0.root, value, &mut Vec::new(), &mut found);
        found.into_result()
    }

    /// Whether a value fits a schema within the document. Takes its looks from `left`.
    pub(super) fn fits(&self, node: &Json, value: &Json, left: &mut usize) -> bool {
        let mut check = Check { schema: self, depth: 0, left: *left, quiet: true };
        let mut found = Mismatches::default();
        check.value(node, value, &mut Vec::new(), &mut found);
        *left = check.left;
        found.is_empty()
    }
}

/// How many looks at schemas a value is worth.
pub(super) fn looks(value: &Json) -> usize {
    let (mut nodes, mut rest) = (0_usize, vec![value]);
    while let Some(value) = rest.pop() {
        nodes += 1;
        match value {
            Json::Array(items) => rest.extend(items),
            Json::Object(map) => rest.extend(map.values()),
            _ => {}
        }
    }
    nodes.saturating_mul(MAX_LOOKS_EACH).saturating_add(MAX_LOOKS)
}

struct Check<'s> {
    schema: &'s Schema,
    depth: usize,
    /// Looks at schemas that are left.
    left: usize,
    /// Whether messages are left out because no caller reads them.
    quiet: bool,
}

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Json, value: &Json, path: &mut Path<'s>, out: &mut Mismatches) {
        let map = match schema {
            Json::Bool(false) => return out.add(path, "no value is allowed here"),
            Json::Object(map) => map,
            _ => return,
        };
        if self.depth == MAX_DEPTH || self.left == 0 {
            return out.add(path, "the schema is followed too deep to be checked");
        }
        self.left -= 1;
        self.depth += 1;
        self.keywords(schema, map, value, path, out);
        self.depth -= 1;
    }

    fn keywords(
        &mut self,
        schema: &'s Json,
        map: &'s Map,
        value: &Json,
        path: &mut Path<'s>,
        out: &mut Mismatches,
    ) {
        if value.is_null() && map.get("nullable") == Some(&Json::Bool(true)) {
            return;
        }
        if let Some(expected) = map.get("const").filter(|wanted| !equal(wanted, value)) {
            return out.add_kind(path, 1, &format!("expected {expected}, got {}", shown(value)));
        }
        if let Some(choices) = map.get("enum")
            && !members(map, "enum").iter().any(|choice| equal(choice, value))
        {
            return out.add_kind(
                path,
                0,
                &format!("expected one of {}, got {}", list(choices), shown(value)),
            );
        }
        if let Some(ty) = map.get("type")
            && !types(ty).any(|word| is_of(word, value))
        {
            let expected: Vec<&str> = types(ty).map(|word| word_of(word, map)).collect();
            return out.add_kind(
                path,
                0,
                &format!("expected {}, got {}", expected.join(" or "), label(value)),
            );
        }
        if let Some(target) = self.schema.reference(map) {
            self.value(target, value, path, out);
        }
        match value {
            Json::Number(number) => numbers(map, number, path, out),
            Json::String(text) => self.texts(map, text, path, out),
            Json::Array(items) => self.items(map, items, path, out),
            Json::Object(fields) => self.fields(schema, map, value, fields, path, out),
            _ => {}
        }
        self.combined(map, value, path, out);
    }

    fn fits(&mut self, schema: &'s Json, value: &Json) -> bool {
        let mut found = Mismatches::default();
        self.value(schema, value, &mut Vec::new(), &mut found);
        found.is_empty()
    }

    fn combined(&mut self, map: &'s Map, value: &Json, path: &mut Path<'s>, out: &mut Mismatches) {
        for schema in members(map, "allOf") {
            self.value(schema, value, path, out);
        }
        for key in ["anyOf", "oneOf"] {
            if map.contains_key(key) {
                self.alternatives(key, members(map, key), value, path, out);
            }
        }
        if map.get("not").is_some_and(|schema| self.fits(schema, value)) {
            out.add(path, "the value is one that the schema rules out");
        }
        if let Some(condition) = map.get("if") {
            let branch = if self.fits(condition, value) { "then" } else { "else" };
            if let Some(schema) = map.get(branch) {
                self.value(schema, value, path, out);
            }
        }
    }

    /// One of several schemas. If none fits, the one that the value was most likely meant for says why.
    fn alternatives(
        &mut self,
        key: &str,
        schemas: &'s [Json],
        value: &Json,
        path: &mut Path<'s>,
        out: &mut Mismatches,
    ) {
        let (mut fitting, mut meant) = (0, Vec::new());
        for schema in schemas {
            let mut found = Mismatches::default();
            self.value(schema, value, path, &mut found);
            if found.is_empty() {
                fitting += 1;
            } else if !found.is_elsewhere(path.len()) {
                meant.push(found);
            }
            if fitting > 0 && key == "anyOf" {
                return;
            }
        }
        match (fitting, meant.len()) {
            (1, _) => {}
            (0, _) if self.quiet => out.add(path, "none fits"),
            (0, 1) => meant.into_iter().for_each(|found| out.join(found)),
            (0, _) => {
                let expected = self.schema.text_of_any(schemas);
                out.add(path, &format!("expected {expected}, got {}", shown(value)));
            }
            (several, _) => {
                out.add(path, &format!("the value fits {several} alternatives where it must fit one"))
            }
        }
    }

    fn texts(&mut self, map: &'s Map, text: &str, path: &Path<'s>, out: &mut Mismatches) {
        if map.contains_key("minLength") || map.contains_key("maxLength") {
            sizes(map, "minLength", "maxLength", text.chars().count(), "characters", path, out);
        }
        if let Some(pattern) = map.get("pattern").and_then(Json::as_str)
            && !self.matches(pattern, text)
        {
            out.add(path, &format!("expected text that matches /{pattern}/, got {}", shown(&text.into())));
        }
        let format = map.get("format").and_then(Json::as_str).unwrap_or_default();
        let right = match format {
            "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
            "date" => text.parse::<jiff::civil::Date>().is_ok(),
            "uuid" => is_uuid(text),
            "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
            "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
            "ip" => text.parse::<std::net::IpAddr>().is_ok(),
            _ => true,
        };
        if !right {
            let expected = if format == "date-time" { "datetime" } else { format };
            out.add(path, &format!("expected {expected}, got string"));
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.schema.0.patterns.get(pattern).is_none_or(|regex| regex.is_match(text))
    }

    fn items(&mut self, map: &'s Map, items: &[Json], path: &mut Path<'s>, out: &mut Mismatches) {
        sizes(map, "minItems", "maxItems", items.len(), "items", path, out);
        let first = members(map, "prefixItems");
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or_else(|| map.get("items")) {
                path.push(at.to_string().into());
                self.value(schema, item, path, out);
                path.pop();
            }
        }
        if map.get("uniqueItems") == Some(&Json::Bool(true)) {
            let mut seen = HashSet::new();
            if let Some(item) = items.iter().find(|item| !seen.insert(canonical(item))) {
                out.add(path, &format!("expected unique items, got {} twice", shown(item)));
            }
        }
        if let Some(schema) = map.get("contains") {
            let found = items.iter().filter(|item| self.fits(schema, item)).count();
            let least = map.get("minContains").and_then(Json::as_u64).unwrap_or(1);
            let most = map.get("maxContains").and_then(Json::as_u64).unwrap_or(u64::MAX);
            if !(least..=most).contains(&(found as u64)) {
                let wanted = self.schema.text_of(schema);
                out.add(path, &format!("{found} items are {wanted}, which is too few or too many"));
            }
        }
    }

    fn fields(
        &mut self,
        schema: &'s Json,
        map: &'s Map,
        value: &Json,
        fields: &Map,
        path: &mut Path<'s>,
        out: &mut Mismatches,
    ) {
        sizes(map, "minProperties", "maxProperties", fields.len(), "fields", path, out);
        for name in members(map, "required").iter().filter_map(Json::as_str) {
            if !fields.contains_key(name) {
                path.push(name.into());
                out.add(path, "expected field, got nil");
                path.pop();
            }
        }
        if let Some(Json::Object(lists)) = map.get("dependentRequired") {
            for (name, _) in lists.iter().filter(|(name, _)| fields.contains_key(name)) {
                for needed in members(lists, name).iter().filter_map(Json::as_str) {
                    if !fields.contains_key(needed) {
                        out.add(path, &format!("`{name}` needs `{needed}` beside it"));
                    }
                }
            }
        }
        for (name, field) in fields {
            path.push(name.clone().into());
            if let Some(schema) = map.get("propertyNames")
                && !self.fits(schema, &name.as_str().into())
            {
                out.add(path, "the schema does not allow this name");
            }
            let mut declared = false;
            for schema in self.declared(map, name) {
                declared = true;
                self.value(schema, field, path, out);
            }
            match map.get("additionalProperties").filter(|_| !declared) {
                Some(Json::Bool(false)) => out.add_kind(path, 1, UNEXPECTED),
                Some(schema) => self.value(schema, field, path, out),
                None => {}
            }
            path.pop();
        }
        if let Some(rest) = map.get("unevaluatedProperties") {
            let mut known = HashSet::new();
            self.known(schema, value, fields, &mut known);
            for (name, field) in fields.iter().filter(|(name, _)| !known.contains(name.as_str())) {
                path.push(name.clone().into());
                match rest {
                    Json::Bool(false) => out.add_kind(path, 1, UNEXPECTED),
                    rest => self.value(rest, field, path, out),
                }
                path.pop();
            }
        }
    }

    /// The schemas that `properties` and `patternProperties` have for a name.
    fn declared(&self, map: &'s Map, name: &str) -> Vec<&'s Json> {
        let exact = map.get("properties").and_then(|properties| properties.get(name));
        let patterns = map.get("patternProperties").and_then(Json::as_object).into_iter().flatten();
        let matching = patterns.filter(|(pattern, _)| self.matches(pattern, name)).map(|(_, schema)| schema);
        exact.into_iter().chain(matching).collect()
    }

    /// Collects the fields that a schema, or one within it that the value fits, speaks of.
    fn known<'f>(&mut self, schema: &'s Json, value: &Json, fields: &'f Map, known: &mut HashSet<&'f str>) {
        let Json::Object(map) = schema else { return };
        if self.depth == MAX_DEPTH || self.left == 0 {
            return;
        }
        self.left -= 1;
        self.depth += 1;
        let all = map.contains_key("additionalProperties");
        let declared = fields.keys().filter(|name| all || !self.declared(map, name).is_empty());
        known.extend(declared.map(String::as_str));
        if let Some(target) = self.schema.reference(map) {
            self.known(target, value, fields, known);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for schema in members(map, key) {
                if self.fits(schema, value) {
                    self.known(schema, value, fields, known);
                }
            }
        }
        if let Some(condition) = map.get("if") {
            let holds = self.fits(condition, value);
            let branches = if holds { ["if", "then"] } else { ["else", "else"] };
            for schema in branches.iter().filter_map(|key| map.get(key)) {
                self.known(schema, value, fields, known);
            }
        }
        self.depth -= 1;
    }
}

const UNEXPECTED: &str = "unexpected field — schema disallows additional properties";

fn types(ty: &Json) -> impl Iterator<Item = &str> {
    let words = if let Json::Array(words) = ty { words.as_slice() } else { std::slice::from_ref(ty) };
    words.iter().filter_map(Json::as_str)
}

pub(super) fn is_of(word: &str, value: &Json) -> bool {
    match value {
        Json::Null => word == "null",
        Json::Bool(_) => word == "boolean",
        Json::Number(number) => word == "number" || word == "integer" && is_integer(number),
        Json::String(_) => word == "string",
        Json::Array(_) => word == "array",
        Json::Object(_) => word == "object",
    }
}

/// The word of the signature language for a type.
fn word_of(word: &str, map: &Map) -> &'static str {
    match word {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "object" => "map",
        "array" => "list",
        "null" => "nil",
        _ if map.get("format").is_some_and(|format| format == "date-time") => "datetime",
        _ => "string",
    }
}

fn numbers(map: &Map, number: &Number, path: &Path<'_>, out: &mut Mismatches) {
    let Some(value) = number.as_f64().filter(|value| value.is_finite()) else {
        // An integer of any size is one; nothing else is a number that is this large.
        let float = map.get("type").is_some_and(|ty| types(ty).any(|word| word == "number"));
        if float || !is_integer(number) {
            out.add(path, &super::super::check::out_of_range(number));
        }
        return;
    };
    let bound = |key: &str| map.get(key).and_then(Json::as_number);
    for (key, wrong) in [
        ("minimum", |order| order == std::cmp::Ordering::Less),
        ("maximum", |order| order == std::cmp::Ordering::Greater),
        ("exclusiveMinimum", |order| order != std::cmp::Ordering::Greater),
        ("exclusiveMaximum", |order| order != std::cmp::Ordering::Less),
    ] as [(&str, fn(std::cmp::Ordering) -> bool); 4]
    {
        if let Some(limit) = bound(key)
            && compare(number, limit).is_none_or(wrong)
        {
            let words = match key {
                "minimum" => "at least",
                "maximum" => "at most",
                "exclusiveMinimum" => "more than",
                _ => "less than",
            };
            out.add(path, &format!("expected {words} {limit}, got {number}"));
        }
    }
    if let Some(step) = bound("multipleOf")
        && !is_multiple(number, step, value)
    {
        out.add(path, &format!("expected a multiple of {step}, got {number}"));
    }
    let format = map.get("format").and_then(Json::as_str).unwrap_or_default();
    if is_integer(number)
        && let Some((least, most)) = range(format)
        && !number.as_str().parse::<i128>().is_ok_and(|whole| (least..=most).contains(&whole))
    {
        out.add(path, &format!("expected {format} ({least} to {most}), got {number}"));
    }
}

/// The range of an integer format.
fn range(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int" | "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint" | "uint64" => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Integers exactly, others as floats.
fn compare(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (a.as_str().parse::<i128>(), b.as_str().parse::<i128>()) {
        (Ok(a), Ok(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number, value: f64) -> bool {
    match (number.as_str().parse::<i128>(), step.as_str().parse::<i128>()) {
        (Ok(number), Ok(step)) if step != 0 => number % step == 0,
        _ => {
            // 0.3 is a multiple of 0.1, although no two floats say so.
            let times = value / step.as_f64().unwrap_or(1.0);
            (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
        }
    }
}

fn sizes(map: &Map, least: &str, most: &str, size: usize, what: &str, path: &Path<'_>, out: &mut Mismatches) {
    let bound = |key: &str| map.get(key).and_then(Json::as_u64);
    if let Some(limit) = bound(least).filter(|limit| (size as u64) < *limit) {
        out.add(path, &format!("expected at least {limit} {what}, got {size}"));
    }
    if let Some(limit) = bound(most).filter(|limit| size as u64 > *limit) {
        out.add(path, &format!("expected at most {limit} {what}, got {size}"));
    }
}

/// Whether two values are equal; numbers are compared by value, not by spelling.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || compare(a, b).is_some_and(std::cmp::Ordering::is_eq),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// A text that equal values share.
fn canonical(value: &Json) -> String {
    match value {
        Json::Number(number) => match super::super::integral(number) {
            Some(int) => int.to_string(),
            None => number.to_string(),
        },
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Json::from(key.as_str()), canonical(value)))
                .collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(","))
        }
        other => other.to_string(),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.len() == 5
        && groups.iter().zip([8, 4, 4, 4, 12]).all(|(group, length)| {
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// A scalar as it is, cut short; other values by their kind.
fn shown(value: &Json) -> String {
    match value {
        Json::Array(_) | Json::Object(_) | Json::Null => label(value).to_owned(),
        scalar => ptc_base::text::with_dots(&scalar.to_string(), MAX_SHOWN),
    }
}

/// A list of values as messages show it.
pub(super) fn list(values: &Json) -> String {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    format!("[{}]", values.iter().map(Json::to_string).collect::<Vec<_>>().join(", "))
}
