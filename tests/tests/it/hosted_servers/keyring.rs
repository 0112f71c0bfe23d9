//! `--state-key keyring` through the real command, with a program in place of the system's own. A real keyring is in
//! `tests/interop/oauth`.

use ptc_mcp::json::json;

use super::person::{Person, get};
use super::server::entry;
use super::{APPLICATION, plain};
use ptc_test_support::authorization_server::{AuthorizationServer, browse};

/// As `secret-tool` has it: one key, and a file `locked` while nobody may have it.
const SECRET_TOOL: &str = r#"#!/bin/sh
cd "$HOME" || exit 2
case "$1" in
  lookup) [ -f locked ] && exit 1; [ -f key ] && cat key || exit 1 ;;
  search) [ -f key ] && echo "[/1]"; exit 0 ;;
  store) [ -f locked ] && { echo "secret-tool: Cannot create an item in a locked collection" >&2; exit 1; }; cat > key; echo stored >> stores ;;
esac
"#;

#[test]
fn sign_ins_are_sealed_with_a_key_that_the_keyring_keeps() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let file = json!({"upstreams": {"notes": entry(&hosted, json!({"redirect": {"port": 0}}))}});
    let person = Person::new(&file, APPLICATION);
    person.installs("secret-tool", SECRET_TOOL);
    let keyring = ["--state-key", "keyring"];

    // Locked before there is a key: nothing is made, and nobody waits for a browser.
    person.writes("locked", "");
    let (succeeded, _, said) = person.runs(&["login", "notes", "--state-key", "keyring"]);
    let locked = "Cannot create an item in a locked collection); unlock it, or use --state-key-file";
    assert!(!succeeded && said.contains(locked), "{said}");
    std::fs::remove_file(person.path("locked")).expect("it is there");

    let mut login = person.begins_to_sign_in(&["notes", "--json", "--state-key", "keyring"]);
    let (_, page) = get(&browse(login.event()["url"].as_str().expect("a link")));
    assert!(page.contains("Signed in."), "{page}");
    assert_eq!(login.event()["event"], "signed_in");
    assert!(login.ends().0);
    let mut sealed = 0;
    for file in std::fs::read_dir(person.path(".local/state/ptc/auth")).expect("a store").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("text");
        assert!(hosted.secrets().iter().all(|secret| !text.contains(secret.as_str())), "{text}");
        sealed += usize::from(text.contains("\"sealed\""));
    }
    assert_eq!(sealed, 3, "registration, tokens, and which of them are used");

    // Other processes open it, by the flag and by the variable; one key is made for all.
    let (_, told, _) = person.runs(&[&["auth"][..], &keyring].concat());
    assert!(told.contains("sealed  signed in"), "{told}");
    assert_eq!(std::fs::read_to_string(person.path("stores")).expect("text"), "stored\n");
    // Without the key nobody is signed in; with a locked keyring nothing starts, and nothing is made in its place.
    let (_, told, _) = person.runs(&["auth"]);
    assert!(told.contains("(sealed_with_another_key)"), "{told}");
    person.writes("locked", "");
    let (succeeded, _, said) = person.runs(&[&["auth"][..], &keyring].concat());
    let locked = "--state-key keyring: the keyring does not open (secret-tool: it is locked); unlock it, or use --state-key-file";
    assert!(!succeeded && said.contains(locked), "{said}");
    assert_eq!(std::fs::read_to_string(person.path("stores")).expect("text"), "stored\n");
}
