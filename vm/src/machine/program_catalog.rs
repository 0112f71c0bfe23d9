//! The kept programs that discovery shows (language.md 12).

use std::sync::Arc;

/// A kept program in a list.
#[derive(Clone, Copy, Debug)]
pub struct ListedProgram<'c> {
    /// The name behind `program/`.
    pub name: &'c str,
    /// What it does, for whoever calls it.
    pub description: &'c str,
}

/// The kept programs that a program may call, as discovery shows them. They are numbered by their names in ascending order.
pub trait ProgramCatalog {
    /// How many there are.
    fn count(&self) -> usize;

    /// The program of a number below [`count`](Self::count).
    fn program(&self, number: usize) -> Option<ListedProgram<'_>>;

    /// The names of its arguments.
    fn arguments(&self, number: usize) -> Vec<&str>;

    /// How it is called: `(program/report {:customer ...})`.
    fn call(&self, number: usize) -> String;

    /// Bytes of its schemas: what follows takes time by them.
    fn schema_bytes(&self, number: usize) -> usize;

    /// The text of `doc`.
    fn doc(&self, number: usize) -> String;

    /// The schemas of its arguments and of its value, as JSON.
    fn schemas(&self, number: usize) -> (Arc<str>, Option<Arc<str>>);

    /// The number of the program of this name.
    fn find(&self, name: &str) -> Option<usize> {
        let (mut from, mut to) = (0, self.count());
        while from < to {
            let middle = from.midpoint(to);
            match self.program(middle)?.name.cmp(name) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }
}

/// Makes the catalog when a program asks for it.
pub type ProgramCatalogSource = dyn Fn() -> Arc<dyn ProgramCatalog>;
