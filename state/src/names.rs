//! How records are called in stores that outlive the process: by digests of their owners.

#[cfg(feature = "stores")]
use super::Owner;
use super::key::{CONVERSATION_DIGITS, OwnerNames, PRINCIPAL_DIGITS, SEPARATOR};
use super::{Key, Listed, StateError, is_id};

/// A principal's name in a store.
#[cfg(feature = "stores")]
pub(super) fn principal_name(owner: &Owner) -> String {
    owner.names().principal.clone()
}

/// The prefix of the ids of an owner's records.
#[cfg(feature = "stores")]
pub(super) fn id_prefix(owner: &Owner) -> String {
    owner.names().prefix.clone()
}

/// A record's name: the name of its principal, and its id with that of its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) principal: String,
    pub(super) letter: char,
    pub(super) id: String,
}

impl Name {
    pub(super) fn of(key: &Key) -> Name {
        let OwnerNames { principal, prefix } = key.owner().names();
        let id = [prefix, &**key.id()].concat();
        Name { principal: principal.clone(), letter: key.kind().letter(), id }
    }

    /// The name of a record that such a store has listed.
    pub(super) fn of_listed(listed: &Listed) -> Result<Name, StateError> {
        let is_hex = |text: &str, digits: usize| {
            text.len() == digits
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let conversation_fits =
            listed.conversation.as_ref().is_none_or(|text| is_hex(text, CONVERSATION_DIGITS));
        if !is_hex(&listed.owner, PRINCIPAL_DIGITS) || !conversation_fits || !is_id(&listed.id) {
            return Err(StateError::Corrupt);
        }
        let id = match &listed.conversation {
            Some(conversation) => format!("{conversation}{SEPARATOR}{}", listed.id),
            None => listed.id.to_string(),
        };
        Ok(Name { principal: listed.owner.to_string(), letter: listed.kind.letter(), id })
    }

    /// Where something is sealed for: the record, and the version of its content.
    pub(super) fn place(&self, version: u64) -> Vec<u8> {
        format!("record\0{}\0{}\0{}\0{version}", self.principal, self.letter, self.id).into_bytes()
    }

    /// Where the messages of a run's inbox are sealed for.
    pub(super) fn inbox(&self) -> Vec<u8> {
        format!("inbox\0{}\0{}", self.principal, self.id).into_bytes()
    }
}

/// The digest of a conversation, if there is one, and the id of a name's last part; `None` if it is not ours.
#[cfg(feature = "stores")]
pub(super) fn split_id(id: &str) -> Option<(Option<&str>, &str)> {
    match id.split_once(SEPARATOR) {
        Some((conversation, id)) => {
            (conversation.len() == CONVERSATION_DIGITS && is_id(id)).then_some((Some(conversation), id))
        }
        None => is_id(id).then_some((None, id)),
    }
}
