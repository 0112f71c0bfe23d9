//! Where a browser comes back to, and how a person signs in whose browser cannot: auth.md 8, through the real command.

use std::net::TcpListener;

use ptc_mcp::json::{Value, json};

use super::person::{Person, get};
use super::server::entry;
use super::{APPLICATION, knows, plain};
use ptc_test_support::authorization_server::{AuthorizationServer, Script, browse};

/// A person with this server as the upstream `own`.
fn person(hosted: &AuthorizationServer, auth: Value) -> Person {
    Person::new(&json!({"upstreams": {"own": entry(hosted, auth)}}), APPLICATION)
}

/// A server that takes any redirect address of this machine.
fn hosted() -> AuthorizationServer {
    AuthorizationServer::start(Script { redirects: "http://", clients: knows("mine", None), ..plain("/mcp") })
}

#[test]
fn a_redirect_address_is_what_its_entry_says() {
    for (host, path) in [("localhost", "/callback"), ("127.0.0.1", "/oauth/done"), ("localhost", "/a/b")] {
        let hosted = hosted();
        // Between finding a free port and binding it somebody else may take it: then the next one is tried.
        let port = (0..10).find_map(|_| {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
            let redirect = json!({"host": host, "port": free.port(), "path": path});
            let person = person(&hosted, json!({"client": {"id": "mine"}, "redirect": redirect}));
            match person.tries_to_sign_in("own") {
                Ok(()) => Some(free.port()),
                Err(told) => {
                    assert_eq!(told["code"], "port_in_use", "{told}");
                    None
                }
            }
        });
        let expected = format!("http://{host}:{}{path}", port.expect("a free port"));
        let hits = [hosted.hits("/authorize"), hosted.hits("/token")].concat();
        assert_eq!(hits.len(), 2);
        assert!(hits.iter().all(|hit| hit.get("redirect_uri") == Some(expected.as_str())), "{hits:?}");
    }
}

#[test]
fn a_port_that_somebody_has_is_told_or_avoided() {
    let somebody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = somebody.local_addr().expect("bound").port();
    // An application of one's own is registered with its port.
    let hosted = hosted();
    let own = person(&hosted, json!({"client": {"id": "mine"}, "redirect": {"port": port}}));
    let told = own.is_refused("own");
    let text = format!("port {port} is in use; set auth.redirect.port or use --paste");
    assert_eq!((told["code"].as_str(), told["message"].as_str()), (Some("port_in_use"), Some(text.as_str())));
    assert!(hosted.all_hits().is_empty(), "nothing is begun");
    // Where we register, another port is registered.
    let registering = person(&hosted, json!({"redirect": {"port": port}}));
    registering.signs_in("own");
    let registered = hosted.hits("/register")[0].json["redirect_uris"][0].clone();
    let redirect = hosted.hits("/authorize")[0].get("redirect_uri").map(str::to_owned);
    assert_eq!(registered.as_str(), redirect.as_deref());
    assert!(!redirect.expect("an address").contains(&format!(":{port}/")));
}

#[test]
fn whoever_has_no_browser_here_pastes_the_address() {
    let hosted = hosted();
    let person = person(&hosted, json!({}));
    // The command says so by itself, with the other two ways.
    let mut login = person.begins_to_sign_in(&["own"]);
    assert_eq!(login.line(), "Sign in to own in your browser. If none opens, use this link:");
    let link = login.line();
    assert!(link.trim().starts_with(&hosted.origin()), "{link}");
    // The browser of this test does find its way back.
    get(&browse(link.trim()));
    assert!(login.line().starts_with("Signed in to own."));
    let (succeeded, said) = login.ends();
    assert!(succeeded, "{said}");
    for words in ["No display was found here", "`ptc login own --paste`", "`ptc login own --device`"] {
        assert!(said.contains(words), "{said}");
    }

    let mut login = person.begins_to_sign_in(&["own", "--paste", "--json"]);
    let opened = login.event();
    let link = opened["url"].as_str().expect("a link");
    // Nobody listens where the browser is sent: it shows the address all the same.
    let back = browse(link);
    assert!(back.starts_with("http://127.0.0.1:33418/callback?"), "{back}");
    login.types("http://127.0.0.1:33418/callback?state=of-another-one&code=c");
    login.types(&back);
    let signed_in = login.event();
    assert_eq!(signed_in["event"], "signed_in", "{signed_in}");
    let (succeeded, said) = login.ends();
    assert!(succeeded && said.contains("Paste it once more:"), "{said}");
    assert_eq!(hosted.grants("authorization_code").len(), 2);
    assert!(person.calls("own").starts_with("family 1"));
}

#[test]
fn a_code_is_entered_on_another_machine() {
    let hosted = hosted();
    let person = person(&hosted, json!({}));
    let mut login = person.begins_to_sign_in(&["own", "--device", "--json"]);
    let device = login.event();
    assert_eq!((device["event"].as_str(), device["user_code"].as_str()), (Some("device"), Some("WDJB-MJHT")));
    assert_eq!(device["verification_uri"], format!("{}/activate", hosted.origin()));
    let signed_in = login.event();
    assert_eq!(signed_in["event"], "signed_in", "{signed_in}");
    assert!(login.ends().0);
    // Only whoever registers for the grant gets it.
    let grants = hosted.hits("/register")[0].json["grant_types"].to_string();
    assert!(grants.contains("urn:ietf:params:oauth:grant-type:device_code"), "{grants}");
    assert!(person.calls("own").starts_with("family 0"));
}

#[test]
fn an_address_that_belongs_to_no_sign_in_changes_nothing() {
    let hosted = hosted();
    let person = person(&hosted, json!({"redirect": {"port": 0}}));
    let mut login = person.begins_to_sign_in(&["own", "--json"]);
    let opened = login.event();
    let back = browse(opened["url"].as_str().expect("a link"));
    let base = back.split('?').next().expect("an address");
    for query in
        ["?state=of-another-one&code=c", "?code=c", "", "?state=a&state=b&code=c", "?error=access_denied"]
    {
        let (_, page) = get(&format!("{base}{query}"));
        assert!(
            page.starts_with("HTTP/1.1 400") && page.contains("No sign-in waits for this address."),
            "{page}"
        );
    }
    // The right one still counts.
    let (_, page) = get(&back);
    assert!(page.contains("Signed in. You can close this window."), "{page}");
    assert_eq!(login.event()["event"], "signed_in");
    assert!(login.ends().0);
}
