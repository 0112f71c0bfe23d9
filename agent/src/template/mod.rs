//! Prompt templates (agent.md 3, 8.2). `{{key}}` is a value, `{{#list}}…{{/list}}` repeats for each item,
//! `{{^key}}…{{/key}}` is the text for an empty value, and `{{.}}` is the current item.
//!
//! A template is parsed once, when its agent is built. A name without a value stays as written.

mod check;
mod expand;

use std::fmt::Write as _;

/// A prompt, ready to be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<TemplateNode>,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateNode {
    Text(String),
    /// A dotted path.
    Value {
        path: String,
        line: usize,
    },
    /// `{{.}}`
    Item {
        line: usize,
    },
    Section {
        name: String,
        line: usize,
        inverted: bool,
        parts: Vec<TemplateNode>,
    },
}

/// Deepest nesting of sections.
const MAX_NESTING: usize = 16;

impl Template {
    /// Text in which nothing is replaced.
    pub(crate) fn literal(text: impl Into<String>) -> Template {
        let text = text.into();
        Template { parts: vec![TemplateNode::Text(text.clone())], text }
    }

    /// The text as it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads a template.
    ///
    /// # Errors
    /// A section that is not closed, closed without being open, or nested too deep.
    pub(crate) fn parse(text: &str) -> Result<Template, String> {
        let mut open: Vec<(String, usize, bool, Vec<TemplateNode>)> = Vec::new();
        let mut parts = Vec::new();
        let (mut rest, mut line) = (text, 1);
        while let Some((before, after)) = rest.split_once("{{") {
            line += before.matches('\n').count();
            push_text(&mut parts, before);
            let Some((tag, behind)) = after.split_once("}}").filter(|(tag, _)| is_tag(tag)) else {
                push_text(&mut parts, "{{");
                rest = after;
                continue;
            };
            let name = tag.trim();
            match name.chars().next() {
                Some(kind @ ('#' | '^')) => {
                    if open.len() == MAX_NESTING {
                        return Err(format!(
                            "sections are nested deeper than {MAX_NESTING} levels at line {line}"
                        ));
                    }
                    let name = name[1..].trim().to_owned();
                    open.push((name, line, kind == '^', std::mem::take(&mut parts)));
                }
                Some('/') => {
                    let name = name[1..].trim();
                    let Some((opened, at, inverted, outer)) = open.pop() else {
                        return Err(format!("{{{{/{name}}}}} at line {line} closes no section"));
                    };
                    if opened != name {
                        return Err(format!(
                            "{{{{/{name}}}}} at line {line} stands where {{{{/{opened}}}}} is expected"
                        ));
                    }
                    let inner = std::mem::replace(&mut parts, outer);
                    parts.push(TemplateNode::Section { name: opened, line: at, inverted, parts: inner });
                }
                Some('.') => parts.push(TemplateNode::Item { line }),
                _ => parts.push(TemplateNode::Value { path: name.to_owned(), line }),
            }
            line += tag.matches('\n').count();
            rest = behind;
        }
        push_text(&mut parts, rest);
        match open.pop() {
            Some((name, at, ..)) => Err(format!("section {{{{#{name}}}}} at line {at} is not closed")),
            None => Ok(Template { parts, text: text.to_owned() }),
        }
    }
}

/// Whether the text between two pairs of braces is meant as a tag: a dot, or a path with an optional mark before it.
fn is_tag(text: &str) -> bool {
    let text = text.trim();
    let path = text.strip_prefix(['#', '^', '/']).unwrap_or(text).trim();
    text == "."
        || (path.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '?')))
}

fn push_text(parts: &mut Vec<TemplateNode>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(TemplateNode::Text(last)) => last.push_str(text),
        _ => parts.push(TemplateNode::Text(text.to_owned())),
    }
}

/// A tag as it is written.
fn tag(mark: &str, name: &str) -> String {
    let mut out = String::with_capacity(name.len() + mark.len() + 4);
    let _ = write!(out, "{{{{{mark}{name}}}}}");
    out
}
