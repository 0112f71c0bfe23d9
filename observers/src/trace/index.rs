//! Our files in the folder, from the oldest to the newest, and their total size.

use std::collections::{BTreeMap, HashMap};

/// The known files of ours, with their sizes.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    oldest_first: BTreeMap<u64, File>,
    numbers: HashMap<String, u64>,
    next: u64,
    bytes: u64,
}

#[derive(Debug)]
struct File {
    name: String,
    bytes: u64,
}

impl FileIndex {
    /// An index of existing files, the oldest first.
    pub(super) fn of(oldest_first: impl IntoIterator<Item = (String, u64)>) -> FileIndex {
        let mut index = FileIndex::default();
        oldest_first.into_iter().for_each(|(name, bytes)| index.add(name, bytes));
        index
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of files.
    pub(super) fn len(&self) -> usize {
        self.oldest_first.len()
    }

    /// Bytes of one file; 0 if it is unknown.
    pub(super) fn bytes_of(&self, name: &str) -> u64 {
        self.numbers.get(name).and_then(|number| self.oldest_first.get(number)).map_or(0, |file| file.bytes)
    }

    /// Adds the newest file.
    pub(super) fn add(&mut self, name: String, bytes: u64) {
        self.remove(&name);
        self.numbers.insert(name.clone(), self.next);
        self.oldest_first.insert(self.next, File { name, bytes });
        self.next += 1;
        self.bytes += bytes;
    }

    /// Adds to the size of a file.
    pub(super) fn grow(&mut self, name: &str, more: u64) {
        let Some(number) = self.numbers.get(name) else { return };
        if let Some(file) = self.oldest_first.get_mut(number) {
            file.bytes += more;
            self.bytes += more;
        }
    }

    /// Renames a file, which keeps its age.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let Some(number) = self.numbers.remove(from) else { return };
        if let Some(file) = self.oldest_first.get_mut(&number) {
            file.name = to.to_owned();
        }
        self.numbers.insert(to.to_owned(), number);
    }

    /// Removes a file.
    pub(super) fn remove(&mut self, name: &str) {
        let Some(number) = self.numbers.remove(name) else { return };
        if let Some(file) = self.oldest_first.remove(&number) {
            self.bytes -= file.bytes;
        }
    }

    /// Removes the oldest file that is not called `spared`.
    pub(super) fn take_oldest(&mut self, spared: Option<&str>) -> Option<String> {
        let oldest = self.oldest_first.values().find(|file| Some(&*file.name) != spared)?.name.clone();
        self.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_files_under_whatever_name() {
        let mut index = FileIndex::of([("a".into(), 5), ("b".into(), 7)]);
        index.add("c".into(), 1);
        index.grow("a", 10);
        index.rename("a", "z");
        index.grow("a", 1000);
        assert_eq!((index.len(), index.bytes(), index.bytes_of("z"), index.bytes_of("a")), (3, 23, 15, 0));
        assert_eq!(index.take_oldest(Some("z")).as_deref(), Some("b"));
        assert_eq!(index.take_oldest(None).as_deref(), Some("z"), "it is as old as under its first name");
        index.remove("c");
        index.remove("c");
        assert_eq!((index.len(), index.bytes()), (0, 0));
        assert_eq!(index.take_oldest(None), None);
    }
}
