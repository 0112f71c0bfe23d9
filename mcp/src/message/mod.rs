//! One JSON-RPC message, read in one pass over its text: classified by its members, payloads left as text.
//!
//! Both sides read by [`Envelope`] but interpret it differently. A server is [`strict`], since a proxy in front may
//! read an ambiguous message in another way. A client is [`lenient`], since it has to work with existing servers.
//!
//! * [`outline`] — where the parts of a tool's result lie.
//! * [`params`] — the members of `params` that the protocol reads.
//! * [`id`] — ids of requests, to be echoed by a server and recognised by a client.

pub mod id;
pub mod lenient;
pub mod outline;
pub mod params;
pub mod strict;

use std::borrow::Cow;

use crate::json::{JsonError, Raw, Scanner};

/// A message, its members in the form that one side wants them in.
#[derive(Debug, Default)]
pub struct Envelope<'a, Id, Params, Answer = Option<&'a str>> {
    /// `id`
    pub id: Id,
    /// Whether `jsonrpc` is `"2.0"` and no member of the envelope appears twice.
    pub well_formed: bool,
    /// `method`; an inner `None` if it is no string.
    pub method: Option<Option<Cow<'a, str>>>,
    /// `params`
    pub params: Params,
    /// `result`
    pub result: Answer,
    /// `error` as written.
    pub error: Option<&'a str>,
}

impl<Id, Params> Envelope<'_, Id, Params> {
    /// Whether it carries `result` or `error`: the response to a request.
    pub fn is_response(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }
}

/// A member in the form that one side wants it in. Its default is that it is not there.
pub trait Member<'a>: Default {
    /// Reads the value at the cursor.
    ///
    /// # Errors
    /// The text is not acceptable JSON.
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError>;
}

/// As written.
impl<'a> Member<'a> for Option<&'a str> {
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        Ok(Some(scanner.value()?.text()))
    }
}

/// The members of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberName {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl MemberName {
    fn of(name: &str) -> MemberName {
        match name {
            "jsonrpc" => MemberName::Jsonrpc,
            "id" => MemberName::Id,
            "method" => MemberName::Method,
            "params" => MemberName::Params,
            "result" => MemberName::Result,
            "error" => MemberName::Error,
            _ => MemberName::Other,
        }
    }
}

/// Reads the message at the cursor. Members that the protocol does not know are skipped; of one that appears twice the
/// last counts.
fn read_envelope<'a, Id, Params, Answer>(
    scanner: &mut Scanner<'a>,
) -> Result<Envelope<'a, Id, Params, Answer>, JsonError>
where
    Id: Member<'a>,
    Params: Member<'a>,
    Answer: Member<'a>,
{
    let (mut jsonrpc, mut id, mut method, mut params) = (None, None, None, None);
    let (mut result, mut error) = (Answer::default(), None);
    let mut twice = false;
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        match MemberName::of(&scanner.key()?) {
            MemberName::Jsonrpc => set(&mut jsonrpc, scanner.value()?, &mut twice),
            MemberName::Id => set(&mut id, Id::read(scanner)?, &mut twice),
            MemberName::Method => set(&mut method, scanner.value()?, &mut twice),
            MemberName::Params => set(&mut params, Params::read(scanner)?, &mut twice),
            MemberName::Result => result = Answer::read(scanner)?,
            MemberName::Error => error = Some(scanner.value()?.text()),
            MemberName::Other => {
                scanner.value()?;
            }
        }
    }
    Ok(Envelope {
        id: id.unwrap_or_default(),
        well_formed: !twice && jsonrpc.and_then(Raw::as_str).as_deref() == Some("2.0"),
        method: method.map(Raw::as_str),
        params: params.unwrap_or_default(),
        result,
        error,
    })
}

/// Sets a member; notes in `twice` if it was there already.
fn set<T>(slot: &mut Option<T>, value: T, twice: &mut bool) {
    *twice |= slot.is_some();
    *slot = Some(value);
}
