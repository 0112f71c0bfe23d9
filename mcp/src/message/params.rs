//! The members of `params` and `_meta` that the protocol reads.

use super::{Member, set};
use crate::json::{JsonError, Raw, Scanner};
use crate::meta;

/// The members of `_meta` that the protocol reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'a> {
    /// The revision of a modern request.
    pub version: Option<Raw<'a>>,
    /// The client's capabilities of a modern request.
    pub capabilities: Option<Raw<'a>>,
    /// The token under which the client wants progress.
    pub progress_token: Option<Raw<'a>>,
    /// The client's identity in a modern request.
    pub client_info: Option<Raw<'a>>,
    /// The least severity of log messages that the client wants.
    pub log_level: Option<Raw<'a>>,
    /// The parent span of the request.
    pub trace_parent: Option<Raw<'a>>,
    /// What the systems of its trace have noted.
    pub trace_state: Option<Raw<'a>>,
}

/// The members of `params` that the protocol reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<'a> {
    /// `name` of `tools/call`.
    pub name: Option<Raw<'a>>,
    /// `arguments` of `tools/call`.
    pub arguments: Option<Raw<'a>>,
    /// `requestState` of a `tools/call` that continues an earlier one.
    pub request_state: Option<Raw<'a>>,
    /// `inputResponses` of such a call.
    pub input_responses: Option<Raw<'a>>,
    /// `protocolVersion` of `initialize`.
    pub protocol_version: Option<Raw<'a>>,
    /// `clientInfo` of `initialize`.
    pub client_info: Option<Raw<'a>>,
    /// `capabilities` of `initialize`.
    pub capabilities: Option<Raw<'a>>,
    /// `level` of `logging/setLevel`.
    pub level: Option<Raw<'a>>,
    /// `requestId` of `notifications/cancelled`.
    pub request_id: Option<Raw<'a>>,
    /// `taskId` of a request about a task, mirrored in `Mcp-Name`.
    pub task_id: Option<Raw<'a>>,
    /// `cursor` of a list.
    pub cursor: Option<Raw<'a>>,
    /// `uri` of `resources/read`, mirrored in `Mcp-Name`.
    pub uri: Option<Raw<'a>>,
    /// `ref` of `completion/complete`.
    pub reference: Option<Raw<'a>>,
    /// `argument` of `completion/complete`.
    pub argument: Option<Raw<'a>>,
    /// `context` of `completion/complete`.
    pub context: Option<Raw<'a>>,
    /// The notifications that a `subscriptions/listen` asks for.
    pub notifications: Option<Raw<'a>>,
    /// Whether `_meta` is there and an object.
    pub has_meta: bool,
    /// `_meta`
    pub meta: Meta<'a>,
}

/// The form of `params`.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::large_enum_variant, reason = "one for each message, and copied by nobody")]
pub enum ParamsMember<'a> {
    /// Not there.
    #[default]
    Absent,
    /// An object.
    Object(Params<'a>),
    /// Anything else, or an object that names a member twice.
    Invalid,
}

impl<'a> ParamsMember<'a> {
    /// The members, if `params` is an object.
    pub fn object(&self) -> Option<&Params<'a>> {
        match self {
            ParamsMember::Object(params) => Some(params),
            _ => None,
        }
    }
}

impl<'a> Member<'a> for ParamsMember<'a> {
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        read_params(scanner)
    }
}

fn read_params<'a>(scanner: &mut Scanner<'a>) -> Result<ParamsMember<'a>, JsonError> {
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(ParamsMember::Invalid);
    }
    let mut params = Params::default();
    let mut meta = None;
    let mut ambiguous = false;
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        let key = scanner.key()?;
        let slot = match &*key {
            "name" => &mut params.name,
            "arguments" => &mut params.arguments,
            "requestState" => &mut params.request_state,
            "inputResponses" => &mut params.input_responses,
            "protocolVersion" => &mut params.protocol_version,
            "clientInfo" => &mut params.client_info,
            "capabilities" => &mut params.capabilities,
            "level" => &mut params.level,
            "requestId" => &mut params.request_id,
            "taskId" => &mut params.task_id,
            "cursor" => &mut params.cursor,
            "uri" => &mut params.uri,
            "ref" => &mut params.reference,
            "argument" => &mut params.argument,
            "context" => &mut params.context,
            "notifications" => &mut params.notifications,
            "_meta" => {
                let read = read_meta(scanner, &mut ambiguous)?;
                set(&mut meta, read, &mut ambiguous);
                continue;
            }
            _ => {
                scanner.value()?;
                continue;
            }
        };
        set(slot, scanner.value()?, &mut ambiguous);
    }
    if let Some(Some(meta)) = meta {
        params.has_meta = true;
        params.meta = meta;
    }
    Ok(if ambiguous { ParamsMember::Invalid } else { ParamsMember::Object(params) })
}

fn read_meta<'a>(scanner: &mut Scanner<'a>, ambiguous: &mut bool) -> Result<Option<Meta<'a>>, JsonError> {
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(None);
    }
    let mut meta = Meta::default();
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        let key = scanner.key()?;
        let value = scanner.value()?;
        match &*key {
            meta::PROTOCOL_VERSION => set(&mut meta.version, value, ambiguous),
            meta::CLIENT_CAPABILITIES => set(&mut meta.capabilities, value, ambiguous),
            meta::CLIENT_INFO => set(&mut meta.client_info, value, ambiguous),
            meta::LOG_LEVEL => set(&mut meta.log_level, value, ambiguous),
            meta::TRACE_PARENT => set(&mut meta.trace_parent, value, ambiguous),
            meta::TRACE_STATE => set(&mut meta.trace_state, value, ambiguous),
            meta::PROGRESS_TOKEN => set(&mut meta.progress_token, value, ambiguous),
            _ => {}
        }
    }
    Ok(Some(meta))
}
