//! `let`, `loop`, `recur`.

use super::analyzer::Analyzer;
use super::scope::{BindingKind, RecurTarget};
use crate::ast::{FUNCTION_BODY, LocalId, Loop, Node, NodeId, Pattern, PatternBinding, TableRange};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::Span;
use smallvec::SmallVec;

type Bindings = SmallVec<[PatternBinding; 6]>;

/// Where the part of a loop that is repeated begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Length of the record of reads.
    reads: usize,
    /// Locals from this one on belong to the loop.
    locals: u32,
}

impl Analyzer<'_, '_> {
    pub(super) fn let_form(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        if items.is_empty() {
            return Err(CompileError::arity(span, "expected (let [bindings] body ...)"));
        }
        let pairs = self.binding_vector(self.forms.at(items, 0))?;
        let mark = self.scope.mark();
        let bindings = self.bindings(pairs)?;
        let body = self.body(items.skip(1), tail, span)?;
        self.unbind(mark);
        Ok(self.ast.add(Node::Let { bindings, body }, span))
    }

    /// The pairs of a binding vector.
    fn binding_vector(&self, form: Form) -> Result<Items> {
        let FormKind::Vector(pairs) = form.kind else {
            return Err(CompileError::form(form.span, "let bindings must be a vector"));
        };
        if pairs.len() % 2 == 1 {
            return Err(CompileError::form(form.span, "let bindings require even number of forms"));
        }
        Ok(pairs)
    }

    /// `:let` of comprehensions: the vector has been checked.
    pub(super) fn let_bindings(&mut self, form: Form) -> Result<TableRange> {
        let pairs = self.binding_vector(form)?;
        self.bindings(pairs)
    }

    fn bindings(&mut self, pairs: Items) -> Result<TableRange> {
        let mut bindings = Bindings::new();
        for i in (0..pairs.len()).step_by(2) {
            let value = self.expr(self.forms.at(pairs, i + 1), false)?;
            let pattern = self.pattern(self.forms.at(pairs, i))?;
            if let Pattern::Bind(local) = self.ast.patterns[pattern.0 as usize] {
                self.keep_value(local, value);
            }
            bindings.push(PatternBinding { pattern, value });
        }
        Ok(TableRange::append(&mut self.ast.bindings, &bindings))
    }

    pub(super) fn loop_form(&mut self, items: Items, span: Span) -> Result<NodeId> {
        if items.is_empty() {
            return Err(CompileError::arity(span, "expected (loop [bindings] body ...)"));
        }
        let pairs = self.binding_vector(self.forms.at(items, 0))?;
        let mark = self.scope.mark();
        let simple = self.forms[pairs].iter().step_by(2).all(|p| matches!(p.kind, FormKind::Symbol(_)));
        let node = if simple {
            let mut inside = self.round();
            let variables = self.bindings(pairs)?;
            // The first values are computed once.
            inside.reads = self.scope.body().reads.len();
            self.loop_body(inside, variables, TableRange::default(), items.skip(1), span)?
        } else {
            self.destructuring_loop(pairs, items.skip(1), span)?
        };
        self.unbind(mark);
        Ok(node)
    }

    /// A loop with patterns: a hidden variable for each, taken apart at the head of each round. Initial values may use the
    /// names of the patterns before them, so these are also bound once before the loop.
    fn destructuring_loop(&mut self, pairs: Items, body: Items, span: Span) -> Result<NodeId> {
        let count = pairs.len() / 2;
        let mark = self.scope.mark();
        let mut before = Bindings::new();
        let mut first_values: SmallVec<[LocalId; 6]> = SmallVec::new();
        for i in 0..count {
            let form = self.forms.at(pairs, 2 * i);
            let value = self.expr(self.forms.at(pairs, 2 * i + 1), false)?;
            let local = self.hidden_local();
            first_values.push(local);
            before.push(self.plain(local, value));
            let value = self.read(local, form.span);
            match form.kind {
                FormKind::Symbol(name) => {
                    self.refuse_placeholder(name, form.span)?;
                    self.bind_to(name, BindingKind::Local(local));
                }
                // Nothing can see the names of the last pattern before the loop.
                _ if i + 1 == count => {}
                _ => {
                    let pattern = self.pattern(form)?;
                    before.push(PatternBinding { pattern, value });
                }
            }
        }
        self.unbind(mark);
        let mut inside = self.round();
        let mut variables = Bindings::new();
        for &local in &first_values {
            let value = self.read(local, span);
            let variable = self.hidden_local();
            variables.push(self.plain(variable, value));
        }
        let mut heads = Bindings::new();
        inside.reads = self.scope.body().reads.len();
        for i in 0..count {
            let form = self.forms.at(pairs, 2 * i);
            let Pattern::Bind(variable) = self.ast.patterns[variables[i].pattern.0 as usize] else {
                unreachable!("loop variables are plain")
            };
            match form.kind {
                FormKind::Symbol(name) => self.bind_to(name, BindingKind::Local(variable)),
                _ => {
                    let value = self.read(variable, form.span);
                    let pattern = self.pattern(form)?;
                    heads.push(PatternBinding { pattern, value });
                }
            }
        }
        let variables = TableRange::append(&mut self.ast.bindings, &variables);
        let heads = TableRange::append(&mut self.ast.bindings, &heads);
        let inner = self.loop_body(inside, variables, heads, body, span)?;
        let bindings = TableRange::append(&mut self.ast.bindings, &before);
        Ok(self.ast.add(Node::Let { bindings, body: inner }, span))
    }

    fn plain(&mut self, local: LocalId, value: NodeId) -> PatternBinding {
        PatternBinding { pattern: self.add_pattern(Pattern::Bind(local)), value }
    }

    fn read(&mut self, local: LocalId, span: Span) -> NodeId {
        let node = self.read_local(local);
        self.ast.add(node, span)
    }

    fn loop_body(
        &mut self,
        inside: Round,
        variables: TableRange,
        heads: TableRange,
        body: Items,
        span: Span,
    ) -> Result<NodeId> {
        let index = self.ast.loops.len() as u32;
        let placeholder = self.nil(span);
        self.ast.loops.push(Loop { variables, heads, body: placeholder, reads: TableRange::default() });
        self.scope.body().targets.push(RecurTarget { index, used: false });
        let body = self.body(body, true, span)?;
        let target = self.scope.body().targets.pop();
        let reads = if target.is_some_and(|target| target.used) {
            self.reads_from_outside(inside)
        } else {
            TableRange::default()
        };
        let entry = &mut self.ast.loops[index as usize];
        entry.body = body;
        entry.reads = reads;
        Ok(self.ast.add(Node::Loop(index), span))
    }

    /// Begins something that may run more than once.
    pub(super) fn round(&mut self) -> Round {
        let body = self.scope.body();
        Round { reads: body.reads.len(), locals: body.locals }
    }

    /// The locals from outside that have been read since. Locals bound inside are bound anew in each round.
    pub(super) fn reads_from_outside(&mut self, inside: Round) -> TableRange {
        let reads = &self.scope.body().reads[inside.reads..];
        let mut reads: SmallVec<[LocalId; 16]> =
            reads.iter().copied().filter(|local| local.0 < inside.locals).collect();
        reads.sort_unstable();
        reads.dedup();
        TableRange::append(&mut self.ast.read_sets, &reads)
    }

    pub(super) fn recur(&mut self, items: Items, span: Span, tail: bool) -> Result<NodeId> {
        let target = match self.scope.body().targets.last_mut() {
            Some(target) if tail => {
                target.used = true;
                target.index
            }
            _ => return Err(CompileError::form(span, "recur must be in tail position")),
        };
        let arguments = self.values(items)?;
        debug_assert!(target == FUNCTION_BODY || (target as usize) < self.ast.loops.len());
        Ok(self.ast.add(Node::Recur { arguments, target }, span))
    }
}
