//! Session ids that contain all that the server needs to know of a conversation, so that no session is lost with its
//! process.
//!
//! Some clients never start a new session when a restarted server does not know theirs any more. If the server stores
//! nothing for a client but its kind, the id of the session says so: `ptc_2025-11-25_gemini_` and 16 random bytes.
//! Any process resumes a conversation by its id. The modes in which a client asks its user follow a dot:
//! `ptc_2025-11-25_gemini.fu_` for forms and URLs; `any` stands for a client without a known name. The id grants
//! nothing: the credentials of a request decide whose session it is.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use ptc_mcp::Revision;

use ptc_protocol::{ClientFacts, Elicitation, KnownClient};

/// Letters of 16 random bytes in base64url.
const RANDOM: usize = 22;

/// Stands for a client whose habits are not known.
const ANY: &str = "any";

/// Ids that are remembered as closed; the oldest are forgotten.
const REMEMBERED: usize = 1024;

/// The content of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// The revision negotiated.
    pub(super) revision: Revision,
    /// The facts about the client.
    pub(super) client: ClientFacts,
}

impl Facts {
    /// The id with this content and a random part.
    pub(super) fn id(self, random: &str) -> String {
        let name = self.client.known.map_or(ANY, KnownClient::name);
        let dot = if self.client.elicitation.is_any() { "." } else { "" };
        let modes = self.client.elicitation.letters();
        format!("ptc_{}_{name}{dot}{modes}_{random}", self.revision)
    }

    /// The content of an id; `None` if it is not a portable one.
    pub(super) fn of(id: &str) -> Option<Facts> {
        let (revision, rest) = id.strip_prefix("ptc_")?.split_once('_')?;
        let (client, random) = rest.split_once('_')?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (random.len() == RANDOM && random.bytes().all(is_letter)).then_some(())?;
        let revision = Revision::from_name(revision).filter(|revision| !revision.is_modern())?;
        let (name, elicitation) = match client.split_once('.') {
            None => (client, Elicitation::NONE),
            Some((name, letters)) => (name, Elicitation::of_letters(letters).filter(|modes| modes.is_any())?),
        };
        let known = if name == ANY { None } else { Some(KnownClient::named(name)?) };
        let client = ClientFacts { known, elicitation };
        client.is_any().then_some(Facts { revision, client })
    }
}

/// The ids that clients have closed lately: a request with one of them is refused as closed, as the protocol requires.
#[derive(Debug, Default)]
pub(super) struct ClosedIds {
    ids: HashSet<Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl ClosedIds {
    /// Adds an id.
    pub(super) fn add(&mut self, id: &Arc<str>) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.order.push_back(id.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    /// True if that id is closed.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_it_was_made_of() {
        let random = "abc_-DEFghi0123456789x";
        let gemini = KnownClient::named("gemini");
        let modes = |bits| Elicitation::of_bits(bits);
        for (known, elicitation, said) in
            [(gemini, modes(0), "gemini"), (gemini, modes(3), "gemini.fu"), (None, modes(1), "any.f")]
        {
            let client = ClientFacts { known, elicitation };
            let facts = Facts { revision: Revision::V2025_06_18, client };
            let id = facts.id(random);
            assert_eq!(id, format!("ptc_2025-06-18_{said}_abc_-DEFghi0123456789x"));
            assert_eq!(Facts::of(&id), Some(facts));
        }
        for other in [
            "",
            "ptc_",
            "mcp_2025-06-18_gemini_abc_-DEFghi0123456789x",
            "ptc_2026-07-28_gemini_abc_-DEFghi0123456789x",
            "ptc_2025-06-19_gemini_abc_-DEFghi0123456789x",
            "ptc_2025-06-18_nobody_abc_-DEFghi0123456789x",
            "ptc_2025-06-18_gemini_abc_-DEFghi0123456789",
            "ptc_2025-06-18_gemini_abc_-DEFghi0123456789xy",
            "ptc_2025-06-18_gemini_abc_-DEFghi012345678 x",
            "ptc_2025-06-18_gemini",
            "ptc_2025-06-18_any_abc_-DEFghi0123456789x",
            "ptc_2025-06-18_gemini._abc_-DEFghi0123456789x",
            "ptc_2025-06-18_gemini.uf_abc_-DEFghi0123456789x",
        ] {
            assert_eq!(Facts::of(other), None, "{other}");
        }
    }

    #[test]
    fn the_oldest_of_many_ended_ids_is_forgotten() {
        let mut ended = ClosedIds::default();
        let id = |number: usize| -> Arc<str> { number.to_string().into() };
        (0..=REMEMBERED).for_each(|number| ended.add(&id(number)));
        ended.add(&id(1));
        assert!(!ended.contains("0") && ended.contains("1") && ended.contains("1024"));
        assert_eq!((ended.ids.len(), ended.order.len()), (REMEMBERED, REMEMBERED));
    }
}
