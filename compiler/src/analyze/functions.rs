//! `fn`, `letfn`, and the functions of `defn`.

use super::analyzer::Analyzer;
use super::scope::{BindingKind, RecurTarget};
use crate::ast::{
    Arity, FUNCTION_BODY, FnId, Function, LetfnGroup, LocalId, Loop, Node, NodeId, ParameterDisplay,
    PatternBinding, TableRange,
};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use smallvec::SmallVec;

/// How a function sees its own name.
#[derive(Clone, Copy)]
enum OwnName {
    /// Not at all, or as a global.
    None,
    /// As itself.
    Bound(Name),
}

impl Analyzer<'_, '_> {
    pub(super) fn fn_form(&mut self, items: Items, span: Span) -> Result<NodeId> {
        const SHAPE: &str = "expected (fn [params] body ...) or (fn name [params] body ...)";
        let (name, rest) = match self.forms[items].first().map(|form| form.kind) {
            None => return Err(CompileError::arity(span, SHAPE)),
            Some(FormKind::Symbol(name)) => (Some(name), items.skip(1)),
            Some(_) => (None, items),
        };
        if rest.is_empty() {
            return Err(CompileError::arity(span, SHAPE));
        }
        if let Some(name) = name {
            self.refuse_placeholder(name, self.forms.at(items, 0).span)?;
        }
        let bodies = self.function_bodies(rest, "fn")?;
        let own = name.map_or(OwnName::None, OwnName::Bound);
        let id = self.reserve_function(span);
        let captures = self.new_captures();
        self.function(id, captures, name, own, &[], &bodies, span)?;
        Ok(self.ast.add(Node::Fn(id), span))
    }

    /// A function without parameters.
    pub(super) fn thunk(&mut self, body: Items, span: Span) -> Result<NodeId> {
        let id = self.reserve_function(span);
        let captures = self.new_captures();
        let parameters = Form { kind: FormKind::Vector(Items::default()), span };
        self.function(id, captures, None, OwnName::None, &[], &[(parameters, body)], span)?;
        Ok(self.ast.add(Node::Fn(id), span))
    }

    /// The function of a `defn`: its own name is a global, so that a later definition is seen.
    pub(super) fn defn_function(&mut self, name: Name, rest: Items, span: Span) -> Result<NodeId> {
        let bodies = self.function_bodies(rest, "defn")?;
        let id = self.reserve_function(span);
        let captures = self.new_captures();
        self.function(id, captures, Some(name), OwnName::None, &[], &bodies, span)?;
        Ok(self.ast.add(Node::Fn(id), span))
    }

    /// `[params] body…` or `([params] body…)…`: parameter vector and body of each.
    fn function_bodies(&self, rest: Items, form: &str) -> Result<SmallVec<[(Form, Items); 2]>> {
        let first = self.forms.at(rest, 0);
        let not_a_vector = |span| CompileError::form(span, format!("{form} parameters must be a vector"));
        match first.kind {
            FormKind::Vector(_) => Ok(SmallVec::from_iter([(first, rest.skip(1))])),
            FormKind::List(_) => {
                let body = |form: &Form| match form.kind {
                    FormKind::List(items) => match self.forms[items].first() {
                        Some(parameters) if matches!(parameters.kind, FormKind::Vector(_)) => {
                            Ok((*parameters, items.skip(1)))
                        }
                        _ => Err(not_a_vector(form.span)),
                    },
                    _ => Err(not_a_vector(form.span)),
                };
                self.forms[rest].iter().map(body).collect()
            }
            _ => Err(not_a_vector(first.span)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a function, each used once")]
    fn function(
        &mut self,
        id: FnId,
        captures: u32,
        name: Option<Name>,
        own: OwnName,
        siblings: &[(Name, FnId)],
        bodies: &[(Form, Items)],
        span: Span,
    ) -> Result<()> {
        let mut arities: Vec<Arity> = Vec::with_capacity(bodies.len());
        for &(parameters, body) in bodies {
            let arity = self.arity(captures, own, siblings, parameters, body)?;
            let clash = arities.iter().any(|other| {
                other.required == arity.required && other.rest.is_some() == arity.rest.is_some()
            });
            if clash {
                let text =
                    format!("two bodies take the same number of arguments: {}", self.excerpt(parameters));
                return Err(CompileError::form(parameters.span, text));
            }
            arities.push(arity);
        }
        arities.sort_by_key(|arity| (arity.rest.is_some(), arity.required));
        if let [.., fixed, variadic] = &arities[..]
            && variadic.rest.is_some()
            && (fixed.rest.is_some() || fixed.required > variadic.required)
        {
            let text = "a body with & must be the only one, and none may take more arguments than it";
            return Err(CompileError::form(variadic.parameters, text));
        }
        self.ast.functions[id.0 as usize] = Function { name, arities, captures, span };
        Ok(())
    }

    fn arity(
        &mut self,
        captures: u32,
        own: OwnName,
        siblings: &[(Name, FnId)],
        parameters: Form,
        body: Items,
    ) -> Result<Arity> {
        let FormKind::Vector(items) = parameters.kind else {
            return Err(CompileError::form(parameters.span, "fn parameters must be a vector"));
        };
        // Each function of a group knows all others.
        self.charge_work(siblings.len(), parameters.span)?;
        self.scope.enter_function(captures);
        let mark = self.scope.mark();
        for &(name, id) in siblings {
            self.bind_to(name, BindingKind::Sibling(id));
        }
        if let OwnName::Bound(name) = own {
            self.bind_to(name, BindingKind::SelfFn);
        }
        let (items, rest) = self.split_rest(items)?;
        let count = items.len() as u32;
        self.scope.body().locals = count + u32::from(rest.is_some());
        let (heads, display) = self.parameters(items, rest)?;
        self.scope.body().targets.push(RecurTarget { index: FUNCTION_BODY, used: false });
        let body = if self.is_conditions(body) { body.skip(1) } else { body };
        let node = self.uncertain_body(body, true, parameters.span)?;
        self.unbind(mark);
        let locals = self.scope.leave_function().locals;
        Ok(Arity {
            required: count,
            rest: rest.map(|_| LocalId(count)),
            body: Loop { variables: TableRange::default(), heads, body: node, reads: TableRange::default() },
            locals,
            parameters: parameters.span,
            display,
        })
    }

    /// Whether a body begins with `{:pre […] :post […]}`: conditions are not checked, since a refused call has no value in
    /// Clojure either.
    fn is_conditions(&self, body: Items) -> bool {
        let [Form { kind: FormKind::Map(entries), .. }, _, ..] = self.forms[body] else { return false };
        let is_condition = |key: &Form| match key.kind {
            FormKind::Keyword(name) => matches!(self.text(name), "pre" | "post"),
            _ => false,
        };
        !entries.is_empty() && self.forms[entries].iter().step_by(2).all(is_condition)
    }

    /// Binds all parameters: their patterns, and how they are shown. Apart from [`arity`](Self::arity), which is on the stack once
    /// for each level of nesting.
    #[inline(never)]
    fn parameters(&mut self, items: Items, rest: Option<Form>) -> Result<(TableRange, TableRange)> {
        let count = items.len() as u32;
        let mut heads: SmallVec<[PatternBinding; 4]> = SmallVec::new();
        let mut display: SmallVec<[ParameterDisplay; 4]> = SmallVec::new();
        for i in 0..count {
            let form = self.forms.at(items, i as usize);
            display.push(self.parameter(form, LocalId(i), false, &mut heads)?);
        }
        if let Some(rest) = rest {
            display.push(self.parameter(rest, LocalId(count), true, &mut heads)?);
        }
        let heads = TableRange::append(&mut self.ast.bindings, &heads);
        let display = TableRange::append(&mut self.ast.display, &display);
        Ok((heads, display))
    }

    /// Binds the parameter in `local`.
    fn parameter(
        &mut self,
        form: Form,
        local: LocalId,
        is_rest: bool,
        heads: &mut SmallVec<[PatternBinding; 4]>,
    ) -> Result<ParameterDisplay> {
        if let FormKind::Symbol(name) = form.kind {
            self.refuse_placeholder(name, form.span)?;
            self.bind_to(name, BindingKind::Local(local));
            return Ok(ParameterDisplay::Name(name));
        }
        let node = self.read_local(local);
        let value = self.ast.add(node, form.span);
        let pattern = if is_rest { self.rest_pattern(form)? } else { self.pattern(form)? };
        heads.push(PatternBinding { pattern, value });
        Ok(ParameterDisplay::Pattern)
    }

    /// `(letfn [(name [params] body …) …] body …)`
    pub(super) fn letfn(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        let shape = || CompileError::arity(span, "expected (letfn [(name [params] body ...) ...] body ...)");
        let FormKind::Vector(specs) = self.forms[items].first().ok_or_else(shape)?.kind else {
            return Err(shape());
        };
        let mut siblings: SmallVec<[(Name, FnId); 4]> = SmallVec::new();
        let mut rests: SmallVec<[(Items, Span); 4]> = SmallVec::new();
        for i in 0..specs.len() {
            let form = self.forms.at(specs, i);
            let FormKind::List(parts) = form.kind else {
                let text = format!("letfn expects (name [params] body ...), got: {}", self.excerpt(form));
                return Err(CompileError::form(form.span, text));
            };
            match self.forms[parts] {
                [Form { kind: FormKind::Symbol(name), span }, _, ..] => {
                    self.refuse_placeholder(name, span)?;
                    let id = self.reserve_function(form.span);
                    siblings.push((name, id));
                    rests.push((parts.skip(1), form.span));
                }
                _ => {
                    let text = format!("letfn expects (name [params] body ...), got: {}", self.excerpt(form));
                    return Err(CompileError::form(form.span, text));
                }
            }
        }
        let captures = self.new_captures();
        for (&(name, id), &(rest, span)) in siblings.iter().zip(&rests) {
            let bodies = self.function_bodies(rest, "letfn")?;
            self.function(id, captures, Some(name), OwnName::None, &siblings, &bodies, span)?;
        }
        let mark = self.scope.mark();
        let members = siblings.iter().map(|&(name, id)| (id, self.bind(name))).collect();
        let body = self.body(items.skip(1), tail, span)?;
        self.unbind(mark);
        self.ast.groups.push(LetfnGroup { members, body });
        Ok(self.ast.add(Node::Letfn(self.ast.groups.len() as u32 - 1), span))
    }
}
