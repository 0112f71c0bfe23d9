//! Compiling the included operations of a document into tools (upstreams.md 7.3).
//!
//! The adapter is narrow on purpose: GET without a body, path and query parameters, JSON answers. An included operation
//! that needs anything else is refused at start, with a text that names the operation.

use super::style::{ParameterLocation, Style};
use ptc_mcp::json::{Map, Value, json};
use url::Url;

use super::document::{Document, InlineBudget, MAX_SCHEMA_NODES};
use super::kinds::misfit;
use super::parameter::Parameter;
use super::template::PathTemplate;
use crate::config::OpenApiConfig;
use crate::upstream::CallFault;
use ptc_base::similar::most_similar;
use ptc_base::visible::has_hidden;

const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "options", "head", "trace"];
/// Most parameters of one operation: they are compared with each other.
const MAX_PARAMETERS: usize = 256;
/// Longest rendering of a parameter in a message, in characters.
const MAX_SHOWN: usize = 120;

/// A compiled operation: everything that a call needs.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The tool name.
    pub name: String,
    /// The document's `operationId`.
    pub id: String,
    pub(super) template: PathTemplate,
    /// Names of the query parameters, and how their values are written.
    pub(super) query: Vec<(String, Style)>,
    /// Defaults for missing arguments: those of the configuration, and the document's for the path, which has no URL without
    /// them.
    pub(super) default_args: Map,
    /// The tool object, in the shape of a `tools/list` answer, with `_ptc`.
    pub tool: Value,
}

/// The URL of a server with the defaults of its variables; `None` if one has none.
fn with_defaults(url: &str, server: &Value) -> Option<String> {
    let mut out = String::new();
    let mut rest = url;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}')?;
        out.push_str(before);
        out.push_str(server.get("variables")?.get(name)?.get("default")?.as_str()?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Compiles the operations that `config` includes, in its order.
///
/// # Errors
/// `upstream_unavailable`; the first failing check of the first failing operation.
pub fn compile(document: &Document, config: &OpenApiConfig) -> Result<Vec<Operation>, CallFault> {
    let found = find_operations(document);
    let missing: Vec<&str> = config
        .include_operations
        .iter()
        .map(String::as_str)
        .filter(|id| !found.iter().any(|operation| operation.id == *id))
        .collect();
    if !missing.is_empty() {
        return Err(CallFault::unavailable(format!(
            "OpenAPI include_operations not found: {}",
            missing.join(", ")
        )));
    }
    let mut operations = Vec::with_capacity(config.include_operations.len());
    for id in &config.include_operations {
        let mut same = found.iter().filter(|operation| operation.id == id);
        let (Some(source), None) = (same.next(), same.next()) else {
            return Err(refuse(id, "is defined more than once"));
        };
        operations.push(source.compile(document, config)?);
    }
    let mut twice: Vec<&str> = Vec::new();
    for (i, operation) in operations.iter().enumerate() {
        let name = operation.name.as_str();
        if operations[..i].iter().any(|other| other.name == name) && !twice.contains(&name) {
            twice.push(name);
        }
    }
    if twice.is_empty() {
        Ok(operations)
    } else {
        Err(CallFault::unavailable(format!("OpenAPI operations share a tool name: {}", twice.join(", ")))
            .with_hint("Give one of the operations another name in operation_overrides."))
    }
}

fn refuse(id: &str, what: impl std::fmt::Display) -> CallFault {
    CallFault::unavailable(format!("OpenAPI operation {id} {what}"))
}

/// An operation where it stands in the document.
struct DocumentOperation<'d> {
    id: &'d str,
    method: &'static str,
    path: &'d str,
    item: &'d Map,
    operation: &'d Map,
}

fn find_operations(document: &Document) -> Vec<DocumentOperation<'_>> {
    let of_item = |(path, item): (_, _)| {
        METHODS.into_iter().filter_map(move |method| {
            let item: &Map = item;
            let operation = item.get(method)?.as_object()?;
            let id = operation.get("operationId")?.as_str().filter(|id| !id.is_empty())?;
            Some(DocumentOperation { id, method, path, item, operation })
        })
    };
    document.paths().flat_map(of_item).collect()
}

impl<'d> DocumentOperation<'d> {
    fn refuse(&self, what: impl std::fmt::Display) -> CallFault {
        refuse(self.id, what)
    }

    /// Refuses operations that cannot become a tool.
    fn check_supported(&self, config: &OpenApiConfig) -> Result<(), CallFault> {
        if self.method != "get" {
            let method = self.method.to_uppercase();
            return Err(self.refuse(format_args!("uses unsupported method {method}; v1 supports GET only")));
        }
        if self.operation.get("deprecated") == Some(&Value::Bool(true)) {
            return Err(self.refuse("is deprecated"));
        }
        if self.operation.contains_key("requestBody") {
            return Err(self.refuse("has requestBody; v1 GET bodies are unsupported"));
        }
        if !self.servers_keep_origin(&config.base_url) {
            return Err(self.refuse("has cross-origin servers; v1 requires base_url origin"));
        }
        Ok(())
    }

    /// The path as a template whose parameters are all declared.
    fn template(&self, parameters: &[Parameter<'_>]) -> Result<PathTemplate, CallFault> {
        let template = PathTemplate::parse(self.path)
            .ok_or_else(|| self.refuse(format_args!("has an unusable path {:?}", self.path)))?;
        let declared =
            |name: &str| parameters.iter().any(|p| p.place == ParameterLocation::Path && p.name == name);
        let undeclared: Vec<&str> = template.names().filter(|name| !declared(name)).collect();
        if !undeclared.is_empty() {
            return Err(self.refuse(format_args!(
                "path template is missing declared path parameter(s): {}",
                undeclared.join(", ")
            )));
        }
        Ok(template)
    }

    fn compile(&self, document: &'d Document, config: &OpenApiConfig) -> Result<Operation, CallFault> {
        self.check_supported(config)?;
        let parameters = self.parameters(document)?;
        let template = self.template(&parameters)?;
        let mut budget = InlineBudget::default();
        let output = self.output_schema(document, &mut budget)?;

        let given = config.overrides.get(self.id);
        let text = |key: &str| self.operation.get(key).and_then(Value::as_str);
        let name = given.and_then(|o| o.name.as_deref()).or_else(|| text("x-ptc-name")).unwrap_or(self.id);
        if name.trim().is_empty() || name.trim() != name || has_hidden(name) {
            return Err(self.refuse(format_args!(
                "would make a tool named {name:?}, which no program can write; name it in operation_overrides"
            )));
        }
        let description = given.and_then(|o| o.description.as_deref());
        let description =
            description.or_else(|| text("description")).or_else(|| text("summary")).unwrap_or_default();
        let mut default_args = match given.and_then(|o| o.default_args.as_ref()) {
            Some(args) => args.clone(),
            None => self
                .operation
                .get("x-ptc-default-args")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        };

        let mut properties = Map::new();
        let mut required: Vec<&str> = Vec::new();
        let mut omitted: Vec<&str> = Vec::new();
        let mut query = Vec::new();
        for parameter in &parameters {
            let is_required = parameter.required || parameter.place == ParameterLocation::Path;
            match parameter.property(document, &mut budget) {
                Some(property) => drop(properties.insert(parameter.name.to_owned(), property)),
                None if is_required => {
                    return Err(self.refuse(format_args!(
                        "requires parameter {:?}, whose values no URL can carry",
                        parameter.name
                    )));
                }
                None => {
                    omitted.push(parameter.name);
                    continue;
                }
            }
            if is_required && !default_args.contains_key(parameter.name) {
                required.push(parameter.name);
            }
            if parameter.place == ParameterLocation::Query {
                query.push((parameter.name.to_owned(), parameter.style));
            }
        }
        if budget.is_overdrawn() {
            return Err(self.refuse(format_args!("has schemas of more than {MAX_SCHEMA_NODES} JSON nodes")));
        }
        self.check_defaults(&default_args, &properties)?;
        let tool = json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "outputSchema": output,
            "annotations": {"readOnlyHint": true},
            "_ptc": {
                "transport": "openapi",
                "operationId": self.id,
                "method": "GET",
                "path": self.path,
                "defaultArgs": default_args,
                "omittedParameters": omitted,
            },
        });
        for name in template.names() {
            let default = properties.get(name).and_then(|property| property.get("default"));
            if let Some(default) = default.filter(|_| !default_args.contains_key(name)) {
                default_args.insert(name.to_owned(), default.clone());
            }
        }
        Ok(Operation { name: name.to_owned(), id: self.id.to_owned(), template, query, default_args, tool })
    }

    /// Refuses default arguments that no call could carry: a mistyped filter would give unfiltered data (ruling 60).
    fn check_defaults(&self, defaults: &Map, properties: &Map) -> Result<(), CallFault> {
        let unknown: Vec<&str> =
            defaults.keys().filter(|name| !properties.contains_key(name)).map(String::as_str).collect();
        if !unknown.is_empty() {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let similar = unknown.iter().find_map(|name| most_similar(name, known.iter().copied()));
            let similar = similar.map_or_else(String::new, |name| format!("Did you mean {name:?}? "));
            let known = if known.is_empty() { "no parameters".to_owned() } else { known.join(", ") };
            return Err(self
                .refuse(format_args!("has default_args that it does not take: {}", unknown.join(", ")))
                .with_hint(&format!("{similar}It takes {known}.")));
        }
        for (name, value) in defaults {
            if let Some(wanted) = misfit(&properties[name], value) {
                let shown: String = value.to_string().chars().take(MAX_SHOWN).collect();
                return Err(
                    self.refuse(format_args!("has a default_args {name} that must be {wanted}, got {shown}"))
                );
            }
        }
        Ok(())
    }

    /// Whether the operation's own `servers`, if it has any, all have the origin of `base_url`. Those of the document
    /// and the path are ignored: `base_url` stands for them.
    fn servers_keep_origin(&self, base_url: &Url) -> bool {
        let servers = self.operation.get("servers").and_then(Value::as_array);
        servers.into_iter().flatten().all(|server| {
            let url = server.get("url").and_then(Value::as_str).and_then(|url| with_defaults(url, server));
            url.and_then(|url| base_url.join(&url).ok()).is_some_and(|url| url.origin() == base_url.origin())
        })
    }

    /// The parameters of the path item and the operation; one of the operation's replaces its namesake.
    fn parameters(&self, document: &'d Document) -> Result<Vec<Parameter<'d>>, CallFault> {
        let mut parameters: Vec<Parameter<'d>> = Vec::new();
        let item = self.item.get("parameters").and_then(Value::as_array);
        let own = self.operation.get("parameters").and_then(Value::as_array);
        let from_item = item.into_iter().flatten().map(|parameter| (false, parameter));
        let mut own_names: Vec<(&str, ParameterLocation)> = Vec::new();
        for (is_own, written) in from_item.chain(own.into_iter().flatten().map(|parameter| (true, parameter)))
        {
            let parameter = self.parameter(document, written)?;
            let key = (parameter.name, parameter.place);
            if is_own {
                if own_names.contains(&key) {
                    return Err(self.refuse(format_args!("declares parameter {:?} twice", parameter.name)));
                }
                own_names.push(key);
            }
            match parameters.iter().position(|known| (known.name, known.place) == key) {
                Some(known) => parameters[known] = parameter,
                None if parameters.len() == MAX_PARAMETERS => {
                    return Err(self.refuse(format_args!("declares more than {MAX_PARAMETERS} parameters")));
                }
                None => parameters.push(parameter),
            }
        }
        for (i, parameter) in parameters.iter().enumerate() {
            if parameters[..i].iter().any(|other| other.name == parameter.name) {
                return Err(self.refuse(format_args!(
                    "has a path and a query parameter of one name, {:?}, which a call cannot tell apart",
                    parameter.name
                )));
            }
        }
        Ok(parameters)
    }

    fn parameter(&self, document: &'d Document, written: &'d Value) -> Result<Parameter<'d>, CallFault> {
        let unsupported = || {
            let shown: String = written.to_string().chars().take(MAX_SHOWN).collect();
            self.refuse(format_args!("has unsupported parameter {shown}"))
        };
        let Some(parameter) = document.resolve(written) else {
            let shown: String = written["$ref"].to_string().chars().take(MAX_SHOWN).collect();
            return Err(self.refuse(format_args!(
                "has a reference that leads nowhere, {shown}: $ref parameters are unsupported in OpenAPI v1 compiler \
                 unless they can be resolved inside the document"
            )));
        };
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let place = match text("in") {
            Some("path") => ParameterLocation::Path,
            Some("query") => ParameterLocation::Query,
            Some(place @ ("header" | "cookie")) => {
                return Err(self.refuse(format_args!("has unsupported {place} parameter")));
            }
            _ => return Err(unsupported()),
        };
        let name = text("name").filter(|name| !name.is_empty()).ok_or_else(unsupported)?;
        // Label and matrix paths spell even scalars differently; `content` is a serialised document in a parameter.
        let style = Style::of(parameter, place).filter(|_| parameter.get("content").is_none());
        Ok(Parameter {
            name,
            place,
            style: style.ok_or_else(unsupported)?,
            required: parameter.get("required") == Some(&Value::Bool(true)),
            schema: parameter.get("schema"),
        })
    }

    fn output_schema(&self, document: &Document, budget: &mut InlineBudget) -> Result<Value, CallFault> {
        let responses = self.operation.get("responses").and_then(Value::as_object);
        let is_success = |status: &str| status.len() == 3 && status.starts_with('2');
        let mut successes: Vec<(&String, &Value)> =
            responses.into_iter().flatten().filter(|(status, _)| is_success(status)).collect();
        if successes.is_empty() {
            return Err(self.refuse("has no 2xx response"));
        }
        successes.sort_by_key(|(status, _)| *status);
        let contents: Vec<&Map> = successes
            .iter()
            .filter(|(status, _)| *status != "204")
            .filter_map(|(_, response)| document.resolve(response)?.get("content")?.as_object())
            .filter(|content| !content.is_empty())
            .collect();
        if contents.is_empty() {
            return Ok(json!({"type": "null"}));
        }
        let media =
            contents.into_iter().flatten().find(|(kind, _)| kind.to_ascii_lowercase().contains("json"));
        match media {
            Some((_, media)) => {
                Ok(media.get("schema").map_or_else(|| json!({}), |schema| document.inline(schema, budget)))
            }
            None => Err(self.refuse("has no JSON 2xx response; v1 supports JSON responses only")),
        }
    }
}
