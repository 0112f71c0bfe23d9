use ptc_mcp::json::json;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::*;
use crate::secret::REDACTED;

fn redactor(secrets: &[&str]) -> Redactor {
    let redactor = Redactor::new();
    redactor.register(&self::secrets(secrets)).unwrap();
    redactor
}

fn secrets(texts: &[&str]) -> Vec<Secret> {
    texts.iter().map(|text| Secret::new(*text)).collect()
}

#[test]
fn is_the_identity_before_registration_and_for_clean_text() {
    assert!(matches!(Redactor::new().scrub("some ordinary text"), Cow::Borrowed("some ordinary text")));
    assert!(matches!(redactor(&["secret-one"]).scrub("some ordinary text"), Cow::Borrowed(_)));
}

#[test]
fn common_encodings_hide_nothing() {
    let r = redactor(&["p/a+s\"s? w>rd"]);
    for text in [
        "p/a+s\"s? w>rd",
        r#"p/a+s\"s? w>rd"#,
        r#"p/a+s\\\"s? w>rd"#,
        "p%2Fa%2Bs%22s%3F%20w%3Erd",
        "p%2fa%2bs%22s%3f%20w%3erd",
        "p%2Fa%2Bs%22s%3F+w%3Erd",
        &STANDARD_NO_PAD.encode("p/a+s\"s? w>rd"),
        &URL_SAFE_NO_PAD.encode("p/a+s\"s? w>rd"),
    ] {
        assert_eq!(r.scrub(&format!("<{text}>")), "<[REDACTED]>");
    }
}

#[test]
fn replaces_every_occurrence() {
    let r = redactor(&["secret-one", "secret-two"]);
    assert_eq!(r.scrub("a secret-one b secret-two c secret-one"), "a [REDACTED] b [REDACTED] c [REDACTED]");
    assert_eq!(r.scrub("secret-onesecret-one"), "[REDACTED][REDACTED]");
}

#[test]
fn a_secret_inside_or_across_another_leaves_nothing_behind() {
    let r = redactor(&["abcdefgh", "xxabcdefghyy"]);
    assert_eq!(r.scrub("-xxabcdefghyy-abcdefgh-"), "-[REDACTED]-[REDACTED]-");
    let r = redactor(&["12345678ab", "78abcdefghijkl"]);
    assert_eq!(r.scrub("<12345678abcdefghijkl>"), "<[REDACTED]>");
    let r = redactor(&["abababab"]);
    assert_eq!(r.scrub("ababababab"), "[REDACTED]");
}

#[test]
fn the_beginning_of_a_secret_is_held_back() {
    let r = redactor(&["secret-one", "sécrété-2"]);
    for (text, held) in [("", 0), ("a", 0), ("as", 1), ("a secret-on", 9), ("a secret-one", 0), ("sé", 3)] {
        assert_eq!(r.unfinished(text), held, "{text}");
    }
    assert_eq!(Redactor::new().unfinished("s"), 0);
}

#[test]
fn a_secret_that_was_replaced_is_scrubbed_for_a_while() {
    let r = redactor(&["lasting-secret"]);
    r.replace("a", "alice", &secrets(&["first-access-token", "a-refresh-token-0"])).unwrap();
    r.replace("b", "alice", &secrets(&["other-access-token"])).unwrap();
    r.replace("a", "alice", &secrets(&["second-access-token", "a-refresh-token-0", "fifteen-letters"]))
        .unwrap();
    let text = "first-access-token second-access-token a-refresh-token-0 other-access-token lasting-secret fifteen-letters";
    let alice = r.for_principal(Some("alice"));
    assert_eq!(alice.scrub(text), "[REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED] fifteen-letters");
    // As if the hour were over.
    r.shared.ledger.lock().end_afterlives(time::now());
    r.replace("b", "alice", &secrets(&["other-access-token"])).unwrap();
    assert_eq!(
        alice.scrub(text),
        "first-access-token [REDACTED] [REDACTED] [REDACTED] [REDACTED] fifteen-letters"
    );
}

#[test]
fn tokens_of_a_principal_are_scrubbed_for_it_and_in_the_log() {
    let r = redactor(&["of-the-operator"]);
    r.replace("a", "alice", &secrets(&["production-database"])).unwrap();
    r.replace("s", EVERYONE, &secrets(&["a-shared-sign-in-token"])).unwrap();
    r.replace("p", PROCESS, &secrets(&["a-token-of-the-process"])).unwrap();
    let text = "production-database of-the-operator a-shared-sign-in-token a-token-of-the-process";
    let others = "production-database [REDACTED] [REDACTED] [REDACTED]";
    for other in
        [r.clone(), r.for_principal(None), r.for_principal(Some("bob")), r.for_principal(Some(PROCESS))]
    {
        assert_eq!(other.scrub(text), others);
    }
    let all = "[REDACTED] [REDACTED] [REDACTED] [REDACTED]";
    for who in [r.for_log(), r.for_principal(Some("alice"))] {
        assert_eq!(who.scrub(text), all);
    }
}

#[test]
fn a_token_of_another_hides_no_secret_that_begins_like_it_and_costs_nothing() {
    let r = redactor(&["abcdefgh"]);
    r.replace("a", "alice", &secrets(&["abcdefghijklmnop", &"-".repeat(16 << 10)])).unwrap();
    r.replace("b", "bob", &secrets(&["abcdefghijklmnop"])).unwrap();
    let text = "<abcdefghijklmnop>";
    assert_eq!(r.for_principal(Some("bob")).scrub(text), "<[REDACTED]>");
    let carol = r.for_principal(Some("carol"));
    assert_eq!(carol.scrub(text), "<[REDACTED]ijklmnop>");
    let lines = "-".repeat(1 << 20);
    let mut scrubbing = carol.scrubbing(&lines).unwrap();
    while scrubbing.step() {}
    assert_eq!((scrubbing.work(), scrubbing.finish()), (0, Cow::Borrowed(&*lines)));
}

#[test]
fn secrets_that_have_no_room_are_refused_and_change_nothing() {
    let r = redactor(&["lasting-secret"]);
    let long = |letter: &str, bytes: usize| Secret::new(letter.repeat(bytes));
    assert!(r.register(&[long("o", ledger::MAX_COMMON_BYTES)]).is_err());
    r.register(&[long("o", ledger::MAX_COMMON_BYTES - 64)]).unwrap();
    assert!(r.register(&secrets(&["one-more-secret"])).is_err());
    r.register(&secrets(&["lasting-secret"])).unwrap();
    let half = ledger::MAX_PRINCIPAL_BYTES / 2;
    r.replace("a", "alice", &[long("a", half)]).unwrap();
    r.replace("b", "alice", &[long("b", half)]).unwrap();
    let refused = r.replace("c", "alice", &[long("c", 16)]).unwrap_err();
    assert_eq!(refused.to_string(), "the tokens of one caller's sign-ins have more than 64 KiB");
    assert_eq!(r.for_log().scrub(&"c".repeat(16)), "c".repeat(16));
    // What was replaced gives way; others have room of their own.
    r.replace("b", "alice", &[]).unwrap();
    r.replace("c", "alice", &[long("c", 16)]).unwrap();
    r.replace("a", "bob", &[long("d", half)]).unwrap();
    for letter in ["a", "c", "d"] {
        assert!(r.for_log().finds_in(&letter.repeat(half)), "{letter}");
    }
    assert_eq!(r.for_log().scrub(&"b".repeat(half)), "b".repeat(half));
}

#[test]
fn secrets_of_idle_principals_give_way_to_others() {
    let r = redactor(&[]);
    let of = |n: usize| Secret::new(format!("{n:05}").repeat(ledger::MAX_PRINCIPAL_BYTES / 5));
    let most = ledger::MAX_PRINCIPALS_BYTES / ledger::MAX_PRINCIPAL_BYTES;
    for n in 0..most {
        r.replace("a", &format!("p{n}"), &[of(n)]).unwrap();
    }
    assert!(r.note_use("p0"));
    r.replace("a", "one more", &[of(most)]).unwrap();
    assert!(r.note_use("p0") && !r.note_use("p1") && r.note_use("p2"));
    assert!(!r.for_principal(Some("p1")).finds_in(of(1).open()));
    assert!(r.for_principal(Some("p0")).finds_in(of(0).open()));
}

#[test]
fn secrets_that_are_known_change_nothing() {
    let r = redactor(&[]);
    r.replace("a", "alice", &secrets(&["an-access-token-in-use"])).unwrap();
    let before = r.known();
    r.replace("a", "alice", &secrets(&["an-access-token-in-use"])).unwrap();
    assert!(Arc::ptr_eq(&before, &r.known()));
}

#[test]
fn a_secret_that_repeats_itself_takes_no_more_than_its_share_of_work() {
    let r = redactor(&[]);
    let same = "a".repeat(16 << 10);
    r.replace("a", EVERYONE, &secrets(&[&same, &format!("{same}b")])).unwrap();
    let text = "a".repeat(1 << 20);
    let mut scrubbing = r.scrubbing(&text).unwrap();
    while scrubbing.step() {}
    // One search may go beyond it.
    assert!(scrubbing.work() < scrubbing::most_work(text.len()) + 4096, "{}", scrubbing.work());
    assert_eq!(scrubbing.finish(), REDACTED);
    // No character is cut where it stops.
    let text = format!("é{}é", "a".repeat(1 << 20));
    assert!(r.scrub(&text).starts_with("é[REDACTED]"));
}

#[test]
fn a_long_text_is_looked_at_in_pieces() {
    let r = redactor(&["secret-one"]);
    let text = format!("{}secret-one{}", "x".repeat(crate::pace::PIECE - 5), "y".repeat(crate::pace::PIECE));
    let mut scrubbing = r.scrubbing(&text).unwrap();
    let steps = 1 + std::iter::from_fn(|| scrubbing.step().then_some(())).count();
    assert_eq!(steps, 2);
    assert_eq!(scrubbing.finish(), text.replace("secret-one", REDACTED));
}

#[tokio::test]
async fn others_go_on_between_the_pieces_of_a_long_text() {
    let r = redactor(&["secret-one"]);
    let text = "x".repeat(10 * crate::pace::PIECE) + "secret-one";
    let mut scrubbed = Box::pin(r.scrub_in_pieces(&text));
    let mut pauses = 0;
    let clean = std::future::poll_fn(|context| {
        let polled = scrubbed.as_mut().poll(context);
        pauses += u32::from(polled.is_pending());
        polled
    })
    .await;
    assert_eq!((clean.into_owned(), pauses), (text.replace("secret-one", REDACTED), 10));
}

#[test]
fn what_is_cut_leaves_no_piece_of_a_secret() {
    let r = redactor(&["secret-one"]);
    let text = |before: usize| format!("{}secret-one{}", "x".repeat(before), "y".repeat(100));
    assert_eq!(r.scrub_beginning(text(5), 1000), r.scrub_string(text(5)));
    for before in 0..25 {
        let cut = r.scrub_beginning(text(before), 20);
        assert!(cut.ends_with("...") && cut.len() == 23 && !cut.contains("sec"), "{cut}");
    }
}

#[test]
fn the_place_of_a_secret_is_told_without_it() {
    let r = redactor(&["secret-one", "1234567890"]);
    let place = |value: Value| r.place_in(&value);
    assert_eq!(place(json!({"a": [1, "x"], "b": null})), None);
    assert_eq!(
        place(json!({"to": [{"k": 1}, {"ad/dress": "<secret-one>"}]})).as_deref(),
        Some("/to/1/ad~1dress")
    );
    assert_eq!(place(json!({"a": {"n": 1234567890}})).as_deref(), Some("/a/n"));
    assert_eq!(place(json!({"a": {"my secret-one": 1}})).as_deref(), Some("/a/my [REDACTED]"));
}

#[test]
fn short_secrets_are_not_replaced() {
    assert_eq!(redactor(&["1234567", ""]).scrub("1234567"), "1234567");
}

#[test]
fn finds_json_escaped_forms() {
    let r = redactor(&["pa\"ss\\word"]);
    let serialised = json!({"k": "pa\"ss\\word"}).to_string();
    assert_eq!(r.scrub(&serialised), r#"{"k":"[REDACTED]"}"#);
}

#[test]
fn walks_json_keys_values_and_numbers() {
    let r = redactor(&["topsecret", "1234567890"]);
    let mut value = json!({"topsecret": ["x topsecret y", {"n": 1234567890}], "n": 7});
    r.scrub_json(&mut value);
    assert_eq!(value, json!({"[REDACTED]": ["x [REDACTED] y", {"n": "[REDACTED]"}], "n": 7}));
}

#[test]
fn clones_share_registrations() {
    let first = Redactor::new();
    let second = first.clone();
    first.register([&Secret::new("late-secret")]).unwrap();
    assert_eq!(second.scrub("late-secret"), "[REDACTED]");
    assert_eq!(format!("{second:?}"), "Redactor(2 patterns)");
}

proptest::proptest! {
    #[test]
    fn no_secret_survives(parts in proptest::collection::vec("[ab]{8,10}", 1..4), text in "[ab]{0,60}") {
        let r = redactor(&parts.iter().map(String::as_str).collect::<Vec<_>>());
        let clean = r.scrub(&text);
        for part in &parts {
            proptest::prop_assert!(!clean.contains(part.as_str()));
        }
    }
}
