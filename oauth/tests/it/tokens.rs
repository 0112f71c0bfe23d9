//! The states of tokens: step by step, and in any interleaving (`auth.md` 6, 18.3).

use std::time::Duration;

use proptest::prelude::*;
use ptc_oauth::error_code::ErrorCode;
use ptc_oauth::grants::{GrantError, TokenAnswer};
use ptc_oauth::scopes::Scopes;
use ptc_oauth::secret::Secret;
use ptc_oauth::timestamp::Timestamp;
use ptc_oauth::tokens::{
    AfterRefusal, Attempts, Decision, Errand, ErrandOutcome, ErrandStep, Purpose, Renewal, TokenRecord,
    TokenState,
};

const REFRESH: Renewal = Renewal::Refresh { dynamic_client: false };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds)
}

fn answer(name: &str, refresh: Option<&str>, now: Timestamp) -> TokenAnswer {
    TokenAnswer {
        access_token: Secret::new(name),
        refresh_token: refresh.map(Secret::new),
        obtained_at: now,
        expires_at: Some(now + Duration::from_secs(3600)),
        scope: None,
    }
}

fn refused(code: &str) -> GrantError {
    GrantError::Refused { code: ErrorCode::new(code), description: None }
}

fn away(retry_after: Option<u64>) -> GrantError {
    GrantError::Unavailable {
        reason: "http 503".to_owned(),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

/// The record of a sign-in at the beginning: `a1` and `r1`, for an hour.
fn signed_in() -> TokenRecord {
    TokenRecord::signed_in(answer("a1", Some("r1"), at(0)), None, Scopes::of_text("read"), false)
}

/// A process that has looked at its store.
fn knowing(renewal: Renewal, stored: Option<TokenRecord>) -> TokenState {
    let mut state = TokenState::new(renewal);
    assert!(matches!(state.decide(at(0), &mut Attempts::default()), Decision::Look));
    state.looked(at(0), Ok(stored));
    state
}

/// What a new call does, in a word.
fn decide(state: &mut TokenState, now: Timestamp) -> String {
    shown(state.decide(now, &mut Attempts::default()))
}

fn shown(decision: Decision) -> String {
    match decision {
        Decision::Use(token) => format!("use {}", token.secret.expose()),
        Decision::Look => "look".to_owned(),
        Decision::Begin(_) => "begin".to_owned(),
        Decision::Wait => "wait".to_owned(),
        Decision::SignIn(code) => format!("sign in {}", code.map_or(String::new(), |code| code.to_string())),
        Decision::Unavailable { reason, .. } => format!("unavailable {reason}"),
    }
}

fn begin(state: &mut TokenState, now: Timestamp, call: &mut Attempts) -> Errand {
    match state.decide(now, call) {
        Decision::Begin(errand) => *errand,
        other => panic!("{other:?}"),
    }
}

/// The record that an errand writes.
fn writes(errand: &Errand) -> TokenRecord {
    match errand.step() {
        ErrandStep::Write(record) => (**record).clone(),
        step => panic!("{step:?}"),
    }
}

fn outcome(errand: &Errand) -> ErrandOutcome {
    match errand.step() {
        ErrandStep::Done(outcome) => outcome.clone(),
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_token_is_used_while_it_lasts_and_renewed_before_its_end() {
    // Failure 1 of auth.md 18.5: the refresh token is used, and nobody is asked.
    let mut state = knowing(REFRESH, Some(signed_in()));
    assert_eq!(decide(&mut state, at(3540)), "use a1");
    let mut call = Attempts::default();
    let mut errand = begin(&mut state, at(3541), &mut call);
    // Failure 2: whoever else comes waits for this one.
    assert_eq!(decide(&mut state, at(3541)), "wait");
    assert_eq!(*errand.step(), ErrandStep::Lock);
    assert_eq!(*errand.locked(true), ErrandStep::Read);
    let ErrandStep::Ask(Some(record)) = errand.read(at(3541), Ok(Some(signed_in()))) else {
        panic!("it asks")
    };
    assert_eq!(record.refresh_token, Some(Secret::new("r1")));
    errand.answered(at(3542), Ok(answer("a2", Some("r2"), at(3542))));
    // It is written before it is used.
    let record = writes(&errand);
    assert_eq!(
        (record.access_token.clone(), record.refresh_token.clone()),
        (Some(Secret::new("a2")), Some(Secret::new("r2")))
    );
    assert_eq!(decide(&mut state, at(3542)), "wait");
    errand.written(true);
    state.finished(at(3542), outcome(&errand));
    assert_eq!(shown(state.decide(at(3542), &mut call)), "use a2");
    assert_eq!(decide(&mut state, at(3542)), "use a2");
}

#[test]
fn who_comes_second_adopts_what_the_first_has_written() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
    errand.locked(true);
    let others = signed_in().renewed(answer("a2", Some("r2"), at(3541)));
    errand.read(at(3541), Ok(Some(others)));
    state.finished(at(3541), outcome(&errand));
    assert_eq!(decide(&mut state, at(3541)), "use a2");
}

#[test]
fn a_401_renews_once_and_a_second_one_ends_the_sign_in() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut call = Attempts::default();
    let Decision::Use(token) = state.decide(at(1), &mut call) else { panic!("it is used") };
    assert_eq!(call.refused(token.serial), AfterRefusal::Renew);
    let mut errand = begin(&mut state, at(1), &mut call);
    errand.locked(true);
    errand.read(at(1), Ok(Some(signed_in())));
    errand.answered(at(1), Ok(answer("a2", None, at(1))));
    assert_eq!(writes(&errand).refresh_token, Some(Secret::new("r1")), "the old one is kept");
    errand.written(true);
    state.finished(at(1), outcome(&errand));
    let Decision::Use(token) = state.decide(at(1), &mut call) else { panic!("it is used") };
    assert_eq!(token.secret, Secret::new("a2"));
    assert_eq!(call.refused(token.serial), AfterRefusal::End);
    let mut errand = state.rejected(at(1), token.serial).unwrap();
    errand.locked(true);
    errand.read(at(1), Ok(state.record().cloned()));
    let error = writes(&errand).last_error.unwrap();
    assert_eq!((error.code.as_str(), error.at), ("invalid_token", at(1).seconds()));
    errand.written(true);
    state.finished(at(1), outcome(&errand));
    // It is not tried again by a clock, but a new sign-in is noticed.
    let stored = state.record().cloned();
    for second in [1, 2, 5000] {
        let mut call = Attempts::default();
        while matches!(state.decide(at(second), &mut call), Decision::Look) {
            state.looked(at(second), Ok(stored.clone()));
        }
        assert_eq!(shown(state.decide(at(second), &mut call)), "sign in invalid_token");
    }
    assert_eq!(decide(&mut state, at(6000)), "look");
    let again =
        TokenRecord::signed_in(answer("a9", None, at(6000)), stored.as_ref(), Scopes::default(), false);
    state.looked(at(6000), Ok(Some(again)));
    assert_eq!(decide(&mut state, at(6000)), "use a9");
}

#[test]
fn a_token_that_ends_on_its_way_is_no_refused_one() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let Decision::Use(token) = state.decide(at(1), &mut Attempts::default()) else { panic!("it is used") };
    assert!(state.rejected(at(3600), token.serial).is_none());
    assert_eq!(decide(&mut state, at(3600)), "begin");
}

#[test]
fn a_newer_token_spares_a_refused_call_the_renewal() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut call = Attempts::default();
    let Decision::Use(token) = state.decide(at(1), &mut call) else { panic!("it is used") };
    state.looked(at(1), Ok(Some(signed_in().renewed(answer("a2", Some("r2"), at(1))))));
    assert_eq!(call.refused(token.serial), AfterRefusal::Renew);
    assert_eq!(shown(state.decide(at(1), &mut call)), "use a2");
}

#[test]
fn a_refused_grant_drops_the_tokens_unless_somebody_was_faster() {
    // Failure 3 of auth.md 18.5.
    for faster in [false, true] {
        let mut state = knowing(REFRESH, Some(signed_in()));
        let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
        errand.locked(true);
        errand.read(at(3541), Ok(Some(signed_in())));
        assert_eq!(*errand.answered(at(3541), Err(refused("invalid_grant"))), ErrandStep::Read);
        if faster {
            errand.read(at(3541), Ok(Some(signed_in().renewed(answer("a2", Some("r2"), at(3540))))));
            state.finished(at(3541), outcome(&errand));
            assert_eq!(decide(&mut state, at(3541)), "use a2");
            continue;
        }
        errand.read(at(3541), Ok(Some(signed_in())));
        let record = writes(&errand);
        assert_eq!((record.access_token.clone(), record.refresh_token.clone()), (None, None));
        assert_eq!(record.last_error.clone().unwrap().code, "invalid_grant");
        errand.written(true);
        state.finished(at(3541), outcome(&errand));
        assert_eq!(decide(&mut state, at(3541)), "look");
        state.looked(at(3541), Ok(Some(record)));
        assert_eq!(decide(&mut state, at(3541)), "sign in invalid_grant");
    }
}

#[test]
fn a_client_that_is_not_known_any_more_is_dropped_if_it_was_registered() {
    for dynamic_client in [false, true] {
        let mut state = knowing(Renewal::Refresh { dynamic_client }, Some(signed_in()));
        let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
        errand.locked(true);
        errand.read(at(3541), Ok(Some(signed_in())));
        errand.answered(at(3541), Err(refused("invalid_client")));
        errand.read(at(3541), Ok(Some(signed_in())));
        if dynamic_client {
            assert_eq!(*errand.step(), ErrandStep::DropClient);
            errand.dropped();
        }
        assert_eq!(writes(&errand).access_token, None);
    }
}

#[test]
fn other_refusals_end_the_sign_in_and_keep_its_tokens() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
    errand.locked(true);
    errand.read(at(3541), Ok(Some(signed_in())));
    errand.answered(at(3541), Err(refused("invalid_scope")));
    errand.read(at(3541), Ok(Some(signed_in())));
    assert_eq!(writes(&errand).refresh_token, Some(Secret::new("r1")));
}

#[test]
fn a_code_that_is_none_of_the_closed_list_ends_nothing() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
    errand.locked(true);
    errand.read(at(3541), Ok(Some(signed_in())));
    errand.answered(at(3541), Err(refused("Bad Gateway")));
    let reason = "the authorization server answered: error".to_owned();
    assert_eq!(*errand.step(), ErrandStep::Done(ErrandOutcome::Unavailable { reason, retry_after: None }));
}

#[test]
fn while_the_server_is_away_a_good_token_is_used_and_pauses_grow_to_a_minute() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let fail = |state: &mut TokenState, now, retry_after| {
        let mut errand = begin(state, now, &mut Attempts::default());
        errand.locked(true);
        errand.read(now, Ok(Some(signed_in())));
        errand.answered(now, Err(away(retry_after)));
        state.finished(now, outcome(&errand));
    };
    fail(&mut state, at(3541), None);
    assert_eq!(decide(&mut state, at(3541)), "use a1");
    let mut now = 3600;
    for pause in [2, 4, 8, 16, 32, 60, 60] {
        fail(&mut state, at(now), None);
        assert_eq!(decide(&mut state, at(now + pause - 1)), "unavailable http 503");
        now += pause;
    }
    fail(&mut state, at(now), Some(7));
    assert_eq!(decide(&mut state, at(now + 6)), "unavailable http 503");
    assert_eq!(decide(&mut state, at(now + 7)), "begin");
}

#[test]
fn a_lock_that_is_not_to_be_had_makes_the_upstream_unavailable() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = begin(&mut state, at(4000), &mut Attempts::default());
    errand.locked(false);
    state.finished(at(4030), outcome(&errand));
    assert_eq!(decide(&mut state, at(4030)), "unavailable another process holds the lock of the sign-in");
}

#[test]
fn nobody_is_signed_in_until_a_record_comes() {
    let mut state = knowing(REFRESH, None);
    assert_eq!(decide(&mut state, at(0)), "sign in ");
    // The store is looked at once a second at most.
    assert_eq!(decide(&mut state, at(1)), "look");
    state.looked(at(1), Ok(Some(signed_in())));
    assert_eq!(decide(&mut state, at(1)), "use a1");
    // After sign-out it is as before.
    state.looked(at(2), Ok(Some(signed_in().without_tokens(None))));
    assert_eq!(decide(&mut state, at(2)), "sign in ");
}

#[test]
fn a_token_without_a_refresh_token_is_used_to_its_last_second() {
    let alone = TokenRecord { refresh_token: None, ..signed_in() };
    let mut state = knowing(REFRESH, Some(alone.clone()));
    assert_eq!(decide(&mut state, at(3599)), "use a1");
    let mut call = Attempts::default();
    let mut errand = begin(&mut state, at(3600), &mut call);
    errand.locked(true);
    errand.read(at(3600), Ok(Some(alone.clone())));
    state.finished(at(3600), outcome(&errand));
    while matches!(state.decide(at(3600), &mut call), Decision::Look) {
        state.looked(at(3600), Ok(Some(alone.clone())));
    }
    assert_eq!(shown(state.decide(at(3600), &mut call)), "sign in invalid_token");
}

#[test]
fn what_could_not_be_written_is_used_and_written_later() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = begin(&mut state, at(3541), &mut Attempts::default());
    errand.locked(true);
    errand.read(at(3541), Ok(Some(signed_in())));
    errand.answered(at(3541), Ok(answer("a2", Some("r2"), at(3541))));
    errand.written(false);
    state.finished(at(3541), outcome(&errand));
    assert!(state.is_unwritten());
    // The store still has the old one, which is no reason to go back to it.
    state.looked(at(3541), Ok(Some(signed_in())));
    assert_eq!(decide(&mut state, at(3541)), "use a2");
    let mut errand = state.begin(Purpose::WriteAgain).unwrap();
    errand.locked(true);
    errand.read(at(3541), Ok(Some(signed_in())));
    assert_eq!(writes(&errand).access_token, Some(Secret::new("a2")));
    errand.written(true);
    state.finished(at(3541), outcome(&errand));
    assert!(!state.is_unwritten());
    assert_eq!(decide(&mut state, at(3541)), "use a2");
}

#[test]
fn wanted_scopes_are_noted_for_the_next_sign_in() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    let mut errand = state.begin(Purpose::Want(Scopes::of_text("write read"))).unwrap();
    errand.locked(true);
    errand.read(at(1), Ok(Some(signed_in())));
    assert_eq!(writes(&errand).scope_wanted.to_string(), "read write");
    errand.written(true);
    state.finished(at(1), outcome(&errand));
    assert_eq!(state.wanted().unwrap().to_string(), "read write");
    assert_eq!(decide(&mut state, at(1)), "use a1");
}

#[test]
fn a_grant_without_a_person_fetches_its_tokens_itself() {
    let mut state = knowing(Renewal::Grant, None);
    let mut call = Attempts::default();
    let mut errand = begin(&mut state, at(0), &mut call);
    errand.locked(true);
    assert_eq!(*errand.read(at(0), Ok(None)), ErrandStep::Ask(None));
    errand.answered(at(0), Ok(answer("a1", None, at(0))));
    errand.written(true);
    state.finished(at(0), outcome(&errand));
    assert_eq!(shown(state.decide(at(0), &mut call)), "use a1");
    // More scopes mean a new token with all of them.
    let mut errand = state.begin(Purpose::Want(Scopes::of_text("write"))).unwrap();
    errand.locked(true);
    let ErrandStep::Ask(Some(record)) = errand.read(at(1), Ok(state.record().cloned())) else {
        panic!("it asks")
    };
    assert_eq!(record.scope_wanted.to_string(), "write");
    errand.answered(at(1), Ok(answer("a2", None, at(1))));
    assert_eq!(writes(&errand).scope_wanted.to_string(), "write");
    errand.written(true);
    state.finished(at(1), outcome(&errand));
    assert_eq!(decide(&mut state, at(1)), "use a2");
    // A refusal is told to every call, and tried again after a pause.
    let mut call = Attempts::default();
    let mut errand = begin(&mut state, at(4000), &mut call);
    errand.locked(true);
    errand.read(at(4000), Ok(state.record().cloned()));
    errand.answered(at(4000), Err(refused("invalid_client")));
    errand.read(at(4000), Ok(state.record().cloned()));
    errand.written(true);
    state.finished(at(4000), outcome(&errand));
    let stored = state.record().cloned();
    state.looked(at(4000), Ok(stored.clone()));
    assert_eq!(decide(&mut state, at(4000)), "sign in invalid_client");
    state.looked(at(4001), Ok(stored));
    assert_eq!(decide(&mut state, at(4001)), "begin");
}

#[test]
fn a_task_that_dies_blocks_nobody() {
    let mut state = knowing(REFRESH, Some(signed_in()));
    drop(begin(&mut state, at(3600), &mut Attempts::default()));
    assert_eq!(decide(&mut state, at(3600)), "wait");
    state.abandoned(at(3600));
    assert_eq!(decide(&mut state, at(3600)), "unavailable the renewal was interrupted");
    assert_eq!(decide(&mut state, at(3601)), "begin");
}

#[test]
fn the_same_bytes_make_the_same_run_and_runs_do_something() {
    let bytes: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let report = ptc_oauth_simulation::run(&bytes);
    assert_eq!(format!("{report:?}"), format!("{:?}", ptc_oauth_simulation::run(&bytes)));
    assert!(report.succeeded + report.sign_in + report.unavailable > 20 && report.requests > 3, "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_ends_signed_in_or_in_a_sign_in(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        ptc_oauth_simulation::run(&bytes);
    }
}
