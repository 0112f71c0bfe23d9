//! The shapes of answers of tools that describe none, as each principal has seen them: what `doc` adds (ruling 56).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::credentials::Redactor;
use crate::seen_shape::{SAMPLE_BYTES, seen_shape};
use crate::upstream::ReplyPayload;

/// Principals whose shapes are kept; a further one takes the place of another.
const MAX_PRINCIPALS: usize = 256;
/// Tools whose shapes are kept for one principal.
const MAX_TOOLS: usize = 256;

type Shapes = HashMap<(String, String), String>;

/// Keys and types of first answers, by principal: what one has been answered is no other's business.
#[derive(Debug, Default)]
pub(super) struct SeenShapes {
    by_principal: Mutex<HashMap<Option<Arc<str>>, Shapes>>,
}

impl SeenShapes {
    /// Keeps the shape of a successful answer, if it is the tool's first one for this principal and has a shape.
    pub(super) fn note(
        &self,
        principal: Option<&Arc<str>>,
        server: &str,
        tool: &str,
        payload: &ReplyPayload,
        redactor: &Redactor,
    ) {
        let (ReplyPayload::Json(bytes) | ReplyPayload::JsonOrText(bytes)) = payload else { return };
        let (principal, tool) = (principal.cloned(), (server.to_owned(), tool.to_owned()));
        let mut by_principal = self.by_principal.lock().unwrap_or_else(PoisonError::into_inner);
        if by_principal
            .get(&principal)
            .is_some_and(|seen| seen.len() >= MAX_TOOLS || seen.contains_key(&tool))
        {
            return;
        }
        let Some(shape) = seen_shape(&bytes[..bytes.len().min(SAMPLE_BYTES)]) else { return };
        if by_principal.len() >= MAX_PRINCIPALS && !by_principal.contains_key(&principal) {
            let other = by_principal.keys().next().cloned();
            other.map(|other| by_principal.remove(&other));
        }
        by_principal.entry(principal).or_default().insert(tool, redactor.scrub_string(shape));
    }

    /// The shape that this principal has seen.
    pub(super) fn of(&self, principal: Option<&Arc<str>>, server: &str, tool: &str) -> Option<String> {
        let by_principal = self.by_principal.lock().unwrap_or_else(PoisonError::into_inner);
        by_principal.get(&principal.cloned())?.get(&(server.to_owned(), tool.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Secret;

    fn json(text: &str) -> ReplyPayload {
        ReplyPayload::Json(text.to_owned().into())
    }

    #[test]
    fn a_principal_sees_the_first_shape_of_its_own_answers() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        redactor.register([&Secret::new("tok_tok_tok")]);
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let note = |who: Option<&Arc<str>>, tool: &str, text: &str| {
            seen.note(who, "s", tool, &json(text), &redactor)
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
        seen.note(None, "s", "text", &ReplyPayload::Text("plain".into()), &redactor);
        assert_eq!(seen.of(None, "s", "text"), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (seen, redactor) = (SeenShapes::default(), Redactor::new());
        for i in 0..MAX_TOOLS + 5 {
            seen.note(None, "s", &format!("t{i}"), &json("{\"a\": 1}"), &redactor);
        }
        for i in 0..MAX_PRINCIPALS + 5 {
            seen.note(Some(&format!("p{i}").into()), "s", "t", &json("{\"a\": 1}"), &redactor);
        }
        let kept = seen.by_principal.lock().unwrap();
        assert_eq!(kept.len(), MAX_PRINCIPALS);
        assert!(kept.values().all(|shapes| shapes.len() <= MAX_TOOLS));
    }
}
