//! Functions of the library as values.

/// Index of a builtin in its library.
pub type BuiltinId = u16;

/// What a value knows of a builtin: enough to print, compare and hash it. All else stands in the library, under its id.
#[derive(Debug)]
pub struct BuiltinHandle {
    /// Where the library has it.
    pub id: BuiltinId,
    /// Its bare name.
    pub name: &'static str,
}
