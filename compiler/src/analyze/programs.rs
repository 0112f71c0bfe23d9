//! The programs that a text brings along: each is a function of its map of arguments, with names of its own.
//!
//! A name in such a program is one of its own definitions or a function of the language, whatever the programs around it and the
//! session define. So it means the same wherever it is called.

use super::analysis::{LinkedProgram, MainPart};
use super::analyzer::{Analyzer, Nodes};
use super::loaded_names::LoadedNames;
use super::scope::{BindingKind, ScopeBinding};
use crate::ast::{Arity, FnId, Function, LocalId, Loop, Node, NodeId, ParameterDisplay, TableRange};
use crate::error::{CompileError, Reason, Result};
use crate::form::Items;
use crate::names::Name;
use crate::parts::{self, TextPart};
use crate::source::Span;
use ahash::AHashSet;
use std::rc::Rc;

/// The local of a program's argument.
const ARGUMENT: LocalId = LocalId(0);

impl Analyzer<'_, '_> {
    /// Notes the programs of a text, and reserves their functions: those stand before all others.
    #[cold]
    pub(super) fn declare_programs(&mut self, parts: &[TextPart<'_>]) {
        let mut parts = parts.iter();
        self.main_part = parts.next().map(|main| MainPart { span: main.span, has_head: main.has_head });
        for part in parts {
            let beginning = Span { end: part.span.start, ..part.span };
            let (function, entry) = (self.reserve_function(part.span), self.reserve_function(beginning));
            let (name, defined) = (Rc::from(part.name), AHashSet::new());
            self.programs.push(LinkedProgram { name, span: part.span, function, entry, defined });
        }
    }

    /// Analyses the programs behind the main one.
    #[cold]
    pub(super) fn called_programs(&mut self, called: &[Items]) -> Result<()> {
        for (number, &forms) in called.iter().enumerate() {
            self.program = Some(number);
            self.loaded = LoadedNames::default();
            let LinkedProgram { function, entry, span, .. } = self.programs[number];
            let (body, locals) = self.program_body(forms, span)?;
            self.program_function(function, body, locals);
            let argument = self.ast.add(Node::Local { local: ARGUMENT, last: false }, span);
            let call = self.ast.add(Node::CallProgram { function, argument }, span);
            self.program_function(entry, call, 1);
        }
        self.program = None;
        Ok(())
    }

    /// The forms of a program, whose argument is the first local; and how many locals there are.
    fn program_body(&mut self, items: Items, span: Span) -> Result<(NodeId, u32)> {
        let captures = self.new_captures();
        self.scope.enter_function(captures);
        self.hidden_local();
        // No name means it: `data/…` reads it, of which there is none where there are no names.
        if let Some(name) = self.forms.names.all().next() {
            let kind = BindingKind::Local(ARGUMENT);
            self.scope.bindings.push(ScopeBinding { name, kind, level: 0, hidden: 0 });
        }
        let (defined, free) = (self.defined.len(), self.free.len());
        let mut nodes = Nodes::new();
        self.top_level(items, &mut nodes)?;
        for name in self.defined.drain(defined..) {
            self.names[name.index()].top_level = true;
        }
        let names = &self.names;
        let unknown =
            self.free.drain(free..).find(|free| !(free.in_function && names[free.name.index()].top_level));
        if let Some(free) = unknown {
            let text = format!("Undefined variable: {}", self.text(free.name));
            return Err(CompileError::new(Reason::UnboundVar, free.span, text));
        }
        let list = self.list(&nodes);
        let body = self.ast.add(Node::Do(list), span);
        self.scope.bindings.clear();
        Ok((body, self.scope.leave_function().locals))
    }

    /// Makes a function of one argument.
    fn program_function(&mut self, id: FnId, body: NodeId, locals: u32) {
        let captures = self.new_captures();
        let span = self.ast.functions[id.0 as usize].span;
        let display = TableRange::append(&mut self.ast.display, &[ParameterDisplay::Pattern]);
        let nothing = TableRange::default();
        let arity = Arity {
            required: 1,
            rest: None,
            body: Loop { variables: nothing, heads: nothing, body, reads: nothing },
            locals,
            parameters: Span { end: span.start, ..span },
            display,
        };
        self.ast.functions[id.0 as usize] = Function { name: None, arities: vec![arity], captures, span };
    }

    /// `data/NAME`: of the context, or of the argument of a called program.
    pub(super) fn data(&mut self, name: Name, span: Span) -> Node {
        if self.program.is_none() {
            return Node::Data(name);
        }
        let argument = self.resolve(0, BindingKind::Local(ARGUMENT), 0);
        Node::DataOf { argument: self.ast.add(argument, span), name }
    }

    /// The function that calls the program of this name.
    pub(super) fn program_named(&self, name: &str, span: Span) -> Result<FnId> {
        let found = self.programs.iter().find(|program| *program.name == *name);
        found.map(|program| program.entry).ok_or_else(|| {
            let known: Vec<&str> = self.programs.iter().map(|program| &*program.name).collect();
            parts::unknown(name, &known, span)
        })
    }

    /// Notes a definition of a called program.
    pub(super) fn define_in_program(&mut self, name: Name, shadows: bool, span: Span) -> Result<()> {
        if shadows {
            let text = format!(
                "{} is a function of the language: a program that is called defines names of its own",
                self.text(name)
            );
            return Err(CompileError::form(span, text));
        }
        if let Some(program) = self.program.and_then(|number| self.programs.get_mut(number)) {
            program.defined.insert(name);
        }
        Ok(())
    }
}
