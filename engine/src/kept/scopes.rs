//! What the heads in a text say, once for each compiled program.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ptc_compiler::datum::read_head;
use ptc_policy::Grant;
use ptc_vm::Program;
use ptc_vm::code::ProgramPart;

use super::fault::ProgramFault;
use super::fields::Fields;
use super::schema::ProgramSchema;
use super::tools::ProgramTools;

/// The keys of a head.
pub const HEAD_KEYS: [&str; 9] =
    ["description", "title", "input", "output", "tools", "resources", "prompts", "limits", "tests"];
/// The keys of `:limits`.
pub const LIMIT_KEYS: [&str; 4] = ["timeout-ms", "steps", "memory-bytes", "calls"];
/// Combinations of programs whose narrowed grants are kept.
const MOST_NARROWED: usize = 64;

/// Bytes that a schema takes once it is read, for each byte of its text, about.
const BYTES_OF_SCHEMA: usize = 8;
/// Bytes that a pattern takes with what is derived of it, about.
const BYTES_OF_PATTERN: usize = 256;

/// What one program may call, takes and gives.
#[derive(Debug)]
pub(crate) struct KeptScope {
    /// Its name; empty for the main one.
    pub(crate) name: Rc<str>,
    /// `:tools`, `:resources` and `:prompts`.
    pub(crate) tools: ProgramTools,
    /// `:calls` of its `:limits`.
    pub(crate) calls: Option<u32>,
    /// `:input`; `None` if the head cannot be read.
    pub(crate) input: Option<ProgramSchema>,
    /// `:output`
    pub(crate) output: Option<ProgramSchema>,
}

/// The programs of a text.
#[derive(Debug)]
pub(crate) struct KeptScopes {
    /// By their numbers in [`Program::parts`]; the main one has a scope if it has a head.
    pub(crate) parts: Vec<Option<KeptScope>>,
    narrowed: RefCell<Vec<NarrowedGrant>>,
}

/// Grants within each other.
type NarrowedGrant = (Vec<Arc<Grant>>, Arc<Grant>);

/// What the heads of a program's text say; `None` if it is made of no kept programs.
pub(crate) fn scopes(program: &Program) -> Option<Rc<KeptScopes>> {
    if program.parts.is_empty() {
        return None;
    }
    let derived = program.derived.0.get_or_init(|| {
        let text = program.text.as_deref().unwrap_or_default();
        let parts =
            program.parts.iter().map(|part| part.has_head.then(|| KeptScope::of(text, part))).collect();
        Rc::new(KeptScopes { parts, narrowed: RefCell::default() })
    });
    derived.clone().downcast().ok()
}

/// What the program itself may call, if it has a head.
pub(crate) fn main_scope(program: Option<&Rc<Program>>) -> Option<Arc<Grant>> {
    let scopes = scopes(program?)?;
    Some(scopes.parts.first()?.as_ref()?.tools.grant().clone())
}

impl KeptScope {
    /// That of a part. One whose head cannot be read may do nothing: whoever serves programs has read it before.
    fn of(text: &str, part: &ProgramPart) -> KeptScope {
        let file = text.get(part.bytes.start as usize..part.bytes.end as usize).unwrap_or_default();
        KeptScope::read(file, part.name.clone()).unwrap_or_else(|_| KeptScope {
            name: part.name.clone(),
            tools: ProgramTools::none(),
            calls: Some(0),
            input: None,
            output: None,
        })
    }

    fn read(file: &str, name: Rc<str>) -> Result<KeptScope, ProgramFault> {
        let head = read_head(file, "program")?;
        let fields = Fields::of(file, &head.datum, "the head of a program", &HEAD_KEYS)?;
        Ok(KeptScope {
            name,
            tools: ProgramTools::read(&fields)?,
            calls: calls(file, &fields)?,
            input: Some(ProgramSchema::of_arguments(&fields)?),
            output: ProgramSchema::of_value(&fields)?,
        })
    }
}

fn calls(file: &str, fields: &Fields<'_>) -> Result<Option<u32>, ProgramFault> {
    let Some(given) = fields.get("limits") else { return Ok(None) };
    let limits = Fields::of(file, given, ":limits", &LIMIT_KEYS)?;
    Ok(limits.count("calls")?.map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)))
}

impl KeptScopes {
    /// Bytes that they take, nearly.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of_schema = |schema: &ProgramSchema| {
            let declared = schema
                .declared
                .iter()
                .map(|(name, default)| 2 * size_of_val(name) + name.len() + default.len());
            (1 + BYTES_OF_SCHEMA) * schema.json.len() + declared.sum::<usize>()
        };
        let of_scope = |scope: &Option<KeptScope>| {
            let schemas = scope.iter().flat_map(|scope| scope.input.iter().chain(&scope.output));
            let patterns = scope.iter().map(|scope| scope.tools.patterns().count() * BYTES_OF_PATTERN);
            size_of::<Option<KeptScope>>() + schemas.map(of_schema).sum::<usize>() + patterns.sum::<usize>()
        };
        self.parts.iter().map(of_scope).sum()
    }

    /// What all of these grants allow, the outermost first. The same ones give the same one, so that what is made for it is found
    /// again.
    pub(crate) fn within(&self, grants: Vec<Arc<Grant>>) -> Option<Arc<Grant>> {
        let same = |known: &[Arc<Grant>]| {
            known.len() == grants.len() && known.iter().zip(&grants).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some((_, narrowed)) = self.narrowed.borrow().iter().find(|(known, _)| same(known)) {
            return Some(narrowed.clone());
        }
        let mut parts = grants.iter();
        let mut narrowed = parts.next()?.clone();
        for part in parts {
            narrowed = Arc::new(narrowed.within(part));
        }
        let mut known = self.narrowed.borrow_mut();
        if known.len() == MOST_NARROWED {
            known.remove(0);
        }
        known.push((grants, narrowed.clone()));
        Some(narrowed)
    }
}
