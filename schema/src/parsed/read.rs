//! Reads schema documents.

use std::collections::{HashMap, VecDeque};

use ptc_mcp::json::{Map, Value as Json};
use regex_automata::meta::Regex;

use super::{
    BoundKeyword, Kind, ParsedSchema, PropertyTable, SchemaId, SchemaNode, SchemaPattern, SchemaProperty,
};
use crate::json_schema::target;

/// References that may lead to each other before there is a schema, where circles are refused.
const MAX_CHAIN: usize = 16;
/// Bytes that the automaton of one pattern may take.
const MAX_AUTOMATON: usize = 1 << 20;

/// How a caller reads schemas.
#[derive(Debug, Clone, Copy)]
pub struct ReadingProfile {
    /// The keywords that are read, which may be notes as well, with a space between. Bounds are always read.
    pub keywords: &'static str,
    /// Those that are known and demand nothing, likewise; so does whatever begins with `x-`.
    pub notes: &'static str,
    /// Whether older drafts are read too: tuples as `items`, `exclusiveMinimum` and `required` as booleans, and OpenAPI's
    /// `nullable` as one more type.
    pub reads_old_drafts: bool,
    /// Whether names in `required` must be among `properties`, an `enum` must have values, and references must not lead round in
    /// a circle.
    pub is_exact: bool,
    /// Whether properties go by name, and required ones that are not declared are among them.
    pub sorts_properties: bool,
    /// How patterns are checked.
    pub patterns: PatternEngine,
    /// Most schemas in one.
    pub max_nodes: usize,
    /// Deepest nesting.
    pub max_levels: usize,
}

/// How patterns are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternEngine {
    /// By automata; others are refused.
    Automaton,
    /// By the caller, which reads those of at most so many bytes.
    Caller(usize),
}

/// Why a schema is refused, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaReadError {
    /// A JSON pointer with `#` in front.
    pub pointer: String,
    /// The names of the properties on the way.
    pub properties: Vec<String>,
    /// The fault.
    pub problem: Box<SchemaReadProblem>,
}

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaReadProblem {
    /// It is neither an object nor a boolean. The keyword that it is the value of, if it is one's own.
    NoSchema(Option<String>, Json),
    /// It nests deeper than so many levels.
    TooDeep(usize),
    /// It has more than so many schemas.
    TooMany(usize),
    /// Keywords that are not known.
    Unknown(Vec<String>),
    /// A keyword has a value that it cannot have; what it can have.
    Content(String, &'static str, Json),
    /// `type` has a word that is none.
    Type(Json),
    /// A reference leads out of the document.
    ReferenceOutside(String),
    /// A reference leads nowhere.
    ReferenceNowhere(String),
    /// A reference leads round in a circle.
    ReferenceCircle(String),
    /// A pattern is no regular expression, and why.
    Pattern(String, String),
    /// `required` names what `properties` does not.
    Undeclared(String),
}

impl ParsedSchema {
    /// Reads a document.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(root: &Json, profile: &ReadingProfile) -> Result<ParsedSchema, SchemaReadError> {
        let mut reader = SchemaReader {
            root,
            profile,
            nodes: Vec::new(),
            ids: HashMap::new(),
            waiting: VecDeque::new(),
            path: Vec::new(),
        };
        reader.child(root)?;
        // The targets of references are read in turn, not within each other: a chain of them may be long.
        while let Some((schema, path)) = reader.waiting.pop_front() {
            reader.path = path;
            reader.child(schema)?;
        }
        Ok(ParsedSchema { nodes: reader.nodes.into_iter().map(Option::unwrap_or_default).collect() })
    }
}

/// A step on the way to a schema.
#[derive(Clone, Copy)]
enum ReadStep<'s> {
    Keyword(&'s str),
    Property(&'s str),
    Name(&'s str),
    Item(usize),
    /// A reference, from the root.
    Reference(&'s str),
}

struct SchemaReader<'s> {
    root: &'s Json,
    profile: &'s ReadingProfile,
    /// Nothing for those that are still to be read.
    nodes: Vec<Option<SchemaNode>>,
    /// Schemas that have a node, by their addresses in the document.
    ids: HashMap<*const Json, SchemaId>,
    /// Targets of references.
    waiting: VecDeque<(&'s Json, Vec<ReadStep<'s>>)>,
    path: Vec<ReadStep<'s>>,
}

impl<'s> SchemaReader<'s> {
    fn refuse<T>(&self, problem: SchemaReadProblem) -> Result<T, SchemaReadError> {
        let mut pointer = String::from("#");
        for step in self.since_reference() {
            match step {
                ReadStep::Keyword(text) | ReadStep::Property(text) | ReadStep::Name(text) => {
                    pointer.push('/');
                    pointer.push_str(text);
                }
                ReadStep::Item(at) => pointer.push_str(&format!("/{at}")),
                ReadStep::Reference(text) => pointer = (*text).to_owned(),
            }
        }
        let properties = self.path.iter().filter_map(|step| match step {
            ReadStep::Property(name) => Some((*name).to_owned()),
            _ => None,
        });
        Err(SchemaReadError { properties: properties.collect(), pointer, problem: Box::new(problem) })
    }

    /// The path from the latest reference on.
    fn since_reference(&self) -> &[ReadStep<'s>] {
        let begin = self.path.iter().rposition(|step| matches!(step, ReadStep::Reference(_)));
        &self.path[begin.unwrap_or(0)..]
    }

    fn content<T>(&self, keyword: &str, wanted: &'static str, value: &Json) -> Result<T, SchemaReadError> {
        self.refuse(SchemaReadProblem::Content(keyword.to_owned(), wanted, value.clone()))
    }

    /// The place of a schema among the nodes.
    fn id(&mut self, schema: &'s Json) -> Result<SchemaId, SchemaReadError> {
        let address = std::ptr::from_ref(schema);
        if let Some(id) = self.ids.get(&address) {
            return Ok(*id);
        }
        let id = self.place()?;
        self.ids.insert(address, id);
        Ok(id)
    }

    fn place(&mut self) -> Result<SchemaId, SchemaReadError> {
        if self.nodes.len() == self.profile.max_nodes {
            return self.refuse(SchemaReadProblem::TooMany(self.profile.max_nodes));
        }
        self.nodes.push(None);
        Ok(self.nodes.len() - 1)
    }

    /// Reads the schema at the end of the path. Its recursion is bounded by the nesting of the document.
    fn child(&mut self, schema: &'s Json) -> Result<SchemaId, SchemaReadError> {
        let id = self.id(schema)?;
        if self.nodes[id].is_none() {
            let node = self.node(schema)?;
            self.nodes[id] = Some(node);
        }
        Ok(id)
    }

    fn below(&mut self, step: ReadStep<'s>, schema: &'s Json) -> Result<SchemaId, SchemaReadError> {
        self.path.push(step);
        let id = self.child(schema)?;
        self.path.pop();
        Ok(id)
    }

    fn node(&mut self, schema: &'s Json) -> Result<SchemaNode, SchemaReadError> {
        let map = match schema {
            Json::Bool(verdict) => {
                return Ok(SchemaNode { verdict: Some(*verdict), ..SchemaNode::default() });
            }
            Json::Object(map) => map,
            _ => {
                let keyword = match self.path.last() {
                    Some(ReadStep::Keyword(keyword)) => Some((*keyword).to_owned()),
                    _ => None,
                };
                return self.refuse(SchemaReadProblem::NoSchema(keyword, schema.clone()));
            }
        };
        let levels =
            self.since_reference().iter().filter(|step| matches!(step, ReadStep::Keyword(_))).count();
        if levels > self.profile.max_levels {
            return self.refuse(SchemaReadProblem::TooDeep(self.profile.max_levels));
        }
        let is_in = |list: &str, key: &str| list.split(' ').any(|known| known == key);
        let mut node = SchemaNode { is_bare: true, ..SchemaNode::default() };
        let (mut read, mut unknown) = (Vec::with_capacity(map.len()), Vec::new());
        for (key, value) in map {
            let is_note = key.starts_with("x-") || is_in(self.profile.notes, key);
            let bound = BoundKeyword::named(key);
            node.is_bare &= is_note || key == "type";
            if bound.is_some() || is_in(self.profile.keywords, key) {
                read.push((key, value, bound));
            } else if !is_note {
                unknown.push(key.clone());
            }
        }
        if !unknown.is_empty() {
            return self.refuse(SchemaReadProblem::Unknown(unknown));
        }
        for (key, value, bound) in read {
            match bound {
                Some(bound) => self.bound(bound, map, value, &mut node)?,
                None => self.keyword(key, value, map, &mut node)?,
            }
        }
        node.bounds.sort_by_key(|(bound, _)| *bound);
        if let (Some(constant), Some(choices)) = (&node.constant, &mut node.choices)
            && self.profile.reads_old_drafts
        {
            choices.retain(|choice| choice == constant);
            node.constant = None;
        }
        if self.profile.sorts_properties && !node.required.is_empty() {
            self.require(&mut node)?;
        }
        Ok(node)
    }

    fn keyword(
        &mut self,
        key: &'s str,
        value: &'s Json,
        map: &'s Map,
        node: &mut SchemaNode,
    ) -> Result<(), SchemaReadError> {
        let is_old = self.profile.reads_old_drafts;
        let step = ReadStep::Keyword(key);
        match key {
            "$ref" => node.reference = Some(self.reference(value)?),
            "type" => {
                node.kinds = self.kinds(value)?;
                if is_old && map.get("nullable") == Some(&Json::Bool(true)) {
                    node.kinds.push(Kind::Null);
                }
            }
            "nullable" => node.is_nullable = self.flag(key, value)? && !is_old,
            "uniqueItems" => node.has_unique_items = self.flag(key, value)?,
            "const" => node.constant = Some(value.clone()),
            "enum" => match value {
                Json::Array(values) if !values.is_empty() || !self.profile.is_exact => {
                    node.choices = Some(values.clone());
                }
                _ => return self.content(key, "a list with at least one value", value),
            },
            "minContains" | "maxContains" if value.as_u64().is_none() => {
                return self.content(key, "a whole number", value);
            }
            "format" => match value {
                Json::String(text) => node.format = Some(text.clone()),
                _ => return self.content(key, "text", value),
            },
            "description" => node.description = value.as_str().map(str::to_owned),
            "examples" => {
                node.example =
                    value.as_array().and_then(|values| values.first()).cloned().or(node.example.take())
            }
            "example" if node.example.is_none() => node.example = Some(value.clone()),
            "pattern" => match value {
                Json::String(text) => node.pattern = Some(self.pattern(key, text, value)?),
                _ => return self.content(key, "text", value),
            },
            "items" => match value {
                Json::Array(_) if is_old => {
                    node.prefix = self.schemas(key, value)?;
                    if let Some(rest) = map.get("additionalItems") {
                        node.items = Some(self.below(ReadStep::Keyword("additionalItems"), rest)?);
                    }
                }
                Json::Array(_) => {
                    return self.content(key, "one schema; write `prefixItems` for a tuple", value);
                }
                _ => node.items = Some(self.below(step, value)?),
            },
            // A list of `items` beside it is older and goes first.
            "prefixItems" if !map.get("items").is_some_and(|items| is_old && items.is_array()) => {
                node.prefix = self.schemas(key, value)?;
            }
            "contains" => {
                let count = |key: &str| map.get(key).and_then(Json::as_u64);
                let schema = self.below(step, value)?;
                node.contains = Some((
                    schema,
                    count("minContains").unwrap_or(1),
                    count("maxContains").unwrap_or(u64::MAX),
                ));
            }
            "allOf" => node.all_of = self.schemas(key, value)?,
            "anyOf" => node.any_of = self.schemas(key, value)?,
            "oneOf" => node.one_of = self.schemas(key, value)?,
            "not" => node.not = Some(self.below(step, value)?),
            "if" => node.condition = Some(self.below(step, value)?),
            "then" => node.consequence = Some(self.below(step, value)?),
            "else" => node.alternative = Some(self.below(step, value)?),
            "additionalProperties" => node.additional = Some(self.below(step, value)?),
            "unevaluatedProperties" => node.unevaluated = Some(self.below(step, value)?),
            "propertyNames" => node.names = Some(self.below(step, value)?),
            "properties" => node.properties = Some(self.properties(value, map)?),
            "patternProperties" | "$defs" | "definitions" => {
                let Json::Object(schemas) = value else {
                    return self.content(key, "an object", value);
                };
                for (name, schema) in schemas {
                    let is_pattern = key == "patternProperties";
                    let pattern = is_pattern.then(|| self.pattern(key, name, value)).transpose()?;
                    self.path.push(step);
                    let id = self.below(ReadStep::Name(name), schema)?;
                    self.path.pop();
                    node.pattern_properties.extend(pattern.map(|pattern| (pattern, id)));
                }
            }
            "required" => {
                node.required = match value {
                    Json::Bool(_) if is_old => Vec::new(),
                    _ => match names(value) {
                        Some(names) => names,
                        None => return self.content(key, "a list of names", value),
                    },
                };
                if self.profile.is_exact
                    && let Some(name) = undeclared(&node.required, map)
                {
                    return self.refuse(SchemaReadProblem::Undeclared(name.to_owned()));
                }
            }
            "dependentRequired" => {
                let lists = value.as_object().map(|lists| {
                    lists
                        .iter()
                        .map(|(name, list)| Some((name.clone(), names(list)?)))
                        .collect::<Option<Vec<_>>>()
                });
                match lists.flatten() {
                    Some(lists) => node.dependent_required = lists,
                    None => return self.content(key, "an object of lists of names", value),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn bound(
        &mut self,
        bound: BoundKeyword,
        map: &Map,
        value: &Json,
        node: &mut SchemaNode,
    ) -> Result<(), SchemaReadError> {
        let exclusive = match bound {
            BoundKeyword::Minimum => Some(BoundKeyword::ExclusiveMinimum),
            BoundKeyword::Maximum => Some(BoundKeyword::ExclusiveMaximum),
            _ => None,
        };
        // In older drafts they say how the other bound is meant.
        let is_word = matches!(bound, BoundKeyword::ExclusiveMinimum | BoundKeyword::ExclusiveMaximum);
        if self.profile.reads_old_drafts && is_word && value.is_boolean() {
            return Ok(());
        }
        let float = value.as_f64().filter(|number| number.is_finite());
        let (wanted, fits) = match bound {
            BoundKeyword::MultipleOf => ("a number greater than 0", float.is_some_and(|step| step > 0.0)),
            _ if bound.counts().is_some() => ("a whole number", value.as_u64().is_some()),
            _ => ("a number", float.is_some()),
        };
        let Some(limit) = value.as_number().filter(|_| fits) else {
            return self.content(bound.name(), wanted, value);
        };
        let is_exclusive = |other: &BoundKeyword| {
            self.profile.reads_old_drafts && map.get(other.name()) == Some(&Json::Bool(true))
        };
        node.bounds.push((exclusive.filter(is_exclusive).unwrap_or(bound), limit.clone()));
        Ok(())
    }

    fn flag(&self, key: &str, value: &Json) -> Result<bool, SchemaReadError> {
        value.as_bool().map_or_else(|| self.content(key, "true or false", value), Ok)
    }

    fn kinds(&self, value: &Json) -> Result<Vec<Kind>, SchemaReadError> {
        let words = match value {
            Json::Array(words) if !words.is_empty() => words.as_slice(),
            word => std::slice::from_ref(word),
        };
        let kind = |word: &Json| {
            let found = word.as_str().and_then(|word| Kind::ALL.into_iter().find(|kind| kind.name() == word));
            found.map_or_else(|| self.refuse(SchemaReadProblem::Type(word.clone())), Ok)
        };
        words.iter().map(kind).collect()
    }

    fn schemas(&mut self, key: &'s str, value: &'s Json) -> Result<Vec<SchemaId>, SchemaReadError> {
        match value {
            Json::Array(list) if !list.is_empty() => {
                self.path.push(ReadStep::Keyword(key));
                let schemas = list.iter().enumerate();
                let ids = schemas.map(|(at, schema)| self.below(ReadStep::Item(at), schema)).collect();
                self.path.pop();
                ids
            }
            _ => self.content(key, "a list with at least one schema", value),
        }
    }

    fn properties(&mut self, value: &'s Json, map: &'s Map) -> Result<PropertyTable, SchemaReadError> {
        let Json::Object(declared) = value else {
            return self.content("properties", "an object", value);
        };
        let required: ahash::AHashSet<&str> = map
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut entries: Vec<_> = declared.iter().collect();
        if self.profile.sorts_properties {
            entries.sort_unstable_by_key(|(name, _)| *name);
        }
        self.path.push(ReadStep::Keyword("properties"));
        let mut list = Vec::with_capacity(entries.len());
        for (name, schema) in entries {
            let schema = self.below(ReadStep::Property(name), schema)?;
            list.push(SchemaProperty {
                name: name.clone(),
                schema,
                is_required: required.contains(name.as_str()),
            });
        }
        self.path.pop();
        Ok(PropertyTable::new(list))
    }

    /// Puts required properties that are declared elsewhere, or are anything, among the declared ones.
    fn require(&mut self, node: &mut SchemaNode) -> Result<(), SchemaReadError> {
        let mut list = node.properties.take().map_or_else(Vec::new, |table| table.list);
        let known: ahash::AHashSet<&str> = list.iter().map(|property| property.name.as_str()).collect();
        let others: std::collections::BTreeSet<&str> =
            node.required.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
        if !others.is_empty() {
            let schema = self.place()?;
            let others = others.into_iter().map(|name| SchemaProperty {
                name: name.to_owned(),
                schema,
                is_required: true,
            });
            let others: Vec<_> = others.collect();
            list.extend(others);
            list.sort_by(|a, b| a.name.cmp(&b.name));
        }
        node.properties = Some(PropertyTable::new(list));
        Ok(())
    }

    /// The text of a reference, and the schema it leads to, which is read once and later: it may refer to itself.
    fn reference(&mut self, value: &'s Json) -> Result<(String, SchemaId), SchemaReadError> {
        let Json::String(text) = value else { return self.content("$ref", "text", value) };
        let found = match target(self.root, text) {
            Some(found) => found,
            None if text.starts_with("#/") || text == "#" => {
                return self.refuse(SchemaReadProblem::ReferenceNowhere(text.clone()));
            }
            None => return self.refuse(SchemaReadProblem::ReferenceOutside(text.clone())),
        };
        if self.profile.is_exact {
            let mut next = found;
            let mut left = MAX_CHAIN;
            while let Some(further) = next.get("$ref").and_then(Json::as_str) {
                left -= 1;
                let Some(found) = target(self.root, further) else { break };
                if left == 0 {
                    return self.refuse(SchemaReadProblem::ReferenceCircle(text.clone()));
                }
                next = found;
            }
        }
        let id = self.id(found)?;
        if self.nodes[id].is_none() {
            // Of a chain of references, the first and the last.
            let first = self.path.iter().position(|step| matches!(step, ReadStep::Reference(_)));
            let mut path = self.path[..first.unwrap_or(self.path.len())].to_vec();
            path.push(ReadStep::Reference(text));
            self.waiting.push_back((found, path));
        }
        Ok((text.clone(), id))
    }

    fn pattern(&self, key: &str, text: &str, value: &Json) -> Result<SchemaPattern, SchemaReadError> {
        let automaton = match self.profile.patterns {
            PatternEngine::Caller(most) if text.len() <= most => None,
            PatternEngine::Caller(_) => return self.content(key, "text", value),
            PatternEngine::Automaton => {
                let config =
                    Regex::config().nfa_size_limit(Some(MAX_AUTOMATON)).hybrid_cache_capacity(MAX_AUTOMATON);
                match Regex::builder().configure(config).build(text) {
                    Ok(regex) => Some(regex),
                    Err(wrong) => {
                        let detail = wrong.syntax_error().map_or_else(
                            || wrong.to_string(),
                            |syntax| syntax.to_string().replace('\n', " "),
                        );
                        return self.refuse(SchemaReadProblem::Pattern(text.to_owned(), detail));
                    }
                }
            }
        };
        Ok(SchemaPattern { text: text.to_owned(), automaton })
    }
}

fn names(value: &Json) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// A required name that no declared property has, which is most likely a slip of the pen.
fn undeclared<'n>(required: &'n [String], map: &Map) -> Option<&'n str> {
    let properties = map.get("properties")?;
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
    let is_elsewhere = elsewhere.iter().any(|key| map.contains_key(key))
        || map.get("additionalProperties").is_some_and(Json::is_object);
    required.iter().map(String::as_str).find(|name| !is_elsewhere && properties.get(*name).is_none())
}
