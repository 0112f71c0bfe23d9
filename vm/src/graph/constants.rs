//! The parts of a program's constants: each is identified by its place in the program, since the reader has the program's text.
//!
//! So a value that a program has from its text takes no more memory than before, and is the very allocation that its code
//! compares with.

use super::children::{Child, ChildEncounter, OpenValue};
use crate::code::Program;
use crate::error::Result;
use crate::meter;
use crate::value::{Shape, Value};
use ahash::AHashMap;
use std::rc::Rc;

/// Parts of constants between two looks at the meters.
const PARTS_A_LOOK: usize = 64;

/// An allocation that constants consist of.
#[derive(Clone)]
pub(super) enum ConstantAllocation {
    Value(Value),
    Shape(Rc<Shape>),
}

/// All allocations that the constants of a program consist of, in the order in which they are met.
#[derive(Default)]
pub(super) struct Constants {
    parts: Vec<ConstantAllocation>,
    /// The number of each, by address.
    numbers: AHashMap<usize, u32>,
}

impl Constants {
    /// Those of a program. Two programs of one code have the same ones in the same order.
    pub(super) fn of(program: &Program) -> Result<Constants> {
        let mut constants = Constants::default();
        let bodies = program.functions.iter().flat_map(|function| &function.arities);
        for constant in bodies.flat_map(|body| &body.constants) {
            constants.add(constant)?;
        }
        Ok(constants)
    }

    /// The number of each part, by address.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (usize, u32)> {
        self.numbers.iter().map(|(address, number)| (*address, *number))
    }

    /// The part with a number.
    pub(super) fn part(&self, number: u32) -> Option<&ConstantAllocation> {
        self.parts.get(number as usize)
    }

    fn add(&mut self, constant: &Value) -> Result<()> {
        let mut open = Vec::new();
        open.extend(self.meet(ChildEncounter { child: Child::Value(constant.clone()), once: false })?);
        while let Some(top) = open.last_mut() {
            match top.next() {
                Some(met) => open.extend(self.meet(met)?),
                None => drop(open.pop()),
            }
        }
        Ok(())
    }

    /// Numbers a part that has not been met, and says how to go through it if it has parts of its own.
    fn meet(&mut self, ChildEncounter { child, .. }: ChildEncounter) -> Result<Option<OpenValue>> {
        let (address, part, open) = match child {
            Child::Shape(shape) => {
                let open = OpenValue::Shape { shape: shape.clone(), at: 0 };
                (Rc::as_ptr(&shape).addr(), ConstantAllocation::Shape(shape), Some(open))
            }
            Child::Value(value) => {
                let Some(allocation) = value.allocation() else { return Ok(None) };
                let open = match &value {
                    Value::Vector(vector) => Some(OpenValue::vector(vector.clone())),
                    Value::Map(map) => Some(OpenValue::map(map.clone())),
                    Value::Set(set) => Some(OpenValue::set(set.clone())),
                    // A list or a queue has its elements in common with a vector, and is told by it.
                    Value::List(items) | Value::Queue(items) => {
                        let items = Child::Value(Value::Vector(items.clone()));
                        return self.meet(ChildEncounter { child: items, once: false });
                    }
                    // A name has its text in common with strings, and is told by it.
                    Value::Var(text) | Value::Symbol(text) | Value::Tool(text) => {
                        let text = ChildEncounter { child: Child::Text(text.clone()), once: false };
                        return self.meet(text);
                    }
                    _ => None,
                };
                (allocation.address, ConstantAllocation::Value(value), open)
            }
            Child::Text(text) => {
                return self.meet(ChildEncounter { child: Child::Value(Value::Str(text)), once: false });
            }
            // Neither is in a constant.
            Child::Made(_) | Child::Captures(_) => return Ok(None),
        };
        if self.numbers.contains_key(&address) {
            return Ok(None);
        }
        self.numbers.insert(address, self.parts.len() as u32);
        self.parts.push(part);
        if self.parts.len().is_multiple_of(PARTS_A_LOOK) {
            meter::reserve(self.parts.len() * 2 * size_of::<ConstantAllocation>())?;
            meter::charge_steps(PARTS_A_LOOK as u64)?;
        }
        Ok(open)
    }
}
