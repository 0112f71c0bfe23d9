//! The definitions of the tools that programs are approved with: their digests, and what there is to say of a change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ptc_host::config::{ChangedTool, PinnedTool, write_tools};
use ptc_host::digest::{from_hex, hex};
use ptc_mcp::json::Value as Json;

/// Most bytes of the lines of all changes that are found together. Tools that change beyond it are named without what changed.
const MAX_DIFFS: usize = 1 << 20;

/// The definition of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its digest.
    pub digest: [u8; 32],
    /// Its facts. Locks that were written before they had them, or are too large, hold the digest alone.
    pub tool: Option<Arc<PinnedTool>>,
}

impl Definition {
    /// That of this tool.
    #[must_use]
    pub fn of(tool: PinnedTool) -> Definition {
        Definition { digest: tool.digest(), tool: Some(tool.into()) }
    }
}

/// The definitions of the tools of an approval, by `UPSTREAM/TOOL`.
pub type Definitions = BTreeMap<String, Definition>;

/// Definitions as a lock has them: by the tools' names, and their digests. Approvals with the same one share it.
#[derive(Default)]
pub(crate) struct DefinitionTable(BTreeMap<String, BTreeMap<String, Arc<PinnedTool>>>);

impl DefinitionTable {
    /// Those of these approvals.
    pub(crate) fn of<'a>(approvals: impl Iterator<Item = &'a Definitions>) -> DefinitionTable {
        let mut table = DefinitionTable::default();
        for definition in approvals.flat_map(BTreeMap::values) {
            if let Some(tool) = &definition.tool {
                let of_name = table.0.entry(tool.name().to_owned()).or_default();
                of_name.entry(hex(&definition.digest)).or_insert_with(|| tool.clone());
            }
        }
        table
    }

    /// Reads the table of a lock. Where it has none, nothing but digests is known.
    ///
    /// # Errors
    /// It was edited: the part of a sentence.
    pub(crate) fn of_json(table: Option<&Json>) -> Result<DefinitionTable, String> {
        let object = |value: &Json, place: &str| {
            value.as_object().cloned().ok_or_else(|| format!("{place} must be an object"))
        };
        let mut read = DefinitionTable::default();
        let Some(table) = table else { return Ok(read) };
        for (name, versions) in &object(table, "definitions")? {
            let mut tools = BTreeMap::new();
            for (digest, facts) in &object(versions, &format!("definitions.{name}"))? {
                let tool = PinnedTool::of_facts(name, facts, &format!("definitions.{name}"))?;
                if from_hex(digest) != Some(tool.digest()) {
                    return Err(format!("definitions.{name}: a definition is not what its digest says"));
                }
                tools.insert(hex(&tool.digest()), Arc::new(tool));
            }
            read.0.insert(name.clone(), tools);
        }
        Ok(read)
    }

    /// The definition of a tool `UPSTREAM/TOOL` with this digest.
    pub(crate) fn find(&self, reference: &str, digest: [u8; 32]) -> Definition {
        let of_name = reference.split_once('/').and_then(|(_, name)| self.0.get(name));
        Definition { digest, tool: of_name.and_then(|tools| tools.get(&hex(&digest))).cloned() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the table, a line for each fact. `most`: bytes of the longest text of a fact that is written.
    pub(crate) fn write(&self, out: &mut String, most: usize) {
        write_tools(out, 2, &self.0, most);
    }
}

/// The changes from one definition to another one. Each is made once: programs share tools.
pub struct DefinitionChanges {
    found: HashMap<[[u8; 32]; 2], Arc<ChangedTool>>,
    /// Bytes of lines that may still be shown.
    room: usize,
}

impl Default for DefinitionChanges {
    fn default() -> DefinitionChanges {
        DefinitionChanges { found: HashMap::new(), room: MAX_DIFFS }
    }
}

impl DefinitionChanges {
    /// What has changed; `None` where one of the definitions is not known.
    pub fn between(&mut self, former: &Definition, now: &Definition) -> Option<Arc<ChangedTool>> {
        let (old, new) = (former.tool.as_ref()?, now.tool.as_ref()?);
        let changed = self.found.entry([former.digest, now.digest]);
        Some(changed.or_insert_with(|| ChangedTool::of(old, new, &mut self.room).into()).clone())
    }
}
