//! Schemas for readers: as text in the manner of signatures, as an example, and as providers' constraints take them.

use super::wording::list;
use super::{Schema, Shape};
use ptc_base::json::{Map, Value as Json, json};
use ptc_schema::parsed::{BoundKeyword, Kind, ParsedSchema, SchemaId, SchemaNode};
use std::collections::HashSet;
use std::fmt;

/// Bytes of text after which types are no longer spelled out.
const MAX_TEXT: usize = 4000;
/// Levels of an example.
const MAX_EXAMPLE: usize = 6;

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_of(ParsedSchema::ROOT))
    }
}

impl Schema {
    /// A schema of the document in the manner of signatures: `{name :string, age :int? (minimum 0)}`.
    pub(super) fn text_of(&self, id: SchemaId) -> String {
        let mut writer = Writer::new(self);
        writer.value(id);
        writer.out
    }

    /// Several schemas of which one is to be satisfied.
    pub(super) fn text_of_any(&self, schemas: &[SchemaId]) -> String {
        let mut writer = Writer::new(self);
        writer.choices(schemas);
        writer.out
    }

    /// The fields of an object as the parameters of a call: `name :string, age :int?`.
    pub(crate) fn parameters(&self) -> String {
        let text = self.to_string();
        match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(fields) if self.shape() == Shape::Object => fields.to_owned(),
            _ => format!("arguments {text}"),
        }
    }

    /// A value of the type; `None` if none is easily found.
    pub(crate) fn example(&self) -> Option<Json> {
        let found = self.example_of(ParsedSchema::ROOT, 0)?;
        self.check(&found).is_ok().then_some(found)
    }

    fn example_of(&self, id: SchemaId, depth: usize) -> Option<Json> {
        let node = self.node(id);
        if node.verdict.is_some() {
            return Some(json!("anything"));
        }
        if depth > MAX_EXAMPLE * 3 {
            return None;
        }
        let listed = node.constant.as_ref().or_else(|| node.choices.as_ref()?.first());
        if let Some(value) = listed.or(node.example.as_ref()) {
            return Some(value.clone());
        }
        let at_least = |usual: f64| {
            node.bound(BoundKeyword::Minimum)
                .filter(|least| least.as_f64() > Some(usual))
                .cloned()
                .map(Json::Number)
        };
        let mut found = match node.kinds.first() {
            _ if node.properties.is_some() => self.example_fields(node, depth)?,
            Some(Kind::Object) => match node.additional.filter(|rest| self.node(*rest).verdict.is_none()) {
                Some(rest) => json!({"key": self.example_of(rest, depth + 1)?}),
                None => json!({}),
            },
            Some(Kind::Array) => {
                let first: Option<Vec<Json>> =
                    node.prefix.iter().map(|item| self.example_of(*item, depth + 1)).collect();
                let mut items = first?;
                if items.is_empty()
                    && let Some(item) = node.items.and_then(|item| self.example_of(item, depth + 1))
                {
                    items.push(item);
                }
                Json::Array(items)
            }
            Some(Kind::String) => match node.format.as_deref() {
                Some("date-time") => json!("2026-01-31T12:00:00Z"),
                Some("date") => json!("2026-01-31"),
                _ => json!("text"),
            },
            Some(Kind::Integer) => at_least(1.0).unwrap_or(json!(1)),
            Some(Kind::Number) => at_least(1.5).unwrap_or(json!(1.5)),
            Some(Kind::Boolean) => json!(true),
            Some(Kind::Null) | None => Json::Null,
        };
        let within = node.reference.as_ref().map(|(_, target)| target).into_iter().chain(&node.all_of);
        let within: Option<Vec<Json>> = within.map(|id| self.example_of(*id, depth + 1)).collect();
        let choices = [&node.any_of, &node.one_of];
        let choices =
            choices.into_iter().filter_map(|any| any.iter().find_map(|one| self.example_of(*one, depth + 1)));
        for more in within?.into_iter().chain(choices) {
            match (&mut found, more) {
                (Json::Object(fields), Json::Object(more)) => fields.extend(more),
                (found @ Json::Null, more) => *found = more,
                _ => {}
            }
        }
        Some(found)
    }

    fn example_fields(&self, node: &SchemaNode, depth: usize) -> Option<Json> {
        let mut fields = Map::new();
        for property in node.properties.iter().flatten() {
            if property.is_required || depth < MAX_EXAMPLE {
                match self.example_of(property.schema, depth + 1) {
                    Some(value) => {
                        fields.insert(property.name.clone(), value);
                    }
                    None if property.is_required => return None,
                    None => {}
                }
            }
        }
        Some(Json::Object(fields))
    }

    /// The document as a provider's constraint: its root is an object. A list stands under `items`, one of several types
    /// under `answer`. `None` if it cannot be put there.
    pub(crate) fn response(&self) -> Option<Json> {
        let name = match self.shape() {
            Shape::Object => return Some(self.0.root.clone()),
            Shape::List => "items",
            Shape::Union => "answer",
            Shape::Text | Shape::Scalar => return None,
        };
        let mut root = self.0.root.clone();
        let fields = root.as_object_mut()?;
        let mut definitions = fields.shift_remove("$defs").unwrap_or_else(|| json!({}));
        fields.shift_remove("$schema");
        let mut elsewhere = false;
        let mut within = false;
        let mut redirect = |reference: &mut String| {
            if reference == "#" {
                *reference = format!("#/$defs/{name}");
                within = true;
            }
            elsewhere |= !reference.starts_with("#/$defs/");
        };
        references(&mut root, &mut redirect);
        references(&mut definitions, &mut redirect);
        if elsewhere || (within && definitions.get(name).is_some()) {
            return None;
        }
        let node = if within {
            definitions[name] = root;
            json!({"$ref": format!("#/$defs/{name}")})
        } else {
            root
        };
        let mut whole = json!({"type": "object", "properties": {name: node}, "required": [name],
            "additionalProperties": false});
        if definitions.as_object().is_some_and(|all| !all.is_empty()) {
            whole["$defs"] = definitions;
        }
        Some(whole)
    }
}

/// Goes through all references of a document.
fn references(schema: &mut Json, redirect: &mut impl FnMut(&mut String)) {
    match schema {
        Json::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Json::String(reference) if key == "$ref" => redirect(reference),
                    other => references(other, redirect),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| references(item, redirect)),
        _ => {}
    }
}

struct Writer<'s> {
    schema: &'s Schema,
    out: String,
    /// The references that are being spelled out.
    open: Vec<SchemaId>,
    /// Those of them that something within refers to again.
    named: HashSet<SchemaId>,
}

impl<'s> Writer<'s> {
    fn new(schema: &'s Schema) -> Writer<'s> {
        Writer { schema, out: String::new(), open: Vec::new(), named: HashSet::new() }
    }

    fn value(&mut self, id: SchemaId) {
        let node = self.schema.node(id);
        if node.verdict == Some(false) {
            return self.out.push_str("nothing");
        }
        if node.verdict == Some(true) || self.out.len() > MAX_TEXT {
            return self.out.push_str(":any");
        }
        let before = self.out.len();
        self.plain(node);
        let text = |(keyword, limit): &(BoundKeyword, _)| format!("{} {limit}", keyword.name());
        let is_of_text = |(keyword, _): &&(BoundKeyword, _)| *keyword <= BoundKeyword::MaxLength;
        let mut bounds: Vec<String> = node.bounds.iter().filter(is_of_text).map(text).collect();
        bounds.extend(node.pattern.iter().map(|pattern| format!("pattern {}", pattern.text)));
        bounds.extend(node.bounds.iter().filter(|bound| !is_of_text(bound)).map(text));
        if !bounds.is_empty() && self.out.len() > before {
            self.out.push_str(&format!(" ({})", bounds.join(", ")));
        }
    }

    fn plain(&mut self, node: &'s SchemaNode) {
        if let Some(value) = &node.constant {
            return self.out.push_str(&value.to_string());
        }
        if let Some(values) = &node.choices {
            return self.out.push_str(&format!("one of {}", list(values)));
        }
        let choices = [&node.any_of[..], &node.one_of].concat();
        if let Some((text, target)) = &node.reference {
            self.reference(text, *target);
            if node.properties.is_some() {
                self.out.push_str(" and ");
                self.fields(node);
            }
            return;
        }
        if node.properties.is_some() {
            self.fields(node);
            if !choices.is_empty() {
                self.out.push_str(" and ");
                self.choices(&choices);
            }
            return;
        }
        if !choices.is_empty() {
            return self.choices(&choices);
        }
        if let [one] = node.all_of[..] {
            return self.value(one);
        }
        if node.kinds.is_empty() {
            if node.all_of.is_empty() {
                return self.out.push_str(":any");
            }
            return self.joined(&node.all_of, " and ");
        }
        let others: Vec<Kind> = node.kinds.iter().copied().filter(|kind| *kind != Kind::Null).collect();
        for (at, kind) in others.iter().enumerate() {
            if at > 0 {
                self.out.push_str(" | ");
            }
            self.word(*kind, node);
        }
        match (others.len(), node.kinds.len()) {
            (0, _) => self.out.push_str(":nil"),
            (others, kinds) if others < kinds => self.out.push('?'),
            _ => {}
        }
    }

    /// The schema of fields that are not declared, unless it allows all of them or none.
    fn rest(&self, node: &SchemaNode) -> Option<SchemaId> {
        node.additional.filter(|rest| self.schema.node(*rest).verdict.is_none())
    }

    fn word(&mut self, kind: Kind, node: &'s SchemaNode) {
        let verdict = |id: SchemaId| self.schema.node(id).verdict;
        match kind {
            Kind::Object => match (self.rest(node), node.additional.and_then(verdict)) {
                (Some(rest), _) => {
                    self.out.push_str("{* ");
                    self.value(rest);
                    self.out.push('}');
                }
                (None, Some(false)) if node.pattern_properties.is_empty() => self.out.push_str("{}"),
                _ => self.out.push_str(":map"),
            },
            Kind::Array => {
                let is_closed = node.items.and_then(verdict) == Some(false);
                self.out.push('[');
                self.joined(&node.prefix, " ");
                match node.items {
                    _ if is_closed => {}
                    Some(items) if node.prefix.is_empty() => self.value(items),
                    None if node.prefix.is_empty() => self.out.push_str(":any"),
                    _ => self.out.push_str(" ..."),
                }
                self.out.push(']');
            }
            Kind::String if node.format.as_deref() == Some("date-time") => self.out.push_str(":datetime"),
            Kind::Integer => self.out.push_str(":int"),
            Kind::Number => self.out.push_str(":float"),
            Kind::Boolean => self.out.push_str(":bool"),
            Kind::String | Kind::Null => self.out.push_str(":string"),
        }
    }

    fn fields(&mut self, node: &'s SchemaNode) {
        self.out.push('{');
        for (at, property) in node.properties.iter().flatten().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(&property.name);
            self.out.push(' ');
            let start = self.out.len();
            self.value(property.schema);
            if !property.is_required {
                self.optional(start);
            }
        }
        if let Some(rest) = self.rest(node) {
            self.out.push_str(", * ");
            self.value(rest);
        }
        self.out.push('}');
    }

    /// Marks the text written since `start` as something that may be absent.
    fn optional(&mut self, start: usize) {
        let text = &self.out[start..];
        match text.split_once(" (") {
            Some((ty, _)) if ty.starts_with(':') && ty.ends_with('?') => {}
            Some((ty, _)) if ty.starts_with(':') && !ty.contains(' ') => {
                let at = start + ty.len();
                self.out.insert(at, '?');
            }
            _ if text.ends_with('?') => {}
            _ => self.out.push('?'),
        }
    }

    fn choices(&mut self, choices: &[SchemaId]) {
        let node = |id: &SchemaId| self.schema.node(*id);
        let others: Vec<SchemaId> =
            choices.iter().filter(|id| node(id).kinds != [Kind::Null]).copied().collect();
        let nullable = others.len() < choices.len();
        // A unit variant with a comment is a `const`; those without one share an `enum`.
        let words: Option<Vec<&[Json]>> = others
            .iter()
            .map(|one| node(one).constant.as_ref().map(std::slice::from_ref).or(node(one).choices.as_deref()))
            .collect();
        let start = self.out.len();
        match words {
            Some(words) if words.len() > 1 => {
                let words: Vec<Json> = words.concat();
                self.out.push_str(&format!("one of {}", list(&words)));
            }
            _ if others.len() > 1 => {
                self.out.push('(');
                self.joined(&others, " | ");
                self.out.push(')');
            }
            _ => self.joined(&others, " | "),
        }
        if nullable {
            self.optional(start);
        }
    }

    fn joined(&mut self, schemas: &[SchemaId], between: &str) {
        for (at, id) in schemas.iter().enumerate() {
            if at > 0 {
                self.out.push_str(between);
            }
            self.value(*id);
        }
    }

    fn reference(&mut self, text: &str, target: SchemaId) {
        let name = text.rsplit('/').next().filter(|name| *name != "#").unwrap_or("root");
        if self.open.contains(&target) || (target == ParsedSchema::ROOT && self.open.is_empty()) {
            self.named.insert(target);
            return self.out.push_str(name);
        }
        let start = self.out.len();
        self.open.push(target);
        self.value(target);
        self.open.pop();
        // What is referred to again from within has its name before it.
        if self.named.remove(&target) {
            self.out.insert_str(start, &format!("{name} "));
        }
    }
}
