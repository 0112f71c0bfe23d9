//! The shapes of answers of tools that describe none, as each principal has seen them; `doc` shows them (ruling 56). Those of
//! earlier starts are read once, so that a call never changes an advertised text.

use super::shape_file::SeenTool;
use ptc_base::sync::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

use super::shape_file::{FormerShapes, ShapeFile, ShapeRow};
use crate::catalog::ServerEntry;
use ptc_schema::answer_shape::{answer_shape, common_shape};
use ptc_secret::credentials::Redactor;

/// Principals whose shapes are kept; a further one takes the place of another.
const MAX_PRINCIPALS: usize = 256;
/// Tools whose shapes are kept for one principal.
const MAX_TOOLS: usize = 256;
/// Answers of a tool that are looked at.
const MAX_ANSWERS: u8 = 4;

/// Keys and types of the first answers, by principal: each principal's answers are private to it.
#[derive(Debug, Default)]
pub(super) struct SeenShapes {
    by_principal: RwLock<ByPrincipal>,
    former: FormerShapes,
    file: Option<Arc<ShapeFile>>,
}

#[derive(Debug, Default)]
struct ByPrincipal {
    named: HashMap<Arc<str>, Shapes>,
    /// Those of calls without a principal.
    nobody: Shapes,
}

impl ByPrincipal {
    fn of(&self, principal: Option<&Arc<str>>) -> Option<&Shapes> {
        principal.map_or(Some(&self.nobody), |name| self.named.get(name))
    }

    /// Those of this principal, to add to.
    fn open(&mut self, principal: Option<&Arc<str>>) -> &mut Shapes {
        let Some(name) = principal else { return &mut self.nobody };
        if self.named.len() >= MAX_PRINCIPALS && !self.named.contains_key(name) {
            let other = self.named.keys().next().cloned();
            other.map(|other| self.named.remove(&other));
        }
        self.named.entry(name.clone()).or_default()
    }
}

/// The shapes that one principal has seen.
#[derive(Debug, Default)]
struct Shapes {
    /// By server, then by tool: so both are looked up as they stand.
    servers: HashMap<String, HashMap<String, SeenAnswers>>,
    tools: usize,
}

/// The common shape of the answers of one tool.
#[derive(Debug)]
struct SeenAnswers {
    /// Of the tool when they were given.
    definition: u64,
    /// Empty if they have nothing in common.
    shape: String,
    /// How many were looked at.
    answers: u8,
}

impl Shapes {
    fn of(&self, seen: SeenTool<'_>) -> Option<&SeenAnswers> {
        self.servers.get(seen.server)?.get(seen.tool).filter(|answers| answers.definition == seen.definition)
    }

    /// Whether another answer of this tool adds nothing.
    fn is_settled(&self, seen: SeenTool<'_>) -> bool {
        match self.of(seen) {
            Some(answers) => answers.answers >= MAX_ANSWERS || answers.shape.is_empty(),
            None => self.tools >= MAX_TOOLS,
        }
    }

    /// Adds the shape of one more answer. Returns the common shape, if that is new.
    fn add(&mut self, seen: SeenTool<'_>, shape: String) -> Option<String> {
        let tools = self.servers.entry(seen.server.to_owned()).or_default();
        let known = tools.get_mut(seen.tool).filter(|known| known.definition == seen.definition);
        if let Some(known) = known {
            known.answers += 1;
            let common = common_shape(&known.shape, &shape).unwrap_or_default().to_owned();
            return (common != known.shape).then(|| {
                known.shape.clone_from(&common);
                common
            });
        }
        let answers = SeenAnswers { definition: seen.definition, shape: shape.clone(), answers: 1 };
        if tools.insert(seen.tool.to_owned(), answers).is_none() {
            self.tools += 1;
        }
        Some(shape)
    }
}

impl SeenShapes {
    /// None yet but those of former starts, if they are kept in a file.
    pub(super) fn kept_in(file: Option<ShapeFile>) -> Self {
        let former = file.as_ref().map(ShapeFile::read).unwrap_or_default();
        Self { former, file: file.map(Arc::new), ..Self::default() }
    }

    /// Keeps the shape of a successful answer that begins with `beginning`, if it is one of the tool's first for this
    /// principal. Most answers are later ones: these share the lock and allocate nothing.
    pub(super) fn note(
        &self,
        principal: Option<&Arc<str>>,
        seen: SeenTool<'_>,
        beginning: &[u8],
        redactor: &Redactor,
    ) {
        {
            let kept = self.by_principal.read();
            if kept.of(principal).is_some_and(|shapes| shapes.is_settled(seen)) {
                return;
            }
        }
        let Some(shape) = answer_shape(beginning) else { return };
        let shape = redactor.scrub_string(shape);
        let common = {
            let mut kept = self.by_principal.write();
            let shapes = kept.open(principal);
            // Others may have been first meanwhile.
            if shapes.is_settled(seen) {
                return;
            }
            shapes.add(seen, shape)
        };
        if let (Some(shape), Some(file)) = (common, &self.file) {
            file.keep(ShapeRow::of(principal, seen, shape));
        }
    }

    /// The shape that this principal has seen, now or before this start.
    pub(super) fn of(&self, principal: Option<&Arc<str>>, seen: SeenTool<'_>) -> Option<String> {
        let kept = self.by_principal.read();
        match kept.of(principal).and_then(|shapes| shapes.of(seen)) {
            Some(now) => Some(now.shape.clone()).filter(|shape| !shape.is_empty()),
            None => self.former.of(principal, seen).map(str::to_owned),
        }
    }

    /// A server whose tools have the shapes that this principal had seen before this start.
    pub(super) fn remembered(&self, principal: Option<&Arc<str>>, mut server: ServerEntry) -> ServerEntry {
        if let Some(principal) = principal {
            let name = server.name.clone();
            server.remember_shapes(|tool| {
                self.former.of(Some(principal), SeenTool::of(&name, tool)).map(str::to_owned)
            });
        }
        server
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_secret::credentials::Secret;

    #[test]
    fn a_principal_sees_the_shape_of_its_own_answers() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        redactor.register([&Secret::new("tok_tok_tok")]).unwrap();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let of = |tool| SeenTool { server: "s", tool, definition: 1 };
        let note = |who: Option<&Arc<str>>, tool: &'static str, text: &str| {
            seen.note(who, of(tool), text.as_bytes(), &redactor)
        };
        note(Some(&ann), "t", r#"{"id": "T-1", "tok_tok_tok": 1}"#);
        note(Some(&ann), "t", r#"{"id": "T-2"}"#);
        let shape = seen.of(Some(&ann), of("t")).unwrap();
        assert!(shape.contains("\"id\" string") && shape.contains("[REDACTED]"), "{shape}");
        assert!(!shape.contains("T-1") && !shape.contains("other"), "{shape}");
        note(Some(&ann), "t", r#"{"other": true}"#);
        assert_eq!(seen.of(Some(&ann), of("t")), None, "nobody knows what the next answer is");
        for answer in ["[]", r#"[{"id": 1}]"#, "[]", "[]", "true"] {
            note(Some(&ann), "list", answer);
        }
        let shape = seen.of(Some(&ann), of("list"));
        assert_eq!(shape.as_deref(), Some(r#"[{"id" int}]"#), "later answers are not looked at");
        assert_eq!(seen.of(Some(&bob), of("list")), None);
        assert_eq!(seen.of(None, of("t")), None);
        note(None, "mail", r#"{"a@b.example": {"n": 1}, "c@d.example": {"n": 2}}"#);
        assert!(!seen.of(None, of("mail")).unwrap().contains("@"), "keys that are data do not show");
        note(None, "text", "plain");
        assert_eq!(seen.of(None, of("text")).as_deref(), Some("text"));
        assert_eq!(
            seen.of(None, SeenTool { definition: 2, ..of("text") }),
            None,
            "another tool of that name"
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        for i in 0..MAX_TOOLS + 5 {
            let tool = format!("t{i}");
            seen.note(None, SeenTool { server: "s", tool: &tool, definition: 1 }, b"{\"a\": 1}", &redactor);
        }
        for i in 0..MAX_PRINCIPALS + 5 {
            let tool = SeenTool { server: "s", tool: "t", definition: 1 };
            seen.note(Some(&format!("p{i}").into()), tool, b"{\"a\": 1}", &redactor);
        }
        let kept = seen.by_principal.read();
        assert_eq!(kept.named.len(), MAX_PRINCIPALS);
        assert_eq!(kept.nobody.servers.values().map(HashMap::len).sum::<usize>(), MAX_TOOLS);
        assert_eq!(kept.nobody.tools, MAX_TOOLS);
    }
}
