//! The protected servers: one of MCP, and one of REST with an OpenAPI document.

use ptc_mcp::json::json;

use super::request::{Answer, Hit, json_answer};
use super::script::Script;
use super::state::{Access, Shared, State};

impl Shared {
    /// Who asks with a good token.
    fn admitted<'s>(&self, hit: &Hit, state: &'s State) -> Option<&'s Access> {
        let access = state.access.get(hit.bearer()?)?;
        access.until.is_none_or(|until| self.now() < until).then_some(access)
    }

    /// Where a challenge says that the metadata are.
    fn metadata_parameter(&self, script: &Script) -> String {
        let path = script.path.trim_end_matches('/');
        format!("resource_metadata=\"{}/.well-known/oauth-protected-resource{path}\"", self.origin())
    }

    fn challenge(&self, hit: &Hit, script: &Script) -> Answer {
        let mut challenge = String::from("Bearer ");
        if hit.bearer().is_some() {
            challenge += "error=\"invalid_token\", ";
        }
        challenge += &match script.has_resource_metadata {
            true => self.metadata_parameter(script),
            false => "realm=\"mcp\"".to_owned(),
        };
        if let Some(scope) = script.challenged {
            challenge += &format!(", scope=\"{scope}\"");
        }
        let challenge = script.challenge.clone().unwrap_or(challenge);
        let status = script.challenges_with.unwrap_or(401);
        (status, vec![("www-authenticate".to_owned(), challenge)], Vec::new())
    }

    /// The refusal of a call that needs more scopes, if it does.
    fn lacks(&self, access: &Access, script: &Script) -> Option<Answer> {
        let has = |scope: &&str| access.scope.split(' ').any(|had| had == *scope);
        if script.write_needs.iter().all(has) {
            return None;
        }
        let scope = script.write_needs.join(" ");
        let metadata = self.metadata_parameter(script);
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", {metadata}");
        Some((403, vec![("www-authenticate".to_owned(), challenge)], Vec::new()))
    }

    pub(super) fn mcp(&self, hit: &Hit, script: &Script, state: &State) -> Answer {
        let Some(access) = self.admitted(hit, state) else {
            let tells = script.tells_ended_by.filter(|_| hit.bearer().is_some());
            return match tells {
                None => self.challenge(hit, script),
                Some(200) => {
                    let text = "401 Unauthorized: token expired";
                    let result = json!({"isError": true, "content": [{"type": "text", "text": text}]});
                    json_answer(200, &json!({"jsonrpc": "2.0", "id": hit.json["id"], "result": result}))
                }
                Some(status) => {
                    (status, vec![("location".to_owned(), "/login".to_owned())], b"token expired".to_vec())
                }
            };
        };
        if hit.method != "POST" {
            return (if hit.method == "DELETE" { 200 } else { 405 }, Vec::new(), Vec::new());
        }
        let method = hit.json["method"].as_str().unwrap_or_default();
        let own = script.own_tools.get(&access.family).map_or(&[][..], Vec::as_slice);
        let result = match method {
            "initialize" => {
                let mut result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "scripted", "version": "1"}});
                if !own.is_empty() {
                    result["instructions"] = format!("You may {}.", own.join(" and ")).into();
                }
                result
            }
            "tools/list" => {
                let plain =
                    ["whoami", "write"].map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
                let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false});
                let own = own.iter().map(|name| {
                    json!({"name": name, "description": format!("Does {name}."), "inputSchema": schema})
                });
                json!({"tools": plain.into_iter().chain(own).collect::<Vec<_>>()})
            }
            "tools/call" => {
                let refusal =
                    (hit.json["params"]["name"] == "write").then(|| self.lacks(access, script)).flatten();
                if let Some(refusal) = refusal {
                    return refusal;
                }
                // A server that echoes what it should not.
                let echoed = hit.header("authorization").unwrap_or_default();
                json!({"content": [{"type": "text", "text": format!("family {} echoes {echoed}", access.family)}]})
            }
            "resources/list" => {
                let own = own.iter().map(|name| json!({"uri": format!("note:{name}"), "name": name}));
                let one = json!({"uri": "note:1", "name": "one"});
                json!({"resources": std::iter::once(one).chain(own).collect::<Vec<_>>()})
            }
            "prompts/list" => {
                json!({"prompts": own.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()})
            }
            "resources/read" => {
                let text = format!("family {}", access.family);
                json!({"contents": [{"uri": hit.json["params"]["uri"], "text": text}]})
            }
            "prompts/get" => json!({"description": "Greets.", "messages": []}),
            _ if hit.json.get("id").is_none() => return (202, Vec::new(), Vec::new()),
            _ => {
                return json_answer(
                    200,
                    &json!({"jsonrpc": "2.0", "id": hit.json["id"], "error": {"code": -32601, "message": "no such method"}}),
                );
            }
        };
        let reply = json!({"jsonrpc": "2.0", "id": hit.json["id"], "result": result});
        let mut answer = json_answer(200, &reply);
        if method == "tools/call" && script.announces_list {
            let note = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            let events = format!("data: {note}\n\ndata: {reply}\n\n");
            let kind = ("content-type".to_owned(), "text/event-stream".to_owned());
            answer = (200, vec![kind], events.into_bytes());
        }
        if method == "initialize" {
            answer.1.push(("mcp-session-id".to_owned(), "session-1".to_owned()));
        }
        answer
    }

    pub(super) fn rest(&self, hit: &Hit, script: &Script, state: &State) -> Answer {
        let Some(access) = self.admitted(hit, state) else { return self.challenge(hit, script) };
        let operation =
            |id: &str| json!({"get": {"operationId": id, "responses": {"200": {"description": "done"}}}});
        let answer = match hit.path.as_str() {
            "/items" => json!([1, 2]),
            "/write" => match self.lacks(access, script) {
                Some(refusal) => return refusal,
                None => json!({"written": true}),
            },
            _ => {
                json!({"openapi": "3.0.0", "info": {"title": "Items", "version": "1"},
                    "paths": {"/items": operation("items"), "/write": operation("write")}})
            }
        };
        json_answer(200, &answer)
    }
}
