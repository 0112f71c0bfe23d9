//! Checks templates against a signature's parameters (agent.md 3).

use super::{Template, TemplateNode};
use crate::signature::{Field, Type};

impl Template {
    /// The first name that the parameters do not have, as agent.md 3 puts it.
    ///
    /// # Errors
    /// That sentence.
    pub(crate) fn check(&self, params: &[Field]) -> Result<(), String> {
        check(&self.parts, params, None)
    }

    /// `{{.}}` outside of a section, for any signature.
    ///
    /// # Errors
    /// The sentence that names the line.
    pub(crate) fn check_items(&self) -> Result<(), String> {
        self.parts.iter().try_for_each(|part| match part {
            TemplateNode::Item { line } => {
                Err(format!("{{{{.}}}} at line {line} can only be used inside sections"))
            }
            _ => Ok(()),
        })
    }

    /// The parameters that the template does not mention.
    pub(crate) fn unused<'a>(&self, params: &'a [Field]) -> Vec<&'a str> {
        let mut used = Vec::new();
        mentioned(&self.parts, &mut used);
        let names = params.iter().map(|field| field.name.as_str());
        names.filter(|name| !used.iter().any(|used| same(used, name))).collect()
    }
}

/// A section's name and the type of its items.
type Section<'a> = (&'a str, &'a Type);

fn check(parts: &[TemplateNode], params: &[Field], section: Option<Section<'_>>) -> Result<(), String> {
    for part in parts {
        match part {
            TemplateNode::Text(_) => {}
            TemplateNode::Item { line } => match section {
                None => return Err(format!("{{{{.}}}} at line {line} can only be used inside sections")),
                Some((name, Type::Record(fields))) => {
                    let field = fields.first().map_or("field", |field| field.name.as_str());
                    return Err(format!(
                        "{{{{.}}}} inside {{{{#{name}}}}}: its items are maps - use {{{{{field}}}}} to show a field"
                    ));
                }
                Some(_) => {}
            },
            TemplateNode::Value { path, .. } => {
                resolve(path, params, section)?;
            }
            TemplateNode::Section { name, parts, .. } => {
                let ty = resolve(name, params, section)?;
                let item = match ty.map(Type::required) {
                    Some(Type::List(item)) => item.required(),
                    Some(other) => other,
                    None => &Type::Any,
                };
                check(parts, params, Some((name, item)))?;
            }
        }
    }
    Ok(())
}

/// The type that a path stands for; `None` where any name would do.
fn resolve<'a>(
    path: &str,
    params: &'a [Field],
    section: Option<Section<'a>>,
) -> Result<Option<&'a Type>, String> {
    let mut names = path.split('.');
    let first = names.next().unwrap_or_default();
    let start = match section {
        Some((_, Type::Record(fields))) => lookup(fields, first),
        Some((_, Type::Any | Type::Map | Type::Schema(_))) => return Ok(None),
        _ => None,
    };
    let Some(mut ty) = start.or_else(|| lookup(params, first)) else {
        return Err(match section {
            Some((name, Type::Record(_))) => {
                format!("{{{{{path}}}}} inside {{{{#{name}}}}} not found in element type")
            }
            Some((name, _)) => format!(
                "{{{{{path}}}}} inside {{{{#{name}}}}}: its items are no maps - use {{{{.}}}} to show an item"
            ),
            None => format!("{{{{{path}}}}} not found in signature parameters"),
        });
    };
    for name in names {
        match ty.required() {
            Type::Record(fields) => {
                ty = lookup(fields, name)
                    .ok_or_else(|| format!("{{{{{path}}}}} not found in signature parameters"))?;
            }
            Type::Any | Type::Map | Type::Schema(_) => return Ok(None),
            _ => return Err(format!("{{{{{path}}}}} not found in signature parameters")),
        }
    }
    Ok(Some(ty))
}

fn lookup<'a>(fields: &'a [Field], name: &str) -> Option<&'a Type> {
    fields.iter().find(|field| same(&field.name, name)).map(|field| &field.ty)
}

/// Whether two spellings mean one name.
fn same(a: &str, b: &str) -> bool {
    a.replace('-', "_") == b.replace('-', "_")
}

fn mentioned<'a>(parts: &'a [TemplateNode], out: &mut Vec<&'a str>) {
    for part in parts {
        match part {
            TemplateNode::Value { path, .. } => out.push(path.split('.').next().unwrap_or_default()),
            TemplateNode::Section { name, parts, .. } => {
                out.push(name.split('.').next().unwrap_or_default());
                mentioned(parts, out);
            }
            TemplateNode::Text(_) | TemplateNode::Item { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Signature;

    fn checked(template: &str) -> Result<(), String> {
        let signature =
            Signature::parse("(q :string, rows [{id :int, o {x :int}}], tags [:string], m :map) -> :any")
                .unwrap();
        Template::parse(template).unwrap().check(&signature.params)
    }

    #[test]
    fn names_are_those_of_the_signature() {
        assert_eq!(
            checked("{{q}} {{#rows}}{{id}} {{o.x}} {{q}}{{/rows}}{{#tags}}{{.}}{{/tags}} {{m.any}}"),
            Ok(())
        );
        for (template, text) in [
            ("{{x}}", "{{x}} not found in signature parameters"),
            ("{{q.y}}", "{{q.y}} not found in signature parameters"),
            ("{{#rows}}{{f}}{{/rows}}", "{{f}} inside {{#rows}} not found in element type"),
            ("a\n{{.}}", "{{.}} at line 2 can only be used inside sections"),
            (
                "{{#rows}}{{.}}{{/rows}}",
                "{{.}} inside {{#rows}}: its items are maps - use {{id}} to show a field",
            ),
            (
                "{{#tags}}{{name}}{{/tags}}",
                "{{name}} inside {{#tags}}: its items are no maps - use {{.}} to show an item",
            ),
        ] {
            assert_eq!(checked(template), Err(text.into()));
        }
    }

    #[test]
    fn what_is_not_mentioned_is_listed() {
        let signature = Signature::parse("(a :string, b-c :int, d [:int]) -> :any").unwrap();
        let template = Template::parse("{{b_c}} {{#d}}{{.}}{{/d}}").unwrap();
        assert_eq!(template.unused(&signature.params), ["a"]);
    }
}
