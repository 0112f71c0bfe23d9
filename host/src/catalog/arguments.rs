//! Translation of argument keys to the spelling of the tool's schema (upstreams.md 8.2, ruling 37).
//!
//! Programs write `:max-items` where a schema says `max_items`. The machine hands over JSON and the positions of keys
//! that were keywords with a hyphen. Only those keys are respelled, and only to a property that the schema names. All
//! other bytes are sent unchanged.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ahash::AHashSet;
use ptc_mcp::json::Value;
use ptc_vm::machine::ToolArguments;

use super::types::needed_arguments;
use ptc_base::text::clip;
use ptc_schema::json_schema::{admits_null, views};

/// Nesting up to which keys are respelled; JSON that goes deeper is copied as it is.
const MAX_DEPTH: usize = 128;
/// Schemas that are asked about the keys of one object.
const MAX_VIEWS: usize = 64;
/// Properties up to which a name is sought that differs in `-` and `_` only.
const MAX_LOOSE: usize = 256;

/// Names without a property that are kept.
const MAX_UNEXPECTED: usize = 64;

/// Bytes of such a name that are kept.
const MAX_KEPT_NAME: usize = 1024;

/// Places of `null`, in values or in texts, that are looked at.
const MAX_NULLS: usize = 100_000;
/// Names in the `required` lists of one place that count.
const MAX_REQUIRED: usize = 10_000;

/// Members up to which arguments are asked whether they can stay as they are: the question compares each with each.
const MAX_PLAIN: usize = 16;

/// Arguments ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpelledArguments<'a> {
    /// One JSON object: the program's own text, unless it had to be changed.
    pub json: Cow<'a, [u8]>,
    /// Names that the schema requires without a default (ruling 57), and the program did not give, in the schema's order.
    pub missing: Vec<String>,
    /// Names that the program gave and the schema has no property of, in the program's order. They may be others, written
    /// differently.
    pub unexpected: Vec<String>,
}

/// Spells `arguments` by the input schema of a tool. An optional property that is `null` where its schema does not admit that
/// is left out, at any depth: programs may pass `nil` for "not given".
///
/// # Errors
/// The name that two keys would share.
pub(super) fn spell_arguments<'a>(
    arguments: &'a ToolArguments,
    schema: &Value,
) -> Result<SpelledArguments<'a>, String> {
    let unchanged = |unexpected| SpelledArguments {
        json: Cow::Borrowed(&arguments.json[..]),
        missing: Vec::new(),
        unexpected,
    };
    let mut hyphenated = arguments.hyphenated.clone();
    hyphenated.sort_unstable_by_key(|range| range.start);
    let nulls: Vec<usize> = memchr::memmem::find_iter(&arguments.json, b"null").take(MAX_NULLS).collect();
    let speller = Speller { json: &arguments.json, hyphenated: &hyphenated, nulls: &nulls, root: schema };
    let required = needed_arguments(schema);
    let is_required: AHashSet<&str> = required.iter().copied().collect();
    let Some(members) = speller.members(0) else {
        // Not an object: cannot come from the machine, and is not ours to repair.
        return Ok(unchanged(Vec::new()));
    };
    let known = CombinedSchemas::of(schema, &[schema]);
    if speller.are_plain(&members, &required) {
        let names = members.iter().map(|member| String::from_utf8_lossy(&arguments.json[member.key.clone()]));
        let unexpected = names.filter(|name| known.property(name).is_empty()).map(|name| beginning(&name));
        return Ok(unchanged(unexpected.collect()));
    }
    let mut json = Vec::with_capacity(arguments.json.len());
    let mut names: HashSet<Cow<'_, str>> = HashSet::with_capacity(members.len());
    let mut unexpected = Vec::new();
    json.push(b'{');
    for member in members {
        let name = speller.spelling(&member, &known);
        let schemas = known.property(&name);
        if !is_required.contains(&*name) && speller.means_nothing(&member, &schemas) {
            continue;
        }
        if schemas.is_empty() && unexpected.len() < MAX_UNEXPECTED {
            unexpected.push(beginning(&name));
        }
        speller.write_member(&member, &name, &known, &mut json, 1)?;
        if let Some(twice) = names.replace(name) {
            return Err(twice.into_owned());
        }
    }
    json.push(b'}');
    let missing: Vec<String> =
        required.iter().filter(|name| !names.contains(**name)).map(|name| (*name).to_owned()).collect();
    Ok(SpelledArguments { json: Cow::Owned(json), missing, unexpected })
}

/// The beginning of a name; messages show no more of a long one.
fn beginning(name: &str) -> String {
    clip(name, MAX_KEPT_NAME).to_owned()
}

/// The schemas of one place, and the keys and items that they define.
struct CombinedSchemas<'s> {
    views: Vec<&'s ptc_mcp::json::Map>,
    /// The names that must be there, made when one is first asked for.
    required: OnceCell<AHashSet<&'s str>>,
    /// The properties by their names with `-` for `_`, made when a key is first sought so.
    loosely: OnceCell<HashMap<String, &'s str>>,
}

impl<'s> CombinedSchemas<'s> {
    fn of(root: &'s Value, schemas: &[&'s Value]) -> Self {
        Self {
            views: schemas.iter().flat_map(|schema| views(root, schema)).take(MAX_VIEWS).collect(),
            required: OnceCell::new(),
            loosely: OnceCell::new(),
        }
    }

    fn properties(&self) -> impl Iterator<Item = &'s ptc_mcp::json::Map> {
        self.views.iter().filter_map(|view| view.get("properties").and_then(Value::as_object))
    }

    /// Whether a property of this name must be there.
    fn requires(&self, name: &str) -> bool {
        let required = self.required.get_or_init(|| {
            let lists = self.views.iter().filter_map(|view| view.get("required")?.as_array());
            // Views may share one list.
            lists.flatten().take(MAX_REQUIRED).filter_map(Value::as_str).collect()
        });
        required.contains(name)
    }

    /// The schemas of the property of exactly this name.
    fn property(&self, name: &str) -> Vec<&'s Value> {
        self.properties().filter_map(|properties| properties.get(name)).collect()
    }

    /// The property that a keyword stands for: of this very name, else the same with `_` for `-`, else one that
    /// differs in nothing but `-` and `_`.
    fn respell(&self, name: &str) -> Option<&'s str> {
        let named = |wanted: &str| self.properties().find_map(|p| Some(p.get_key_value(wanted)?.0.as_str()));
        let loosely = || {
            if self.properties().map(ptc_mcp::json::Map::len).sum::<usize>() > MAX_LOOSE {
                return None;
            }
            let loosely = self.loosely.get_or_init(|| {
                let mut loosely: HashMap<String, &'s str> = HashMap::new();
                for key in self.properties().flat_map(|p| p.keys()) {
                    let first = loosely.entry(key.replace('_', "-")).or_insert(key.as_str());
                    *first = (*first).min(key.as_str());
                }
                loosely
            });
            loosely.get(&name.replace('_', "-")).copied()
        };
        named(name).or_else(|| named(&name.replace('-', "_"))).or_else(loosely)
    }

    /// The schemas of the value under `name`.
    fn under(&self, name: &str) -> Vec<&'s Value> {
        let named = self.property(name);
        if !named.is_empty() {
            return named;
        }
        self.views
            .iter()
            .filter_map(|view| view.get("additionalProperties"))
            .filter(|s| s.is_object())
            .collect()
    }

    /// The schemas of the item at `index`.
    fn item(&self, index: usize) -> Vec<&'s Value> {
        let of_view = |view: &&'s ptc_mcp::json::Map| {
            let prefix = view.get("prefixItems").and_then(Value::as_array);
            prefix
                .and_then(|items| items.get(index))
                .or_else(|| view.get("items").filter(|items| items.is_object()))
        };
        self.views.iter().filter_map(of_view).collect()
    }
}

/// A key and its value; the key's range is without quotes.
struct ObjectMember {
    key: Range<usize>,
    value: Range<usize>,
}

struct Speller<'a> {
    json: &'a [u8],
    /// Ascending.
    hyphenated: &'a [Range<usize>],
    /// Where `null` stands, also within texts. Ascending.
    nulls: &'a [usize],
    root: &'a Value,
}

impl<'a> Speller<'a> {
    /// Whether the arguments can go out as they are, which nearly all can: nothing is to be respelled or left out,
    /// nothing is missing, no name stands twice. `false` where that takes a closer look.
    fn are_plain(&self, members: &[ObjectMember], required: &[&str]) -> bool {
        let name = |member: &ObjectMember| &self.json[member.key.clone()];
        let plain = |member: &ObjectMember| memchr::memchr(b'\\', name(member)).is_none();
        let is_given = |wanted: &&str| members.iter().any(|member| name(member) == wanted.as_bytes());
        self.hyphenated.is_empty()
            && self.nulls.is_empty()
            && members.len() <= MAX_PLAIN
            && members.iter().all(plain)
            && members.iter().enumerate().all(|(i, a)| members[..i].iter().all(|b| name(a) != name(b)))
            && required.iter().all(is_given)
    }

    /// Whether a property is `null` that has `schemas`, none of which admits that.
    fn means_nothing(&self, member: &ObjectMember, schemas: &[&'a Value]) -> bool {
        &self.json[member.value.clone()] == b"null"
            && !schemas.is_empty()
            && !schemas.iter().any(|schema| admits_null(self.root, schema))
    }

    /// The name that a key goes out under.
    #[expect(clippy::disallowed_methods, reason = "entry point: Speller.spelling")]
    fn spelling(&self, member: &ObjectMember, known: &CombinedSchemas<'a>) -> Cow<'a, str> {
        let quoted = &self.json[member.key.start - 1..member.key.end + 1];
        let name: Cow<'a, str> = match serde_json::from_slice::<&'a str>(quoted) {
            Ok(plain) => Cow::Borrowed(plain),
            Err(_) => Cow::Owned(serde_json::from_slice(quoted).unwrap_or_default()),
        };
        let was_keyword =
            self.hyphenated.binary_search_by_key(&member.key.start, |range| range.start).is_ok();
        match known.respell(&name).filter(|_| was_keyword) {
            Some(property) => Cow::Borrowed(property),
            None => name,
        }
    }

    fn write_member(
        &self,
        member: &ObjectMember,
        name: &str,
        known: &CombinedSchemas<'a>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), String> {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.extend_from_slice(Value::from(name).to_string().as_bytes());
        out.push(b':');
        self.write_value(member.value.clone(), &|| known.under(name), out, depth)
    }

    /// Copies a value, respelling keys inside it by `schemas`.
    fn write_value(
        &self,
        value: Range<usize>,
        schemas: &dyn Fn() -> Vec<&'a Value>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), String> {
        let first = self.hyphenated.partition_point(|range| range.start < value.start);
        let first_null = self.nulls.partition_point(|at| *at < value.start);
        let concerned = self.hyphenated.get(first).is_some_and(|range| range.start < value.end)
            || self.nulls.get(first_null).is_some_and(|at| *at < value.end);
        let schemas = if concerned && depth < MAX_DEPTH { schemas() } else { Vec::new() };
        if schemas.is_empty() {
            out.extend_from_slice(&self.json[value]);
            return Ok(());
        }
        let known = CombinedSchemas::of(self.root, &schemas);
        if let Some(members) = self.members(value.start) {
            out.push(b'{');
            // Only respelling can make names collide; the machine has refused equal keys already.
            let mut names: HashSet<Cow<'a, str>> = HashSet::with_capacity(members.len());
            for member in members {
                let name = self.spelling(&member, &known);
                if !known.requires(&name) && self.means_nothing(&member, &known.property(&name)) {
                    continue;
                }
                self.write_member(&member, &name, &known, out, depth + 1)?;
                if let Some(twice) = names.replace(name) {
                    return Err(twice.into_owned());
                }
            }
            out.push(b'}');
        } else if let Some(items) = self.items(value.start) {
            out.push(b'[');
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                self.write_value(item, &|| known.item(index), out, depth + 1)?;
            }
            out.push(b']');
        } else {
            out.extend_from_slice(&self.json[value]);
        }
        Ok(())
    }

    /// The members of the object that starts at `at`; `None` if there is none.
    fn members(&self, at: usize) -> Option<Vec<ObjectMember>> {
        let mut members = Vec::new();
        let mut at = self.skip_space(at);
        if self.json.get(at) != Some(&b'{') {
            return None;
        }
        loop {
            at = self.skip_space(at + 1);
            match self.json.get(at)? {
                b'}' => return Some(members),
                b'"' => {
                    let key_end = self.string_end(at)?;
                    let colon = self.skip_space(key_end);
                    let start = self.skip_space(colon + 1);
                    let end = self.value_end(start)?;
                    members.push(ObjectMember { key: at + 1..key_end - 1, value: start..end });
                    at = self.skip_space(end);
                    match self.json.get(at)? {
                        b',' => {}
                        b'}' => return Some(members),
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
    }

    /// The items of the array that starts at `at`; `None` if there is none.
    fn items(&self, at: usize) -> Option<Vec<Range<usize>>> {
        let mut items = Vec::new();
        let mut at = self.skip_space(at);
        if self.json.get(at) != Some(&b'[') {
            return None;
        }
        loop {
            at = self.skip_space(at + 1);
            if self.json.get(at)? == &b']' {
                return Some(items);
            }
            let end = self.value_end(at)?;
            items.push(at..end);
            at = self.skip_space(end);
            match self.json.get(at)? {
                b',' => {}
                b']' => return Some(items),
                _ => return None,
            }
        }
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        at
    }

    /// The place after the string that starts at `at`.
    fn string_end(&self, mut at: usize) -> Option<usize> {
        loop {
            at += 1;
            match self.json.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 1,
                _ => {}
            }
        }
    }

    /// The place after the value that starts at `at`. Counts brackets instead of descending.
    fn value_end(&self, mut at: usize) -> Option<usize> {
        let mut open = 0_usize;
        loop {
            match self.json.get(at)? {
                b'"' => at = self.string_end(at)?,
                b'{' | b'[' => {
                    open += 1;
                    at += 1;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    at += 1;
                }
                _ if open > 0 => at += 1,
                _ => {
                    while !matches!(
                        self.json.get(at),
                        None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                    ) {
                        at += 1;
                    }
                }
            }
            if open == 0 {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    /// Arguments in which the keys written `"~name"` were keywords.
    fn arguments(marked: &str) -> ToolArguments {
        let mut pieces = marked.split("\"~");
        let mut json = pieces.next().unwrap_or_default().as_bytes().to_vec();
        let mut hyphenated = Vec::new();
        for piece in pieces {
            json.push(b'"');
            let key = piece.split('"').next().unwrap();
            if key.contains('-') {
                hyphenated.push(json.len()..json.len() + key.len());
            }
            json.extend_from_slice(piece.as_bytes());
        }
        ToolArguments { json, hyphenated }
    }

    fn spell(marked: &str, schema: Value) -> SpelledArguments<'static> {
        let arguments = arguments(marked);
        let spelled = spell_arguments(&arguments, &schema).unwrap();
        SpelledArguments { json: Cow::Owned(spelled.json.into_owned()), ..spelled }
    }

    fn sent(marked: &str, schema: Value) -> String {
        String::from_utf8(spell(marked, schema).json.into_owned()).unwrap()
    }

    #[test]
    fn keywords_become_the_schemas_names() {
        let schema =
            || json!({"properties": {"max_items": {}, "user-id": {}, "a_b-c": {}, "x-y": {}, "x_y": {}}});
        assert_eq!(sent(r#"{"~max-items":1}"#, schema()), r#"{"max_items":1}"#);
        assert_eq!(sent(r#"{"~user-id":1}"#, schema()), r#"{"user-id":1}"#, "exact comes first");
        assert_eq!(sent(r#"{"~x-y":1}"#, schema()), r#"{"x-y":1}"#, "exact comes first");
        assert_eq!(sent(r#"{"~a-b-c":1}"#, schema()), r#"{"a_b-c":1}"#);
        assert_eq!(sent(r#"{"~not-known":1}"#, schema()), r#"{"not-known":1}"#, "only to a named property");
        assert_eq!(sent(r#"{"max-items":1}"#, schema()), r#"{"max-items":1}"#, "strings go out as written");
        assert_eq!(sent(r#"{"~max-items":1}"#, json!({"type": "object"})), r#"{"max-items":1}"#);
    }

    #[test]
    fn nested_keys_follow_nested_schemas() {
        let schema = json!({
            "$defs": {"Row": {"properties": {"row_id": {}, "sub_rows": {"items": {"$ref": "#/$defs/Row"}}}}},
            "properties": {
                "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
                "either": {"anyOf": [{"type": "null"}, {"properties": {"deep_key": {}}}]},
                "pair": {"prefixItems": [{}, {"properties": {"p_q": {}}}]},
                "open": {"additionalProperties": {"properties": {"v_w": {}}}}
            }
        });
        assert_eq!(
            sent(
                r#"{"rows": [{"~row-id":1,"~sub-rows":[{"~row-id":2,"~other-key":3,"row-id":4}]}], "x":[ 1 ]}"#,
                schema.clone()
            ),
            r#"{"rows":[{"row_id":1,"sub_rows":[{"row_id":2,"other-key":3,"row-id":4}]}],"x":[ 1 ]}"#
        );
        assert_eq!(sent(r#"{"either":{"~deep-key":1}}"#, schema.clone()), r#"{"either":{"deep_key":1}}"#);
        assert_eq!(
            sent(r#"{"pair":[{"~p-q":1},{"~p-q":1}]}"#, schema.clone()),
            r#"{"pair":[{"p-q":1},{"p_q":1}]}"#
        );
        assert_eq!(sent(r#"{"open":{"~any-key":{"~v-w":1}}}"#, schema), r#"{"open":{"any-key":{"v_w":1}}}"#);
    }

    #[test]
    fn values_are_copied_byte_for_byte() {
        let text = r#"{"s":"a\"},{[\\","n":1.50e+3,"big":123456789012345678901234567890,"u":"\u0041","e":{},"l":[]}"#;
        assert_eq!(sent(text, json!({})), text);
        assert_eq!(sent("{}", json!({})), "{}");
    }

    #[test]
    fn optional_nil_is_left_out_where_null_is_not_admitted() {
        let schema = json!({
            "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"},
                "d_e": {"type": "integer"}, "f": {"properties": {"g": {"type": "string"}}},
                "i": {"items": {"properties": {"j": {"type": "string"}, "k": {"type": "string"}}, "required": ["k"]}}},
            "required": ["c"]
        });
        assert_eq!(
            sent(
                r#"{"a":null,"b":null,"c":null,"~d-e":null,"f":{"g":null,"h":null},"i":[{"j":null,"k":null},"null"],"unknown":null}"#,
                schema
            ),
            r#"{"b":null,"c":null,"f":{"h":null},"i":[{"k":null},"null"],"unknown":null}"#
        );
    }

    #[test]
    fn missing_and_unexpected_names_are_found() {
        let schema = json!({"properties": {"max_items": {}, "query": {}}, "required": ["query", "max_items", "ghost"]});
        let spelled = spell(r#"{"~max-items":1,"q":2}"#, schema);
        assert_eq!(spelled.missing, ["query", "ghost"]);
        assert_eq!(spelled.unexpected, ["q"]);
    }

    #[test]
    fn a_default_stands_in_for_a_required_argument() {
        let schema = json!({"properties": {"n": {"type": "integer", "default": 5}, "q": {}, "z": {"$ref": "#/$defs/z"}},
            "$defs": {"z": {"type": "string", "default": null}}, "required": ["n", "q", "z"]});
        assert_eq!(spell("{}", schema.clone()).missing, ["q"]);
        assert_eq!(sent(r#"{"q":1,"n":null}"#, schema.clone()), r#"{"q":1}"#, "nil is not given");
        assert_eq!(sent(r#"{"q":1}"#, schema), r#"{"q":1}"#, "the server fills it in");
    }

    #[test]
    fn what_needs_no_change_is_not_copied() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        let borrowed = |text: &str| {
            let arguments = ToolArguments { json: text.as_bytes().to_vec(), hyphenated: Vec::new() };
            matches!(
                spell_arguments(&arguments, &schema),
                Ok(SpelledArguments { json: Cow::Borrowed(_), .. })
            )
        };
        assert!(borrowed(r#"{"a":"x","b":[1]}"#));
        assert!(!borrowed(r#"{"a":"x","b":[null]}"#), "it might be left out");
        assert!(!borrowed(r#"{"b":1}"#), "something is missing");
        assert!(!borrowed(r#"{"a":null}"#), "it might be left out");
        assert!(!borrowed(r#"{"a":1,"\u0061":2}"#), "two keys of one name");
        assert!(!borrowed(r#"{"a":1,"a":2}"#));
    }

    #[test]
    fn two_keys_of_one_name_are_refused() {
        let schema = json!({"properties": {"a_b": {}, "o": {"properties": {"a_b": {}}}}});
        for text in [r#"{"~a-b":1,"a_b":2}"#, r#"{"o":{"~a-b":1,"a_b":2}}"#] {
            assert_eq!(spell_arguments(&arguments(text), &schema).unwrap_err(), "a_b");
        }
    }

    #[test]
    fn hostile_schemas_and_depth_cost_little() {
        let schema = json!({"properties": {"n": {"$ref": "#"}, "a_b": {}}});
        let depth = 20_000;
        let text = format!("{}{}{}", r#"{"n":"#.repeat(depth), r#"{"~a-b":1}"#, "}".repeat(depth));
        let spelled = sent(&text, schema);
        assert!(spelled.contains(r#"{"a-b":1}"#), "too deep to respell, and no stack overflow");
        let text =
            format!("{{{}}}", (0..50_000).map(|i| format!("\"~k-{i}\":{i}")).collect::<Vec<_>>().join(","));
        assert_eq!(sent(&text, json!({"properties": {"a_b": {}}})).len(), text.len() - 50_000);
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c\"\\\\{\\[,:_-]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let key = "[a-c\"{_-]{1,3}";
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map(key, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn without_keywords_nothing_changes(value in any_json(), schema in any_json()) {
            let text = json!({"top": value}).to_string();
            let arguments = ToolArguments { json: text.clone().into_bytes(), hyphenated: vec![] };
            let spelled = spell_arguments(&arguments, &schema).unwrap();
            proptest::prop_assert_eq!(String::from_utf8(spelled.json.into_owned()).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_survived(json in proptest::collection::vec(proptest::sample::select(&b"{}[]\":,\\a- 1"[..]), 0..40)) {
            let hyphenated = (0..json.len()).map(|i| i..i + 1).collect();
            let schema = json!({"properties": {"a": {"properties": {}, "items": {}}, "a_": {"$ref": "#"}}});
            let _ = spell_arguments(&ToolArguments { json, hyphenated }, &schema);
        }
    }
}
