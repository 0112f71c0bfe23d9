//! Session ids that any replica can resume (state.md 5.2). An id contains the facts of a conversation, sealed with
//! the operator's secret. The credentials of a request authenticate its caller; the seal proves that the id is ours
//! and who its principal is.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_host::digest::sha256;
use ptc_host::state::{Seals, Secret, time_of_day};
use ptc_mcp::Revision;

use ptc_protocol::principal::Principal;
use ptc_protocol::{ClientFacts, Elicitation, KnownClient};

/// The prefix of such an id.
const PREFIX: &str = "mcp_";
/// Longest id.
const MAX: usize = 160;
/// The version of the sealed format.
const FORM: u8 = 1;
/// The purpose of the seal.
const PLACE: &[u8] = b"http session";
/// Bytes of the digest of a principal's name.
const OWNER: usize = 16;
/// Random bytes of an id.
const RANDOM: usize = 8;

/// Makes and opens sealed ids.
#[derive(Debug)]
pub(super) struct SealedIds(Seals);

/// The content of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdContent {
    /// The revision negotiated.
    pub(super) revision: Revision,
    /// The facts about the client.
    pub(super) client: ClientFacts,
    /// The age of the conversation, by the clock of the store.
    pub(super) age: Duration,
}

impl SealedIds {
    pub(super) fn new(secret: &Secret) -> SealedIds {
        SealedIds(Seals::new(secret, Seals::SESSION_ID))
    }

    /// An id for a conversation of `principal` that begins now; `None` if the system returns no random bytes.
    ///
    /// The format: version, modes of elicitation, revision and name of the client with their lengths, digest of the
    /// principal, Unix seconds, random bytes.
    pub(super) fn make(
        &self,
        principal: &Principal,
        revision: Revision,
        client: ClientFacts,
    ) -> Option<String> {
        let mut random = [0; RANDOM];
        getrandom::fill(&mut random).ok()?;
        let name = client.known.map_or("", KnownClient::name);
        let mut told = vec![FORM, client.elicitation.bits()];
        for text in [revision.name(), name] {
            told.push(u8::try_from(text.len()).ok()?);
            told.extend_from_slice(text.as_bytes());
        }
        told.extend_from_slice(&owner(principal));
        told.extend_from_slice(&now().to_be_bytes());
        told.extend_from_slice(&random);
        let id = PREFIX.to_owned() + &URL_SAFE_NO_PAD.encode(self.0.seal(&told, PLACE)?);
        (id.len() <= MAX).then_some(id)
    }

    /// The content of an id of ours that belongs to `principal`; `None` for every other id.
    pub(super) fn open(&self, id: &str, principal: &Principal) -> Option<IdContent> {
        let sealed = id.strip_prefix(PREFIX).filter(|_| id.len() <= MAX)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let told = self.0.open(&sealed, PLACE).ok()?;
        let (head, rest) = told.split_at_checked(2)?;
        if head[0] != FORM {
            return None;
        }
        let (revision, rest) = text(rest)?;
        let (name, rest) = text(rest)?;
        let (of, rest) = rest.split_at_checked(OWNER)?;
        let (began, random) = rest.split_at_checked(8)?;
        if of != owner(principal) || random.len() != RANDOM {
            return None;
        }
        let revision = Revision::from_name(revision).filter(|revision| !revision.is_modern())?;
        let known = match name {
            "" => None,
            // A client that only another build knows gets no special treatment here.
            name => KnownClient::named(name),
        };
        // If this clock is behind the clock of the other replica, the age is zero.
        let age = now().saturating_sub(u64::from_be_bytes(began.try_into().ok()?));
        let client = ClientFacts { known, elicitation: Elicitation::of_bits(head[1]) };
        Some(IdContent { revision, client, age: Duration::from_secs(age) })
    }
}

/// A length-prefixed text, and the rest.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

fn owner(principal: &Principal) -> [u8; OWNER] {
    let mut digest = [0; OWNER];
    digest.copy_from_slice(&sha256(principal.name().as_bytes())[..OWNER]);
    digest
}

/// Unix seconds, by the clock that all replicas share.
fn now() -> u64 {
    time_of_day() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(secrets: &[&[u8]]) -> SealedIds {
        SealedIds::new(&Secret::of(secrets).unwrap())
    }

    const OLD: &[u8] = b"an old secret of at least 32 bytes";
    const NEW: &[u8] = b"a newer secret of at least 32 bytes";

    #[test]
    fn an_id_is_read_by_every_replica_of_its_principal_and_by_nobody_else() {
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let both = Elicitation { form: true, url: true };
        let gemini = ClientFacts { known: KnownClient::named("gemini"), elicitation: both };
        let nobody = ClientFacts::default();
        for (revision, client) in [(Revision::V2024_11_05, nobody), (Revision::V2025_11_25, gemini)] {
            let id = ids(&[OLD]).make(&alice, revision, client).unwrap();
            assert!(id.starts_with("mcp_") && id.len() <= 160, "{id}");
            let told = ids(&[NEW, OLD]).open(&id, &alice).unwrap();
            assert_eq!((told.revision, told.client), (revision, client));
            assert!(told.age < Duration::from_secs(60));
            assert_eq!(ids(&[OLD]).open(&id, &bob), None);
            // A key that was rotated out opens no id.
            assert_eq!(ids(&[NEW]).open(&id, &alice), None);
            for at in 0..id.len() {
                let mut changed = id.clone().into_bytes();
                changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(changed).unwrap();
                assert_eq!(ids(&[OLD]).open(&changed, &alice), None, "{at}");
                assert_eq!(ids(&[OLD]).open(&id[..at], &alice), None, "{at}");
            }
        }
        assert_eq!(ids(&[OLD]).open("", &alice), None);
        assert_eq!(ids(&[OLD]).open(&format!("mcp_{}", "A".repeat(10 << 10)), &alice), None);
    }
}
