//! The arguments of `lisp_keep`, checked with fixed messages.

use std::borrow::Cow;

use ptc_mcp::json::{Kind, Map, Raw, Value as Json, from_str};
use ptc_programs::name::ProgramName;

use crate::lisp_eval::{program_of, without_fence};
use crate::unknown_arguments::heed_unknown;

/// What the tool takes.
const KNOWN: [&str; 8] = ["name", "description", "title", "input", "output", "tools", "limits", "program"];

/// Checked arguments.
#[derive(Debug)]
pub(super) struct KeepArguments {
    pub(super) name: ProgramName,
    pub(super) description: String,
    pub(super) title: Option<String>,
    pub(super) input: Option<Json>,
    pub(super) output: Option<Json>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) limits: Option<Json>,
    /// The text of the program that is meant, as it was sent.
    pub(super) program: Option<String>,
}

impl KeepArguments {
    /// Reads an arguments object.
    ///
    /// # Errors
    /// The `message` of the first check that fails.
    pub(super) fn read(arguments: Option<Raw<'_>>) -> Result<KeepArguments, String> {
        let given = GivenArguments::of(arguments)?;
        let required = |key: &str| {
            given.text(key)?.ok_or_else(|| format!("argument `{key}` must be a non-empty string"))
        };
        let name = required("name")?;
        let name = ProgramName::new(name.strip_suffix(".clj").unwrap_or(&name))
            .map_err(|fault| format!("argument `name`: {fault}"))?;
        let code = given.get("code");
        let program = program_of(given.get("program"), code).filter(|value| value.kind() != Kind::Null);
        let program = program.map(|value| match value.as_str() {
            Some(text) => Ok(without_fence(&text).to_string()),
            None => Err(format!("argument `program` must be a string, got {}", value.kind().name())),
        });
        Ok(KeepArguments {
            name,
            description: required("description")?.into_owned(),
            title: given.text("title")?.map(Cow::into_owned),
            input: given.object("input")?.map(Json::Object),
            output: given.object("output")?.map(Json::Object),
            tools: given.names("tools")?,
            limits: given.object("limits")?.map(limits),
            program: program.transpose()?,
        })
    }
}

/// Limits with the keys of a head, which has hyphens.
fn limits(given: Map) -> Json {
    given.into_iter().map(|(key, value)| (key.replace('_', "-"), value)).collect()
}

/// The members that matter, as sent.
struct GivenArguments<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> GivenArguments<'a> {
    fn of(arguments: Option<Raw<'a>>) -> Result<Self, String> {
        if let Some(other) =
            arguments.map(Raw::kind).filter(|kind| !matches!(kind, Kind::Object | Kind::Null))
        {
            return Err(format!("arguments must be an object, got {}", other.name()));
        }
        let members = || arguments.and_then(Raw::members).into_iter().flatten();
        let mut given: Vec<(Cow<'a, str>, Raw<'a>)> = Vec::new();
        for (key, value) in members().filter(|(key, _)| KNOWN.contains(&&**key) || key == "code") {
            if given.iter().any(|(known, _)| *known == key) {
                return Err(format!("argument `{key}` is given twice"));
            }
            given.push((key, value));
        }
        heed_unknown(members().map(|(key, _)| key).filter(|key| key != "code"), &KNOWN)?;
        Ok(GivenArguments(given))
    }

    /// What is given and not `null`.
    fn get(&self, key: &str) -> Option<Raw<'a>> {
        let value = self.0.iter().find(|(known, _)| known == key)?.1;
        (value.kind() != Kind::Null).then_some(value)
    }

    fn text(&self, key: &str) -> Result<Option<Cow<'a, str>>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
            None => Err(format!("argument `{key}` must be a string, got {}", value.kind().name())),
        }
    }

    /// An object, or the text of one.
    #[expect(clippy::disallowed_methods, reason = "entry point: GivenArguments.object")]
    fn object(&self, key: &str) -> Result<Option<Map>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = value.as_str();
        let value = text.as_deref().and_then(Raw::object_of).unwrap_or(value);
        if value.kind() != Kind::Object {
            return Err(format!("argument `{key}` must be a JSON object, got {}", value.kind().name()));
        }
        from_str(value.text()).map(Some).map_err(|error| format!("argument `{key}` is invalid: {error}"))
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: GivenArguments.names")]
    fn names(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let told = || format!("argument `{key}` must be an array of strings such as \"upstream/tool\"");
        from_str(value.text()).map(Some).map_err(|_| told())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    fn read(text: &str) -> Result<KeepArguments, String> {
        KeepArguments::read(Some(Raw::parse(text).expect("JSON")))
    }

    #[test]
    fn arguments_are_checked() {
        let whole = read(
            r#"{"name":"open-invoices.clj","description":"Adds up.","title":null,"input":"{\"type\":\"object\"}",
                "tools":["billing/list"],"limits":{"timeout_ms":5000},"code":"```\n(+ 1 2)\n```","reasoning":"x"}"#,
        )
        .expect("right arguments");
        assert_eq!((whole.name.as_str(), whole.title), ("open-invoices", None));
        assert_eq!(whole.input, Some(json!({"type": "object"})));
        assert_eq!(whole.limits, Some(json!({"timeout-ms": 5000})));
        assert_eq!(whole.program.as_deref(), Some("\n(+ 1 2)\n"));
        for (given, told) in [
            ("[]", "arguments must be an object, got array"),
            ("{}", "argument `name` must be a non-empty string"),
            (r#"{"name":"a"}"#, "argument `description` must be a non-empty string"),
            (r#"{"name":7}"#, "argument `name` must be a string, got integer"),
            (
                r#"{"name":"lisp-x","description":"x"}"#,
                "argument `name`: names that begin with lisp- are those of ptc's own tools",
            ),
            (r#"{"name":"a","name":"b"}"#, "argument `name` is given twice"),
            (r#"{"nam":"a"}"#, "argument `nam` is not known; did you mean `name`?"),
            (
                r#"{"name":"a","description":"x","input":[]}"#,
                "argument `input` must be a JSON object, got array",
            ),
            (
                r#"{"name":"a","description":"x","tools":"a/b"}"#,
                "argument `tools` must be an array of strings such as \"upstream/tool\"",
            ),
            (
                r#"{"name":"a","description":"x","program":[]}"#,
                "argument `program` must be a string, got array",
            ),
        ] {
            assert_eq!(read(given).expect_err(given), told);
        }
    }
}
