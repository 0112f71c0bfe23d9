//! `for`, `doseq`, `dotimes`.
//!
//! Loops are eager. Only a `for` whose outermost collection may never end, as its text says, and that has no `:while` there, is
//! itself a sequence without end: `(for [x s …] body)` means `(mapcat (fn [y] (for [x [y] …] body)) s)`.

use super::analyzer::Analyzer;
use super::scope::RecurTarget;
use crate::ast::{
    Arity, Comprehension, ComprehensionLoop, FUNCTION_BODY, Function, LocalId, Loop, Modifier, Node, NodeId,
    ParameterDisplay, TableRange,
};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::source::Span;
use ptc_vm::SpecialForm;

impl Analyzer<'_, '_> {
    pub(super) fn comprehension(&mut self, special: SpecialForm, items: Items, span: Span) -> Result<NodeId> {
        let word = special.name();
        let [Form { kind: FormKind::Vector(bindings), span: at }, ..] = self.forms[items] else {
            return Err(CompileError::arity(span, format!("expected ({word} [bindings] body ...)")));
        };
        if special == SpecialForm::For && items.len() == 1 {
            return Err(CompileError::arity(span, "for requires at least one body expression"));
        }
        if bindings.is_empty() && special == SpecialForm::Doseq {
            return self.body(items.skip(1), false, span);
        }
        if bindings.is_empty() {
            return Err(CompileError::form(at, "for/doseq requires at least one binding pair"));
        }
        self.check_pair(self.forms.at(bindings, 0), bindings.skip(1), word)?;
        let collection = self.expr(self.forms.at(bindings, 1), false)?;
        if special == SpecialForm::For
            && !self.first_level_stops(bindings)
            && self.may_never_end(collection, span)?
        {
            return self.endless_for(bindings, items.skip(1), collection, span);
        }
        self.levels(special, bindings, items.skip(1), collection, span)
    }

    /// Whether the outermost level has a `:while`.
    fn first_level_stops(&self, bindings: Items) -> bool {
        let modifiers = self.forms[bindings].iter().skip(2).step_by(2);
        let mut names = modifiers.map_while(|form| match form.kind {
            FormKind::Keyword(name) => Some(self.text(name)),
            _ => None,
        });
        names.any(|name| name == "while")
    }

    /// A `for` over a possibly endless sequence: the results of its function for each element, one after the other.
    fn endless_for(
        &mut self,
        bindings: Items,
        body: Items,
        collection: NodeId,
        span: Span,
    ) -> Result<NodeId> {
        const ELEMENT: LocalId = LocalId(0);
        let id = self.reserve_function(span);
        let captures = self.new_captures();
        self.scope.enter_function(captures);
        self.scope.body().locals = 1;
        self.scope.body().targets.push(RecurTarget { index: FUNCTION_BODY, used: false });
        let element = self.read_local(ELEMENT);
        let element = self.ast.add(element, span);
        let items = self.list(&[element]);
        let one = self.ast.add(Node::Vector { items, constant: false }, span);
        let node = self.levels(SpecialForm::For, bindings, body, one, span)?;
        let locals = self.scope.leave_function().locals;
        let arity = Arity {
            required: 1,
            rest: None,
            body: Loop {
                variables: TableRange::default(),
                heads: TableRange::default(),
                body: node,
                reads: TableRange::default(),
            },
            locals,
            parameters: Span::default(),
            display: TableRange::append(&mut self.ast.display, &[ParameterDisplay::Pattern]),
        };
        self.ast.functions[id.0 as usize] = Function { name: None, arities: vec![arity], captures, span };
        let function = self.ast.add(Node::Fn(id), span);
        let callee = self.builtin("mapcat", span)?;
        let arguments = self.list(&[function, collection]);
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    /// The loops, of which the outermost one goes over `outermost`.
    fn levels(
        &mut self,
        special: SpecialForm,
        bindings: Items,
        body: Items,
        outermost: NodeId,
        span: Span,
    ) -> Result<NodeId> {
        let word = special.name();
        let mark = self.scope.mark();
        let defined = self.defined.len();
        let mut levels = Vec::new();
        let mut rounds = Vec::new();
        let mut i = 0;
        while i < bindings.len() {
            let (pattern, level) = (self.forms.at(bindings, i), bindings.skip(i + 1));
            let collection = if i == 0 {
                outermost
            } else {
                self.check_pair(pattern, level, word)?;
                self.expr(self.forms.at(level, 0), false)?
            };
            rounds.push(self.round());
            let pattern = self.pattern(pattern)?;
            i += 2;
            let mut modifiers = Vec::new();
            while i < bindings.len() {
                let FormKind::Keyword(name) = self.forms.at(bindings, i).kind else { break };
                modifiers.push(self.modifier(self.text(name), bindings.skip(i))?);
                i += 2;
            }
            levels.push(ComprehensionLoop { pattern, collection, modifiers, reads: TableRange::default() });
        }
        let body = self.body(body, false, span)?;
        for (level, round) in levels.iter_mut().zip(rounds) {
            level.reads = self.reads_from_outside(round);
        }
        self.forget_definitions(defined);
        self.unbind(mark);
        let collects = special == SpecialForm::For;
        self.ast.comprehensions.push(Comprehension { collects, levels, body });
        Ok(self.ast.add(Node::For(self.ast.comprehensions.len() as u32 - 1), span))
    }

    /// Checks the form where a pair should begin.
    fn check_pair(&self, pattern: Form, rest: Items, word: &str) -> Result<()> {
        if let FormKind::Keyword(_) = pattern.kind {
            let text = format!(
                "expected a binding symbol, got keyword {}. Keywords like :when/:let/:while must follow a binding pair",
                self.excerpt(pattern)
            );
            return Err(CompileError::form(pattern.span, text));
        }
        let Some(collection) = self.forms[rest].first() else {
            let text = "for/doseq bindings require pairs, got trailing element";
            return Err(CompileError::form(pattern.span, text));
        };
        let kind = match collection.kind {
            FormKind::Int(_) | FormKind::BigInt(_) | FormKind::Float(_) | FormKind::SpecialFloat(_) => {
                "number"
            }
            FormKind::Keyword(_) => "keyword",
            _ => return Ok(()),
        };
        let text = format!(
            "{word} binding '{}' expected a collection, got: {} ({kind})",
            self.excerpt(pattern),
            self.excerpt(*collection)
        );
        Err(CompileError::arity(collection.span, text))
    }

    fn modifier(&mut self, name: &str, items: Items) -> Result<Modifier> {
        let keyword = self.forms.at(items, 0);
        if !matches!(name, "when" | "while" | "let") {
            let text = format!("unknown modifier :{name} in for/doseq. Known: :when, :let, :while");
            return Err(CompileError::form(keyword.span, text));
        }
        let Some(&value) = self.forms[items].get(1) else {
            return Err(CompileError::form(keyword.span, format!("modifier :{name} requires a value")));
        };
        match name {
            "when" => Ok(Modifier::When(self.expr(value, false)?)),
            "while" => Ok(Modifier::While(self.expr(value, false)?)),
            _ => {
                if !matches!(value.kind, FormKind::Vector(_)) {
                    let quote = matches!(value.kind, FormKind::Symbol(_));
                    let display = self.excerpt(value);
                    let display = if quote { format!("symbol '{display}'") } else { display };
                    let text = format!(":let modifier requires a vector of bindings, got: {display}");
                    return Err(CompileError::form(value.span, text));
                }
                Ok(Modifier::Let(self.let_bindings(value)?))
            }
        }
    }

    /// `(dotimes [name count] body …)`: a `doseq` over the numbers below the count, without its fraction.
    pub(super) fn dotimes(&mut self, items: Items, span: Span) -> Result<NodeId> {
        let shape = || CompileError::arity(span, "expected (dotimes [name count] body ...)");
        let [Form { kind: FormKind::Vector(pair), .. }, ..] = self.forms[items] else { return Err(shape()) };
        let [pattern @ Form { kind: FormKind::Symbol(_), .. }, count] = self.forms[pair] else {
            return Err(shape());
        };
        let defined = self.defined.len();
        let range = self.builtin("range", count.span)?;
        let whole = self.expr(count, false)?;
        let whole = match self.ast.node(whole) {
            Node::Int(_) => whole,
            _ => {
                let callee = self.builtin("long", count.span)?;
                let arguments = self.list(&[whole]);
                self.ast.add(Node::Call { callee, arguments }, count.span)
            }
        };
        let arguments = self.list(&[whole]);
        let collection = self.ast.add(Node::Call { callee: range, arguments }, count.span);
        let mark = self.scope.mark();
        let round = self.round();
        let pattern = self.pattern(pattern)?;
        let body = self.body(items.skip(1), false, span)?;
        let level_reads = self.reads_from_outside(round);
        self.forget_definitions(defined);
        self.unbind(mark);
        let level = ComprehensionLoop { pattern, collection, modifiers: Vec::new(), reads: level_reads };
        self.ast.comprehensions.push(Comprehension { collects: false, levels: vec![level], body });
        Ok(self.ast.add(Node::For(self.ast.comprehensions.len() as u32 - 1), span))
    }
}
