//! The shapes of answers of tools that describe none, as each principal has seen them: what `doc` adds (ruling 56).

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::credentials::Redactor;
use crate::seen_shape::seen_shape;

/// Principals whose shapes are kept; a further one takes the place of another.
const MAX_PRINCIPALS: usize = 256;
/// Tools whose shapes are kept for one principal.
const MAX_TOOLS: usize = 256;

/// Keys and types of first answers, by principal: what one has been answered is no other's business.
#[derive(Debug, Default)]
pub(super) struct SeenShapes {
    by_principal: RwLock<ByPrincipal>,
}

#[derive(Debug, Default)]
struct ByPrincipal {
    named: HashMap<Arc<str>, Shapes>,
    /// Those of calls that are made on nobody's behalf.
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
    servers: HashMap<String, HashMap<String, String>>,
    tools: usize,
}

impl Shapes {
    fn of(&self, server: &str, tool: &str) -> Option<&String> {
        self.servers.get(server)?.get(tool)
    }

    /// Whether another answer of this tool adds nothing.
    fn is_settled(&self, server: &str, tool: &str) -> bool {
        self.tools >= MAX_TOOLS || self.of(server, tool).is_some()
    }

    fn keep(&mut self, server: &str, tool: &str, shape: String) {
        self.servers.entry(server.to_owned()).or_default().insert(tool.to_owned(), shape);
        self.tools += 1;
    }
}

impl SeenShapes {
    /// Keeps the shape of a successful answer whose JSON begins with `json`, if it is the tool's first one for this
    /// principal and has a shape. Most answers are not the first: these share the lock and allocate nothing.
    pub(super) fn note(
        &self,
        principal: Option<&Arc<str>>,
        server: &str,
        tool: &str,
        json: &[u8],
        redactor: &Redactor,
    ) {
        {
            let kept = self.by_principal.read().unwrap_or_else(PoisonError::into_inner);
            if kept.of(principal).is_some_and(|shapes| shapes.is_settled(server, tool)) {
                return;
            }
        }
        let Some(shape) = seen_shape(json) else { return };
        let shape = redactor.scrub_string(shape);
        let mut kept = self.by_principal.write().unwrap_or_else(PoisonError::into_inner);
        let shapes = kept.open(principal);
        // Another answer may have been first meanwhile.
        if !shapes.is_settled(server, tool) {
            shapes.keep(server, tool, shape);
        }
    }

    /// The shape that this principal has seen.
    pub(super) fn of(&self, principal: Option<&Arc<str>>, server: &str, tool: &str) -> Option<String> {
        let kept = self.by_principal.read().unwrap_or_else(PoisonError::into_inner);
        kept.of(principal)?.of(server, tool).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Secret;

    #[test]
    fn a_principal_sees_the_first_shape_of_its_own_answers() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        redactor.register([&Secret::new("tok_tok_tok")]).unwrap();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let note = |who: Option<&Arc<str>>, tool: &str, text: &str| {
            seen.note(who, "s", tool, text.as_bytes(), &redactor)
        };
        note(Some(&ann), "t", r#"{"id": "T-1", "tok_tok_tok": 1}"#);
        note(Some(&ann), "t", r#"{"other": true}"#);
        let shape = seen.of(Some(&ann), "s", "t").unwrap();
        assert!(shape.contains("\"id\" string") && shape.contains("[REDACTED]"), "{shape}");
        assert!(!shape.contains("T-1") && !shape.contains("other"), "{shape}");
        assert_eq!(seen.of(Some(&bob), "s", "t"), None);
        assert_eq!(seen.of(None, "s", "t"), None);
        note(None, "mail", r#"{"a@b.example": {"n": 1}, "c@d.example": {"n": 2}}"#);
        assert!(!seen.of(None, "s", "mail").unwrap().contains("@"), "keys that are data do not show");
        note(None, "text", "plain");
        assert_eq!(seen.of(None, "s", "text"), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        for i in 0..MAX_TOOLS + 5 {
            seen.note(None, "s", &format!("t{i}"), b"{\"a\": 1}", &redactor);
        }
        for i in 0..MAX_PRINCIPALS + 5 {
            seen.note(Some(&format!("p{i}").into()), "s", "t", b"{\"a\": 1}", &redactor);
        }
        let kept = seen.by_principal.read().unwrap();
        assert_eq!(kept.named.len(), MAX_PRINCIPALS);
        assert_eq!(kept.nobody.servers.values().map(HashMap::len).sum::<usize>(), MAX_TOOLS);
        assert_eq!(kept.nobody.tools, MAX_TOOLS);
    }
}
