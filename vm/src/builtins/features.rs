//! Features of upstream servers besides tools: resources, prompts, completions; and `attach` (upstreams.md 19).
//!
//! The machine checks the form of a request. The host checks names, and sends it.

use super::Builtin;
use super::discovery::no_backend;
use super::namespaces::{EXTENSION, PROMPT, RESOURCE};
use super::row::{frame, fun, section};
use super::support::keys::key_name;
use super::tools::MOST_FLAG;
use crate::error::{Error, Reason, Result};
use crate::json::{self, ArgumentSendError};
use crate::machine::{Ctx, Feature, FeatureRequest, Flow, HostRequest};
use crate::print;
use crate::value::Value;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("Servers", "Servers").of([
    frame("resource/list", RESOURCE, "{:server s}", resource_list)
        .doc("Resources of an upstream server as maps with uri, name, title, description, mime_type, size; nil if it cannot be asked")
        .example("(first (split-lines (doc 'resource/list)))", r#""resource/list""#),
    frame("resource/templates", RESOURCE, "{:server s}", resource_templates)
        .doc("Templates of an upstream server's resources, as maps with uri_template and the like")
        .example("(first (split-lines (doc 'resource/templates)))", r#""resource/templates""#),
    frame("resource/read", RESOURCE, "{:server s :uri u}", resource_read)
        .doc("Read a resource: {:ok true :value …}, text decoded, JSON as data, binary as a map with :ref; or {:ok false :reason … :message …}")
        .example("(first (split-lines (doc 'resource/read)))", r#""resource/read""#),
    frame("resource/complete", RESOURCE, "{:server s :uri template :argument a :value v :context m}", resource_complete)
        .doc("Proposals of an upstream server for an argument of a resource template, as strings")
        .example("(first (split-lines (doc 'resource/complete)))", r#""resource/complete""#),
    frame("prompt/list", PROMPT, "{:server s}", prompt_list)
        .doc("Prompts of an upstream server as maps with name, title, description, arguments; nil if it cannot be asked")
        .example("(first (split-lines (doc 'prompt/list)))", r#""prompt/list""#),
    frame("prompt/get", PROMPT, "{:server s :name n :args m}", prompt_get)
        .doc("The messages of a prompt: {:ok true :value {:description … :messages [{:role … :content …}]}} or {:ok false …}")
        .example("(first (split-lines (doc 'prompt/get)))", r#""prompt/get""#),
    frame("prompt/complete", PROMPT, "{:server s :name n :argument a :value v :context m}", prompt_complete)
        .doc("Proposals of an upstream server for an argument of a prompt, as strings")
        .example("(first (split-lines (doc 'prompt/complete)))", r#""prompt/complete""#),
    fun("attach", EXTENSION, "ref", attach)
        .doc("Put an image, audio or a file of a result into the program's reply: its :ref, or the map that has it, which is given back")
        .example("(first (split-lines (doc 'attach)))", r#""attach""#),
]);

fn resource_list(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::ResourceList, args)
}

fn resource_templates(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::ResourceTemplates, args)
}

fn resource_read(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::ResourceRead, args)
}

fn resource_complete(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::ResourceComplete, args)
}

fn prompt_list(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::PromptList, args)
}

fn prompt_get(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::PromptGet, args)
}

fn prompt_complete(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    request(ctx, Feature::PromptComplete, args)
}

/// The keys of a form, the right call for a hint, and which key names its subject.
struct FormSpec {
    keys: &'static [&'static str],
    call: &'static str,
    subject: Option<&'static str>,
}

fn form(feature: Feature) -> FormSpec {
    let (keys, call, subject): (&[&str], _, _) = match feature {
        Feature::ResourceList => (&["server"], "(resource/list {:server \"…\"})", None),
        Feature::ResourceTemplates => (&["server"], "(resource/templates {:server \"…\"})", None),
        Feature::ResourceRead => {
            (&["server", "uri"], "(resource/read {:server \"…\" :uri \"…\"})", Some("uri"))
        }
        Feature::ResourceComplete => (
            &["server", "uri", "argument", "value", "context"],
            "(resource/complete {:server \"…\" :uri \"template\" :argument \"…\" :value \"…\"})",
            Some("uri"),
        ),
        Feature::PromptList => (&["server"], "(prompt/list {:server \"…\"})", None),
        Feature::PromptGet => {
            (&["server", "name", "args"], "(prompt/get {:server \"…\" :name \"…\" :args {…}})", Some("name"))
        }
        Feature::PromptComplete => (
            &["server", "name", "argument", "value", "context"],
            "(prompt/complete {:server \"…\" :name \"…\" :argument \"…\" :value \"…\"})",
            Some("name"),
        ),
    };
    FormSpec { keys, call, subject }
}

#[cold]
fn fault(feature: Feature, text: impl std::fmt::Display) -> Error {
    let error = Error::verbatim(Reason::RuntimeError, format!("runtime_error: {} {text}", feature.form()));
    error.with_hint(format!(". Write {}", form(feature).call))
}

/// Asks the host.
fn request(ctx: &Ctx<'_>, feature: Feature, args: &[Value]) -> Result<Flow> {
    if !ctx.has_upstreams() {
        return Err(no_backend());
    }
    let Value::Map(map) = &args[0] else {
        return Err(fault(feature, format_args!("requires a map, got {}", print::literal(&args[0]))));
    };
    let FormSpec { keys, subject, .. } = form(feature);
    let mut given: Vec<Option<&Value>> = vec![None; keys.len()];
    for (key, value) in map.iter() {
        match key_name(key).and_then(|name| keys.iter().position(|key| *key == name)) {
            None => return Err(fault(feature, format_args!("got unknown key {}", print::literal(key)))),
            Some(at) if given[at].replace(value).is_some() => {
                return Err(fault(feature, format_args!("got duplicate key :{}", keys[at])));
            }
            Some(_) => {}
        }
    }
    let value = |name: &str| keys.iter().position(|key| *key == name).and_then(|at| given[at]);
    let text = |name: &str, may_be_empty: bool| match value(name) {
        Some(Value::Str(text)) if may_be_empty || !text.as_str().is_empty() => Ok(text.as_str()),
        other => {
            let got = print::literal(other.unwrap_or(&Value::Nil));
            Err(fault(feature, format_args!("requires :{name} (string), got {got}")))
        }
    };
    // The texts first: nothing is copied that is too long.
    let texts = given.iter().flatten().map(|value| match value {
        Value::Str(text) => text.as_str().len(),
        _ => 0,
    });
    let (named, most) = (texts.sum::<usize>(), ctx.max_request_bytes());
    let Some(left) = most.checked_sub(named) else { return Err(too_long(feature, named, most)) };
    let object = |name: &str, left: usize| match value(name) {
        None | Some(Value::Nil) => Ok(b"{}".to_vec()),
        Some(Value::Map(map)) => match json::write_tool_arguments(map, left) {
            Ok(written) => Ok(written.json),
            Err(ArgumentSendError::NotEncodable(why)) => {
                Err(fault(feature, format_args!("cannot send :{name}: non-JSON-encodable {why}")))
            }
            Err(ArgumentSendError::TooLong(bytes)) => Err(too_long(feature, bytes + named, most)),
            Err(ArgumentSendError::Limit(limit)) => Err(limit),
        },
        Some(other) => {
            Err(fault(feature, format_args!("requires :{name} (map), got {}", print::literal(other))))
        }
    };
    let argument = match feature {
        Feature::ResourceComplete | Feature::PromptComplete => Some((text("argument", false)?, {
            // Nothing typed yet is the beginning of everything.
            match value("value") {
                None | Some(Value::Nil) => "",
                Some(_) => text("value", true)?,
            }
        })),
        _ => None,
    };
    let mut request = FeatureRequest {
        feature,
        server: text("server", false)?.to_owned(),
        subject: subject.map(|key| text(key, false)).transpose()?.unwrap_or_default().to_owned(),
        arguments: Vec::new(),
        argument: argument.map(|(name, value): (&str, &str)| (name.to_owned(), value.to_owned())),
    };
    request.arguments = object(if request.argument.is_some() { "context" } else { "args" }, left)?;
    Ok(Flow::Host(HostRequest::Feature(request)))
}

#[cold]
fn too_long(feature: Feature, bytes: usize, most: usize) -> Error {
    let text = format!("is at least {bytes} bytes, the limit of a call is {most} ({MOST_FLAG})");
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: {} {text}", feature.form()))
}

/// `(attach ref)`
fn attach(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let blob = match &args[0] {
        Value::Blob(blob) => Some(blob.clone()),
        Value::Map(map) => match map.get_flexible(&Value::keyword("ref")) {
            Some(Value::Blob(blob)) => Some(blob.clone()),
            _ => None,
        },
        _ => None,
    };
    let Some(blob) = blob else {
        let got = print::literal(&args[0]);
        let text = format!("runtime_error: attach requires the :ref of an image, audio or a file, got {got}");
        return Err(Error::verbatim(Reason::RuntimeError, text)
            .with_hint(". It stands in :content of a result with other blocks than text".to_owned()));
    };
    ctx.attach(blob)?;
    Ok(std::mem::take(&mut args[0]))
}
