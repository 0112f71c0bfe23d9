//! From a server's metadata to tokens: clients, the authorization request, its answer, and the grants (`auth.md` 3, 4, 8, 9).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ptc_oauth::authorize::{Authorization, Entropy, PendingSignIn};
use ptc_oauth::callback::{BadCallback, Callback};
use ptc_oauth::client::{Client, ClientOrigin, ClientRecord, Credential, Method, Signing};
use ptc_oauth::client_key::{ClientKey, KeyError};
use ptc_oauth::error_code::ErrorCode;
use ptc_oauth::failure::Failure;
use ptc_oauth::grants::{
    DeviceAuthorization, GrantContext, GrantError, IdJag, Poll, Subject, SubjectTokenType, TokenKind, read,
};
use ptc_oauth::message::{Flow, Next, OAuthRequest, Purpose, RequestOutcome, Response, TransportError};
use ptc_oauth::metadata::ServerMetadata;
use ptc_oauth::registration::{Choice, Needs, Setting, choose, client_document, is_document_url};
use ptc_oauth::scopes::Scopes;
use ptc_oauth::secret::Secret;
use ptc_oauth::timestamp::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{self, UnparsedPublicKey};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

const AT: Timestamp = Timestamp::from_seconds(1_700_000_000);
const ISSUER: &str = "https://a.example";
const REDIRECT: &str = "http://127.0.0.1:33418/callback";

fn server(members: Value) -> ServerMetadata {
    let mut document = json!({
        "issuer": ISSUER,
        "token_endpoint": "https://a.example/token",
        "authorization_endpoint": "https://a.example/authorize",
    });
    for (name, value) in members.as_object().unwrap() {
        document[name] = value.clone();
    }
    ServerMetadata::read(document.as_object().unwrap(), ISSUER).unwrap()
}

fn answer(status: u16, body: &Value) -> RequestOutcome {
    RequestOutcome { at: AT, result: Ok(Response::new(status, Vec::new(), body.to_string())) }
}

fn secret(text: &str) -> Credential {
    Credential::Secret(Secret::new(text))
}

/// The parameters of a form, in order.
fn form(request: &OAuthRequest) -> Vec<(String, String)> {
    let body = request.body.as_ref().unwrap().expose();
    form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

fn value(request: &OAuthRequest, name: &str) -> Option<String> {
    let mut found = form(request).into_iter().filter(|(n, _)| n == name);
    let first = found.next().map(|(_, value)| value);
    assert!(found.next().is_none(), "{name} comes twice");
    first
}

fn header<'a>(request: &'a OAuthRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.expose())
}

fn public_client() -> Client {
    Client::new("id".to_owned(), ClientOrigin::Registered, Credential::None, None, &server(json!({})))
        .unwrap()
}

/// Calls `with` on what asks at the token endpoint for `client` with this `resource`.
fn asking<R>(client: &Client, resource: Option<&str>, with: impl FnOnce(GrantContext<'_>) -> R) -> R {
    let (endpoint, random) = (Url::parse("https://a.example/token").unwrap(), SystemRandom::new());
    let signing = Signing { issuer: ISSUER, now: AT, jti: [7; 16], random: &random };
    with(GrantContext { endpoint: &endpoint, client, signing, resource })
}

// Clients

fn needs<'a>(setting: &'a Setting, server: &'a ServerMetadata, redirect_uris: &'a [String]) -> Needs<'a> {
    Needs {
        setting,
        server,
        stored: None,
        redirect_uris,
        scope: None,
        version: "0.1.0",
        may_register: true,
        now: AT,
    }
}

fn uris() -> Vec<String> {
    vec![REDIRECT.to_owned()]
}

fn auto(metadata_url: Option<&str>) -> Setting {
    Setting::Auto { metadata_url: metadata_url.map(str::to_owned) }
}

const DOCUMENT: &str = "https://ptc.example/oauth/client.json";

#[test]
fn a_document_goes_before_registration_and_that_before_the_operator() {
    let both = server(
        json!({"client_id_metadata_document_supported": true, "registration_endpoint": "https://a.example/reg"}),
    );
    let registers = server(json!({"registration_endpoint": "https://a.example/reg"}));
    let neither = server(json!({}));
    let (with, without, uris) = (auto(Some(DOCUMENT)), auto(None), uris());
    let choice = |setting, server| match choose(&needs(setting, server, &uris)) {
        Ok(Choice::Ready(client)) => format!("{} {:?}", client.id, client.origin),
        Ok(Choice::Register(_)) => "registers".to_owned(),
        Err(failure) => failure.code().to_owned(),
    };
    assert_eq!(choice(&with, &both), format!("{DOCUMENT} MetadataDocument"));
    assert_eq!(choice(&without, &both), "registers");
    assert_eq!(choice(&with, &registers), "registers");
    // Failure 4 of auth.md 18.5: the text says what to do.
    assert_eq!(choice(&with, &neither), "no_registration");
    let unattended = Needs { may_register: false, ..needs(&without, &both, &uris) };
    assert!(
        matches!(choose(&unattended), Err(Failure::NoRegistration { issuer, redirect_uri }) if issuer == ISSUER && redirect_uri == REDIRECT)
    );
}

#[test]
fn a_configured_client_is_used_as_it_is() {
    // Failure 5 of auth.md 18.5.
    let server = server(
        json!({"client_id_metadata_document_supported": true, "registration_endpoint": "https://a.example/reg"}),
    );
    let record: ClientRecord =
        serde_json::from_value(json!({"client_id": "other", "redirect_uris": [REDIRECT]})).unwrap();
    let configured = |issuer: Option<&str>| Setting::Configured {
        id: "mine".to_owned(),
        credential: secret("s"),
        issuer: issuer.map(str::to_owned),
    };
    for issuer in [None, Some(ISSUER), Some("https://a.example/")] {
        let (setting, uris) = (configured(issuer), uris());
        let needs = Needs { stored: Some(&record), ..needs(&setting, &server, &uris) };
        let Ok(Choice::Ready(client)) = choose(&needs) else { panic!("it is ready") };
        assert_eq!((client.id.as_str(), client.method), ("mine", Method::ClientSecretBasic));
    }
    let (setting, uris) = (configured(Some("https://b.example/")), uris());
    let other = Failure::ClientIssuer { client: "https://b.example/".to_owned(), server: ISSUER.to_owned() };
    assert_eq!(choose(&needs(&setting, &server, &uris)).unwrap_err(), other);
}

#[test]
fn a_registration_is_found_again_as_long_as_it_fits() {
    let server = server(json!({"registration_endpoint": "https://a.example/reg"}));
    let (setting, uris) = (auto(None), uris());
    let is_ready = |record: Value| {
        let record: ClientRecord = serde_json::from_value(record).unwrap();
        let needs = Needs { stored: Some(&record), ..needs(&setting, &server, &uris) };
        matches!(choose(&needs), Ok(Choice::Ready(client)) if client.id == "c")
    };
    assert!(is_ready(json!({"client_id": "c", "redirect_uris": [REDIRECT]})));
    assert!(is_ready(
        json!({"client_id": "c", "redirect_uris": [REDIRECT], "client_secret_expires_at": 1_700_000_001})
    ));
    assert!(!is_ready(
        json!({"client_id": "c", "redirect_uris": [REDIRECT], "client_secret_expires_at": 1_700_000_000})
    ));
    assert!(!is_ready(json!({"client_id": "c", "redirect_uris": ["http://127.0.0.1:33419/callback"]})));
}

/// Registers; each reply answers one request. What was sent, and what came of it.
fn register(
    redirect_uri: &str,
    scope: Option<&str>,
    replies: &[(u16, Value)],
) -> (Vec<Value>, Result<ClientRecord, Failure>) {
    register_at(&json!({}), redirect_uri, scope, replies)
}

/// The same at a server whose metadata have these members as well.
fn register_at(
    members: &Value,
    redirect_uri: &str,
    scope: Option<&str>,
    replies: &[(u16, Value)],
) -> (Vec<Value>, Result<ClientRecord, Failure>) {
    let mut members = members.clone();
    members["registration_endpoint"] = json!("https://a.example/reg");
    let server = server(members);
    let (setting, uris) = (auto(None), [redirect_uri.to_owned()]);
    let needs = Needs { scope: scope.map(str::to_owned), ..needs(&setting, &server, &uris) };
    let Ok(Choice::Register(mut flow)) = choose(&needs) else { panic!("it registers") };
    let (mut sent, mut replies, mut next) = (Vec::new(), replies.iter(), flow.start());
    loop {
        match next {
            Next::Done(result) => return (sent, result),
            Next::Send(request) => {
                assert_eq!(
                    (request.purpose, request.url.as_str()),
                    (Purpose::Registration, "https://a.example/reg")
                );
                assert_eq!(header(&request, "content-type"), Some("application/json"));
                sent.push(serde_json::from_str(request.body.unwrap().expose()).unwrap());
            }
        }
        let (status, body) = replies.next().expect("no request more than replies");
        next = flow.receive(answer(*status, body));
    }
}

#[test]
fn a_registration_says_who_we_are_and_keeps_what_comes_back() {
    // A secret and a method that nobody asked for.
    let reply = json!({"client_id": "c", "client_secret": "s", "client_secret_expires_at": 0, "token_endpoint_auth_method": "client_secret_post"});
    let (sent, record) = register(REDIRECT, Some("a b"), &[(201, reply)]);
    let expected = json!({
        "client_name": "ptc", "redirect_uris": [REDIRECT], "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"], "token_endpoint_auth_method": "none", "application_type": "native", "scope": "a b",
        "software_id": "ptc", "software_version": "0.1.0",
    });
    assert_eq!(sent, [expected]);
    let record = record.unwrap();
    assert_eq!(record.client_secret_expires_at, None);
    let client = record
        .client(&server(json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]})))
        .unwrap();
    assert_eq!(client.method, Method::ClientSecretPost);
    assert!(!format!("{record:?}").contains("\"s\""));

    let (sent, record) =
        register("https://ptc.example/oauth/callback", None, &[(200, json!({"client_id": "c"}))]);
    assert_eq!((sent[0]["application_type"].as_str(), sent[0].get("scope")), (Some("web"), None));
    assert_eq!(record.unwrap().client_secret, None);
}

#[test]
fn a_secret_is_used_although_the_answer_says_none() {
    let reply = json!({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "none"});
    let record = register(REDIRECT, None, &[(201, reply)]).1.unwrap();
    assert_eq!(record.client(&server(json!({}))).unwrap().method, Method::ClientSecretBasic);
}

#[test]
fn a_registration_is_corrected_once_for_each_reason() {
    let scope = (400, json!({"error": "invalid_client_metadata"}));
    let redirect = (400, json!({"error": "invalid_redirect_uri"}));
    let given = (201, json!({"client_id": "c"}));
    let (sent, record) = register(REDIRECT, Some("a"), &[scope.clone(), redirect.clone(), given]);
    assert!(record.is_ok());
    assert_eq!((sent[0]["scope"].as_str(), sent[1].get("scope")), (Some("a"), None));
    let types: Vec<&str> = sent.iter().map(|body| body["application_type"].as_str().unwrap()).collect();
    assert_eq!(types, ["native", "native", "web"]);

    let refused =
        |replies: &[(u16, Value)]| register(REDIRECT, Some("a"), replies).1.unwrap_err().to_string();
    let text = |code| {
        format!(
            "{ISSUER} refuses the registration: {code}; an application of your own may work, with auth.client"
        )
    };
    assert_eq!(refused(&[scope.clone(), scope]), text("invalid_client_metadata"));
    assert_eq!(refused(&[redirect.clone(), redirect]), text("invalid_redirect_uri"));
    assert_eq!(refused(&[(403, Value::Null)]), text("http 403"));
    assert_eq!(refused(&[(403, json!({"error": "access_denied"}))]), text("access_denied"));
    assert_eq!(refused(&[(201, json!({}))]), text("no client_id"));
    assert_eq!(refused(&[(503, Value::Null)]), "the registration endpoint does not answer: http 503");
    assert_eq!(refused(&[(307, Value::Null)]), "the registration endpoint redirects; not followed");
}

#[test]
fn a_registration_asks_for_the_device_grant_where_there_is_one() {
    let device = json!({"device_authorization_endpoint": "https://a.example/device"});
    let scope = (400, json!({"error": "invalid_client_metadata"}));
    let given = (201, json!({"client_id": "c"}));
    let grants = |body: &Value| body["grant_types"].as_array().unwrap().len();
    let (sent, record) = register_at(&device, REDIRECT, Some("a"), std::slice::from_ref(&given));
    assert!(record.is_ok());
    assert_eq!(
        sent[0]["grant_types"],
        json!(["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"])
    );
    // A server that gives it to nobody gets what it takes: first without the grant, then without the scope.
    let (sent, record) = register_at(&device, REDIRECT, Some("a"), &[scope.clone(), scope.clone(), given]);
    assert!(record.is_ok());
    assert_eq!(sent.iter().map(grants).collect::<Vec<_>>(), [3, 2, 2]);
    let scopes: Vec<_> = sent.iter().map(|body| body["scope"].as_str()).collect();
    assert_eq!(scopes, [Some("a"), Some("a"), None]);
    let (sent, record) = register_at(&device, REDIRECT, Some("a"), &[scope.clone(), scope.clone(), scope]);
    assert_eq!((sent.len(), record.unwrap_err().code()), (3, "registration_refused"));
}

#[test]
fn a_server_that_takes_no_secret_may_hand_one_out() {
    let reply = json!({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "none"});
    let record = register(REDIRECT, None, &[(201, reply)]).1.unwrap();
    let lists = |methods: &[&str]| server(json!({"token_endpoint_auth_methods_supported": methods}));
    assert_eq!(record.client(&lists(&["none"])).unwrap().method, Method::None);
    // Where it takes secrets as well, it means this one.
    let both = record.client(&lists(&["none", "client_secret_post"])).unwrap();
    assert_eq!(both.method, Method::ClientSecretPost);
    // A secret of the operator's is not left out.
    let own = Client::new("c".to_owned(), ClientOrigin::Configured, secret("s"), None, &lists(&["none"]));
    assert!(matches!(own, Err(Failure::Unsupported { .. })));
    // Nor is one where nothing but a signature would do.
    assert!(record.client(&lists(&["private_key_jwt"])).is_err());
}

#[test]
fn the_method_is_the_first_that_both_sides_can_do() {
    let key = key("p256", None);
    let method = |credential: Credential, registered, listed: Option<&[&str]>| {
        let server =
            server(listed.map_or(json!({}), |list| json!({"token_endpoint_auth_methods_supported": list})));
        Client::new("c".to_owned(), ClientOrigin::Configured, credential, registered, &server)
            .map(|client| client.method.name())
    };
    let none = Failure::Unsupported { what: "client authentication that auth.client can do" };
    assert_eq!(method(secret("s"), None, None), Ok("client_secret_basic"));
    assert_eq!(method(Credential::None, None, None), Ok("none"));
    assert_eq!(method(Credential::Key(key.clone()), None, None), Ok("private_key_jwt"));
    assert_eq!(method(secret("s"), None, Some(&["client_secret_post"])), Ok("client_secret_post"));
    assert_eq!(
        method(secret("s"), None, Some(&["none", "client_secret_post", "client_secret_basic"])),
        Ok("client_secret_basic")
    );
    assert_eq!(
        method(secret("s"), Some(Method::ClientSecretPost), Some(&["client_secret_basic"])),
        Ok("client_secret_post")
    );
    assert_eq!(method(Credential::None, None, Some(&["client_secret_basic"])), Ok("none"));
    assert_eq!(method(secret("s"), None, Some(&["private_key_jwt"])), Err(none.clone()));
    assert_eq!(method(Credential::Key(key), None, Some(&["client_secret_basic"])), Err(none));
}

#[test]
fn document_urls_are_public_and_have_a_path() {
    assert!(is_document_url(DOCUMENT));
    for url in [
        "http://ptc.example/c.json",
        "https://ptc.example",
        "https://ptc.example/",
        "https://localhost/c.json",
        "https://127.0.0.1/c.json",
        "https://10.1.2.3/c",
        "https://[fc00::1]/c",
        "https://ptc.example/c#f",
        "c.json",
    ] {
        assert!(!is_document_url(url), "{url}");
    }
    let document = client_document(DOCUMENT, &uris());
    assert_eq!(
        (&document["client_id"], &document["token_endpoint_auth_method"]),
        (&json!(DOCUMENT), &json!("none"))
    );
}

// Authentication

#[test]
fn clients_say_who_they_are_by_their_method() {
    let send = |credential, method| {
        let client = Client::new(
            "i:d é".to_owned(),
            ClientOrigin::Configured,
            credential,
            Some(method),
            &server(json!({})),
        )
        .unwrap();
        asking(&client, Some("https://h"), |asking| asking.refresh(&Secret::new("r")))
    };
    let basic = send(secret("s+ %:/"), Method::ClientSecretBasic);
    // Encoded as a form first, then base64.
    let pair =
        STANDARD.decode(header(&basic, "authorization").unwrap().strip_prefix("Basic ").unwrap()).unwrap();
    assert_eq!(pair, b"i%3Ad+%C3%A9:s%2B+%25%3A%2F");
    assert_eq!((value(&basic, "client_id"), value(&basic, "client_secret")), (None, None));
    let post = send(secret("s"), Method::ClientSecretPost);
    assert_eq!(header(&post, "authorization"), None);
    assert_eq!(
        (value(&post, "client_id").as_deref(), value(&post, "client_secret").as_deref()),
        (Some("i:d é"), Some("s"))
    );
    let public = send(Credential::None, Method::None);
    assert_eq!(
        (header(&public, "authorization"), value(&public, "client_id").as_deref()),
        (None, Some("i:d é"))
    );
}

fn key(name: &str, id: Option<&str>) -> ClientKey {
    let pem = match name {
        "p256" => include_str!("keys/p256.pem"),
        "rsa" => include_str!("keys/rsa.pem"),
        _ => include_str!("keys/ed25519.pem"),
    };
    ClientKey::from_pem(pem, id.map(str::to_owned), &SystemRandom::new()).unwrap()
}

#[test]
fn assertions_are_signed_by_the_kind_of_key() {
    // The public keys as SubjectPublicKeyInfo: the key itself lies at its end.
    let rows: [(&str, &str, &dyn signature::VerificationAlgorithm, &[u8]); 3] = [
        ("p256", "ES256", &signature::ECDSA_P256_SHA256_FIXED, &include_bytes!("keys/p256.pub.der")[26..]),
        ("rsa", "RS256", &signature::RSA_PKCS1_2048_8192_SHA256, &include_bytes!("keys/rsa.pub.der")[24..]),
        ("ed25519", "EdDSA", &signature::ED25519, &include_bytes!("keys/ed25519.pub.der")[12..]),
    ];
    for (name, algorithm, verification, public) in rows {
        let key = key(name, Some("k1"));
        assert_eq!(format!("{key:?}"), format!("a key for {algorithm}"));
        let client = Client::new(
            "id".to_owned(),
            ClientOrigin::Configured,
            Credential::Key(key),
            None,
            &server(json!({})),
        )
        .unwrap();
        let request = asking(&client, Some("https://h/mcp"), |asking| {
            asking.client_credentials(&Scopes::of_text("a b"))
        });
        assert_eq!(value(&request, "client_id"), None);
        assert_eq!(value(&request, "grant_type").as_deref(), Some("client_credentials"));
        assert_eq!(
            (value(&request, "scope").as_deref(), value(&request, "resource").as_deref()),
            (Some("a b"), Some("https://h/mcp"))
        );
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        assert_eq!(value(&request, "client_assertion_type").as_deref(), Some(kind));
        let assertion = value(&request, "client_assertion").unwrap();
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(verification, public).verify(signed.as_bytes(), &signature).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let decode = |part| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(decode(header), json!({"alg": algorithm, "typ": "JWT", "kid": "k1"}));
        let jti = URL_SAFE_NO_PAD.encode([7; 16]);
        let expected = json!({"iss": "id", "sub": "id", "aud": ISSUER, "jti": jti, "iat": AT.seconds(), "exp": AT.seconds() + 300});
        assert_eq!(decode(claims), expected);
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let read = |pem: &str| ClientKey::from_pem(pem, None, &SystemRandom::new()).unwrap_err();
    assert_eq!(read(""), KeyError::NotPem);
    assert_eq!(
        read("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"),
        KeyError::NotPem
    );
    assert_eq!(read("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), KeyError::Kind);
}

// The authorization request and its answer

fn entropy(byte: u8) -> Entropy {
    Entropy { verifier: Zeroizing::new([byte; 32]), state: Zeroizing::new([byte; 16]) }
}

fn begin(server: &ServerMetadata, scopes: &str, resource: Option<&str>) -> (Url, PendingSignIn) {
    let authorization = Authorization {
        server,
        client_id: "id",
        redirect_uri: REDIRECT,
        scopes: &Scopes::of_text(scopes),
        resource,
        principal: "process",
        upstream: "linear",
        legacy: false,
    };
    let (url, pending) = authorization.begin(&entropy(1), AT).unwrap();
    (Url::parse(url.expose()).unwrap(), pending)
}

#[test]
fn the_authorization_request_has_its_parameters_and_those_of_the_endpoint() {
    let server = server(json!({"authorization_endpoint": "https://a.example/authorize?tenant=t%201"}));
    let (url, pending) = begin(&server, "a b", Some("https://h.example"));
    let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let verifier = URL_SAFE_NO_PAD.encode([1; 32]);
    let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
    let state = URL_SAFE_NO_PAD.encode([1; 16]);
    let expected = [
        ("tenant", "t 1"),
        ("response_type", "code"),
        ("client_id", "id"),
        ("redirect_uri", REDIRECT),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("state", &state),
        ("scope", "a b"),
        ("resource", "https://h.example"),
    ];
    assert_eq!(query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!((pending.verifier.expose(), pending.issuer.as_str()), (verifier.as_str(), ISSUER));
    let shown = format!("{pending:?}");
    assert!(!shown.contains(&verifier) && !shown.contains(&state), "{shown}");
    // It goes through a store.
    let text = serde_json::to_string(&pending).unwrap();
    assert_eq!(serde_json::from_str::<PendingSignIn>(&text).unwrap(), pending);

    let (url, _) = begin(&server, "", None);
    assert!(!url.query_pairs().any(|(name, _)| name == "scope" || name == "resource"));
}

#[test]
fn a_verifier_has_the_characters_and_length_of_rfc_7636() {
    let (_, pending) = begin(&server(json!({})), "", None);
    assert_eq!(pending.verifier.expose().len(), 43);
    assert!(pending.verifier.expose().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)));
}

fn callback(query: &str) -> Result<Callback, BadCallback> {
    Callback::read("GET", &format!("/callback?{query}"), "/callback")
}

#[test]
fn a_callback_is_a_get_of_the_path_with_each_parameter_once() {
    assert!(callback("state=s&code=c").is_ok());
    assert!(callback("code=c&state=s&iss=https%3A%2F%2Fa&session_state=x").is_ok());
    assert!(callback("state=s&error=access_denied&error_description=no").is_ok());
    let rows = [
        ("state=s&code=c&code=d", BadCallback::Repeated),
        ("state=s&code=c&state=s", BadCallback::Repeated),
        ("state=s&code=c&x=1&x=2", BadCallback::Repeated),
        ("state=s&c%6fde=c&code=c", BadCallback::Repeated),
        ("code=c", BadCallback::NoState),
        ("", BadCallback::NoState),
        ("state=s", BadCallback::NoVerdict),
        ("state=s&code=", BadCallback::NoVerdict),
        ("state=s&code=c&error=e", BadCallback::NoVerdict),
        ("state=s&code=c&iss=%ff", BadCallback::Encoding),
    ];
    for (query, expected) in rows {
        assert_eq!(callback(query), Err(expected), "{query}");
    }
    let long = |bytes: usize| format!("state=s&code={}", "c".repeat(bytes - 13));
    assert!(callback(&long(8192)).is_ok());
    assert_eq!(callback(&long(8193)), Err(BadCallback::TooLong));
    for method in ["POST", "HEAD", "get"] {
        assert_eq!(Callback::read(method, "/callback?state=s&code=c", "/callback"), Err(BadCallback::Method));
    }
    for target in [
        "/callback/?state=s&code=c",
        "/Callback?state=s&code=c",
        "/?state=s&code=c",
        "/callback/x?state=s&code=c",
    ] {
        assert_eq!(Callback::read("GET", target, "/callback"), Err(BadCallback::Path), "{target}");
    }
}

#[test]
fn a_callback_belongs_to_the_sign_in_of_its_state_for_ten_minutes() {
    let (_, pending) = begin(&server(json!({})), "", None);
    let at = |seconds: u64| Timestamp::from_seconds(AT.seconds() + seconds);
    let with = |state: &str| callback(&format!("state={state}&code=c")).unwrap();
    let state = pending.state.expose();
    assert!(pending.is_for(&with(state), at(599)));
    assert!(!pending.is_for(&with(state), at(600)));
    assert!(!pending.is_for(&with(&state[1..]), at(0)));
    assert!(!pending.is_for(&with("x"), at(0)));
}

#[test]
fn the_issuer_of_a_callback_is_checked_byte_for_byte() {
    let supported = |value: Value| server(json!({"authorization_response_iss_parameter_supported": value}));
    let rows: &[(Value, Option<&str>, bool)] = &[
        (json!(true), Some("https%3A%2F%2Fa.example"), true),
        (json!(true), None, false),
        (json!(true), Some("https%3A%2F%2Fevil.example"), false),
        (json!(false), Some("https%3A%2F%2Fa.example"), true),
        (json!(false), None, true),
        (json!(false), Some("https%3A%2F%2Fevil.example"), false),
        (json!(null), Some("https://a.example"), true),
        (json!(null), None, true),
        (json!(null), Some("https%3A%2F%2Fevil.example"), false),
        // One slash behind an issuer without a path, where it is not advertised.
        (json!(false), Some("https%3A%2F%2Fa.example%2F"), true),
        (json!(null), Some("https%3A%2F%2Fa.example%2F"), true),
        (json!(null), Some("https%3A%2F%2Fa.example%2F%2F"), false),
        // Nothing else is normalised.
        (json!(true), Some("https%3A%2F%2Fa.example%2F"), false),
        (json!(true), Some("HTTPS%3A%2F%2Fa.example"), false),
        (json!(true), Some("https%3A%2F%2Fa.example%3A443"), false),
        (json!(true), Some(""), false),
        (json!(false), Some(""), false),
    ];
    for (advertised, iss, accepted) in rows {
        let (_, pending) = begin(&supported(advertised.clone()), "", None);
        let iss = iss.map_or(String::new(), |iss| format!("&iss={iss}"));
        let code = pending.code(callback(&format!("state=s&code=c{iss}")).unwrap());
        let expected = if *accepted { Ok(Secret::new("c")) } else { Err(Failure::IssMismatch) };
        assert_eq!(code, expected, "{advertised} {iss}");
        // Errors pass the same check, and what a stranger says is not shown.
        let refused = pending.code(callback(&format!("state=s&error=access_denied{iss}")).unwrap());
        let expected = if *accepted { Failure::refused("access_denied") } else { Failure::IssMismatch };
        assert_eq!(refused, Err(expected), "{advertised} {iss}");
    }
}

#[test]
fn a_pasted_url_is_read_and_a_bare_code_only_where_nobody_could_be_taken_for_another() {
    let state = Secret::new("s");
    let pasted = |text: &str, bare: Option<&Secret>| Callback::of_pasted(text, REDIRECT, bare);
    let whole = pasted(&format!("  {REDIRECT}?code=c&state=s&iss=x#frag\n"), None).unwrap();
    assert_eq!((whole.state, whole.iss.as_deref()), (Secret::new("s"), Some("x")));
    assert!(
        Callback::of_pasted("https://p.example/cb?a=1&code=c&state=s", "https://p.example/cb?a=1", None)
            .is_ok()
    );
    assert_eq!(pasted(" abc-123/x= ", Some(&state)).unwrap().state, state);
    for text in [
        "abc",
        "",
        "a b",
        "http://127.0.0.1:33418/callbackx?code=c&state=s",
        "https://evil.example/callback?code=c&state=s",
        REDIRECT,
    ] {
        assert_eq!(pasted(text, None), Err(BadCallback::NotTheUrl), "{text}");
    }
    for text in ["", "a b", "https://evil.example/callback?code=c", REDIRECT, &"x".repeat(5000)] {
        assert_eq!(pasted(text, Some(&state)), Err(BadCallback::NotTheUrl), "{text}");
    }
}

// Grants

#[test]
fn resource_goes_byte_for_byte_into_every_request_that_has_it() {
    // Failures 6 and 7 of auth.md 18.5.
    for resource in [
        "https://h.example",
        "https://h.example/",
        "HTTPS://H.Example:443/a/../b?x=%7e&y",
        "urn:x",
        "https://bücher.example/ä",
    ] {
        let (url, _) = begin(&server(json!({})), "", Some(resource));
        assert_eq!(url.query_pairs().find(|(name, _)| name == "resource").unwrap().1, resource);
        let secret = Secret::new("x");
        let device = Url::parse("https://a.example/device").unwrap();
        let client = public_client();
        let requests = asking(&client, Some(resource), |asking| {
            [
                asking.code(&secret, REDIRECT, &secret),
                asking.refresh(&secret),
                asking.client_credentials(&Scopes::default()),
                asking.device(&device, &Scopes::default()),
            ]
        });
        for request in requests {
            assert_eq!(value(&request, "resource").as_deref(), Some(resource));
        }
        let without = asking(&client, None, |asking| asking.refresh(&secret));
        assert_eq!(value(&without, "resource"), None);
    }
}

#[test]
fn a_code_is_exchanged_with_what_it_was_asked_for() {
    let request = asking(&public_client(), Some("https://h"), |asking| {
        asking.code(&Secret::new("the code"), REDIRECT, &Secret::new("the verifier"))
    });
    assert_eq!((request.purpose, request.url.as_str()), (Purpose::Token, "https://a.example/token"));
    assert!(!request.purpose.follows_redirects());
    let expected = [
        ("grant_type", "authorization_code"),
        ("code", "the code"),
        ("redirect_uri", REDIRECT),
        ("code_verifier", "the verifier"),
        ("resource", "https://h"),
        ("client_id", "id"),
    ];
    assert_eq!(form(&request), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let shown = format!("{request:?}");
    assert_eq!(shown, "Token Post https://a.example/token");
}

#[test]
fn a_refresh_leaves_the_scope_out() {
    let request = asking(&public_client(), None, |asking| asking.refresh(&Secret::new("r")));
    let names: Vec<String> = form(&request).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["grant_type", "refresh_token", "client_id"]);
}

#[test]
fn revocation_says_what_it_revokes() {
    let endpoint = Url::parse("https://a.example/revoke").unwrap();
    let request = asking(&public_client(), Some("https://h"), |asking| {
        asking.revoke(&endpoint, &Secret::new("r"), TokenKind::Refresh)
    });
    assert_eq!((request.purpose, request.url.as_str()), (Purpose::Revocation, "https://a.example/revoke"));
    let expected = [("token", "r"), ("token_type_hint", "refresh_token"), ("client_id", "id")];
    assert_eq!(form(&request), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_device_waits_for_its_person() {
    let begun = json!({"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://a.example/device", "expires_in": 60, "interval": 5});
    let device = DeviceAuthorization::read(&answer(200, &begun)).unwrap();
    assert_eq!(
        (device.user_code.as_str(), device.verification_uri.as_str()),
        ("WDJB-MJHT", "https://a.example/device")
    );
    let at = |seconds: u64| Timestamp::from_seconds(AT.seconds() + seconds);
    let due = |poll: Poll| match poll {
        Poll::At(time) => Ok(time.since(AT).as_secs()),
        Poll::Done(result) => Err(result.map(|_| ()).map_err(|failure| failure.code().to_owned())),
    };
    let mut polling = device.poll(AT);
    assert_eq!(due(polling.due()), Ok(5));
    let request = asking(&public_client(), None, |asking| polling.request(&asking));
    assert_eq!(
        value(&request, "grant_type").as_deref(),
        Some("urn:ietf:params:oauth:grant-type:device_code")
    );
    let says =
        |seconds, error: &str| RequestOutcome { at: at(seconds), ..answer(400, &json!({"error": error})) };
    assert_eq!(due(polling.receive(&says(6, "authorization_pending"))), Ok(11));
    assert_eq!(due(polling.receive(&says(11, "slow_down"))), Ok(21));
    // Trouble is waited out.
    assert_eq!(
        due(polling.receive(&RequestOutcome { at: at(22), result: Err(TransportError::TimedOut) })),
        Ok(42)
    );
    let tokens = json!({"access_token": "t", "token_type": "Bearer"});
    assert_eq!(due(polling.receive(&RequestOutcome { at: at(43), ..answer(200, &tokens) })), Err(Ok(())));
    // Each ending by its code, and the code's own end.
    for code in ["access_denied", "expired_token", "invalid_grant"] {
        assert_eq!(due(device.poll(AT).receive(&says(6, code))), Err(Err(code.to_owned())));
    }
    assert_eq!(
        due(device.poll(AT).receive(&says(56, "authorization_pending"))),
        Err(Err("expired_token".to_owned()))
    );
}

#[test]
fn what_a_device_shows_is_fit_to_be_shown() {
    let with = |name: &str, value: Value| {
        let mut begun =
            json!({"device_code": "d", "user_code": "u", "verification_uri": "https://a.example/device"});
        begun[name] = value;
        DeviceAuthorization::read(&answer(200, &begun)).map_err(|failure| failure.to_string())
    };
    let device = with("interval", json!(0)).unwrap();
    assert!(matches!(device.poll(AT).due(), Poll::At(time) if time.since(AT).as_secs() == 1));
    assert_eq!(with("expires_in", json!(1_000_000)).unwrap().expires_at.since(AT).as_secs(), 3600);
    let bad = |reason: &str| Err(format!("the token endpoint's answer cannot be used ({reason})"));
    let code = bad("a user_code that nobody can enter");
    assert_eq!(with("user_code", json!("x".repeat(33))), code);
    assert_eq!(with("user_code", json!("a\u{1b}[2J")), code);
    assert_eq!(with("user_code", json!("")), bad("no user_code"));
    for uri in ["javascript:alert(1)", "http://a.example/device", "file:///etc/passwd", ""] {
        assert_eq!(with("verification_uri", json!(uri)), bad("no https verification_uri"));
    }
    assert_eq!(
        with("verification_uri_complete", json!("javascript:1")).unwrap().verification_uri_complete,
        None
    );
    let away = DeviceAuthorization::read(&answer(503, &Value::Null)).unwrap_err();
    assert_eq!(away.to_string(), "the device authorization endpoint does not answer: http 503");
}

#[test]
fn an_identity_provider_gives_a_grant_for_another_server() {
    let (provider_url, random) = (Url::parse("https://idp.example/token").unwrap(), SystemRandom::new());
    let client = |id: &str| {
        Client::new(
            id.to_owned(),
            ClientOrigin::Configured,
            secret("s"),
            Some(Method::ClientSecretPost),
            &server(json!({})),
        )
        .unwrap()
    };
    let (at_provider, at_server) = (client("at-idp"), client("at-as"));
    let subject = Subject { token: Secret::new("id-token"), kind: SubjectTokenType::IdToken };
    let scopes = Scopes::of_text("a");
    asking(&at_server, Some("https://h/mcp"), |server| {
        let signing = Signing { issuer: "https://idp.example", now: AT, jti: [1; 16], random: &random };
        let provider = GrantContext {
            endpoint: &provider_url,
            client: &at_provider,
            signing,
            resource: Some("https://h/mcp"),
        };
        let grant = IdJag { provider, server, audience: ISSUER, scopes: &scopes, subject: &subject };
        let mut flow = grant.flow();
        let Next::Send(first) = flow.start() else { panic!("it asks the provider") };
        assert_eq!(first.url.as_str(), "https://idp.example/token");
        let expected = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
            ("audience", ISSUER),
            ("resource", "https://h/mcp"),
            ("subject_token", "id-token"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("scope", "a"),
            ("client_id", "at-idp"),
            ("client_secret", "s"),
        ];
        assert_eq!(form(&first), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let kind = "urn:ietf:params:oauth:token-type:id-jag";
        let given =
            json!({"access_token": "jag", "issued_token_type": kind, "token_type": "N_A", "expires_in": 300});
        let Next::Send(second) = flow.receive(answer(200, &given)) else { panic!("it asks the server") };
        assert_eq!(second.url.as_str(), "https://a.example/token");
        assert_eq!(
            value(&second, "grant_type").as_deref(),
            Some("urn:ietf:params:oauth:grant-type:jwt-bearer")
        );
        assert_eq!(
            (value(&second, "assertion").as_deref(), value(&second, "client_id").as_deref()),
            (Some("jag"), Some("at-as"))
        );
        let Next::Done(Ok(tokens)) =
            flow.receive(answer(200, &json!({"access_token": "t", "token_type": "Bearer"})))
        else {
            panic!("it has tokens")
        };
        assert_eq!(tokens.access_token, Secret::new("t"));

        let refused = |answer: RequestOutcome| {
            let mut flow = grant.flow();
            flow.start();
            let Next::Done(Err(fault)) = flow.receive(answer) else { panic!("it ends") };
            fault
        };
        let bearer = json!({"access_token": "jag", "issued_token_type": kind, "token_type": "Bearer"});
        assert_eq!(refused(answer(200, &bearer)), GrantError::Bad("a token_type other than N_A"));
        let access = json!({"access_token": "jag", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "N_A"});
        assert_eq!(refused(answer(200, &access)), GrantError::Bad("an issued_token_type other than id-jag"));
        let denied = refused(answer(400, &json!({"error": "access_denied"})));
        assert_eq!(denied, GrantError::Refused { code: ErrorCode::new("access_denied"), description: None });
    });
}

#[test]
fn the_kind_of_a_persons_token_has_a_short_name_too() {
    let saml = "urn:ietf:params:oauth:token-type:saml2";
    assert_eq!(
        [SubjectTokenType::of("saml2"), SubjectTokenType::of(saml)],
        [Some(SubjectTokenType::Saml2); 2]
    );
    assert_eq!(SubjectTokenType::of("id_token"), Some(SubjectTokenType::IdToken));
    for other in ["", "access_token", "jwt", "urn:ietf:params:oauth:token-type:access_token", "type:saml2"] {
        assert_eq!(SubjectTokenType::of(other), None, "{other}");
    }
}

#[test]
fn nothing_secret_is_printed_on_the_way() {
    let tokens = read(&answer(
        200,
        &json!({"access_token": "AAA-secret", "refresh_token": "BBB-secret", "token_type": "Bearer"}),
    ))
    .unwrap();
    let back = callback("state=CCC-secret&code=DDD-secret").unwrap();
    let client = Client::new(
        "id".to_owned(),
        ClientOrigin::Configured,
        secret("EEE-secret"),
        None,
        &server(json!({})),
    )
    .unwrap();
    let request = asking(&client, None, |asking| {
        asking.code(&Secret::new("DDD-secret"), REDIRECT, &Secret::new("FFF-secret"))
    });
    let shown = format!(
        "{tokens:?} {back:?} {client:?} {request:?} {:?}",
        answer(200, &json!({"access_token": "AAA-secret"}))
    );
    assert!(!shown.contains("-secret"), "{shown}");
}
