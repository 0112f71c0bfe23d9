//! Functions of the library as values.

/// Index of a builtin in its library.
pub type BuiltinId = u16;

/// A value's handle of a builtin: enough to print, compare and hash it. All else is in the library, under its id.
#[derive(Debug)]
pub struct BuiltinHandle {
    /// Where the library has it.
    pub id: BuiltinId,
    /// Its bare name. A function that no name reaches may have that of one that is reached by it.
    pub name: &'static str,
    /// Whether its name reaches it.
    pub named: bool,
}
