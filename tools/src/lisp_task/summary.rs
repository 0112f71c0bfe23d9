//! A short summary of the upstreams' capabilities for callers of `lisp_task` (server.md 10.4).

use std::path::Path;

use ptc_host::catalog::{Catalog, CatalogMode, ServerEntry};
use ptc_host::ordinary_file;
use ptc_mcp::json::Value;

use ptc_protocol::settings::BootError;
use ptc_protocol::settings::Planner;

/// Largest file of the operator that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Fields of a map type that are named.
const MAX_FIELDS: usize = 3;
/// Deepest level of a type that is shown.
const MAX_DEPTH: usize = 3;

const LAZY: &str = "The planner looks up tools itself; describe the task in plain language.";

/// The operator's text, or a generated one.
///
/// # Errors
/// The operator's file cannot be read, or is larger than it may be: it is never cut.
pub fn capability_summary(
    settings: &Planner,
    catalog: &Catalog,
    mode: CatalogMode,
) -> Result<String, BootError> {
    let max = settings.capability_summary_max_bytes;
    let text = match &settings.capability_summary {
        Some(path) => {
            read(path, max).map_err(|text| BootError::new(format!("agentic_capability_summary: {text}")))?
        }
        None => generated(catalog, mode, max),
    };
    Ok(text)
}

#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
fn read(path: &Path, max: usize) -> Result<String, String> {
    let shown = path.display();
    let text = ordinary_file::read_text(path, MAX_FILE_BYTES);
    let text = text.map_err(|fault| format!("cannot read {shown}: {fault}"))?;
    let text = text.trim();
    if text.len() > max {
        return Err(format!("{shown} is {} bytes, exceeding configured cap {max}", text.len()));
    }
    Ok(text.to_owned())
}

fn generated(catalog: &Catalog, mode: CatalogMode, max: usize) -> String {
    if mode == CatalogMode::Lazy {
        return LAZY.to_owned();
    }
    let servers: Vec<&ServerEntry> = catalog.servers().collect();
    let mut out = String::new();
    for (at, server) in servers.iter().enumerate() {
        let tools = tools(server);
        let bullet = format!("- {}: {}", server.name, tools.join(", "));
        let room = max.saturating_sub(out.len() + usize::from(!out.is_empty()));
        if mode == CatalogMode::Inline || bullet.len() <= room {
            push(&mut out, &bullet);
            continue;
        }
        let clipped = (1..tools.len()).rev().find_map(|kept| {
            let text =
                format!("- {}: {} (+{} more)", server.name, tools[..kept].join(", "), tools.len() - kept);
            (text.len() <= room).then_some(text)
        });
        let shown = at + usize::from(clipped.is_some());
        if let Some(clipped) = clipped {
            push(&mut out, &clipped);
        }
        let rest = format!("- (+{} more upstreams)", servers.len() - shown);
        if shown < servers.len() && out.len() + 1 + rest.len() <= max {
            push(&mut out, &rest);
        }
        break;
    }
    out
}

fn push(out: &mut String, line: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(line);
}

/// `name->type` of each tool, sorted by name.
fn tools(server: &ServerEntry) -> Vec<String> {
    if !server.loaded {
        return vec!["(unavailable at startup)".into()];
    }
    let tools: Vec<String> = server
        .tools_by_name()
        .map(|tool| {
            let result =
                tool.output_schema.as_ref().map_or_else(|| ":unknown_content".to_owned(), |it| ty(it, 0));
            format!("{}->{result}", tool.name)
        })
        .collect();
    if tools.is_empty() { vec!["(no tools advertised)".into()] } else { tools }
}

/// A schema as a short type.
fn ty(schema: &Value, depth: usize) -> String {
    let named = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("")
        }
        _ => "",
    };
    match named {
        "string" => ":string".into(),
        "integer" => ":int".into(),
        "number" => ":float".into(),
        "boolean" => ":bool".into(),
        "array" if depth < MAX_DEPTH => match schema.get("items") {
            Some(items) => format!("[{}]", ty(items, depth + 1)),
            None => "[:any]".into(),
        },
        "object" => match schema.get("properties").and_then(Value::as_object).filter(|it| !it.is_empty()) {
            Some(properties) if depth < MAX_DEPTH => {
                let mut names: Vec<&String> = properties.keys().collect();
                names.sort_unstable();
                let fields = names
                    .iter()
                    .take(MAX_FIELDS)
                    .map(|name| format!("{name} {}", ty(&properties[name.as_str()], depth + 1)));
                let dots = if names.len() > MAX_FIELDS { ",…" } else { "" };
                format!("{{{}{dots}}}", fields.collect::<Vec<_>>().join(", "))
            }
            _ => ":map".into(),
        },
        _ => ":any".into(),
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn types_are_short() {
        for (schema, text) in [
            (
                json!({"type": "object", "properties": {"entries": {"type": "array", "items": {"type": "string"}}}}),
                "{entries [:string]}",
            ),
            (json!({"type": ["integer", "null"]}), ":int"),
            (json!({"type": "object"}), ":map"),
            (
                json!({"type": "object", "properties": {"d": {}, "c": {"type": "number"}, "b": {"type": "boolean"}, "a": {}}}),
                "{a :any, b :bool, c :float,…}",
            ),
            (json!({}), ":any"),
        ] {
            assert_eq!(ty(&schema, 0), text);
        }
    }

    #[test]
    fn an_operators_text_is_whole_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.txt");
        std::fs::write(&path, "0123456789\n").unwrap();
        assert_eq!(read(&path, 10), Ok("0123456789".into()));
        assert!(read(&path, 9).unwrap_err().ends_with("is 10 bytes, exceeding configured cap 9"));
        assert!(read(Path::new("/no/such"), 9).unwrap_err().starts_with("cannot read /no/such: "));
    }
}
