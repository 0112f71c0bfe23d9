//! Destructuring.

use ptc_vm::code::Op;

use super::body::FunctionCode;
use super::generator::Generator;
use crate::ast::{Node, NodeId, Pattern, PatternBinding, PatternId, TableRange};
use crate::error::Result;
use crate::source::Span;

impl FunctionCode {
    /// Binds in order. Bound values stay on the stack.
    pub(super) fn bindings(&mut self, generator: &mut Generator<'_>, bindings: TableRange) -> Result<()> {
        let ast = generator.ast;
        for &PatternBinding { pattern, value } in bindings.of(&ast.bindings) {
            let slot = match ast.node(value) {
                // A local that nothing else reads is taken apart where it lies.
                Node::Local { local, last: true } => self.slot(local),
                _ => {
                    self.node(generator, value, false)?;
                    self.top()
                }
            };
            self.pattern(generator, pattern, slot, ast.span(value))?;
        }
        Ok(())
    }

    /// Binds a pattern to the value in `slot`; errors point to `span`.
    pub(super) fn pattern(
        &mut self,
        generator: &mut Generator<'_>,
        pattern: PatternId,
        slot: u32,
        span: Span,
    ) -> Result<()> {
        let ast = generator.ast;
        match ast.patterns[pattern.0 as usize] {
            Pattern::Bind(local) => self.place(local, slot),
            Pattern::Vector { items, rest, whole } => {
                let slot = match whole {
                    Some(whole) => {
                        self.place(whole, slot);
                        // What is taken apart may become a vector; the whole stays what it is.
                        self.push(Op::Local(slot));
                        self.top()
                    }
                    None => slot,
                };
                self.at(generator, span);
                self.emit(Op::CheckSequential { slot, rest: rest.is_some() }, 0, 0);
                let short = self.short(slot, span)?;
                for (index, &item) in items.of(&ast.pattern_lists).iter().enumerate() {
                    self.push(Op::Element { slot: short, index: index as u32 });
                    self.pattern(generator, item, self.top(), span)?;
                }
                if let Some(rest) = rest {
                    self.push(Op::ElementsFrom { slot: short, from: items.len() as u32 });
                    self.pattern(generator, rest, self.top(), span)?;
                }
            }
            Pattern::Map { entries, whole, keyword_arguments } => {
                if let Some(whole) = whole {
                    self.place(whole, slot);
                }
                self.at(generator, span);
                if keyword_arguments {
                    self.emit(Op::KeywordArguments(slot), 0, 0);
                }
                self.emit(Op::CheckMap(slot), 0, 0);
                let short = self.short(slot, span)?;
                for entry in entries.of(&ast.entries) {
                    self.entry(generator, short, entry.key, entry.default)?;
                    self.pattern(generator, entry.pattern, self.top(), span)?;
                }
            }
        }
        Ok(())
    }

    /// Pushes a map's value under a key, or the default if it has no such key.
    fn entry(
        &mut self,
        generator: &mut Generator<'_>,
        slot: u16,
        key: NodeId,
        default: Option<NodeId>,
    ) -> Result<()> {
        // By a number vectors and texts are read too.
        let by_index = matches!(generator.ast.node(key), Node::Int(_) | Node::BigInt(_) | Node::Float(_));
        if by_index || !generator.ast.is_constant(key) {
            return self.entry_by_get(generator, slot, key, default);
        }
        let key = match generator.ast.node(key) {
            Node::Keyword(name) => self.keyword(generator, name),
            _ => {
                let value = generator.constant(key)?;
                self.constant(value)
            }
        };
        let Some(default) = default else {
            self.push(Op::Entry { slot, key });
            return Ok(());
        };
        self.push(Op::HasEntry { slot, key });
        let absent = self.jump(Op::JumpIfFalse, 1);
        let depth = self.depth();
        self.push(Op::Entry { slot, key });
        let end = self.jump(Op::Jump, 0);
        self.patch(absent);
        self.set_depth(depth);
        self.node(generator, default, false)?;
        self.set_depth(depth + 1);
        self.patch(end);
        Ok(())
    }

    /// As [`entry`](Self::entry) under any key: the call `(get map key default)`.
    fn entry_by_get(
        &mut self,
        generator: &mut Generator<'_>,
        slot: u16,
        key: NodeId,
        default: Option<NodeId>,
    ) -> Result<()> {
        let depth = self.depth();
        let get = generator.builtin("get", generator.ast.span(key))?;
        let get = self.constant(get);
        self.push(Op::Const(get));
        self.push(Op::Local(slot.into()));
        self.node(generator, key, false)?;
        self.set_depth(depth + 3);
        if let Some(default) = default {
            self.node(generator, default, false)?;
            self.set_depth(depth + 4);
        }
        let count = 2 + u32::from(default.is_some());
        self.at(generator, generator.ast.span(key));
        self.emit(Op::Call(count), count + 1, 1);
        Ok(())
    }
}
