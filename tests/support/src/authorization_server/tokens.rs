//! Where clients register and get tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_mcp::json::json;

use super::request::{Answer, Hit, json_answer, refuse};
use super::script::{Registration, Rotation, Script};
use super::state::{Access, Family, Registered, Shared, State};

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A new family of tokens.
fn begin(state: &mut State, client: String, scope: String) -> usize {
    let (number, at) = (state.next(), state.families.len());
    let refresh = state.issue(format!("refresh+token/{number}=of-{at}"));
    state.families.push(Family { client, scope, refresh, spent: Vec::new(), over: false });
    at
}

impl Shared {
    pub(super) fn token(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let client = match authenticated(hit, script, state) {
            Ok(client) => client,
            Err(answer) => return answer,
        };
        if let Some(code) = self.fault(hit, script) {
            return refuse(hit, 400, code);
        }
        let grant = hit.get("grant_type").unwrap_or_default();
        let mut nonce = String::new();
        let family = match grant {
            "authorization_code" => match redeemed(hit, &client, state) {
                Some((scope, code_nonce)) => {
                    nonce = code_nonce;
                    begin(state, client.clone(), scope)
                }
                None => return refuse(hit, 400, "invalid_grant"),
            },
            "refresh_token" => match refreshed(hit, &client, script, state) {
                Some(family) => family,
                None => return refuse(hit, 400, "invalid_grant"),
            },
            "client_credentials" => begin(state, client, hit.text("scope")),
            DEVICE => match of_device(hit, script, state) {
                Ok(family) => family,
                Err(code) => return refuse(hit, 400, code),
            },
            // The identity provider of a company, and the server that takes its word.
            EXCHANGE => {
                let number = state.next();
                let grant = state.issue(format!("identity-grant-{number}"));
                let answer = json!({
                    "access_token": grant, "token_type": "N_A",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                });
                return json_answer(200, &answer);
            }
            ASSERTION if state.issued.iter().any(|issued| Some(issued.as_str()) == hit.get("assertion")) => {
                begin(state, client, hit.text("scope"))
            }
            ASSERTION => return refuse(hit, 400, "invalid_grant"),
            _ => return refuse(hit, 400, "unsupported_grant_type"),
        };
        let number = state.next();
        let padding = "x".repeat(script.padding);
        let token = state.issue(format!("access-token-{number}-~quoted~~of~{family}{padding}"));
        let scope = state.families[family].scope.clone();
        let until = script.lifetime.map(|lifetime| self.now() + lifetime);
        if grant == "refresh_token" && script.rotation == Rotation::ReuseEndsFamily {
            state.access.retain(|_, access| access.family != family);
        }
        state.access.insert(token.clone(), Access { family, scope: scope.clone(), until });
        let mut answer = json!({"access_token": token, "token_type": "Bearer"});
        if let Some(lifetime) = script.lifetime {
            answer["expires_in"] = json!(lifetime);
        }
        if scope.split(' ').any(|scope| scope == "openid") && !script.id_token.is_null() {
            let issuer = format!("{}{}", self.origin(), script.issuer_path);
            answer["id_token"] =
                json!(self.signing.id_token(&issuer, &hit.proof().id, &nonce, &script.id_token));
        }
        if !scope.is_empty() {
            answer["scope"] = json!(scope);
        }
        let has_person = matches!(grant, "authorization_code" | "refresh_token" | DEVICE);
        if has_person && !(grant == "refresh_token" && script.rotation == Rotation::Keep) {
            answer["refresh_token"] = json!(state.families[family].refresh);
        }
        json_answer(200, &answer)
    }

    pub(super) fn device(&self, hit: &Hit, script: &Script, state: &mut State) -> Answer {
        let client = match authenticated(hit, script, state) {
            Ok(client) => client,
            Err(answer) => return answer,
        };
        // Whoever registered for other grants is no device.
        if state.clients.get(&client).is_some_and(|known| !known.grants.iter().any(|grant| grant == DEVICE)) {
            return refuse(hit, 400, "unauthorized_client");
        }
        let number = state.next();
        let code = state.issue(format!("device-code-{number}"));
        state.devices.insert(code.clone(), (client, hit.text("scope"), script.device_patience));
        json_answer(
            200,
            &json!({
                "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": format!("{}/activate", self.origin()),
                "expires_in": 900, "interval": 1
            }),
        )
    }
}

/// The scope and nonce of the code that a client brings back, if it is its own.
fn redeemed(hit: &Hit, client: &str, state: &mut State) -> Option<(String, String)> {
    let code = state.codes.remove(hit.get("code")?)?;
    let hash = ring::digest::digest(&ring::digest::SHA256, hit.get("code_verifier")?.as_bytes());
    let is_right = code.client == client
        && Some(code.redirect_uri.as_str()) == hit.get("redirect_uri")
        && code.challenge == URL_SAFE_NO_PAD.encode(hash);
    is_right.then_some((code.scope, code.nonce))
}

/// The family of a refresh token, if it is still good.
fn refreshed(hit: &Hit, client: &str, script: &Script, state: &mut State) -> Option<usize> {
    let token = hit.get("refresh_token").unwrap_or_default();
    let spent = |family: &Family| family.spent.iter().any(|spent| spent == token);
    if let Some(family) = state.families.iter().position(spent) {
        if script.rotation == Rotation::ReuseEndsFamily {
            state.families[family].over = true;
            state.access.retain(|_, access| access.family != family);
        }
        return None;
    }
    let lives = |family: &Family| family.refresh == token && !family.over && family.client == client;
    let family = state.families.iter().position(lives)?;
    if script.rotation != Rotation::Keep {
        let number = state.next();
        let next = state.issue(format!("refresh+token/{number}=of-{family}"));
        let old = std::mem::replace(&mut state.families[family].refresh, next);
        state.families[family].spent.push(old);
    }
    Some(family)
}

/// The family of a device whose person has entered the code.
fn of_device(hit: &Hit, script: &Script, state: &mut State) -> Result<usize, &'static str> {
    let code = hit.get("device_code").unwrap_or_default();
    match state.devices.get_mut(code) {
        None => Err("expired_token"),
        Some(_) if script.denies => Err("access_denied"),
        Some((_, _, patience @ 1..)) => {
            *patience -= 1;
            Err("authorization_pending")
        }
        Some((client, scope, 0)) => {
            let (client, scope) = (client.clone(), scope.clone());
            state.devices.remove(code);
            Ok(begin(state, client, scope))
        }
    }
}

/// The client of a request, if it is who it says.
fn authenticated(hit: &Hit, script: &Script, state: &State) -> Result<String, Answer> {
    let proof = hit.proof();
    if proof.method == "private_key_jwt" {
        return Ok(proof.id);
    }
    let registered = state.clients.get(&proof.id).map(|client| &client.secret);
    let is_right = match script.clients.get(&proof.id).or(registered) {
        // Its id alone is enough, listed or not.
        Some(None) => proof.secret.is_none(),
        Some(expected) => *expected == proof.secret && script.methods.contains(&proof.method),
        None => script.cimd && proof.id.starts_with("https://"),
    };
    if is_right { Ok(proof.id) } else { Err(refuse(hit, 401, "invalid_client")) }
}

pub(super) fn register(hit: &Hit, script: &Script, state: &mut State) -> Answer {
    let method = match script.registration {
        Registration::Refused(status) => return refuse(hit, status, "access_denied"),
        Registration::None => return (404, Vec::new(), Vec::new()),
        Registration::Open => None,
        Registration::WithSecret(method) => Some(method),
    };
    let number = state.next();
    let id = format!("client-{number}");
    let secret = method.map(|_| state.issue(format!("secret/of+client-{number}")));
    let texts = |name: &str| {
        let list = hit.json[name].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    state.clients.insert(id.clone(), Registered { secret: secret.clone(), grants: texts("grant_types") });
    let mut answer = hit.json.clone();
    answer["client_id"] = json!(id);
    if let (Some(secret), Some(method)) = (secret, method) {
        answer["client_secret"] = json!(secret);
        answer["token_endpoint_auth_method"] = json!(method);
    }
    json_answer(201, &answer)
}

pub(super) fn revoke(hit: &Hit, state: &mut State) -> Answer {
    let token = hit.get("token").unwrap_or_default();
    for family in state.families.iter_mut().filter(|family| family.refresh == token) {
        family.over = true;
    }
    state.access.remove(token);
    (200, Vec::new(), Vec::new())
}
