//! Tests what an extension adds to a server, with an engine and questions.

use clap::Command;
use ptc_host::config::ProcessEnv;
use ptc_host::questions::Question;
use ptc_mcp::Era;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::strict::{self, Incoming};
use ptc_mcp::meta;

use super::*;
use crate::options::command::arguments;
use crate::options::flags::ALL;
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{Annotations, CallExtras, Definition, QuestionDialect, ToolReply};
use ptc_protocol::{Connection, HandlerOutcome, MessageContext};
use ptc_tools::extensions::{ExtensionProgram, ProgramTool};

/// Greets the person in its argument, or else the one that its client names.
struct Greeting {
    is_prompt: bool,
}

impl ProgramTool for Greeting {
    fn definition(&self) -> Definition {
        let annotations =
            Annotations { read_only: true, destructive: false, idempotent: true, open_world: false };
        Definition {
            name: "greet".into(),
            title: Some("Greet".into()),
            description: "Greets.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: Some(annotations.to_json()),
            meta: None,
            long: None,
        }
    }

    fn program(&self, arguments: Option<&str>, _: &CallExtras) -> ExtensionProgram {
        let text = r#"(if-let [name (get data/arguments "name")]
                        (str "Hello, " name)
                        (let [schema {:type "object" :properties {:name {:type "string"}} :required ["name"]}
                              r (ask {:message "Who?" :schema schema})]
                          (if (:ok r) (str "Welcome, " (get (:value r) "name")) (fail (:reason r)))))"#;
        let data = format!("{{\"arguments\":{}}}", arguments.unwrap_or("{}"));
        ExtensionProgram { text: text.into(), data: data.into(), upstreams: None, wait: None }
    }

    fn reply(&self, reply: ToolReply) -> ToolReply {
        if !self.is_prompt {
            return reply;
        }
        ToolReply::written(reply.is_error, br#""messages":[]"#.to_vec())
    }

    fn dialect(&self) -> Option<&dyn QuestionDialect> {
        Some(self)
    }
}

/// The question `q1` of the product is called `who` by clients.
impl QuestionDialect for Greeting {
    fn requests(&self, requests: &str) -> String {
        requests.replace(r#""q1":"#, r#""who":"#)
    }

    fn responses(&self, responses: &str) -> String {
        responses.replace(r#""who":"#, r#""q1":"#)
    }

    fn declares_more(&self, _: &CallExtras) -> bool {
        false
    }

    fn can_ask(&self, _: &Question, call: &CallExtras) -> Option<bool> {
        Some(!call.declares("shyness"))
    }
}

/// A conversation of the modern era with a server that has these extensions.
struct Conversation {
    service: Arc<Service>,
    connection: Arc<Connection>,
}

impl Conversation {
    fn new(extensions: &Extensions) -> Conversation {
        let given = ["start", "--questions=client"];
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
        let settings = crate::options::resolve(&matches, ProcessEnv::default()).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let state = ServerState::none();
        let assembly =
            assemble_with(&settings, &engine, (None, None), None, &Redactor::new(), state, extensions)
                .unwrap();
        Conversation { service: assembly.service, connection: Connection::over_pipe(16) }
    }

    /// The answer to a request of a client with these capabilities.
    async fn ask(&self, method: &str, capabilities: Value, mut params: Value) -> Value {
        params["_meta"] =
            json!({(meta::PROTOCOL_VERSION): "2026-07-28", (meta::CLIENT_CAPABILITIES): capabilities});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let Ok(Incoming::Single(message)) = strict::read(request.as_bytes()) else { panic!("{request}") };
        let caller = Principal::process();
        let from = MessageContext::new(&self.connection, Era::Modern, &caller);
        let body = match self.service.handle(from, &message) {
            HandlerOutcome::Reply(reply) => reply.body,
            HandlerOutcome::Call(call) => call.run(drop).await.into_reply().expect("nobody cancels it"),
            _ => panic!("no answer to {request}"),
        };
        serde_json::from_slice(&body).unwrap()
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn extension_tools_are_listed_behind_the_server_s_own_and_run_their_programs() {
    let tools: Vec<Arc<dyn ProgramTool>> = vec![Arc::new(Greeting { is_prompt: false })];
    let server = Conversation::new(&Extensions { tools, ..Extensions::default() });
    let listed = server.ask("tools/list", json!({}), json!({})).await;
    let names = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["lisp_eval", "greet"]);
    let call = json!({"name": "greet", "arguments": {"name": "Ada"}});
    assert_eq!(text(&server.ask("tools/call", json!({}), call).await), "user=> \"Hello, Ada\"");
}

#[tokio::test]
async fn questions_of_an_extension_are_put_and_answered_in_its_dialect() {
    let tools: Vec<Arc<dyn ProgramTool>> = vec![Arc::new(Greeting { is_prompt: false })];
    let server = Conversation::new(&Extensions { tools, ..Extensions::default() });
    let forms = json!({"elicitation": {}});
    let asked = server.ask("tools/call", forms.clone(), json!({"name": "greet", "arguments": {}})).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["who"]);
    let answers = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let again = json!({"name": "greet", "arguments": {}, "inputResponses": answers,
                       "requestState": asked["result"]["requestState"]});
    assert_eq!(text(&server.ask("tools/call", forms, again).await), "user=> \"Welcome, Ada\"");

    let shy = json!({"elicitation": {}, "shyness": {}});
    let refused = server.ask("tools/call", shy, json!({"name": "greet", "arguments": {}})).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

#[tokio::test]
async fn prompts_are_answered_only_where_an_extension_has_them() {
    let prompt = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let prompts: Vec<Arc<dyn ProgramTool>> = vec![Arc::new(Greeting { is_prompt: true })];
    let server = Conversation::new(&Extensions { prompts, ..Extensions::default() });
    let got = server.ask("prompts/get", json!({}), prompt.clone()).await;
    assert_eq!(got["result"]["messages"], json!([]), "{got}");
    let called = server.ask("tools/call", json!({}), prompt.clone()).await;
    assert_eq!(called["error"]["message"], "Unknown tool: greet");

    let plain = Conversation::new(&Extensions::default());
    let got = plain.ask("prompts/get", json!({}), prompt).await;
    assert_eq!(got["error"]["code"], -32601, "{got}");
}
