//! Who the caller is, by static tokens and by access tokens with a verifier that the tests script.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use ptc_host::credentials::Secret;
use ptc_host::issuers::Verification;
use ptc_host::policy::Policy;
use ptc_protocol::concurrency_limiter::CallLimits;
use ptc_protocol::tool::Registry;

use super::*;

fn named(name: &str, token: &str) -> NamedToken {
    NamedToken { name: name.into(), token: Secret::new(token), is_operator: name == "b" }
}

/// Knows some tokens, and counts how often it is asked.
#[derive(Debug, Default)]
struct Script {
    answers: HashMap<&'static str, Result<VerifiedToken, TokenRefusal>>,
    asked: AtomicUsize,
}

impl TokenVerifier for Script {
    fn verify<'a>(&'a self, token: &'a str) -> Verification<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let unknown = TokenRefusal::Invalid { description: "the token cannot be verified" };
        let answer = self.answers.get(token).cloned().unwrap_or(Err(unknown));
        Box::pin(std::future::ready(answer))
    }

    fn is_asked_about(&self, token: &str) -> bool {
        token.starts_with("opaque")
    }
}

fn token(subject: &str, scopes: &[&str], seconds: u64) -> VerifiedToken {
    VerifiedToken {
        issuer: "https://i.example".into(),
        subject: subject.into(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        claims: vec![
            ("groups".into(), vec!["support".into(), "all".into()]),
            ("email".into(), vec!["ann@example.com".into()]),
        ],
        life: Duration::from_secs(seconds),
    }
}

async fn ask(
    authenticator: &Authenticator,
    query: Option<&str>,
    values: &[&str],
) -> Result<String, AuthenticationError> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
    }
    let caller = authenticator.caller(query, &Headers::of(&headers), || false).await?;
    Ok(caller.principal.name().to_owned())
}

/// A server under this policy.
fn service(policy: Option<Arc<CurrentPolicy>>) -> Service {
    let mut service = Service::new(Registry::new(Vec::new()), CallLimits::shared(1));
    service.policy = policy;
    service
}

fn with_tokens(tokens: Vec<NamedToken>) -> Authenticator {
    Authenticator::new(Acceptance { tokens, ..Acceptance::default() })
}

#[tokio::test]
async fn tokens_have_names() {
    let auth = with_tokens(vec![named("a", "token-a"), named("b", "token-b"), named("a", "token-c")]);
    let ask = async |values: &[&str]| ask(&auth, None, values).await;
    assert_eq!(ask(&["Bearer token-b"]).await.unwrap(), "b");
    assert_eq!(ask(&["bEARER  token-a"]).await.unwrap(), "a");
    let caller = async |token: &str| {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        let caller = auth.caller(None, &Headers::of(&headers), || false).await.unwrap();
        (caller.principal.number(), caller.is_operator(&service(None)))
    };
    assert!(caller("token-b").await.1 && !caller("token-a").await.1);
    // Two tokens of one name are one principal.
    assert_eq!(caller("token-a").await.0, caller("token-c").await.0);
    assert_eq!(ask(&[]).await, Err(AuthenticationError::Missing));
    for wrong in ["Bearer token-", "Bearer token-aa"] {
        assert_eq!(ask(&[wrong]).await, Err(AuthenticationError::Unknown), "{wrong}");
    }
    for wrong in ["Bearer", "Bearer ", "Bearertoken-a", "Basic token-a", "token-a", ""] {
        assert_eq!(ask(&[wrong]).await, Err(AuthenticationError::Malformed), "{wrong}");
    }
    assert_eq!(ask(&["Bearer token-a", "Bearer token-a"]).await, Err(AuthenticationError::Malformed));
    let long = format!("Bearer {}", "x".repeat(16 << 10));
    assert_eq!(ask(&[&long]).await, Err(AuthenticationError::Malformed));
}

#[tokio::test]
async fn other_tokens_take_the_places_of_those_before() {
    let auth = with_tokens(vec![named("a", "token-a"), named("c", "token-c"), named("d", "token-d")]);
    let number = async |token: &str| {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        let caller = auth.caller(None, &Headers::of(&headers), || false).await.ok()?;
        Some((caller.principal.number(), std::ptr::from_ref::<HttpCaller>(&caller).addr()))
    };
    let before = number("token-a").await.unwrap();
    let of = |token: &str| HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    let (stays, goes) = (of("token-a"), of("token-c"));
    let mut ends = [Box::pin(auth.token_ends(Some(&stays))), Box::pin(auth.token_ends(Some(&goes)))];
    assert!(ends.iter_mut().all(|end| end.as_mut().now_or_never().is_none()));
    let changes =
        auth.replace_tokens(vec![named("a", "token-a"), named("a", "token-n"), named("d", "token-e")]);
    let revoked: Vec<&str> = changes.revoked.iter().map(Principal::name).collect();
    assert_eq!((changes.added, changes.removed, revoked), (2, 2, vec!["c"]));
    assert_eq!(ends.each_mut().map(|end| end.as_mut().now_or_never().is_some()), [false, true]);
    assert_eq!(number("token-a").await, Some(before), "a token that stays keeps its caller");
    assert_eq!(number("token-n").await.unwrap().0, before.0, "one principal has one account");
    assert!(number("token-c").await.is_none() && number("token-e").await.is_some());
    // A listener that requires nothing goes on so.
    let open = with_tokens(vec![]);
    open.replace_tokens(vec![named("a", "token-a")]);
    assert_eq!(ask(&open, None, &[]).await.unwrap(), "anonymous");
}

#[tokio::test]
async fn a_listener_that_requires_nothing_knows_one_caller() {
    let open = with_tokens(vec![]);
    assert_eq!(ask(&open, None, &[]).await.unwrap(), "anonymous");
    assert_eq!(ask(&open, Some("access_token=x"), &["Basic x"]).await.unwrap(), "anonymous");
    // Without a verifier nobody is admitted, least of all as anonymous.
    let shut = Authenticator::new(Acceptance { oauth: true, ..Acceptance::default() });
    assert_eq!(ask(&shut, None, &[]).await, Err(AuthenticationError::Missing));
    assert_eq!(ask(&shut, None, &["Bearer x"]).await, Err(AuthenticationError::Unknown));
}

#[tokio::test]
async fn a_token_in_the_query_is_refused_beside_any_header() {
    let auth = with_tokens(vec![named("a", "token-a")]);
    let ask = async |query: &str| ask(&auth, Some(query), &["Bearer token-a"]).await;
    for query in ["access_token=token-a", "x=1&access_token", "access%5Ftoken=x"] {
        assert_eq!(ask(query).await, Err(AuthenticationError::Malformed), "{query}");
    }
    for query in ["", "access_tokens=1", "x=access_token"] {
        assert_eq!(ask(query).await.unwrap(), "a", "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn access_tokens_are_verified_once_and_again_when_their_verdict_has_ended() {
    let script = Arc::new(Script {
        answers: HashMap::from([
            ("ann-1", Ok(token("ann", &["mcp:read"], 60))),
            ("ann-2", Ok(token("ann", &["mcp:read", "more"], 60))),
            ("narrow", Ok(token("ann", &["more"], 60))),
            ("old", Err(TokenRefusal::Expired)),
            ("away", Err(TokenRefusal::Unavailable)),
        ]),
        asked: AtomicUsize::new(0),
    });
    let auth = Authenticator::new(Acceptance {
        tokens: vec![named("a", "token-a")],
        oauth: true,
        verifier: Some(script.clone()),
        required_scopes: vec!["mcp:read".into()],
        policy: None,
    });
    let caller = async |token: &str| ask(&auth, None, &[&format!("Bearer {token}")]).await;
    let asked = || script.asked.load(Ordering::Relaxed);
    assert_eq!(caller("token-a").await.unwrap(), "a");
    assert_eq!(asked(), 0);
    for _ in 0..3 {
        assert_eq!(caller("ann-1").await.unwrap(), "https://i.example|ann");
    }
    assert_eq!(asked(), 1);
    let number = async |token: &str| {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        let caller = auth.caller(None, &Headers::of(&headers), || false).await.unwrap();
        assert!(!caller.is_operator(&service(None)) && caller.principal.authority().is_none());
        caller.principal.number()
    };
    // What a person uses is counted once, whatever token it comes with.
    assert_eq!(number("ann-1").await, number("ann-2").await);
    assert_eq!(asked(), 2);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(caller("ann-1").await.unwrap(), "https://i.example|ann");
    assert_eq!(asked(), 3);
    for (token, why) in [
        ("narrow", AuthenticationError::InsufficientScope),
        ("old", AuthenticationError::Expired),
        ("away", AuthenticationError::Unavailable),
        ("guess", AuthenticationError::Invalid("the token cannot be verified")),
    ] {
        assert_eq!(caller(token).await, Err(why), "{token}");
        assert_eq!(auth.is_guess(why), token == "guess", "{token}");
    }
    assert!(!auth.is_guess(AuthenticationError::Missing) && auth.is_guess(AuthenticationError::Malformed));
    assert!(with_tokens(vec![named("a", "token-a")]).is_guess(AuthenticationError::Missing));
}

#[tokio::test(start_paused = true)]
async fn a_channel_is_told_of_the_end_of_its_token() {
    #[derive(Debug, Default)]
    struct Revocable(AtomicUsize);
    impl TokenVerifier for Revocable {
        fn verify<'a>(&'a self, _: &'a str) -> Verification<'a> {
            // Good three times, for a minute each.
            let invalid = TokenRefusal::Invalid { description: "the token cannot be verified" };
            let is_good = self.0.fetch_add(1, Ordering::Relaxed) < 3;
            Box::pin(std::future::ready(if is_good { Ok(token("ann", &[], 60)) } else { Err(invalid) }))
        }

        fn is_asked_about(&self, _: &str) -> bool {
            true
        }
    }
    let auth = Authenticator::new(Acceptance {
        tokens: vec![named("a", "token-a")],
        oauth: true,
        verifier: Some(Arc::new(Revocable::default())),
        ..Acceptance::default()
    });
    let of = |text: &str| HeaderValue::from_str(text).unwrap();
    ask(&auth, None, &["Bearer of-ann"]).await.unwrap();
    let begun = Instant::now();
    auth.token_ends(Some(&of("Bearer of-ann"))).await;
    assert_eq!(begun.elapsed().as_secs(), 180);
    let day = Duration::from_secs(86_400);
    let fixed = of("Bearer token-a");
    assert!(tokio::time::timeout(day, auth.token_ends(Some(&fixed))).await.is_err());
    assert!(tokio::time::timeout(day, auth.token_ends(None)).await.is_err());
}

#[tokio::test]
async fn another_policy_may_ask_for_other_claims_of_a_token() {
    let allowing = |claim: &str, upstream: &str| {
        let rule = format!(
            r#"{{"match": {{"claim": {claim}}}, "upstreams": {{"{upstream}": {{"allow": ["*"]}}}}}}"#
        );
        Policy::parse(&format!(r#"{{"rules": [{rule}]}}"#)).unwrap()
    };
    let policy = Arc::new(CurrentPolicy::new(allowing(r#"{"groups": "support"}"#, "x")));
    let script = Arc::new(Script {
        answers: HashMap::from([("ann", Ok(token("ann", &[], 60)))]),
        asked: AtomicUsize::new(0),
    });
    let auth = Authenticator::new(Acceptance {
        oauth: true,
        verifier: Some(script.clone()),
        policy: Some(policy.clone()),
        ..Acceptance::default()
    });
    let sees = async || {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer ann"));
        let caller = auth.caller(None, &Headers::of(&headers), || false).await.unwrap();
        let grant = &caller.principal.authority().unwrap().grant;
        (grant.upstream("x"), grant.upstream("y"), script.asked.load(Ordering::Relaxed))
    };
    assert_eq!((sees().await, sees().await), ((true, false, 1), (true, false, 1)));
    policy.replace(allowing(r#"{"email": "ann@example.com"}"#, "y"));
    assert_eq!((sees().await, sees().await), ((false, true, 2), (false, true, 2)));
}

#[tokio::test]
async fn a_policy_knows_the_claims_that_it_asks_for() {
    let file = r#"{"rules": [
        {"name": "s", "match": {"claim": {"groups": "support"}}, "upstreams": {"x": {"allow": ["*"]}}, "operator": true},
        {"match": {"principal": "a"}, "upstreams": {"y": {"allow": ["*"]}}}]}"#;
    let policy = Arc::new(CurrentPolicy::new(Policy::parse(file).unwrap()));
    let script = Script {
        answers: HashMap::from([("ann", Ok(token("ann", &["mcp:read"], 60)))]),
        asked: AtomicUsize::new(0),
    };
    let auth = Authenticator::new(Acceptance {
        tokens: vec![named("a", "token-a")],
        oauth: true,
        verifier: Some(Arc::new(script)),
        required_scopes: vec![],
        policy: Some(policy.clone()),
    });
    let authority = async |token: &str| {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        let caller = auth.caller(None, &Headers::of(&headers), || false).await.unwrap();
        let service = service(Some(policy.clone()));
        let present = service.present(&caller.principal);
        (present.authority().unwrap().clone(), caller.is_operator(&service))
    };
    let (ann, is_operator) = authority("ann").await;
    assert!(is_operator && ann.grant.upstream("x") && !ann.grant.upstream("y"));
    assert_eq!(&*ann.caller.principal, "https://i.example|ann");
    assert_eq!(
        (ann.caller.issuer.as_deref(), ann.caller.subject.as_deref()),
        (Some("https://i.example"), Some("ann"))
    );
    assert_eq!(ann.caller.scopes.iter().map(|scope| &**scope).collect::<Vec<_>>(), ["mcp:read"]);
    let claims: Vec<&str> = ann.caller.claims.iter().map(|claim| &*claim.name).collect();
    assert_eq!(claims, ["groups"]);
    let (fixed, is_operator) = authority("token-a").await;
    assert!(!is_operator && fixed.grant.upstream("y") && !fixed.grant.upstream("x"));
    assert_eq!(fixed.caller, Caller::named("a"));
}

#[tokio::test(start_paused = true)]
async fn an_issuer_is_asked_once_about_a_token_that_it_refuses_and_by_one_guesser_at_a_time() {
    /// Refuses all but one token, when it is told to answer.
    #[derive(Debug, Default)]
    struct Slow {
        asked: AtomicUsize,
        answers: tokio::sync::Notify,
    }
    impl TokenVerifier for Slow {
        fn verify<'a>(&'a self, token: &'a str) -> Verification<'a> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                self.answers.notified().await;
                match token {
                    "good" => Ok(super::tests::token("ann", &[], 60)),
                    "away" => Err(TokenRefusal::Unavailable),
                    _ => Err(TokenRefusal::Invalid { description: "the token cannot be verified" }),
                }
            })
        }

        fn is_asked_about(&self, _: &str) -> bool {
            true
        }
    }
    let slow = Arc::new(Slow::default());
    let auth =
        Authenticator::new(Acceptance { oauth: true, verifier: Some(slow.clone()), ..Acceptance::default() });
    let caller = async |token: &str, is_blocked: bool| {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
        let headers = Headers::of(&headers);
        auth.caller(None, &headers, || is_blocked).await.map(|caller| caller.principal.name().to_owned())
    };
    let asked = || slow.asked.load(Ordering::Relaxed);
    let refused = Err(AuthenticationError::Invalid("the token cannot be verified"));
    // Guessers share one place.
    let mut first = Box::pin(caller("guess-1", true));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!((caller("guess-2", true).await, asked()), (refused.clone(), 1));
    let mut other = Box::pin(caller("good", false));
    assert!(other.as_mut().now_or_never().is_none() && asked() == 2, "others are asked about meanwhile");
    slow.answers.notify_waiters();
    assert_eq!((first.await, other.await.as_deref()), (refused.clone(), Ok("https://i.example|ann")));
    // What was refused is known for a while, by whomever it is sent.
    for is_blocked in [true, false] {
        assert_eq!((caller("guess-1", is_blocked).await, asked()), (refused.clone(), 2));
    }
    let mut away = Box::pin(caller("away", false));
    assert!(away.as_mut().now_or_never().is_none());
    slow.answers.notify_waiters();
    assert_eq!(away.await, Err(AuthenticationError::Unavailable));
    slow.answers.notify_one();
    assert_eq!((caller("away", false).await, asked()), (Err(AuthenticationError::Unavailable), 4));
    tokio::time::advance(REFUSAL_LIFE).await;
    slow.answers.notify_one();
    assert_eq!((caller("guess-1", false).await, asked()), (refused, 5));
}
