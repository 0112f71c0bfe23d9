//! `-> ->> as-> cond-> cond->> some-> some->> doto`.
//!
//! A step is a list into which the value so far is inserted. The list is then analysed like any other: it may be a call or a
//! special form. Calls, by far the most common steps, are kept flat in one [`Node::Thread`], in the order of evaluation that
//! the nested lists would have. Only special forms among the steps nest.

use super::analyzer::{Analyzer, Nodes, ThreadPosition, ThreadedValue};
use super::scope::BindingKind;
use crate::ast::{LocalId, Node, NodeId, Pipe, PipeKind, TableRange};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::Span;
use ptc_vm::SpecialForm;
use smallvec::SmallVec;

fn place(special: SpecialForm) -> ThreadPosition {
    match special {
        SpecialForm::ThreadLast | SpecialForm::CondThreadLast | SpecialForm::SomeThreadLast => {
            ThreadPosition::Last
        }
        _ => ThreadPosition::First,
    }
}

fn invalid(span: Span, text: &str) -> CompileError {
    CompileError::prefixed(Reason::InvalidThreadForm, span, text)
}

impl Analyzer<'_, '_> {
    pub(super) fn thread(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        if items.is_empty() {
            let word = special.name();
            return Err(invalid(span, &format!("{word} requires at least one expression")));
        }
        self.steps(self.forms.at(items, 0), items.skip(1), place(special), span, tail)
    }

    fn steps(
        &mut self,
        start: Form,
        steps: Items,
        place: ThreadPosition,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        // The calls at the end are kept flat; what they are applied to is the start or a special form.
        let mut first_call = steps.len();
        while first_call > 0 && self.step_special(self.forms.at(steps, first_call - 1)).is_none() {
            first_call -= 1;
        }
        let calls = steps.skip(first_call);
        let tail = tail && calls.is_empty();
        let base = if first_call == 0 {
            self.expr(start, tail)?
        } else {
            let before = ThreadedValue::Steps { start, steps: steps.take(first_call - 1), place };
            let before = if first_call == 1 { start } else { self.threaded_form(before, start.span) };
            let step = self.forms.at(steps, first_call - 1);
            let list = self.insert(step, before, place);
            // The step runs whenever the thread does, so `(->> 5 (def x))` defines for what follows.
            self.flow(list, tail)?
        };
        if calls.is_empty() {
            return Ok(base);
        }
        let hole = self.threaded_form(ThreadedValue::Hole, span);
        let mut nodes = Nodes::new();
        for i in 0..calls.len() {
            let step = self.forms.at(calls, i);
            nodes.push(self.call_step(step, hole, place)?);
        }
        let calls = self.list(&nodes);
        Ok(self.ast.add(Node::Thread { base, calls }, span))
    }

    /// The special form that a step is with the value put in.
    fn step_special(&mut self, step: Form) -> Option<SpecialForm> {
        match step.kind {
            FormKind::List(items) if !items.is_empty() => self.special_form(self.forms.at(items, 0)),
            FormKind::Symbol(_) | FormKind::Qualified { .. } => self.special_form(step),
            _ => None,
        }
    }

    /// A step that is a call, with the value put in. A bare form is called.
    fn call_step(&mut self, step: Form, value: Form, place: ThreadPosition) -> Result<NodeId> {
        let list = self.insert(step, value, place);
        let FormKind::List(items) = list.kind else { return self.expr(list, false) };
        let mark = self.defined.len();
        let node = self.call(self.forms.at(items, 0), items.skip(1), step.span)?;
        self.forget_definitions(mark);
        Ok(node)
    }

    /// The list of a step with the value put in.
    fn insert(&mut self, step: Form, value: Form, place: ThreadPosition) -> Form {
        let mut list: SmallVec<[Form; 8]> = SmallVec::new();
        match step.kind {
            // `()` stays what it is, so that it is refused as a head.
            FormKind::List(items) if !items.is_empty() => {
                list.extend_from_slice(&self.forms[items]);
                match place {
                    ThreadPosition::First => list.insert(1, value),
                    ThreadPosition::Last => list.push(value),
                }
            }
            _ => list.extend([step, value]),
        }
        let items = self.forms.add(&list);
        Form { kind: FormKind::List(items), span: step.span }
    }

    fn threaded_form(&mut self, threaded: ThreadedValue, span: Span) -> Form {
        self.threaded.push(threaded);
        Form { kind: FormKind::Threaded(self.threaded.len() as u32 - 1), span }
    }

    pub(super) fn threaded_value(&mut self, index: u32, span: Span) -> Result<NodeId> {
        let node = match self.threaded[index as usize] {
            ThreadedValue::Steps { start, steps, place } => {
                return self.steps(start, steps, place, span, false);
            }
            ThreadedValue::Hole => Node::Hole,
            ThreadedValue::Local { local, level } => {
                // At most 130 bodies are open, and a text has far fewer than 2²² locals in one.
                let key = HIDDEN_KEYS | (level << 22) | local.0;
                self.resolve(key, BindingKind::Local(local), level)
            }
        };
        Ok(self.ast.add(node, span))
    }

    /// `(as-> expr name form …)`
    pub(super) fn as_thread(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        let shape = || invalid(span, "as-> expected (as-> expr name form ...)");
        let (start, name, at) = match self.forms[items] {
            [start, Form { kind: FormKind::Symbol(name), span: at }, ..] => (start, name, at),
            [start, pattern @ Form { kind: FormKind::Vector(_) | FormKind::Map(_), .. }, ..] => {
                return self.taken_apart(start, pattern, items.skip(2), span, tail);
            }
            _ => return Err(shape()),
        };
        self.refuse_placeholder(name, at)?;
        let start = self.expr(start, false)?;
        let mark = self.scope.mark();
        let local = self.bind(name);
        let mut nodes = Nodes::new();
        for i in 2..items.len() {
            nodes.push(self.expr(self.forms.at(items, i), tail && i + 1 == items.len())?);
        }
        self.unbind(mark);
        let steps = self.list(&nodes);
        self.pipe(PipeKind::As, local, start, steps, span)
    }

    /// `as->` with a pattern, which takes the value of each step apart: bindings of `let`, whose body is the last step.
    fn taken_apart(
        &mut self,
        start: Form,
        pattern: Form,
        steps: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let mut pairs: SmallVec<[Form; 8]> = SmallVec::new();
        let before = self.forms[steps].split_last().map_or(&[][..], |(_, before)| before);
        for value in std::iter::once(&start).chain(before) {
            pairs.extend([pattern, *value]);
        }
        let body = self.forms[steps].last().copied().unwrap_or(pattern);
        let pairs = FormKind::Vector(self.forms.add(&pairs));
        let form = self.forms.add(&[Form { kind: pairs, span }, body]);
        self.let_form(form, span, tail)
    }

    fn pipe(
        &mut self,
        kind: PipeKind,
        local: LocalId,
        start: NodeId,
        steps: TableRange,
        span: Span,
    ) -> Result<NodeId> {
        self.ast.pipes.push(Pipe { kind, local, start, steps });
        Ok(self.ast.add(Node::Pipe(self.ast.pipes.len() as u32 - 1), span))
    }

    /// A local without a name, and the form that reads it.
    fn hidden_value(&mut self, span: Span) -> (LocalId, Form) {
        let local = self.hidden_local();
        let level = self.scope.level();
        (local, self.threaded_form(ThreadedValue::Local { local, level }, span))
    }

    pub(super) fn cond_thread(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        let word = special.name();
        if items.is_empty() {
            return Err(invalid(span, &format!("{word} requires at least one expression")));
        }
        if items.len().is_multiple_of(2) {
            let text = format!("{word} requires even number of test/form pairs after expression");
            return Err(invalid(span, &text));
        }
        let start = self.expr(self.forms.at(items, 0), false)?;
        let (local, value) = self.hidden_value(span);
        let mut nodes = Nodes::new();
        for i in (1..items.len()).step_by(2) {
            nodes.push(self.expr(self.forms.at(items, i), false)?);
            let tail = tail && i + 2 == items.len();
            nodes.push(self.step(self.forms.at(items, i + 1), value, place(special), tail)?);
        }
        let steps = self.list(&nodes);
        self.pipe(PipeKind::Cond, local, start, steps, span)
    }

    /// Any step, with the value put in.
    fn step(&mut self, step: Form, value: Form, place: ThreadPosition, tail: bool) -> Result<NodeId> {
        if self.step_special(step).is_none() {
            return self.call_step(step, value, place);
        }
        let list = self.insert(step, value, place);
        self.expr(list, tail)
    }

    pub(super) fn some_thread(
        &mut self,
        special: SpecialForm,
        items: Items,
        span: Span,
        tail: bool,
    ) -> Result<NodeId> {
        if items.is_empty() {
            let word = special.name();
            return Err(invalid(span, &format!("{word} requires at least one expression")));
        }
        if items.len() == 1 {
            return self.expr(self.forms.at(items, 0), tail);
        }
        let start = self.expr(self.forms.at(items, 0), false)?;
        let (local, value) = self.hidden_value(span);
        let mut nodes = Nodes::new();
        for i in 1..items.len() {
            let tail = tail && i + 1 == items.len();
            nodes.push(self.step(self.forms.at(items, i), value, place(special), tail)?);
        }
        let steps = self.list(&nodes);
        self.pipe(PipeKind::Some, local, start, steps, span)
    }

    /// `(doto x form …)`
    pub(super) fn doto(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if items.is_empty() {
            return Err(CompileError::arity(span, "expected (doto expr form ...)"));
        }
        let start = self.expr(self.forms.at(items, 0), false)?;
        let (local, value) = self.hidden_value(span);
        let mut nodes = Nodes::new();
        for i in 1..items.len() {
            nodes.push(self.step(self.forms.at(items, i), value, ThreadPosition::First, false)?);
        }
        let steps = self.list(&nodes);
        self.pipe(PipeKind::Doto, local, start, steps, span)
    }
}

/// Keys of captured hidden locals, apart from those of bindings and placeholders.
const HIDDEN_KEYS: u32 = 3 << 30;
