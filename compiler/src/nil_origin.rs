//! Where a `nil` came from that a function has refused.
//!
//! A running program knows the place of each call, but not the source of its arguments, and pays nothing for this. Once it has
//! failed, its text is read again, the call is found by its place, and the text of the argument is the origin.

use ptc_vm::error::NilArguments;
use ptc_vm::machine::Library;

use crate::analyze;
use crate::ast::{Ast, CaptureSource, LocalId, Node, NodeId, Pattern, PatternBinding, PatternId, TableRange};
use crate::error::Result;
use crate::names::{Name, Names};
use crate::parts;
use crate::reader::{self, Stacks};
use crate::source::{Span, line_column, shortened};

/// Characters of an expression that are shown.
const SHOWN: usize = 40;
/// How many names that stand for other names are followed.
const FOLLOWED: usize = 8;

/// Explains the origin of the `nil` that made a program fail: text to append to the error's message, such as
/// `. The nil is the value of (get row "price") at 3:12`. Empty if it is not known, or not worth saying.
///
/// `source` is the program's text, and `library` the one it was compiled with. Costs about as much as compiling it.
///
/// # Errors
/// The error of compiling the text, or of a limit of the caller.
pub fn nil_origin(source: &str, library: &'static Library, error: &ptc_vm::Error) -> ptc_vm::Result<String> {
    let (Some(nil), Some(position)) = (error.nil_arguments(), error.position()) else {
        return Ok(String::new());
    };
    let Some(offset) = offset(source, position.line, position.column) else { return Ok(String::new()) };
    Ok(told(source, library, nil, offset)?)
}

fn told(source: &str, library: &'static Library, nil: &NilArguments, offset: u32) -> Result<String> {
    let parts = parts::parts(source);
    let (mut forms, _, called) = reader::read_into(source, &parts, Box::default(), Stacks::default())?;
    let tables = analyze::AnalysisBuffers::default();
    let analysis = analyze::analyze(source, library, &mut forms, tables, &parts, &called)?;
    let text = ProgramText { source, library, ast: &analysis.ast, names: &forms.names };
    Ok(text.nil_of_call(nil, offset).unwrap_or_default())
}

/// The byte at which a line and a column begin.
fn offset(source: &str, line: u32, column: u32) -> Option<u32> {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(before) => memchr::memchr_iter(b'\n', source.as_bytes()).nth(before as usize)? + 1,
    };
    let (at, _) = source[start..].char_indices().nth(column.checked_sub(1)? as usize)?;
    Some((start + at) as u32)
}

/// A program as text and as core forms.
struct ProgramText<'p> {
    source: &'p str,
    library: &'static Library,
    ast: &'p Ast,
    names: &'p Names<'p>,
}

impl ProgramText<'_> {
    /// The text about the `nil` of the call that begins at a byte.
    fn nil_of_call(&self, nil: &NilArguments, offset: u32) -> Option<String> {
        let ast = self.ast;
        let (call, argument) = ast.ids().find_map(|id| {
            let (callee, arguments) = match ast.node(id) {
                _ if ast.span(id).start != offset => return None,
                Node::Call { callee, arguments } => (Callee::Node(callee), arguments),
                Node::CallGlobal { name, arguments } => (Callee::Global(name), arguments),
                _ => return None,
            };
            if nil.function.is_empty() {
                return match callee {
                    Callee::Node(callee) => Some((id, callee)),
                    Callee::Global(_) => None,
                };
            }
            let fits = nil.count.is_none_or(|count| count == arguments.len());
            let argument = ast.list(arguments).get(nil.first).copied();
            argument.filter(|_| fits && self.is_function(callee, &nil.function)).map(|found| (id, found))
        })?;
        self.origin(call, argument)
    }

    /// Whether the callee is the builtin that messages call by this name.
    fn is_function(&self, callee: Callee, named: &str) -> bool {
        let called = match callee {
            Callee::Global(name) => self.library.known(self.names.text(name)).builtin,
            Callee::Node(node) => match self.ast.node(node) {
                Node::Builtin(id) => Some(id),
                _ => None,
            },
        };
        called.is_some_and(|id| self.library.get(id).name == named || self.library.id(named) == Some(id))
    }

    /// Describes the argument of a call.
    fn origin(&self, call: NodeId, argument: NodeId) -> Option<String> {
        let mut argument = argument;
        if self.ast.node(argument) == Node::Hole {
            argument = self.step_before(call)?;
        }
        // What is read first, as it is written.
        let mut name = None;
        for _ in 0..FOLLOWED {
            let span = self.ast.span(argument);
            let bound = match self.ast.node(argument) {
                Node::Nil if name.is_none() => return None,
                Node::Local { local, .. } => self.local(local, span, self.function_at(span)),
                Node::Capture(n) => self.capture(n, span),
                Node::Global(name) => self.definition(name),
                _ => return Some(self.tell(name, NameBinding::Value(argument))),
            };
            let written = span.text(self.source);
            if name.is_none() {
                // A name that a form made, not the program.
                if written.contains(|c: char| c.is_whitespace() || "()[]{}\"".contains(c)) {
                    return None;
                }
                name = Some(written);
            }
            match bound {
                Some(NameBinding::Value(value)) => argument = value,
                Some(part) => return Some(self.tell(name, part)),
                None => break,
            }
        }
        name.map(|name| format!(". The nil is {name}"))
    }

    fn tell(&self, name: Option<&str>, bound: NameBinding) -> String {
        let (NameBinding::Value(node) | NameBinding::Part(node)) = bound;
        let span = self.ast.span(node);
        let (line, column) = line_column(self.source, span.start as usize);
        let shown = shortened(self.source, span, SHOWN, "…");
        match (name, bound) {
            (None, _) => format!(". The nil is the value of {shown} at {line}:{column}"),
            (Some(name), NameBinding::Value(_)) if self.ast.node(node) == Node::Nil => {
                format!(". The nil is {name}, which is bound to nil at {line}:{column}")
            }
            (Some(name), NameBinding::Value(_)) => {
                format!(". The nil is {name}, the value of {shown} at {line}:{column}")
            }
            (Some(name), NameBinding::Part(_)) => {
                format!(". The nil is {name}, which is not in the value of {shown} at {line}:{column}")
            }
        }
    }

    /// The value that goes into a step of a thread.
    fn step_before(&self, call: NodeId) -> Option<NodeId> {
        let ast = self.ast;
        ast.ids().find_map(|id| match ast.node(id) {
            Node::Thread { base, calls } => {
                let calls = ast.list(calls);
                let at = calls.iter().position(|&step| step == call)?;
                Some(at.checked_sub(1).map_or(base, |before| calls[before]))
            }
            _ => None,
        })
    }

    /// The value to which a `let` around a place binds a local of a function.
    fn local(&self, local: LocalId, at: Span, function: Option<usize>) -> Option<NameBinding> {
        let ast = self.ast;
        ast.ids().find_map(|id| match ast.node(id) {
            Node::Let { bindings, .. } if holds(ast.span(id), at) => {
                let found = self.bound(bindings, local)?;
                (self.function_at(ast.span(id)) == function).then_some(found)
            }
            _ => None,
        })
    }

    fn bound(&self, bindings: TableRange, local: LocalId) -> Option<NameBinding> {
        bindings.of(&self.ast.bindings).iter().find_map(|&PatternBinding { pattern, value }| {
            match self.ast.patterns[pattern.0 as usize] {
                Pattern::Bind(bound) if bound == local => Some(NameBinding::Value(value)),
                _ if self.binds(pattern, local) => Some(NameBinding::Part(value)),
                _ => None,
            }
        })
    }

    /// Whether a pattern takes a local out of its value. Patterns nest no deeper than the text.
    fn binds(&self, pattern: PatternId, local: LocalId) -> bool {
        match self.ast.patterns[pattern.0 as usize] {
            Pattern::Bind(bound) => bound == local,
            Pattern::Vector { items, .. } => {
                items.of(&self.ast.pattern_lists).iter().any(|&item| self.binds(item, local))
            }
            Pattern::Map { entries, .. } => {
                entries.of(&self.ast.entries).iter().any(|entry| self.binds(entry.pattern, local))
            }
        }
    }

    /// The value to which a captured name was bound where the function was made.
    fn capture(&self, n: u32, at: Span) -> Option<NameBinding> {
        let mut n = n;
        let mut function = self.function_at(at)?;
        loop {
            let around = self.ast.functions[function].span;
            let captures = &self.ast.captures[self.ast.functions[function].captures as usize];
            let outer = self.function_around(around);
            match *captures.get(n as usize)? {
                CaptureSource::Local(local) => return self.local(local, around, outer),
                CaptureSource::Capture(further) => (n, function) = (further, outer?),
                CaptureSource::SelfFn | CaptureSource::Sibling(_) => return None,
            }
        }
    }

    /// The program's definition of a name, if there is only one.
    fn definition(&self, name: Name) -> Option<NameBinding> {
        let mut definitions = self.ast.definitions.iter().filter(|definition| definition.name == name);
        match (definitions.next(), definitions.next()) {
            (Some(only), None) if !only.once => Some(NameBinding::Value(only.value)),
            _ => None,
        }
    }

    /// The innermost function around a place.
    fn function_at(&self, at: Span) -> Option<usize> {
        self.innermost(|span| holds(span, at))
    }

    /// The innermost function around another one.
    fn function_around(&self, at: Span) -> Option<usize> {
        self.innermost(|span| span != at && holds(span, at))
    }

    fn innermost(&self, fits: impl Fn(Span) -> bool) -> Option<usize> {
        let functions = self.ast.functions.iter().enumerate();
        functions
            .filter(|(_, function)| fits(function.span))
            .min_by_key(|(_, function)| function.span.end - function.span.start)
            .map(|(index, _)| index)
    }
}

/// The callee of a call.
#[derive(Clone, Copy)]
enum Callee {
    Global(Name),
    Node(NodeId),
}

/// The binding of a name.
#[derive(Clone, Copy)]
enum NameBinding {
    /// The value of this.
    Value(NodeId),
    /// A part of the value of this.
    Part(NodeId),
}

/// Whether a span lies in another one.
fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
