//! Documents and answers of authorization servers.

use crate::bounds::{Charged, bounded};
use crate::generate::Choices;
use ptc_oauth::challenge::Bearer;
use ptc_oauth::discovery::{Discovery, DiscoveryTarget, Relax};
use ptc_oauth::fetch_address::is_loopback_host;
use ptc_oauth::grants::{DeviceAuthorization, read};
use ptc_oauth::message::{Flow, Next, RequestOutcome, Response};
use ptc_oauth::metadata::ServerMetadata;
use ptc_oauth::registration::{Choice, Needs, Setting, choose};
use ptc_oauth::timestamp::Timestamp;
use std::time::Duration;
use url::Url;

const AT: Timestamp = Timestamp::from_seconds(1_700_000_000);
const URL: &str = "https://h.example/mcp";
/// Most requests of one conversation.
const MOST_REQUESTS: usize = 8;

/// Whatever servers say, conversations end soon, and what comes of them keeps to the rules of the specification.
pub fn metadata(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (what, status) = (choices.below(4), *choices.one(&[200, 200, 200, 201, 400, 401, 404, 503]));
    let legacy = choices.once_in(4);
    let text = String::from_utf8_lossy(choices.all()).into_owned();
    let answer = |body: &str| RequestOutcome { at: AT, result: Ok(Response::new(status, Vec::new(), body)) };
    bounded("a conversation", data.len(), || {
        match what {
            0 => discovers(&text, legacy, answer),
            1 => registers(&text, answer),
            2 => {
                if let Ok(tokens) = read(&answer(&text)) {
                    assert!(tokens.access_token.expose().bytes().all(|b| matches!(b, 0x21..=0x7e)));
                    let ten_years = Duration::from_secs(10 * 366 * 24 * 60 * 60);
                    assert!(tokens.expires_at.is_none_or(|end| end >= AT && end.since(AT) <= ten_years));
                    assert!(!format!("{tokens:?}").contains(&format!("{:?}", tokens.access_token.expose())));
                }
            }
            _ => {
                if let Ok(device) = DeviceAuthorization::read(&answer(&text)) {
                    assert!(
                        device.user_code.chars().count() <= 32
                            && !device.user_code.chars().any(char::is_control)
                    );
                    is_secure(&device.verification_uri);
                    device.verification_uri_complete.iter().for_each(is_secure);
                    assert!(device.expires_at.since(AT) <= Duration::from_secs(3600));
                }
            }
        }
        ((), Charged::default())
    });
}

/// The two documents, one line each; the metadata of a resource may be at the place that a challenge names.
fn discovers(text: &str, legacy: bool, answer: impl Fn(&str) -> RequestOutcome) {
    let (of_resource, of_server) = text.split_once('\n').unwrap_or((text, text));
    let named = Bearer { resource_metadata: Some("/meta".to_owned()), ..Bearer::default() };
    let target = DiscoveryTarget {
        url: URL.to_owned(),
        issuer: None,
        signed_in_issuer: None,
        relax: Relax::default(),
        by_browser: true,
        legacy,
    };
    let mut discovery = Discovery::new(target, (!legacy).then_some(&named));
    let (mut next, mut requests) = (discovery.start(), 0);
    let found = loop {
        match next {
            Next::Done(result) => break result,
            Next::Send(request) => {
                requests += 1;
                assert!(requests <= MOST_REQUESTS);
                is_secure(&request.url);
                let is_of_resource =
                    request.url.path().contains("protected-resource") || request.url.path() == "/meta";
                next = discovery.receive(answer(if is_of_resource { of_resource } else { of_server }));
            }
        }
    };
    let Ok(found) = found else { return };
    let server = &found.server;
    for endpoint in
        [&server.authorization_endpoint, &server.registration_endpoint, &server.revocation_endpoint]
    {
        endpoint.iter().for_each(is_secure);
    }
    is_secure(&server.token_endpoint);
    assert!(server.authorization_endpoint.is_some());
    assert!(found.legacy || server.offers_s256());
    match &found.resource {
        Some(resource) => {
            assert!(
                resource.is_of(URL)
                    && resource.resource.to_ascii_lowercase().starts_with("https://h.example")
            );
            assert!(resource.authorization_servers.contains(&server.issuer));
        }
        None => assert!(found.legacy),
    }
}

fn registers(text: &str, answer: impl Fn(&str) -> RequestOutcome) {
    let server = serde_json::json!({"token_endpoint": "https://a.example/t", "registration_endpoint": "https://a.example/r"});
    let server = ServerMetadata::read(server.as_object().expect("an object"), "https://a.example")
        .expect("it has all");
    let (setting, uris) =
        (Setting::Auto { metadata_url: None }, ["http://127.0.0.1:33418/callback".to_owned()]);
    let needs = Needs {
        setting: &setting,
        server: &server,
        stored: None,
        redirect_uris: &uris,
        scope: Some("a".to_owned()),
        version: "0",
        may_register: true,
        now: AT,
    };
    let Ok(Choice::Register(mut registration)) = choose(&needs) else { panic!("it registers") };
    let (mut next, mut requests) = (registration.start(), 0);
    loop {
        match next {
            Next::Done(Ok(record)) => {
                assert!(!record.client_id.is_empty());
                // What is used can be told from what is kept.
                let kept = serde_json::to_string(&record).expect("it is JSON");
                assert_eq!(
                    serde_json::from_str::<ptc_oauth::client::ClientRecord>(&kept).expect("it is a record"),
                    record
                );
                return drop(record.client(&server));
            }
            Next::Done(Err(failure)) => return assert!(!failure.to_string().is_empty()),
            Next::Send(_) => {
                requests += 1;
                assert!(requests <= 3);
                next = registration.receive(answer(text));
            }
        }
    }
}

fn is_secure(url: &Url) {
    let is_loopback = url.host_str().is_some_and(is_loopback_host);
    assert!(url.scheme() == "https" || url.scheme() == "http" && is_loopback, "{url}");
}
