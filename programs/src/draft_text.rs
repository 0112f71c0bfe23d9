//! The text of a draft: a head that is made of what is known of a run, and the program that ran.

use ptc_mcp::json::Value as Json;

use crate::edn::edn;

/// Columns before the first test: `recording`'s `indent`.
pub const TEST_INDENT: usize = 9;

/// What the text of a draft is made of.
#[derive(Clone, Debug, Default)]
pub struct DraftText<'a> {
    /// `:description`
    pub description: &'a str,
    /// `:title`
    pub title: Option<&'a str>,
    /// `:input`
    pub input: Option<Json>,
    /// `:output`
    pub output: Option<Json>,
    /// `:tools`, as `UPSTREAM/TOOL`.
    pub tools: Vec<String>,
    /// `:resources`, as `UPSTREAM/URI`.
    pub resources: Vec<String>,
    /// `:prompts`, as `UPSTREAM/PROMPT`.
    pub prompts: Vec<String>,
    /// `:limits`, with the keys of a head.
    pub limits: Option<Json>,
    /// The one test, as [`RunRecording::test`](crate::recording::RunRecording::test) gives it with [`TEST_INDENT`].
    pub test: Option<&'a str>,
    /// The program.
    pub program: &'a str,
}

impl DraftText<'_> {
    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut head = Vec::new();
        let mut add = |key: &str, value: &Json| head.push(format!(":{key} {}", edn(value, key.len() + 3)));
        add("description", &Json::from(self.description));
        if let Some(title) = self.title {
            add("title", &Json::from(title));
        }
        for (key, value) in [("input", &self.input), ("output", &self.output)] {
            if let Some(value) = value {
                add(key, value);
            }
        }
        add("tools", &Json::from(self.tools.clone()));
        for (key, names) in [("resources", &self.resources), ("prompts", &self.prompts)] {
            if !names.is_empty() {
                add(key, &Json::from(names.clone()));
            }
        }
        if let Some(limits) = &self.limits {
            add("limits", limits);
        }
        head.extend(self.test.map(|test| format!(":tests [{test}]")));
        format!("{{{}}}\n\n{}\n", head.join("\n "), self.program.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ProgramName;
    use crate::program::KeptProgram;
    use ptc_mcp::json::json;

    #[test]
    fn the_text_of_a_draft_is_read_again() {
        let parts = DraftText {
            description: "Adds \"up\"\nthe invoices.",
            title: Some("Open invoices"),
            input: Some(
                json!({"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}),
            ),
            tools: vec!["billing/list_invoices".to_owned()],
            resources: vec!["docs/file:///a".to_owned()],
            limits: Some(json!({"timeout-ms": 5000})),
            test: Some(r#"{:input {:customer "ann"} :value 0}"#),
            program: "\n(do data/customer 0)\n",
            ..DraftText::default()
        };
        let text = parts.text();
        let program = KeptProgram::read(ProgramName::new("report").unwrap(), &text).unwrap();
        assert_eq!(&*program.head.description, "Adds \"up\"\nthe invoices.");
        assert_eq!(program.head.tests, 1);
        assert!(program.head.tools.names("billing", "list_invoices"));
        assert!(text.ends_with("}\n\n(do data/customer 0)\n"), "{text}");
        assert!(text.starts_with("{:description \"Adds \\\"up\\\"\\nthe invoices.\"\n :title"), "{text}");
    }
}
