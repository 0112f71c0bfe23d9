//! The names of one program: every symbol and keyword text once, as a small number.

use ahash::AHashMap;

/// A symbol, keyword or namespace text of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    /// Position in the table, in order of first appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table of names. A keyword and a symbol of the same text are one name.
#[derive(Debug)]
pub struct Names<'s> {
    index: AHashMap<&'s str, Name>,
    texts: Vec<&'s str>,
}

impl<'s> Names<'s> {
    /// An empty table with room for a short program.
    pub fn new() -> Self {
        Self { index: AHashMap::with_capacity(14), texts: Vec::with_capacity(16) }
    }

    /// The name of `text`, entered on first sight.
    pub fn intern(&mut self, text: &'s str) -> Name {
        *self.index.entry(text).or_insert_with(|| {
            self.texts.push(text);
            Name(self.texts.len() as u32 - 1)
        })
    }

    /// The name of `text`, if the program holds it.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.index.get(text).copied()
    }

    /// The text of `name`.
    pub fn text(&self, name: Name) -> &'s str {
        self.texts[name.index()]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// All names, in order of first appearance.
    pub fn all(&self) -> impl Iterator<Item = Name> + use<> {
        (0..self.texts.len() as u32).map(Name)
    }
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_name() {
        let mut names = Names::new();
        let a = names.intern("a");
        let b = names.intern("b");
        assert_eq!(names.intern("a"), a);
        assert_ne!(a, b);
        assert_eq!((names.text(b), names.len(), names.find("c")), ("b", 2, None));
    }
}
