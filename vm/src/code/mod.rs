//! Bytecode: the compiler's output, which the machine runs.
//!
//! A [`Program`] is a table of [`Function`]s; function 0 is the program's own text. Code refers to functions
//! and global names by their index in the program, so that a program is plain data without cycles, and to
//! locals by their position in the frame.
//!
//! # Frames
//!
//! A call leaves `callee arg0 … argN-1` on the stack; `arg0` becomes slot 0 of the callee's frame. Intermediate values pile up
//! above the arguments: a `let` binds a name to the slot where its value already lies, and [`Op::Slide`] drops the bindings
//! under a result. The compiler knows the depth at every instruction. Entering a variadic function packs the surplus arguments
//! into one vector.

mod function;
mod heights;
mod module;
mod op;

pub(crate) use function::bare_name;
pub use function::{
    Arity, Capture, DefInfo, DerivedFromParts, Function, PROGRAM_NAMESPACE, Parameters, Program, ProgramPart,
    Requirement, ReservedMemory,
};
pub use module::Module;
pub use op::Op;

/// The version of the language's meaning. It grows when a program that compiled before gives another value, so that programs
/// suspended or stored under the former meaning are refused and never resumed under another one.
///
/// | Version | Since |
/// |---|---|
/// | 1 | the beginning |
/// | 2 | decisions 172 to 179: programs of plain Clojure have the values that they have there |
/// | 3 | decisions 180 to 182: names of any text, identity, more of Clojure's functions |
pub const LANGUAGE_VERSION: u16 = 4;
