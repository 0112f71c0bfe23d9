//! `#( … )` and its placeholders.

use super::analyzer::Analyzer;
use super::scope::{BindingKind, RecurTarget};
use crate::ast::{
    Arity, FUNCTION_BODY, FnId, Function, LocalId, Loop, Node, NodeId, ParameterDisplay, TableRange,
};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use smallvec::SmallVec;

/// The highest placeholder.
const MAX_PLACEHOLDER: u8 = 20;

/// A placeholder's local: `%n` is local n − 1, `%&` the one after `%20`.
const REST: LocalId = LocalId(MAX_PLACEHOLDER as u32);

/// Keys of captured placeholders, apart from those of bindings.
const FIRST_KEY: u32 = 1 << 31;

impl Analyzer<'_, '_> {
    pub(super) fn short_fn(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if self.short_fn_level().is_some() {
            return Err(CompileError::form(span, "Nested #() anonymous functions are not allowed"));
        }
        let id = self.reserve_function(span);
        let captures = self.new_captures();
        self.scope.enter_function(captures);
        let body = self.scope.body();
        body.locals = REST.0 + 1;
        body.short_fn = Some(Box::default());
        body.targets.push(RecurTarget { index: FUNCTION_BODY, used: false });
        let mark = self.defined.len();
        let node = self.short_fn_body(items, span)?;
        self.forget_definitions(mark);
        let body = self.scope.leave_function();
        let used = body.short_fn.unwrap_or_default();
        let placeholders = (1..=used.highest).map(ParameterDisplay::Placeholder);
        let display: SmallVec<[ParameterDisplay; 4]> =
            placeholders.chain(used.rest.then_some(ParameterDisplay::Rest)).collect();
        let display = TableRange::append(&mut self.ast.display, &display);
        let arity = Arity {
            required: u32::from(used.highest),
            rest: used.rest.then_some(REST),
            body: Loop {
                variables: TableRange::default(),
                heads: TableRange::default(),
                body: node,
                reads: TableRange::default(),
            },
            locals: body.locals,
            parameters: Span::default(),
            display,
        };
        self.ast.functions[id.0 as usize] = Function { name: None, arities: vec![arity], captures, span };
        Ok(self.ast.add(Node::Fn(id), span))
    }

    /// The forms are one list, as in Clojure. A single element that Clojure could never call without arguments is the body
    /// itself.
    fn short_fn_body(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if let [form] = self.forms[items] {
            let callable = match form.kind {
                FormKind::Symbol(name) => self.text(name) != "%&",
                FormKind::Qualified { .. } | FormKind::List(_) => true,
                _ => false,
            };
            if !callable {
                return self.flow(form, true);
            }
        }
        self.list_form(Form { kind: FormKind::List(items), span }, items, true)
    }

    pub(super) fn reserve_function(&mut self, span: Span) -> FnId {
        self.ast.functions.push(Function { name: None, arities: Vec::new(), captures: 0, span });
        FnId(self.ast.functions.len() as u32 - 1)
    }

    pub(super) fn new_captures(&mut self) -> u32 {
        self.ast.captures.push(Vec::new());
        self.ast.captures.len() as u32 - 1
    }

    /// Which open body is a short function.
    fn short_fn_level(&mut self) -> Option<u32> {
        (0..=self.scope.level()).rev().find(|&level| self.scope.body_at(level).short_fn.is_some())
    }

    /// The value of `%`, `%n`, `%&`.
    pub(super) fn placeholder(&mut self, name: Name, span: Span) -> Result<Node> {
        let text = self.text(name);
        let Some(level) = self.short_fn_level() else { return Err(outside(text, span)) };
        let local = match &text[1..] {
            "&" => REST,
            "" => LocalId(0),
            digits => match digits.parse::<u64>() {
                Ok(n) if (1..=u64::from(MAX_PLACEHOLDER)).contains(&n) => LocalId(n as u32 - 1),
                Ok(0) | Err(_)
                    if !digits.bytes().all(|b| b.is_ascii_digit()) || digits.parse() == Ok(0u64) =>
                {
                    let text =
                        format!("Analysis error: placeholder '{text}' does not exist. Use %, %1 to %20, %&");
                    return Err(CompileError::new(Reason::InvalidPlaceholder, span, text));
                }
                _ => {
                    let text =
                        format!("short function placeholder {text} exceeds max arity of {MAX_PLACEHOLDER}");
                    return Err(CompileError::form(span, text));
                }
            },
        };
        if let Some(used) = &mut self.scope.body_at(level).short_fn {
            if local == REST {
                used.rest = true;
            } else {
                used.highest = used.highest.max(local.0 as u8 + 1);
            }
        }
        Ok(self.resolve(FIRST_KEY + local.0, BindingKind::Local(local), level))
    }

    /// A placeholder cannot be bound.
    pub(super) fn refuse_placeholder(&self, name: Name, span: Span) -> Result<()> {
        let text = self.text(name);
        if text.starts_with('%') { Err(outside(text, span)) } else { Ok(()) }
    }
}

fn outside(text: &str, span: Span) -> CompileError {
    let text =
        format!("Analysis error: placeholder '{text}' can only be used inside #() anonymous function syntax");
    CompileError::new(Reason::InvalidPlaceholder, span, text)
}
