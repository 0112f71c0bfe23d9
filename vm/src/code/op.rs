//! Instructions.
//!
//! "Pops" and "pushes" speak of the value stack; `slot` is a position in the current frame. An instruction
//! that names a builtin's meaning ([`Op::Add`], [`Op::Native`] …) is only right while the user namespace does
//! not define that name: the machine checks that once a builtin has been shadowed (language.md 4.2).

use crate::value::BuiltinId;

/// One instruction, at most 8 bytes. Each costs one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    // --- constants and variables -------------------------------------------------------------------------
    /// Pushes `nil`.
    Nil,
    /// Pushes `true`.
    True,
    /// Pushes `false`.
    False,
    /// Pushes a small integer.
    Int(i32),
    /// Pushes constant `n` of the function.
    Const(u32),
    /// Pushes a copy of a slot.
    Local(u32),
    /// Moves a slot's value to the top and leaves `nil` there: the last use of a local.
    TakeLocal(u32),
    /// Pops into a slot.
    SetLocal(u32),
    /// Pushes captured value `n` of the running closure.
    Capture(u32),
    /// Pushes the running closure.
    SelfFn,
    /// Pushes a closure over program function `n` that shares the running closure's captures (`letfn`).
    Sibling(u32),
    /// Pushes the value of global name `n` of the program, or of the builtin of that name.
    Global(u32),
    /// As [`Op::Global`], but `nil` when the name has no value: a bare operand of `or`.
    GlobalOrNil(u32),
    /// Pops a value, defines global name `n` as it and pushes the var.
    DefGlobal(u32),
    /// As [`Op::DefGlobal`] with constant `info` as documentation of the definition.
    DefGlobalDoc {
        /// Index of the global name.
        global: u16,
        /// Index into [`Program::defs`](super::Program::defs).
        info: u32,
    },
    /// Jumps when global name `global` has a value in the user namespace (`defonce`).
    JumpIfDefined {
        /// Index of the global name.
        global: u16,
        /// Where to go.
        target: u32,
    },
    /// Pushes the var of global name `n` without evaluating anything.
    Var(u32),
    /// Pushes context entry `data/NAME`, with constant `n` the name as a keyword.
    Data(u32),
    /// Replaces the argument of a kept program by its entry NAME, with constant `n` the name as a keyword.
    DataOf(u32),
    /// Pushes result `n` of the turn history: 1, 2 or 3.
    History(u8),
    /// Pushes the host's budget map.
    Budget,

    // --- stack and jumps ---------------------------------------------------------------------------------
    /// Pops and drops.
    Pop,
    /// Pushes a copy of the top.
    Dup,
    /// Drops `n` values under the top.
    Slide(u32),
    /// Goes to an instruction of the same function.
    Jump(u32),
    /// As [`Op::Jump`], backwards at the end of a loop.
    Loop(u32),
    /// Pops; jumps if it was falsy.
    JumpIfFalse(u32),
    /// Pops; jumps if it was truthy.
    JumpIfTrue(u32),
    /// Jumps and keeps the top if it is falsy, else pops it (`and`).
    JumpIfFalseKeep(u32),
    /// Jumps and keeps the top if it is truthy, else pops it (`or`).
    JumpIfTrueKeep(u32),
    /// Jumps and keeps the top if it is `nil` (`some->`).
    JumpIfNilKeep(u32),
    /// Pops; jumps if it was `nil` (`if-some`).
    JumpIfNil(u32),
    /// Pushes whether the value in `slot` is `=` to a constant (`case`).
    EqualConst {
        /// Slot of the value that is tested.
        slot: u16,
        /// Index of the constant.
        key: u32,
    },
    /// Pops the result, drops the frame, and passes the result to the caller.
    Return,
    /// Pops a value and ends the program with it (`return`).
    Halt,
    /// Pops a value and ends the program as a failure with that payload (`fail`).
    Fail,

    // --- collections -------------------------------------------------------------------------------------
    /// Pops `n` values and pushes a vector of them.
    Vector(u32),
    /// Pops `n` pairs of key and value and pushes a map; a later key replaces an earlier one.
    Map(u32),
    /// Pops as many values as the map in constant `n` has entries and pushes the map with its keys: there, the value under
    /// a key says which one of them belongs to it, counted from 0. A map literal whose keys are constants.
    Record(u32),
    /// Pops `n` values and pushes a set.
    Set(u32),
    /// Pops a value and appends it to the vector in `slot` (`for`).
    AppendTo(u32),

    // --- functions ---------------------------------------------------------------------------------------
    /// Pushes a closure over program function `n`, taking its captures from the running frame.
    Closure(u32),
    /// Calls the callee under `n` arguments.
    Call(u32),
    /// As [`Op::Call`], giving the running frame up if the callee is a closure. Always followed by
    /// [`Op::Return`], which other callees come back to.
    TailCall(u32),
    /// Calls the function of a kept program with the argument on it.
    CallProgram,
    /// Calls a builtin with `argc` arguments; there is no callee on the stack.
    Native {
        /// Which builtin.
        id: BuiltinId,
        /// How many arguments.
        argc: u16,
    },

    // --- operations of builtins that deserve an instruction ------------------------------------------------
    /// `(+ a b)`
    Add,
    /// `(- a b)`
    Subtract,
    /// `(* a b)`
    Multiply,
    /// `(mod a b)`
    Modulo,
    /// `(< a b)`
    Less,
    /// `(<= a b)`
    LessOrEqual,
    /// `(> a b)`
    Greater,
    /// `(>= a b)`
    GreaterOrEqual,
    /// `(= a b)`
    Equal,
    /// `(not a)`
    Not,
    /// `(nil? a)`
    IsNil,
    /// `(+ a n)` with a small constant; `(- a n)` is compiled to it with `-n`.
    AddInt(i32),
    /// `(inc a)`
    Inc,
    /// `(dec a)`
    Dec,
    /// `(:k m)` and `(get m :k)` with a constant keyword or string: pops the map, pushes the value found.
    /// `cache` numbers this place in the function, for the machine's guess where the key is.
    Lookup {
        /// Number of the lookup in its function.
        cache: u16,
        /// Index of the key constant.
        key: u32,
    },
    /// `(:k m default)`: pops the default, then the map.
    LookupOr {
        /// Number of the lookup in its function.
        cache: u16,
        /// Index of the key constant.
        key: u32,
    },

    // --- operations whose operands are locals or small integers --------------------------------------------
    // Each stands for the instructions that push its operands and the operation itself. Reading an operand where it
    // lies neither copies nor moves it.
    /// `(+ a b)` of two slots.
    AddLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(+ a b)`: pops the left operand, the right one is in a slot.
    AddLocal(u32),
    /// `(+ a n)` of a slot and a small integer.
    AddLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(- a b)` of two slots.
    SubtractLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(- a b)`: pops the left operand, the right one is in a slot.
    SubtractLocal(u32),
    /// `(- a n)` of a slot and a small integer.
    SubtractLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(- a n)`: pops the left operand.
    SubtractInt(i32),
    /// `(* a b)` of two slots.
    MultiplyLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(* a b)`: pops the left operand, the right one is in a slot.
    MultiplyLocal(u32),
    /// `(* a n)` of a slot and a small integer.
    MultiplyLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(* a n)`: pops the left operand.
    MultiplyInt(i32),
    /// `(mod a b)` of two slots.
    ModuloLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(mod a b)`: pops the left operand, the right one is in a slot.
    ModuloLocal(u32),
    /// `(mod a n)` of a slot and a small integer.
    ModuloLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(mod a n)`: pops the left operand.
    ModuloInt(i32),
    /// `(< a b)` of two slots.
    LessLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(< a b)`: pops the left operand, the right one is in a slot.
    LessLocal(u32),
    /// `(< a n)` of a slot and a small integer.
    LessLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(< a n)`: pops the left operand.
    LessInt(i32),
    /// `(<= a b)` of two slots.
    LessOrEqualLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(<= a b)`: pops the left operand, the right one is in a slot.
    LessOrEqualLocal(u32),
    /// `(<= a n)` of a slot and a small integer.
    LessOrEqualLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(<= a n)`: pops the left operand.
    LessOrEqualInt(i32),
    /// `(> a b)` of two slots.
    GreaterLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(> a b)`: pops the left operand, the right one is in a slot.
    GreaterLocal(u32),
    /// `(> a n)` of a slot and a small integer.
    GreaterLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(> a n)`: pops the left operand.
    GreaterInt(i32),
    /// `(>= a b)` of two slots.
    GreaterOrEqualLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(>= a b)`: pops the left operand, the right one is in a slot.
    GreaterOrEqualLocal(u32),
    /// `(>= a n)` of a slot and a small integer.
    GreaterOrEqualLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(>= a n)`: pops the left operand.
    GreaterOrEqualInt(i32),
    /// `(= a b)` of two slots.
    EqualLocals {
        /// Slot of the left operand.
        a: u16,
        /// Slot of the right operand.
        b: u16,
    },
    /// `(= a b)`: pops the left operand, the right one is in a slot.
    EqualLocal(u32),
    /// `(= a n)` of a slot and a small integer.
    EqualLocalInt {
        /// Slot of the left operand.
        a: u16,
        /// The right operand.
        n: i32,
    },
    /// `(= a n)`: pops the left operand.
    EqualInt(i32),
    /// `(inc a)` of a slot.
    IncLocal(u32),
    /// `(dec a)` of a slot.
    DecLocal(u32),
    /// [`Op::Lookup`] in the map in a slot.
    LookupLocal {
        /// Slot of the map.
        slot: u8,
        /// Number of the lookup in its function.
        cache: u16,
        /// Index of the key constant.
        key: u32,
    },
    /// Pops `count` values into as many slots, the first of which is `first`, and goes back to `target`: `recur`.
    Recur {
        /// How many values.
        count: u8,
        /// Slot of the first one.
        first: u16,
        /// Where the loop begins.
        target: u32,
    },

    // --- destructuring (language.md 3.6) -------------------------------------------------------------------
    /// Fails unless the value in `slot` can be taken apart by position. A string becomes a vector there, and so do a map
    /// and a set for a pattern with a rest.
    CheckSequential {
        /// Slot of the value.
        slot: u32,
        /// Whether the pattern has a rest, and walks the value.
        rest: bool,
    },
    /// Pushes element `index` of the vector in `slot`, or `nil`.
    Element {
        /// Slot of the vector.
        slot: u16,
        /// Index from 0.
        index: u32,
    },
    /// Pushes the elements of the vector in `slot` from `from` on, as a vector, or `nil` if there are none.
    ElementsFrom {
        /// Slot of the vector.
        slot: u16,
        /// Index from 0.
        from: u32,
    },
    /// Makes a list in `slot` the map of its pairs, for a map pattern.
    CheckMap(u32),
    /// Makes a map of the keyword arguments in the vector in `slot`.
    KeywordArguments(u32),
    /// Pushes the value in the collection in `slot` under a constant key (flexible lookup), or `nil`.
    Entry {
        /// Slot of the map.
        slot: u16,
        /// Index of the key constant.
        key: u32,
    },
    /// Pushes whether the map in `slot` has a constant key (flexible lookup); for `:or`.
    HasEntry {
        /// Slot of the map.
        slot: u16,
        /// Index of the key constant.
        key: u32,
    },

    // --- iteration (`for`, `doseq`) --------------------------------------------------------------------------
    /// Pops a seqable and pushes a cursor over its elements.
    Cursor,
    /// As [`Op::Cursor`], but pops an endless sequence too: then a walk begins, and its number is pushed.
    Walk,
    /// Ends the walk whose number is in this slot, if it is one.
    EndWalk(u32),
    /// Pushes the next element of the cursor or the walk in `slot`, or jumps when there is none.
    Next {
        /// Slot of the cursor, or of the number of the walk.
        slot: u16,
        /// Where to go at the end.
        exit: u32,
    },

    // --- journal ---------------------------------------------------------------------------------------------
    /// Pops a task id. If the journal has it, pushes the stored value and jumps; else pushes the id as text.
    TaskEnter(u32),
    /// Pops a value, pops the task id under it, stores the value in the journal and pushes it.
    TaskLeave,
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_instruction_takes_at_most_8_bytes() {
        assert!(size_of::<super::Op>() <= 8);
    }
}
