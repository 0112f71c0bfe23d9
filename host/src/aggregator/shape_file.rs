//! The file in which shapes of answers outlive their process: beside the cached lists of the same configuration, for its owner
//! alone. It names principals by a digest, and holds keys and types only.

use crate::catalog::ToolEntry;
use ptc_base::sync::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use ptc_mcp::json::{Value, json};

use super::list_cache::{read_json, write_text};
use ptc_base::time;
use ptc_secret::digest::short_hash;

/// The most rows of the file.
const MAX_ROWS: usize = 4096;
/// Longest shape that is read, in bytes.
const MAX_SHAPE: usize = 1024;

/// Server, tool and principal.
type ShapeKey = (String, String, String);

/// The shapes of former starts.
#[derive(Debug, Default)]
pub(super) struct FormerShapes(BTreeMap<ShapeKey, (u64, String)>);

impl FormerShapes {
    /// The shape of a tool whose definition is unchanged; none if its answers had nothing in common.
    pub(super) fn of(&self, principal: Option<&Arc<str>>, seen: SeenTool<'_>) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let key = (digest(principal), seen.server.to_owned(), seen.tool.to_owned());
        let (definition, shape) = self.0.get(&key)?;
        (*definition == seen.definition && !shape.is_empty()).then_some(shape.as_str())
    }
}

/// One shape to keep.
#[derive(Debug)]
pub(super) struct ShapeRow {
    key: ShapeKey,
    definition: u64,
    shape: String,
}

impl ShapeRow {
    pub(super) fn of(principal: Option<&Arc<str>>, seen: SeenTool<'_>, shape: String) -> Self {
        let key = (digest(principal), seen.server.to_owned(), seen.tool.to_owned());
        Self { key, definition: seen.definition, shape }
    }
}

/// The digest of a principal; empty without one.
fn digest(principal: Option<&Arc<str>>) -> String {
    principal.map_or_else(String::new, |name| short_hash(name.as_bytes()))
}

/// A file of rows.
#[derive(Debug)]
pub(super) struct ShapeFile {
    path: PathBuf,
    /// Rows that have not been written yet.
    waiting: Mutex<Vec<ShapeRow>>,
    writes: AtomicBool,
}

impl ShapeFile {
    /// The file of this path, which need not exist.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, waiting: Mutex::default(), writes: AtomicBool::new(false) }
    }

    /// Its rows; none where it is missing or damaged.
    pub(super) fn read(&self) -> FormerShapes {
        let Some(Value::Array(rows)) = read_json(&self.path) else { return FormerShapes::default() };
        let row = |row: &Value| {
            let text = |at: usize| row.get(at).and_then(Value::as_str).map(str::to_owned);
            let shape = text(4).filter(|shape| shape.len() <= MAX_SHAPE)?;
            Some(((text(0)?, text(1)?, text(2)?), (u64::from_str_radix(&text(3)?, 16).ok()?, shape)))
        };
        FormerShapes(rows.iter().take(MAX_ROWS).filter_map(row).collect())
    }

    /// Keeps a row for the next start. Another thread writes it, together with rows that arrive meanwhile.
    pub(super) fn keep(self: &Arc<Self>, row: ShapeRow) {
        self.waiting().push(row);
        if self.writes.swap(true, Ordering::AcqRel) {
            return;
        }
        let file = self.clone();
        drop(time::spawn_blocking(move || file.write()));
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<ShapeRow>> {
        self.waiting.lock()
    }

    /// Appends the pending rows to the file until there are none. A failed write loses only its rows.
    fn write(&self) {
        loop {
            let rows = std::mem::take(&mut *self.waiting());
            if rows.is_empty() {
                self.writes.store(false, Ordering::Release);
                // A row that came before that was not written by whoever brought it.
                if self.waiting().is_empty() || self.writes.swap(true, Ordering::AcqRel) {
                    return;
                }
                continue;
            }
            // Other processes of the same configuration write it, too.
            let FormerShapes(mut all) = self.read();
            for row in rows {
                if all.len() < MAX_ROWS || all.contains_key(&row.key) {
                    all.insert(row.key, (row.definition, row.shape));
                }
            }
            let rows: Vec<Value> = all
                .into_iter()
                .map(|((who, server, tool), (definition, shape))| {
                    json!([who, server, tool, format!("{definition:x}"), shape])
                })
                .collect();
            if let Err(error) = write_text(&self.path, &Value::Array(rows).to_string()) {
                tracing::debug!(path = %self.path.display(), %error, "shapes_not_written");
            }
        }
    }
}

/// The tool whose answer was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenTool<'t> {
    pub(super) server: &'t str,
    pub(super) tool: &'t str,
    /// Stands for the tool as it describes itself.
    pub(super) definition: u64,
}

impl<'t> SeenTool<'t> {
    pub(super) fn of(server: &'t str, tool: &'t ToolEntry) -> Self {
        Self { server, tool: &tool.name, definition: tool.definition() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rows_are_read_by_the_next_start_and_by_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("of-this.shapes.json");
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let seen = |tool| SeenTool { server: "s", tool, definition: 7 };
        let file = Arc::new(ShapeFile::new(path.clone()));
        for tool in ["a", "b", "c"] {
            file.waiting().push(ShapeRow::of(Some(&ann), seen(tool), format!("{{\"{tool}\" int}}")));
        }
        file.waiting().push(ShapeRow::of(None, seen("a"), "text".to_owned()));
        file.write();
        let former = ShapeFile::new(path.clone()).read();
        assert_eq!(former.of(Some(&ann), seen("b")), Some("{\"b\" int}"));
        assert_eq!(former.of(None, seen("a")), Some("text"));
        assert_eq!(former.of(Some(&bob), seen("a")), None, "what one has seen is no other's business");
        assert_eq!(
            former.of(Some(&ann), SeenTool { definition: 8, ..seen("a") }),
            None,
            "the tool has changed"
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("ann"), "{text}");

        let other = ShapeFile::new(path.clone());
        other.waiting().push(ShapeRow::of(Some(&ann), seen("d"), "int".to_owned()));
        other.write();
        assert_eq!(other.read().0.len(), 5, "two processes keep what both have seen");
        std::fs::write(&path, "[[1], [\"\", \"s\", \"a\", \"7\", \"text\"], {}]").unwrap();
        assert_eq!(other.read().of(None, seen("a")), Some("text"), "damaged rows are left out");
    }
}
