//! Its documents, and the page where a person consents.

use ptc_mcp::json::{Value, json};
use url::form_urlencoded;

use crate::fake_http::{Step, Steps, response};

use super::request::{Answer, Hit, json_answer, refuse};
use super::script::{Iss, Registration, Script, Trouble};
use super::state::{Code, Shared, State};

impl Shared {
    /// What becomes of a request.
    pub(super) fn serve(&self, mut hit: Hit) -> Steps {
        let trouble = {
            let mut script = self.script.lock().unwrap();
            script.trouble.get_mut(hit.path.as_str()).and_then(|due| due.pop_front())
        };
        let (answer, pause) = match trouble {
            None => (Some(self.answer(&hit)), None),
            Some(Trouble::Slow(pause)) => (Some(self.answer(&hit)), Some(Step::Pause(pause))),
            Some(Trouble::Held(gate)) => (Some(self.answer(&hit)), Some(Step::Wait(gate))),
            Some(Trouble::Lost) => {
                self.answer(&hit);
                self.state().hits.push(hit);
                return vec![Step::Close];
            }
            Some(silence @ (Trouble::Ignored | Trouble::Withheld)) => {
                if matches!(silence, Trouble::Withheld) {
                    self.answer(&hit);
                }
                self.state().hits.push(hit);
                return vec![Step::Hang];
            }
            Some(Trouble::Status(status, after)) => {
                let after = after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
                (Some((status, after.into_iter().collect(), Vec::new())), None)
            }
            Some(Trouble::Error(code)) => (Some(refuse(&hit, 400, code)), None),
            Some(Trouble::Redirect(to)) => (Some((307, vec![("location".to_owned(), to)], Vec::new())), None),
            Some(Trouble::Huge(bytes)) => (Some((200, Vec::new(), vec![b' '; bytes])), None),
            Some(Trouble::Page(status)) => (Some((status, Vec::new(), b"<html>bad</html>".to_vec())), None),
            Some(Trouble::Garbage) => (Some((200, Vec::new(), b"<html>".to_vec())), None),
        };
        let (status, headers, body) = answer.expect("all others have returned");
        hit.status = status;
        let is_last = hit.header("connection") == Some("close");
        self.state().hits.push(hit);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut steps = Vec::from_iter(pause);
        steps.extend(response(status, &headers, &body));
        steps.extend(is_last.then_some(Step::Close));
        steps
    }

    fn answer(&self, hit: &Hit) -> Answer {
        let script = self.script.lock().unwrap().clone();
        let mut state = self.state();
        let path = hit.path.as_str();
        if path == script.path {
            return self.mcp(hit, &script, &state);
        }
        let own_resource =
            format!("/.well-known/oauth-protected-resource{}", script.path.trim_end_matches('/'));
        if script.has_resource_metadata
            && (path == own_resource || path == "/.well-known/oauth-protected-resource")
        {
            return json_answer(200, &self.resource_metadata(&script));
        }
        let own_server = match script.openid_only {
            true => format!("{}/.well-known/openid-configuration", script.issuer_path),
            false => format!("/.well-known/oauth-authorization-server{}", script.issuer_path),
        };
        if script.has_metadata && path == own_server {
            return json_answer(200, &self.metadata(&script));
        }
        match path.strip_prefix(script.issuer_path).unwrap_or(path) {
            "/openapi.json" | "/items" | "/write" => self.rest(hit, &script, &state),
            "/register" => super::tokens::register(hit, &script, &mut state),
            "/authorize" => self.authorize(hit, &script, &mut state),
            "/token" => self.token(hit, &script, &mut state),
            "/device" => self.device(hit, &script, &mut state),
            "/revoke" => super::tokens::revoke(hit, &mut state),
            "/jwks" => json_answer(200, &self.signing.set()),
            "/introspect" => super::issuer::introspect(hit, &state.opaque),
            _ => (404, Vec::new(), Vec::new()),
        }
    }

    fn resource_metadata(&self, script: &Script) -> Value {
        let own = || format!("{}{}", self.origin(), script.issuer_path);
        let resource = script.resource.clone().unwrap_or_else(|| format!("{}{}", self.origin(), script.path));
        let servers = script.servers.clone().unwrap_or_else(|| vec![own()]);
        let mut document = json!({"resource": resource, "authorization_servers": servers});
        if !script.scopes.is_empty() {
            document["scopes_supported"] = json!(script.scopes);
        }
        document
    }

    fn metadata(&self, script: &Script) -> Value {
        let issuer = format!("{}{}", self.origin(), script.issuer_path);
        let at = |path: &str| format!("{issuer}{path}");
        let mut document = json!({
            "issuer": script.issuer.clone().unwrap_or_else(|| json!(issuer)),
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "revocation_endpoint": at("/revoke"),
            "device_authorization_endpoint": at("/device"),
            "jwks_uri": script.jwks_uri.clone().unwrap_or_else(|| at("/jwks")),
            "introspection_endpoint": at("/introspect"),
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": script.methods,
        });
        if script.registration != Registration::None {
            document["registration_endpoint"] = json!(at("/register"));
        }
        if let Some(methods) = &script.pkce {
            document["code_challenge_methods_supported"] = json!(methods);
        }
        if let Some(advertises) = script.advertises_iss {
            document["authorization_response_iss_parameter_supported"] = json!(advertises);
        }
        if script.cimd {
            document["client_id_metadata_document_supported"] = json!(true);
        }
        let scopes = [&script.scopes[..], &script.tenant_scopes[..]].concat();
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
        }
        if script.issuer == Some(Value::Null) {
            document.as_object_mut().unwrap().remove("issuer");
        }
        document
    }

    /// Why a request is not to be granted, if it is not.
    pub(super) fn fault(&self, hit: &Hit, script: &Script) -> Option<&'static str> {
        let asked: Vec<&str> = hit.get("scope").unwrap_or_default().split_whitespace().collect();
        let resource = hit.get("resource");
        let own = script.resource.clone().unwrap_or_else(|| format!("{}{}", self.origin(), script.path));
        if script.tenant_scopes.iter().any(|scope| asked.contains(scope)) {
            Some("invalid_scope")
        } else if resource.is_some_and(|resource| resource != own)
            || script.wants_resource.is_some_and(|wanted| wanted != resource.is_some())
        {
            Some("invalid_target")
        } else {
            None
        }
    }

    fn authorize(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let redirect_uri = hit.text("redirect_uri");
        let is_right = hit.get("code_challenge_method") == Some("S256")
            && hit.get("state").is_some()
            && hit.get("response_type") == Some("code")
            && redirect_uri.starts_with(script.redirects)
            && !(script.demands_scope && hit.get("scope").is_none());
        if state.forgotten.iter().any(|client| Some(client.as_str()) == hit.get("client_id")) {
            return script.forgets_with.map_or_else(
                || (422, Vec::new(), br#"{"error":"client not found"}"#.to_vec()),
                |status| (status, Vec::new(), b"<html>unknown client</html>".to_vec()),
            );
        }
        if let Some(code) = self.fault(hit, script).or((!is_right).then_some("invalid_request")) {
            return refuse(hit, 400, code);
        }
        let mut back = form_urlencoded::Serializer::new(String::new());
        back.append_pair("state", &hit.text("state"));
        match &script.iss {
            Iss::Right => {
                back.append_pair("iss", &format!("{}{}", self.origin(), script.issuer_path));
            }
            Iss::Other(other) => {
                back.append_pair("iss", other);
            }
            Iss::Absent => {}
        }
        if script.denies {
            back.append_pair("error", "access_denied");
        } else {
            let number = state.next();
            let code = state.issue(format!("the-code-of-consent-{number}"));
            back.append_pair("code", &code);
            let code_of = Code {
                client: hit.text("client_id"),
                redirect_uri: redirect_uri.clone(),
                challenge: hit.text("code_challenge"),
                scope: hit.text("scope"),
                nonce: hit.text("nonce"),
            };
            state.codes.insert(code, code_of);
        }
        (302, vec![("location".to_owned(), format!("{redirect_uri}?{}", back.finish()))], Vec::new())
    }
}
