//! The messages that start a connection in each era, and the parsing of a server's answer.
//!
//! The *handshake* era (2024-11-05 to 2025-11-25) negotiates once with `initialize`; the *modern* era (2026-07-28)
//! carries version, identity and capabilities in `_meta` of every request.

use ptc_mcp::encode::push_string;
use ptc_mcp::meta::{LOG_LEVEL, PROGRESS_TOKEN, SERVER_INFO, TRACE_PARENT, TRACE_STATE};
use ptc_mcp::text::clip;
use ptc_mcp::trace_context::TraceContext;
use ptc_mcp::{ClientInfo, Era, LogLevel, Revision, RpcError};
use serde_json::value::RawValue;

use crate::upstream::{
    CallFault, Elicitation, ElicitationMode, Introduction, MAX_INPUT_REQUESTS, NotAskable, Unfinished,
};

/// The modern revision that we speak.
pub(crate) const MODERN_VERSION: &str = Revision::LATEST.name();
/// Our version.
pub(crate) const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The client's identity.
const CLIENT: ClientInfo<'_> = ClientInfo { name: "ptc_runner", version: CLIENT_VERSION };

/// `params` of `initialize` with these capabilities, the text of a JSON object.
pub(crate) fn initialize_params(capabilities: &str) -> Vec<u8> {
    CLIENT.initialize_params_with(capabilities)
}

/// `_meta` of every modern request.
pub(crate) fn modern_meta() -> Vec<u8> {
    CLIENT.modern_meta()
}

/// `_meta` of a modern request that declares these capabilities, the text of a JSON object.
pub(crate) fn modern_meta_with(capabilities: &str) -> Vec<u8> {
    CLIENT.modern_meta_with(capabilities)
}

/// `_meta` of a request with its trace; `meta` is its other members, the text of a JSON object, if it has any.
pub(crate) fn traced_meta(meta: Option<&[u8]>, trace: &TraceContext) -> Vec<u8> {
    let mut out = meta.and_then(|meta| meta.strip_suffix(b"}")).unwrap_or(b"{").to_vec();
    let state = trace.state.as_deref();
    for (name, value) in [(TRACE_PARENT, Some(&*trace.parent())), (TRACE_STATE, state)] {
        let Some(value) = value else { continue };
        if out.len() > 1 {
            out.push(b',');
        }
        push_string(&mut out, name);
        out.push(b':');
        push_string(&mut out, value);
    }
    out.push(b'}');
    out
}

/// `_meta` of a request that asks for progress under `token`, and in the modern era declares these capabilities and asks
/// for log messages of a severity from `level` on; in the other one that is done once. `None` where it would be empty.
pub(crate) fn meta_of(
    era: Era,
    token: Option<u64>,
    level: Option<LogLevel>,
    capabilities: &str,
) -> Option<Vec<u8>> {
    let mut out = match era {
        Era::Handshake => vec![b'{'],
        Era::Modern => {
            let mut out = modern_meta_with(capabilities);
            out.pop();
            out
        }
    };
    let member = |out: &mut Vec<u8>, name: &str, value: String| {
        if out.len() > 1 {
            out.push(b',');
        }
        push_string(out, name);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    };
    if let Some(token) = token {
        member(&mut out, PROGRESS_TOKEN, token.to_string());
    }
    if let Some(level) = level.filter(|_| era == Era::Modern) {
        member(&mut out, LOG_LEVEL, format!("\"{level}\""));
    }
    out.push(b'}');
    (out.len() > 2).then_some(out)
}

/// `params` of `logging/setLevel`.
pub(crate) fn set_level_params(level: LogLevel) -> Vec<u8> {
    format!("{{\"level\":\"{level}\"}}").into_bytes()
}

/// Whether a revision of that name is published and begins with a handshake.
pub(crate) fn has_handshake(version: &str) -> bool {
    Revision::from_name(version).is_some_and(|revision| !revision.is_modern())
}

/// `params` with only the members that the era requires, and the cursor of a list.
pub(crate) fn params(era: Era, cursor: Option<&str>) -> Vec<u8> {
    let mut out = vec![b'{'];
    if let Some(cursor) = cursor {
        out.extend_from_slice(b"\"cursor\":");
        push_string(&mut out, cursor);
    }
    if era == Era::Modern {
        if cursor.is_some() {
            out.push(b',');
        }
        out.extend_from_slice(b"\"_meta\":");
        out.extend_from_slice(&modern_meta());
    }
    out.push(b'}');
    out
}

/// Declares that calls may be answered with tasks.
pub(crate) const TASKS: &str = r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#;

/// `params` of a request of this method with these members, which are the text of a JSON object.
pub(crate) fn params_with(era: Era, method: &str, members: &[u8], trace: Option<&TraceContext>) -> Vec<u8> {
    let inner = members.trim_ascii().strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    let inner = inner.unwrap_or_default().trim_ascii();
    let mut out = vec![b'{'];
    out.extend_from_slice(inner);
    let meta = match (era, method.starts_with("tasks/")) {
        (Era::Handshake, _) => None,
        (Era::Modern, true) => Some(modern_meta_with(&format!("{{{TASKS}}}"))),
        (Era::Modern, false) => Some(modern_meta()),
    };
    let meta = trace.map(|trace| traced_meta(meta.as_deref(), trace)).or(meta);
    if let Some(meta) = meta {
        if !inner.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(b"\"_meta\":");
        out.extend_from_slice(&meta);
    }
    out.push(b'}');
    out
}

/// `params` of a `subscriptions/listen` for changes of all lists.
pub(crate) fn listen_params() -> Vec<u8> {
    let mut out = b"{\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true,\
        \"promptsListChanged\":true},\"_meta\":"
        .to_vec();
    out.extend_from_slice(&modern_meta());
    out.push(b'}');
    out
}

/// A server's self-description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerHello {
    /// The revision to speak from now on.
    pub(crate) version: Box<str>,
    /// Whether it announces changes of its lists.
    pub(crate) announces: bool,
    /// Whether it accepts a log level.
    pub(crate) logs: bool,
    /// Its description of itself.
    pub(crate) introduction: Introduction,
}

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct HelloMembers {
    protocol_version: ptc_mcp::json::Value,
    supported_versions: ptc_mcp::json::Value,
    capabilities: ptc_mcp::json::Value,
    server_info: ptc_mcp::json::Value,
    instructions: ptc_mcp::json::Value,
    #[serde(rename = "_meta")]
    meta: ptc_mcp::json::Value,
}

impl HelloMembers {
    #[expect(clippy::disallowed_methods, reason = "entry point: HelloMembers.read")]
    fn read(result: &[u8]) -> Self {
        serde_json::from_slice(result).unwrap_or_default()
    }

    fn announces(&self) -> bool {
        let lists = ["tools", "resources", "prompts"];
        let changing = lists.iter().any(|list| self.capabilities[*list]["listChanged"] == true);
        changing || self.capabilities["resources"]["subscribe"] == true
    }

    fn logs(&self) -> bool {
        self.capabilities["logging"].is_object()
    }

    /// The handshake era names the server in the result, the modern one in its `_meta`.
    fn introduction(&self) -> Introduction {
        let server_info = match &self.server_info {
            ptc_mcp::json::Value::Null => &self.meta[SERVER_INFO],
            named => named,
        };
        Introduction::read(server_info, &self.instructions, &self.capabilities)
    }
}

/// Reads the result of `initialize`. `any_version` accepts revisions that we do not know.
///
/// # Errors
/// A sentence with the server's answer.
pub(crate) fn read_initialize(result: &[u8], any_version: bool) -> Result<ServerHello, String> {
    let members = HelloMembers::read(result);
    let Some(version) = members.protocol_version.as_str() else {
        return Err(format!("initialize returned unexpected payload {}", render(result)));
    };
    if !any_version && !has_handshake(version) {
        let (version, ours) = (clip(version, 40), Revision::LATEST_HANDSHAKE);
        return Err(format!("protocol version mismatch: server={version} client={ours}"));
    }
    Ok(ServerHello {
        version: version.into(),
        announces: members.announces(),
        logs: members.logs(),
        introduction: members.introduction(),
    })
}

/// Reads the result of `server/discover`; `None` if it is no such result or offers no revision of ours.
pub(crate) fn read_discover(result: &[u8]) -> Option<ServerHello> {
    let members = HelloMembers::read(result);
    let versions = members.supported_versions.as_array()?;
    versions.iter().any(|version| version == MODERN_VERSION).then(|| ServerHello {
        version: MODERN_VERSION.into(),
        announces: members.announces(),
        logs: members.logs(),
        introduction: members.introduction(),
    })
}

/// The revisions that an unsupported-version error offers.
#[expect(clippy::disallowed_methods, reason = "entry point: supported_versions()")]
pub(crate) fn supported_versions(error_data: Option<&str>) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error_data.and_then(|data| serde_json::from_str::<Data>(data).ok()).map_or_else(Vec::new, |d| d.supported)
}

/// The fault of a request that the server answered with this error, of so many bytes.
pub(crate) fn rpc_fault(error: RpcError, bytes: u64) -> CallFault {
    let pages = match error.code {
        RpcError::URL_ELICITATION_REQUIRED => pages(error.data.as_deref()),
        _ => None,
    };
    let mut fault = CallFault::upstream_error(error.message).with_bytes(bytes);
    fault.rpc_code = Some(error.code);
    match pages {
        Some(pages) => fault.unfinished(Unfinished::Pages(pages)),
        None => fault,
    }
}

/// The pages that an error `-32042` wants to be visited first.
#[expect(clippy::disallowed_methods, reason = "entry point: pages()")]
fn pages(data: Option<&str>) -> Option<Vec<Result<Elicitation, NotAskable>>> {
    #[derive(serde::Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        elicitations: Vec<&'a RawValue>,
    }
    let data: Data<'_> = serde_json::from_str(data?).ok()?;
    let read = |page: &&RawValue| {
        let page = Elicitation::read(page.get())?;
        match page.mode {
            ElicitationMode::Url(_) => Ok(page),
            ElicitationMode::Form(_) => Err(NotAskable("it is no page".to_owned())),
        }
    };
    let pages: Vec<_> = match data.elicitations.len() > MAX_INPUT_REQUESTS {
        true => vec![Err(NotAskable(format!("it names more than {MAX_INPUT_REQUESTS} pages")))],
        false => data.elicitations.iter().map(read).collect(),
    };
    (!pages.is_empty()).then_some(pages)
}

/// Whether a server refuses a request for its revision and yet offers the very one that the request was in. It has not
/// run the request, which may be sent once more: a server of several processes may be in the middle of an update.
pub(crate) fn offers_it_all_the_same(error: &RpcError, revision: &str) -> bool {
    error.code == RpcError::UNSUPPORTED_VERSION
        && supported_versions(error.data.as_deref()).iter().any(|offered| offered == revision)
}

/// The revision that a request of this era is in as long as nothing is agreed on.
pub(crate) fn own_revision(era: Era) -> &'static str {
    match era {
        Era::Handshake => Revision::LATEST_HANDSHAKE.name(),
        Era::Modern => MODERN_VERSION,
    }
}

/// A short rendering of JSON for a message.
pub(crate) fn render(json: &[u8]) -> String {
    clip(&String::from_utf8_lossy(json), 120)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::upstream::Offers;

    #[test]
    fn a_trace_goes_on_in_meta_of_both_eras() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = TraceContext::parse(parent, Some("a=b")).unwrap();
        let read = |text: &[u8]| serde_json::from_slice::<ptc_mcp::json::Value>(text).unwrap();
        let alone = json!({"traceparent": parent, "tracestate": "a=b"});
        assert_eq!(read(&traced_meta(None, &trace)), alone);
        assert_eq!(read(&params_with(Era::Handshake, "m", b"{}", Some(&trace))), json!({"_meta": alone}));
        let modern = read(&params_with(Era::Modern, "m", b"{\"uri\":\"u\"}", Some(&trace)));
        assert_eq!((&modern["uri"], &modern["_meta"]["traceparent"]), (&json!("u"), &json!(parent)));
        assert_eq!(modern["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let stateless = TraceContext { state: None, ..trace };
        assert_eq!(
            read(&traced_meta(Some(b"{\"a\":1}"), &stateless)),
            json!({"a": 1, "traceparent": parent})
        );
    }

    #[test]
    fn params_are_json_in_both_eras() {
        assert_eq!(params(Era::Handshake, None), b"{}");
        assert_eq!(params(Era::Handshake, Some("a\"b")), br#"{"cursor":"a\"b"}"#);
        for cursor in [None, Some("x")] {
            let value: ptc_mcp::json::Value = serde_json::from_slice(&params(Era::Modern, cursor)).unwrap();
            assert_eq!(value["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(value["_meta"]["io.modelcontextprotocol/clientCapabilities"], json!({}));
            assert_eq!(value.get("cursor").and_then(|c| c.as_str()), cursor);
        }
        assert_eq!(params_with(Era::Handshake, "m", b" {\"a\": 1 } ", None), b"{\"a\": 1}");
        for (members, a) in [(&b"{}"[..], None), (b"{\"a\":{\"b\":1}}", Some(json!({"b": 1})))] {
            let value: ptc_mcp::json::Value =
                serde_json::from_slice(&params_with(Era::Modern, "m", members, None)).unwrap();
            assert_eq!(value["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(value.get("a"), a.as_ref());
        }
        assert_eq!(meta_of(Era::Handshake, None, Some(LogLevel::Info), "{}"), None);
        assert_eq!(meta_of(Era::Handshake, Some(7), None, "{}").unwrap(), br#"{"progressToken":7}"#);
        let meta: ptc_mcp::json::Value = serde_json::from_slice(
            &meta_of(Era::Modern, Some(7), Some(LogLevel::Debug), r#"{"a":{}}"#).unwrap(),
        )
        .unwrap();
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({"a": {}}));
        assert_eq!((&meta["progressToken"], &meta[LOG_LEVEL]), (&json!(7), &json!("debug")));
        let listen: ptc_mcp::json::Value = serde_json::from_slice(&listen_params()).unwrap();
        assert_eq!(listen["notifications"]["toolsListChanged"], true);
    }

    #[test]
    fn an_error_may_want_pages_to_be_visited() {
        let fault = |code: i64, data: ptc_mcp::json::Value| {
            let error = json!({"code": code, "message": "sign in", "data": data}).to_string();
            rpc_fault(RpcError::read(&error), 7)
        };
        let page = json!({"mode": "url", "url": "https://a.example/x", "message": "m", "elicitationId": "1"});
        let wanted = fault(
            -32042,
            json!({"elicitations": [page, {"mode": "url", "message": "m", "url": "http://a.example"}]}),
        );
        assert_eq!(
            (wanted.rpc_code, wanted.message.as_str(), wanted.received_bytes),
            (Some(-32042), "sign in", 7)
        );
        let Some(Unfinished::Pages(pages)) = wanted.unfinished.as_deref() else { panic!("{wanted:?}") };
        assert_eq!(pages[0].as_ref().unwrap().message, "m");
        assert_eq!(pages[1].as_ref().unwrap_err().to_string(), "its url is not https");
        let many = fault(-32042, json!({"elicitations": vec![page.clone(); MAX_INPUT_REQUESTS + 1]}));
        let Some(Unfinished::Pages(pages)) = many.unfinished.as_deref() else { panic!("{many:?}") };
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0].as_ref().unwrap_err().to_string(), "it names more than 64 pages");
        let form = json!({"elicitations": [{"message": "m", "requestedSchema": {}}]});
        let Some(Unfinished::Pages(pages)) = fault(-32042, form).unfinished.map(|pages| *pages) else {
            panic!()
        };
        assert_eq!(pages[0].as_ref().unwrap_err().to_string(), "it is no page");
        for (code, data) in [
            (-32042, json!({"elicitations": []})),
            (-32042, json!([])),
            (-32042, json!(null)),
            (-32602, json!({"elicitations": [page]})),
        ] {
            assert_eq!(fault(code, data.clone()).unfinished, None, "{code} {data}");
        }
    }

    #[test]
    fn initialize_takes_published_revisions_and_stdio_any() {
        let hello = |v: &str, any| read_initialize(json!({"protocolVersion": v}).to_string().as_bytes(), any);
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(&*hello(version, false).unwrap().version, version);
        }
        assert_eq!(
            hello("1999-01-01", false).unwrap_err(),
            "protocol version mismatch: server=1999-01-01 client=2025-11-25"
        );
        assert_eq!(&*hello("1999-01-01", true).unwrap().version, "1999-01-01");
        assert_eq!(read_initialize(b"[1]", true).unwrap_err(), "initialize returned unexpected payload [1]");
    }

    #[test]
    fn both_eras_introduce_the_server() {
        let info = json!({"name": "n", "title": "The Title", "version": "1"});
        let offers = Offers { resources: true, subscriptions: true, prompts: true, ..Offers::default() };
        let told = Introduction { title: "The Title".into(), instructions: "Do this.".into(), offers };
        let capabilities = json!({"resources": {"subscribe": true}, "prompts": {}, "completions": null});
        let greeting = json!({"protocolVersion": "2025-11-25", "serverInfo": info, "instructions": "Do this.",
            "capabilities": capabilities});
        assert_eq!(read_initialize(greeting.to_string().as_bytes(), false).unwrap().introduction, told);
        let discovered = json!({"supportedVersions": ["2026-07-28"], "instructions": "Do this.",
            "capabilities": capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": info}});
        assert_eq!(read_discover(discovered.to_string().as_bytes()).unwrap().introduction, told);
        let odd = json!({"protocolVersion": "2025-11-25", "serverInfo": [1], "instructions": {"a": 1}});
        let hello = read_initialize(odd.to_string().as_bytes(), false).unwrap();
        assert_eq!(hello.introduction, Introduction::default());
        let long = json!({"protocolVersion": "2025-11-25", "instructions": "é".repeat(100_000)});
        let hello = read_initialize(long.to_string().as_bytes(), false).unwrap();
        assert_eq!(hello.introduction.instructions.len(), 8192);
    }

    #[test]
    fn discover_needs_a_revision_of_ours() {
        let discover = |v| read_discover(json!({"supportedVersions": v}).to_string().as_bytes());
        assert_eq!(&*discover(json!(["2025-11-25", "2026-07-28"])).unwrap().version, "2026-07-28");
        assert_eq!(discover(json!(["2099-01-01"])), None);
        assert_eq!(discover(json!("2026-07-28")), None);
        assert_eq!(read_discover(b"{}"), None);
        let change =
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}});
        assert!(read_discover(change.to_string().as_bytes()).unwrap().announces);
    }
}
