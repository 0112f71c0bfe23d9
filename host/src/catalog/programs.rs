//! Kept programs as the catalog describes them, before the tools of upstreams (language.md 12).

use ptc_mcp::json::Value;

use super::argument_notes::argument_notes;
use super::types::{arguments_type, needed_arguments, value_type};
use ptc_base::text::{argument_key, bounded_line};

/// Longest description in `doc`, in bytes.
const DESCRIPTION: usize = 2048;

/// A kept program that a caller is served.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedProgram {
    /// The name behind `program/`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub input: Value,
    /// The schema of its value.
    pub output: Option<Value>,
}

impl DescribedProgram {
    /// The text of `(doc 'program/NAME)`.
    #[must_use]
    pub fn doc(&self) -> String {
        let needed: Vec<String> = needed_arguments(&self.input).into_iter().map(argument_key).collect();
        let description = match bounded_line(&self.description, DESCRIPTION) {
            line if line.is_empty() => String::new(),
            line => format!("Description: {line}\n"),
        };
        format!(
            "program/{}\n{description}\nArgs: {}\nRequired args: {}{}\n\nCall:\n{}\n\nReturns: {}\n\
             It is the value itself; a failure ends the program.",
            self.name,
            arguments_type(&self.input),
            if needed.is_empty() { "none".to_owned() } else { needed.join(", ") },
            argument_notes(&self.input),
            self.call(),
            value_type(self.output.as_ref()),
        )
    }

    /// A call with the arguments that it needs, ready to be edited.
    #[must_use]
    pub fn call(&self) -> String {
        let needed = needed_arguments(&self.input).into_iter();
        let arguments: Vec<String> = needed.map(|name| format!("{} ...", argument_key(name))).collect();
        format!("(program/{} {{{}}})", self.name, arguments.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn the_text_of_a_program_is_that_of_a_tool_with_its_own_call() {
        let program = DescribedProgram {
            name: "open-invoices".into(),
            description: "Adds up the open invoices\nof a customer.".into(),
            input: json!({"type": "object", "properties": {
                "customer": {"type": "string", "description": "the name"}, "limit": {"type": "integer", "default": 9}},
                "required": ["customer"]}),
            output: Some(json!({"type": "object", "properties": {"result": {"type": "integer"}}})),
        };
        assert_eq!(
            program.doc(),
            "program/open-invoices\nDescription: Adds up the open invoices of a customer.\n\n\
             Args: {:customer string :limit integer?}\nRequired args: :customer\n  :customer - the name\n  :limit - default 9\n\n\
             Call:\n(program/open-invoices {:customer ...})\n\nReturns: {:result int?}\n\
             It is the value itself; a failure ends the program."
        );
        let bare = DescribedProgram { input: json!({"type": "object"}), output: None, ..program };
        assert!(bare.doc().contains(
            "\nArgs: {}\nRequired args: none\n\nCall:\n(program/open-invoices {})\n\nReturns: any\n"
        ));
    }
}
