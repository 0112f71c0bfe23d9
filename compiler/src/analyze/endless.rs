//! Whether an expression may give a sequence without end, as far as the program's text says.

use super::analyzer::Analyzer;
use crate::ast::{CaptureSource, LocalId, Node, NodeId};
use crate::error::Result;
use crate::source::Span;

/// The conclusion about a call.
#[derive(Clone, Copy)]
enum CallConclusion {
    /// Its value has no end.
    Endless,
    /// It has as much an end as that of this argument.
    As(NodeId),
    /// Nothing.
    Nothing,
}

impl Analyzer<'_, '_> {
    /// Whether the value of a node that has been analysed may be an endless sequence. Parameters and results of the program's
    /// functions are not examined.
    pub(super) fn may_never_end(&self, node: NodeId, span: Span) -> Result<bool> {
        let mut next = Some((node, self.scope.level()));
        while let Some((node, level)) = next {
            self.charge_work(1, span)?;
            next = match self.ast.node(node) {
                Node::Global(name) => return Ok(self.names[name.index()].endless),
                Node::Local { local, .. } => self.value_of(local, level),
                Node::Capture(index) => self.captured_value(index, level),
                Node::Thread { base, calls } => {
                    let calls = self.ast.list(calls);
                    self.charge_work(calls.len(), span)?;
                    let mut said = CallConclusion::As(base);
                    // From the outermost one, as long as it is about the one before it.
                    for call in calls.iter().rev() {
                        said = self.said(*call);
                        match said {
                            CallConclusion::As(argument) if self.ast.node(argument) == Node::Hole => {
                                said = CallConclusion::As(base);
                            }
                            _ => break,
                        }
                    }
                    match said {
                        CallConclusion::Endless => return Ok(true),
                        CallConclusion::As(argument) => Some((argument, level)),
                        CallConclusion::Nothing => None,
                    }
                }
                _ => match self.said(node) {
                    CallConclusion::Endless => return Ok(true),
                    CallConclusion::As(argument) => Some((argument, level)),
                    CallConclusion::Nothing => None,
                },
            };
        }
        Ok(false)
    }

    /// Keeps the value that a local is bound to, for [`may_never_end`](Self::may_never_end). Only calls are of interest.
    pub(super) fn keep_value(&mut self, local: LocalId, value: NodeId) {
        if let Node::Call { .. } | Node::CallGlobal { .. } | Node::Thread { .. } = self.ast.node(value) {
            self.scope.body().values.push((local, value));
        }
    }

    /// The value of a local of the body at a level.
    fn value_of(&self, local: LocalId, level: u32) -> Option<(NodeId, u32)> {
        // Locals are numbered as they are bound.
        let values = &self.scope.at(level).values;
        let place = values.binary_search_by_key(&local, |(local, _)| *local).ok()?;
        Some((values[place].1, level))
    }

    /// The captured value of the body at a level.
    fn captured_value(&self, mut index: u32, mut level: u32) -> Option<(NodeId, u32)> {
        loop {
            let list = self.scope.at(level).captures;
            level = level.checked_sub(1)?;
            match self.ast.captures.get(list as usize)?.get(index as usize)? {
                CaptureSource::Local(local) => return self.value_of(*local, level),
                CaptureSource::Capture(outer) => index = *outer,
                CaptureSource::SelfFn | CaptureSource::Sibling(_) => return None,
            }
        }
    }

    /// The conclusion about a call of a function of the library. If the program has another one of that name, no harm is done:
    /// a finite sequence is then walked as an endless one would be.
    fn said(&self, node: NodeId) -> CallConclusion {
        let (name, arguments) = match self.ast.node(node) {
            Node::Call { callee, arguments } => match self.ast.node(callee) {
                Node::Builtin(id) => (self.library.get(id).name, arguments),
                _ => return CallConclusion::Nothing,
            },
            Node::CallGlobal { name, arguments } => (self.text(name), arguments),
            _ => return CallConclusion::Nothing,
        };
        let arguments = self.ast.list(arguments);
        match (name, arguments) {
            ("range", []) | ("repeat" | "repeatedly" | "cycle", [_]) | ("iterate", [_, _]) => {
                CallConclusion::Endless
            }
            (
                "concat" | "cons" | "dedupe" | "distinct" | "drop" | "drop-while" | "eduction" | "filter"
                | "interleave" | "interpose" | "keep" | "keep-indexed" | "list*" | "map" | "map-indexed"
                | "mapcat" | "next" | "partition" | "partition-all" | "partition-by" | "reductions"
                | "remove" | "rest" | "seq" | "sequence" | "take-nth",
                [.., last],
            ) => CallConclusion::As(*last),
            ("conj" | "nnext" | "nthnext" | "nthrest", [first, ..]) => CallConclusion::As(*first),
            _ => CallConclusion::Nothing,
        }
    }
}
