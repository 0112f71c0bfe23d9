//! Functions that a program makes: closures, and the results of combinators.

use super::{Value, drop_deferred, drop_many};
use crate::code::{Arity, Function, Module};
use crate::meter;
use smallvec::SmallVec;
use std::rc::Rc;

/// Code and the values that it captured.
pub struct Closure {
    /// The linked program that the code belongs to.
    pub module: Rc<Module>,
    /// Which function of the module's program.
    pub function: u32,
    /// That function, so that a call has it at hand.
    code: Rc<Function>,
    /// The first of its bodies, mostly the only one.
    first: Rc<Arity>,
    /// Values of enclosing locals, in the order of the function's capture list. A `letfn` group shares one.
    pub captures: Rc<Captures>,
}

/// Captured values, shared by the closures of a `letfn` group.
#[derive(Default)]
pub struct Captures(SmallVec<[Value; 2]>);

impl Captures {
    const OVERHEAD: usize = 56;

    /// Holds these values.
    pub(crate) fn new(values: SmallVec<[Value; 2]>) -> Rc<Captures> {
        meter::charge_memory(Self::OVERHEAD + values.len() * size_of::<Value>());
        Rc::new(Captures(values))
    }

    /// The values.
    #[inline]
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        meter::credit_memory(Self::OVERHEAD + self.0.len() * size_of::<Value>());
        for value in self.0.drain(..) {
            drop_deferred(value);
        }
    }
}

impl Closure {
    const BYTES: usize = 64;

    /// A closure over function `function` of `module`.
    pub(crate) fn new(module: Rc<Module>, function: u32, captures: Rc<Captures>) -> Rc<Closure> {
        meter::charge_memory(Self::BYTES);
        let code = module.program.functions[function as usize].clone();
        let first = code.arities[0].clone();
        Rc::new(Closure { module, function, code, first, captures })
    }

    /// The first of its bodies.
    #[inline(always)]
    pub fn first(&self) -> &Arity {
        &self.first
    }

    /// The code.
    #[inline]
    pub fn code(&self) -> &Function {
        &self.code
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        meter::credit_memory(Self::BYTES);
    }
}

/// Which function made a [`Combinator`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the builtin of the same name")]
pub enum CombinatorKind {
    Comp,
    Complement,
    Constantly,
    /// Not a function but a sequence without end, to be taken from: the first part is the builtin (`iterate`,
    /// `cycle`, `repeat` …), the others its arguments.
    Endless,
    EveryPred,
    Fnil,
    Juxt,
    Memoize,
    Partial,
    /// Not a function: a value wrapped by `reduced`, the only part.
    Reduced,
    SomeFn,
    /// A transducer: the first part is the builtin (`map`, `filter` …), the others its arguments.
    Transducer,
}

/// A function built from others by `comp`, `partial` and the like.
pub struct Combinator {
    /// The function that made it.
    pub kind: CombinatorKind,
    /// The functions and values it was made from.
    pub parts: Vec<Value>,
}

impl Combinator {
    const OVERHEAD: usize = 56;

    /// A combinator of this kind over `parts`.
    pub(crate) fn new(kind: CombinatorKind, mut parts: Vec<Value>) -> Rc<Combinator> {
        parts.shrink_to_fit();
        meter::charge_memory(Self::OVERHEAD + parts.len() * size_of::<Value>());
        Rc::new(Combinator { kind, parts })
    }
}

impl Drop for Combinator {
    fn drop(&mut self) {
        meter::credit_memory(Self::OVERHEAD + self.parts.len() * size_of::<Value>());
        drop_many(&mut self.parts);
    }
}
