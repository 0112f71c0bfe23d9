//! The names of records.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::OnceLock;

use ptc_secret::digest::hex_digest;

/// Hex digits of a principal's digest.
pub(super) const PRINCIPAL_DIGITS: usize = 32;
/// Hex digits of a conversation's digest.
pub(super) const CONVERSATION_DIGITS: usize = 16;
/// Between the digest of a conversation and an id; no id has it.
pub(super) const SEPARATOR: char = '.';

/// Longest id, in bytes.
pub const MAX_ID: usize = 128;

/// Whether `id` can be the id of a record: 1 to [`MAX_ID`] of `[A-Za-z0-9_-]`. Untrusted ids are checked before a key is made
/// of them, so that none reaches into another key.
#[must_use]
pub fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(fits)
}

/// The owner of records: a principal and, for records of a single conversation of it, that conversation.
///
/// The bytes of a principal are counted over all its conversations. Records of one owner are invisible to every other.
#[derive(Clone)]
pub struct Owner {
    principal: Arc<str>,
    conversation: Option<Arc<str>>,
    /// Digests of these, for this value and its clones: every access to a store that outlives the process needs them.
    names: Arc<OnceLock<OwnerNames>>,
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Owner {}

impl Hash for Owner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialOrd for Owner {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Owner {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// The id of a conversation is a credential.
impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conversation = self.conversation.as_ref().map(|_| "…");
        f.debug_struct("Owner")
            .field("principal", &self.principal)
            .field("conversation", &conversation)
            .finish()
    }
}

impl Owner {
    /// The principal of that name.
    pub fn principal(name: impl Into<Arc<str>>) -> Self {
        Self::of(name.into(), None)
    }

    /// One conversation of the principal of that name: an HTTP session of the handshake era.
    pub fn conversation(name: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self::of(name.into(), Some(id.into()))
    }

    fn of(principal: Arc<str>, conversation: Option<Arc<str>>) -> Self {
        Self { principal, conversation, names: Arc::default() }
    }

    fn parts(&self) -> (&Arc<str>, &Option<Arc<str>>) {
        (&self.principal, &self.conversation)
    }

    /// Its names in a store that outlives the process.
    pub(super) fn names(&self) -> &OwnerNames {
        self.names.get_or_init(|| OwnerNames::of(self))
    }

    /// The name of the principal.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.principal
    }

    /// The conversation, if the owner is one.
    #[must_use]
    pub fn conversation_id(&self) -> Option<&Arc<str>> {
        self.conversation.as_ref()
    }
}

/// An owner's names in a store.
pub(super) struct OwnerNames {
    /// The name of its principal.
    pub(super) principal: String,
    /// The prefix of the ids of its records.
    pub(super) prefix: String,
}

impl OwnerNames {
    fn of(owner: &Owner) -> Self {
        let prefix = match owner.conversation_id() {
            Some(conversation) => format!("{}{SEPARATOR}", hex_digest(conversation, CONVERSATION_DIGITS)),
            None => String::new(),
        };
        Self { principal: hex_digest(owner.name(), PRINCIPAL_DIGITS), prefix }
    }
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The content of a session.
    Session,
    /// A run that waits, runs for long or has ended; its inbox has the same id.
    Run,
    /// Data too large to travel with a client.
    Blob,
    /// A sign-in to an upstream.
    SignIn,
    /// An HTTP session of the handshake era. Only its end is kept.
    HttpSession,
    /// Approved kept programs: their lock and their texts.
    Program,
    /// A program that a model has proposed.
    Draft,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] =
        [Kind::Session, Kind::Run, Kind::Blob, Kind::SignIn, Kind::HttpSession, Kind::Program, Kind::Draft];

    /// Its letter in the keys of stores.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Kind::Session => 's',
            Kind::Run => 'r',
            Kind::Blob => 'b',
            Kind::SignIn => 'a',
            Kind::HttpSession => 'h',
            Kind::Program => 'p',
            Kind::Draft => 'd',
        }
    }

    /// The kind of that letter.
    #[cfg(feature = "stores")]
    pub(super) fn lettered(letter: char) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    /// Its word for operators.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Session => "session",
            Kind::Run => "run",
            Kind::Blob => "blob",
            Kind::SignIn => "sign-in",
            Kind::HttpSession => "http-session",
            Kind::Program => "program",
            Kind::Draft => "draft",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether its records count as bytes of their owner (state.md 3).
    #[must_use]
    pub const fn is_counted(self) -> bool {
        matches!(self, Kind::Session | Kind::Run | Kind::Blob)
    }
}

/// The text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to 128 of [A-Za-z0-9_-]")]
pub struct BadId;

/// The name of a record. It begins with the owner: nothing is found by its id alone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    owner: Owner,
    kind: Kind,
    id: Arc<str>,
}

/// Ids are handed to clients as secrets.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("owner", &self.owner).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Key {
    /// The key of the record `id` of `owner`.
    ///
    /// # Errors
    /// [`BadId`] if `id` is invalid ([`is_id`]).
    pub fn new(owner: &Owner, kind: Kind, id: impl Into<Arc<str>>) -> Result<Self, BadId> {
        let id = id.into();
        if is_id(&id) { Ok(Self { owner: owner.clone(), kind, id }) } else { Err(BadId) }
    }

    /// Whose record it is.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The kind of its record.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reaches_into_no_other_key() {
        let owner = Owner::principal("alice");
        for good in ["a", "ses_0-Z", &"x".repeat(MAX_ID)] {
            assert!(Key::new(&owner, Kind::Session, good).is_ok(), "{good}");
        }
        for bad in ["", "a}", "a b", "a:b", "a.b", "ä", "a\n", &"x".repeat(MAX_ID + 1), &"x".repeat(10 << 10)]
        {
            assert_eq!(Key::new(&owner, Kind::Session, bad), Err(BadId), "{bad}");
        }
    }

    #[test]
    fn words_and_letters_tell_kinds_apart() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.as_str()), Some(kind));
        }
        let letters: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.letter()).collect();
        assert_eq!(letters.len(), Kind::ALL.len());
        assert_eq!(Kind::named("s"), None);
    }

    #[test]
    fn neither_ids_nor_conversations_are_shown() {
        let owner = Owner::conversation("alice", "mcp_secret");
        let key = Key::new(&owner, Kind::Session, "ses_secret").unwrap();
        assert!(!format!("{key:?}").contains("secret"));
    }
}
