use std::time::Duration;

use ptc_host::state::Secret;

use super::*;

const OLD: &[u8] = b"an old secret of at least 32 bytes";
const NEW: &[u8] = b"a newer secret of at least 32 bytes";
const ARGUMENTS: [u8; 32] = [5; 32];
const BOUND: StateBinding<'_> =
    StateBinding { principal: "alice", method: "tools/call", tool: "lisp_eval", arguments: &ARGUMENTS };

fn states_of(lines: &[&[u8]], audience: &str, ttl: Duration) -> RequestStates {
    let rules = StateRules { ttl, max_bytes: 4096 };
    RequestStates::new(&Secret::of(lines).unwrap(), audience, rules)
}

fn states(lines: &[&[u8]]) -> RequestStates {
    states_of(lines, "https://ptc.example/mcp", Duration::from_secs(600))
}

const CONTENT: &[u8] = b"a run and its program";

fn sealed() -> String {
    let states = states(&[OLD]);
    states.seal(BOUND, CONTENT, states.until()).unwrap()
}

#[test]
fn a_state_is_opened_by_every_process_with_the_secret_for_its_request_alone() {
    let text = sealed();
    assert!(text.starts_with("ptc1."), "{text}");
    let opened = states(&[NEW, OLD]).open(&text, BOUND).unwrap();
    assert_eq!(opened.content, CONTENT);
    assert!(opened.left <= Duration::from_secs(600) && opened.left > Duration::from_secs(500));
    let other = [6; 32];
    for bound in [
        StateBinding { principal: "bob", ..BOUND },
        StateBinding { principal: "alicet", method: "ools/call", ..BOUND },
        StateBinding { method: "prompts/get", ..BOUND },
        StateBinding { tool: "lisp_session_eval", ..BOUND },
        StateBinding { arguments: &other, ..BOUND },
    ] {
        assert_eq!(states(&[OLD]).open(&text, bound), Err(StateRefusal::Seal), "{bound:?}");
    }
    let elsewhere = states_of(&[OLD], "https://other.example/mcp", Duration::from_secs(600));
    assert_eq!(elsewhere.open(&text, BOUND), Err(StateRefusal::Seal));
    assert_eq!(states(&[NEW]).open(&text, BOUND), Err(StateRefusal::Key));
}

#[test]
fn every_change_of_a_state_is_noticed() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let (text, states) = (sealed(), states(&[OLD]));
    let bytes = URL_SAFE_NO_PAD.decode(&text[5..]).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let changed = format!("ptc1.{}", URL_SAFE_NO_PAD.encode(changed));
            // The first four bytes identify the key.
            let expected = if at < 4 { StateRefusal::Key } else { StateRefusal::Seal };
            assert_eq!(states.open(&changed, BOUND), Err(expected), "{at} {bit}");
        }
    }
    for end in 0..text.len() {
        let refused = states.open(&text[..end], BOUND).unwrap_err();
        assert!(matches!(refused, StateRefusal::Malformed | StateRefusal::Seal), "{end} {refused:?}");
    }
    for more in ["A", "AA", "AAA", "AAAA", "=", "\n"] {
        let refused = states.open(&format!("{text}{more}"), BOUND).unwrap_err();
        assert!(matches!(refused, StateRefusal::Malformed | StateRefusal::Seal), "{more:?} {refused:?}");
    }
    let long = format!("ptc1.{}", "A".repeat(2 * 4096 - 4));
    for none in ["", "ptc1", "ptc1.", "ptc2.AAAA", "PTC1.AAAA", "ptc1.AA AA", "ptc1.%41", "{}", &long] {
        assert_eq!(states.open(none, BOUND), Err(StateRefusal::Malformed), "{none:.20}");
    }
}

#[test]
fn states_end_and_are_no_longer_than_they_may_be() {
    let brief = states_of(&[OLD], "a", Duration::ZERO);
    let text = brief.seal(BOUND, CONTENT, brief.until()).unwrap();
    assert_eq!(brief.open(&text, BOUND), Err(StateRefusal::Expired));
    // A caller that may not open it does not learn that it has expired.
    assert_eq!(brief.open(&text, StateBinding { principal: "bob", ..BOUND }), Err(StateRefusal::Seal));
    let mut noise = vec![0; 5000];
    getrandom::fill(&mut noise).unwrap();
    assert_eq!(brief.seal(BOUND, &noise, brief.until()), Err(NotSealed::TooLarge));
    let lengths = (2900..3100).filter_map(|length| brief.seal(BOUND, &noise[..length], brief.until()).ok());
    let longest = lengths.map(|text| text.len()).max().unwrap();
    assert!((4090..=4096).contains(&longest), "{longest}");
}

#[test]
fn refusals_say_what_the_specification_says() {
    let all = [
        (StateRefusal::Malformed, "malformed", "requestState is not one of ours"),
        (StateRefusal::Key, "key", "requestState was made with another key; run the program again"),
        (StateRefusal::Seal, "seal", "requestState does not belong to this request"),
        (StateRefusal::Expired, "expired", "requestState has expired; run the program again"),
        (
            StateRefusal::Responses(Some("q1".into())),
            "responses",
            "inputResponses.q1 is not an elicitation result",
        ),
        (
            StateRefusal::Responses(None),
            "responses",
            "inputResponses is not an object of elicitation results",
        ),
        (StateRefusal::Build, "build", "this program was started by another build of ptc; run it again"),
        (StateRefusal::Snapshot("frames"), "snapshot", "invalid snapshot: frames"),
        (StateRefusal::Spent, "spent", "this request was already continued"),
    ];
    for (refusal, reason, message) in all {
        let error = refusal.error();
        assert_eq!((error.code, error.message), (-32602, format!("Invalid params: {message}")));
        assert_eq!(error.data.as_deref(), Some(&*format!("{{\"reason\":\"{reason}\"}}")));
    }
}
