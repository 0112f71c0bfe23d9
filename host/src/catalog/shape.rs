//! The shape of a tool on one line, from its schemas: `{status?=open|closed limit?≤30 cursor?} → {"tickets" […]}`.

use ptc_mcp::json::{Map, Value};

use super::payload::payload_schema;
use super::prose::maximum_in;
use super::types::ordered_arguments;
use super::{DescribedProgram, ToolEntry};
use ptc_base::text::{argument_key, cut, one_line, string_literal};
use ptc_schema::json_schema::{resolve, views};

/// The most arguments, and the most keys of a result, that a shape shows.
const MAX_NAMES: usize = 12;
/// Longest name, in characters.
const MAX_NAME: usize = 40;
/// Longest shape, in characters.
pub(super) const MAX_CHARS: usize = 200;
/// Longest shape with everything in it, in characters: that of `doc`.
pub(super) const MAX_FULL_CHARS: usize = 400;
/// Schemas that one shape of a result looks at.
const MAX_NODES: usize = 200;
/// The most values of an argument that are listed, and their longest list in characters.
const MAX_VALUES: (usize, usize) = (8, 80);

/// The least of a result that is worth its room, in characters.
const LEAST_RESULT: usize = 40;

/// The forms of one shape.
pub(super) struct Shapes {
    /// From the one that says most to the one that says least.
    whole: [String; 3],
    /// The arguments with the values that they may have.
    listed: String,
    /// Their names alone.
    arguments: String,
    /// The result, of which the beginning may be shown.
    result: Option<String>,
}

impl Shapes {
    /// Those of a tool, by how much they tell of arguments and how deep they go into results. Names are the upstream's own.
    pub(super) fn of(tool: &ToolEntry) -> Self {
        let result = |nesting| {
            let Some(root) = &tool.output_schema else { return tool.seen_shape.clone() };
            let payload = payload_schema(Some(root)).usual().unwrap_or(root);
            ResultShape { root, nesting, nodes: &mut { MAX_NODES } }.of(payload, 0)
        };
        Self::made(&tool.input_schema, result)
    }

    /// Those of a kept program, whose value nobody wraps.
    pub(super) fn of_program(program: &DescribedProgram) -> Self {
        let result = |nesting| {
            let root = program.output.as_ref()?;
            ResultShape { root, nesting, nodes: &mut { MAX_NODES } }.of(root, 0)
        };
        Self::made(&program.input, result)
    }

    /// Those of arguments of this schema, and of a result by how deep its shape goes.
    fn made(input: &Value, result: impl Fn(usize) -> Option<String>) -> Self {
        let joined = |arguments: &String, result: &Option<String>| match result {
            Some(result) => format!("{arguments} → {result}"),
            None => arguments.clone(),
        };
        let [nested, listed, arguments] =
            [Detail::Nested, Detail::Values, Detail::Names].map(|detail| arguments_shape(input, detail));
        let inner = result(2);
        let whole = [joined(&nested, &result(3)), joined(&listed, &inner), joined(&arguments, &inner)];
        Self { whole, listed, arguments, result: inner }
    }

    /// The one that says most in at most `room` characters: of a result that does not fit, the beginning; then the arguments
    /// alone, and their beginning.
    pub(super) fn within(&self, room: usize) -> String {
        let fits = |shape: &&String| shape.chars().count() <= room;
        if let Some(whole) = self.whole.iter().find(fits) {
            return whole.clone();
        }
        let left = room.saturating_sub(self.arguments.chars().count() + " → ".chars().count());
        match &self.result {
            Some(result) if left >= LEAST_RESULT => {
                format!("{} → {}", self.arguments, cut(result.clone(), left))
            }
            _ if fits(&&self.listed) => self.listed.clone(),
            _ => cut(self.arguments.clone(), room),
        }
    }
}

/// The arguments of a call and, if the tool describes it, the content of its value, in at most [`MAX_CHARS`] characters.
pub(super) fn tool_shape(tool: &ToolEntry) -> String {
    Shapes::of(tool).within(MAX_CHARS)
}

/// The current shape of a tool, if its arguments or its result have changed.
pub(crate) fn changed_shape(then: &ToolEntry, now: &ToolEntry) -> Option<String> {
    let same = then.input_schema == now.input_schema && then.output_schema == now.output_schema;
    (!same).then(|| format!("{} {}", now.name, tool_shape(now)))
}

/// How much of arguments is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Names and largest values.
    Names,
    /// The values that they may have, too.
    Values,
    /// And the names inside objects.
    Nested,
}

fn arguments_shape(schema: &Value, detail: Detail) -> String {
    let shown = ordered_arguments(schema).into_iter().map(|(name, property, needed)| {
        let name = shown_name(name);
        let optional = if needed { "" } else { "?" };
        let views = views(schema, property);
        let most = largest(&views).map_or_else(String::new, |most| format!("≤{most}"));
        let values = values(&views).filter(|_| detail != Detail::Names);
        let nested = match kind(&views) {
            _ if values.is_some() => String::new(),
            Some("array") => {
                let items =
                    views.iter().find_map(|view| view.get("items")).filter(|_| detail == Detail::Nested);
                format!(
                    " [{}]",
                    items.and_then(|items| fields(schema, items)).unwrap_or_else(|| "…".to_owned())
                )
            }
            Some("object") => {
                let inner = fields(schema, property).filter(|_| detail == Detail::Nested);
                format!(" {}", inner.unwrap_or_else(|| "{…}".to_owned()))
            }
            // A name such as `created` may be that of a text as well.
            Some("integer") if most.is_empty() => " int".to_owned(),
            Some("number") if most.is_empty() => " number".to_owned(),
            _ => String::new(),
        };
        format!("{name}{optional}{most}{}{nested}", values.unwrap_or_default())
    });
    format!("{{{}}}", joined(shown))
}

/// The largest value that the schema of a number names, by `maximum` or in its description.
pub(super) fn largest(views: &[&Map]) -> Option<String> {
    let stated = views.iter().find_map(|view| view.get("maximum").filter(|most| most.is_number()));
    if let Some(most) = stated {
        return Some(most.to_string());
    }
    let is_number = matches!(kind(views), Some("integer" | "number"));
    let prose = || views.iter().find_map(|view| maximum_in(view.get("description")?.as_str()?));
    is_number.then(prose).flatten().map(|most| most.to_string())
}

/// `=open|closed`: the values that an argument, or each element of it, may have, if they are few and short.
fn values(views: &[&Map]) -> Option<String> {
    let listed = |views: &[&Map]| views.iter().find_map(|view| view.get("enum")?.as_array().cloned());
    let items = || views.iter().find_map(|view| view.get("items")?.get("enum")?.as_array().cloned());
    let (values, is_list) = match listed(views) {
        Some(values) => (values, false),
        None => (items()?, true),
    };
    if values.is_empty() || values.len() > MAX_VALUES.0 {
        return None;
    }
    let shown: Option<Vec<String>> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| match value {
            Value::String(text) => {
                let is_word =
                    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./:+".contains(c));
                Some(if is_word { text.clone() } else { string_literal(text) })
            }
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        })
        .collect();
    let text = shown?.join("|");
    (text.chars().count() <= MAX_VALUES.1)
        .then(|| if is_list { format!(" [{text}]") } else { format!("={text}") })
}

/// `{a b}`: the fields of an object, by their names alone; `None` where none are described.
fn fields(root: &Value, schema: &Value) -> Option<String> {
    let views = views(root, schema);
    let mut names: Vec<&String> =
        views.iter().filter_map(|view| properties(view)).flat_map(Map::keys).collect();
    names.dedup();
    (!names.is_empty()).then(|| format!("{{{}}}", joined(names.into_iter().map(|name| shown_name(name)))))
}

/// The name of an argument as a shape shows it: as a keyword has it, without the colon.
fn shown_name(name: &str) -> String {
    let key = argument_key(&cut(one_line(name), MAX_NAME));
    key.strip_prefix(':').unwrap_or(&key).to_owned()
}

/// The shape of a described value, with `nesting` levels of names.
struct ResultShape<'a> {
    root: &'a Value,
    nesting: usize,
    /// Schemas that may still be looked at.
    nodes: &'a mut usize,
}

impl<'a> ResultShape<'a> {
    /// `None` where nothing is said about it.
    fn of(&mut self, schema: &'a Value, depth: usize) -> Option<String> {
        *self.nodes = self.nodes.checked_sub(1)?;
        let views = views(self.root, schema);
        match kind(&views)? {
            "array" if depth <= self.nesting => {
                let items = views.iter().find_map(|view| view.get("items"));
                let items = items.and_then(|items| self.of(items, depth + 1));
                Some(format!("[{}]", items.unwrap_or_else(|| "…".to_owned())))
            }
            "array" => Some("[…]".to_owned()),
            "object" if depth <= self.nesting => {
                let mut names: Vec<(&String, &Value)> =
                    views.iter().filter_map(|view| properties(view)).flatten().take(MAX_NAMES * 64).collect();
                names.dedup_by_key(|(name, _)| *name);
                let shown = names.iter().map(|(name, property)| {
                    let name = string_literal(&cut(one_line(name), MAX_NAME));
                    self.inside(property, depth + 1)
                        .map_or_else(|| name.clone(), |inner| format!("{name} {inner}"))
                });
                Some(if names.is_empty() { "{…}".to_owned() } else { format!("{{{}}}", joined(shown)) })
            }
            "object" => Some("{…}".to_owned()),
            word => Some(word.to_owned()),
        }
    }

    /// The text after a name; nothing after that of a plain value.
    fn inside(&mut self, property: &'a Value, depth: usize) -> Option<String> {
        let views = views(self.root, resolve(self.root, property)?);
        match kind(&views)? {
            "array" | "object" if depth < self.nesting => self.of(property, depth),
            "array" => Some("[…]".to_owned()),
            "object" => Some("{…}".to_owned()),
            _ => None,
        }
    }
}

fn properties(view: &Map) -> Option<&Map> {
    view.get("properties").and_then(Value::as_object)
}

/// The JSON type that a schema asks for, `null` aside.
fn kind<'s>(views: &[&'s Map]) -> Option<&'s str> {
    let named = views.iter().find_map(|view| match view.get("type")? {
        Value::String(word) if word != "null" => Some(word.as_str()),
        Value::Array(words) => words.iter().filter_map(Value::as_str).find(|word| *word != "null"),
        _ => None,
    });
    let has = |key: &str| views.iter().any(|view| view.contains_key(key));
    let known = ["array", "object", "string", "integer", "number", "boolean"];
    named
        .filter(|word| known.contains(word))
        .or_else(|| has("properties").then_some("object"))
        .or_else(|| has("items").then_some("array"))
}

/// The first names, and `…` for the rest. Names that are not shown are not computed.
fn joined(names: impl ExactSizeIterator<Item = String>) -> String {
    let total = names.len();
    let mut shown: Vec<String> = names.take(MAX_NAMES).collect();
    if total > MAX_NAMES {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;

    fn shape(tool: Value) -> String {
        let server = fixtures::server("s", vec![tool]);
        tool_shape(&server.tools()[0])
    }

    #[test]
    fn a_shape_has_the_names_of_arguments_and_of_results() {
        let tickets = json!({"name": "list_tickets",
            "inputSchema": {"type": "object", "properties": {"cursor": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 30}, "status": {"enum": ["open"]}}},
            "outputSchema": {"type": "object", "properties": {
                "tickets": {"type": "array", "items": {"type": "object"}},
                "next_cursor": {"type": ["string", "null"]}, "total": {"type": "integer"},
                "page": {"$ref": "#/$defs/Page"}}, "$defs": {"Page": {"properties": {"n": {}}}}}});
        assert_eq!(
            shape(tickets),
            "{cursor? limit?≤30 status?=open} → {\"tickets\" [{…}] \"next_cursor\" \"total\" \"page\" {\"n\"}}"
        );
    }

    #[test]
    fn needed_arguments_come_first_and_nested_ones_are_marked() {
        let tool = json!({"name": "t", "inputSchema": {"required": ["to", "page"], "properties": {
            "page": {"type": "integer", "default": 1}, "to": {"type": "array"}, "filter": {"type": "object"},
            "max score": {"anyOf": [{"type": "number", "maximum": 1.5}, {"type": "null"}]}}}});
        assert_eq!(shape(tool), "{to […] filter? {…} \"max score\"?≤1.5 page? int}");
    }

    #[test]
    fn results_of_every_kind() {
        for (schema, expected) in [
            (json!({"type": "string"}), "{} → string"),
            (json!({"properties": {"content": {"type": "string"}}}), "{} → string"),
            (json!({"properties": {"result": {"items": {"type": "integer"}}}}), "{} → [integer]"),
            (
                json!({"type": "array", "items": {"properties": {"id": {}, "tags": {"items": {}}}}}),
                "{} → [{\"id\" \"tags\" […]}]",
            ),
            (json!({"type": "array"}), "{} → […]"),
            (json!({"type": "object"}), "{} → {…}"),
            (json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), "{} → integer"),
            (json!({"type": "array", "items": {"$ref": "#"}}), "{} → [[[[[…]]]]]"),
            (json!({}), "{}"),
            (json!(true), "{}"),
        ] {
            assert_eq!(shape(json!({"name": "t", "outputSchema": schema})), expected, "{schema}");
        }
    }

    #[test]
    fn hostile_schemas_give_one_short_line() {
        let wide: Map = (0..500).map(|i| (format!("p\n{i}{}", "x".repeat(100)), json!({}))).collect();
        let text = shape(
            json!({"name": "t", "inputSchema": {"properties": wide}, "outputSchema": {"properties": wide}}),
        );
        assert_eq!(text.chars().count(), MAX_CHARS);
        assert!(!text.contains('\n'), "{text}");
        let few: Map = (0..13).map(|i| (format!("p{i:02}"), json!({}))).collect();
        assert!(shape(json!({"name": "t", "inputSchema": {"properties": few}})).ends_with(" p11? …}"));
    }
}
