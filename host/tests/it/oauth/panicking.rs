//! A panic in the middle of a sign-in or a renewal: it blocks nobody, and says nothing that is secret. The child is this binary, run for
//! one test, so that all that it prints can be searched.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::sign_in::PROCESS;
use ptc_host::sign_in::store::{AuthStore, FileStore, RecordKind};
use ptc_mcp::json::json;

use super::interrupted_store::{InterruptedStore, Moment};
use super::world::{
    REDIRECT, World, ahead, call, config, consent, fault, mcp_entry, open, site_of, spellings,
};
use ptc_test_support::authorization_server::{Registration, Rotation, Script};
use ptc_test_support::child_process::own_test;

const URL: &str = "PTC_TEST_PANIC_URL";
const STATE: &str = "PTC_TEST_PANIC_STATE";

/// Panics with this text, as code does that prints what it has.
fn panic_with(text: String) {
    assert!(catch_unwind(AssertUnwindSafe(|| panic!("the values: {text}"))).is_err());
}

/// Plays a child, if it is one: signs in, calls, and signs out, with a panic at each turn.
#[tokio::test]
async fn child() {
    let given = |name| std::env::var(name).ok();
    let (Some(url), Some(state)) = (given(URL), given(STATE)) else { return };
    let config = config(&mcp_entry(&url, &json!({"type": "oauth"})));
    panic_with(format!("{config:?}"));
    let due = Arc::new(AtomicBool::new(false));
    let armed = due.clone();
    let interrupt = move |number: usize, moment: Moment, text: &str| {
        // What was asked for has been written, and whoever waits for it will not hear.
        if moment == Moment::After && !text.is_empty() && armed.swap(false, Ordering::SeqCst) {
            panic!("operation {number} of the store");
        }
    };
    let store = InterruptedStore::new(FileStore::new(Path::new(&state), None), interrupt);
    let (clock, redactor) = (ahead(0), Redactor::new());
    let site = site_of(&config, store.clone(), &clock, &redactor);
    let begun = site.begin(PROCESS, REDIRECT).await.unwrap();
    let callback = consent(begun.url.expose()).await;
    panic_with(format!("{site:?} {begun:?} {callback:?} {redactor:?}"));
    let signed_in = site.complete(callback).await.unwrap().unwrap();
    panic_with(format!("{signed_in:?} {:?}", site.statuses(PROCESS).await));
    let device = site.begin_device(PROCESS, REDIRECT).await.unwrap();
    panic_with(format!("{device:?} {:?}", device.shown));
    for listed in store.list(RecordKind::Token).await.unwrap() {
        panic_with(format!("{listed:?} {:?}", store.lock(&listed.key).await));
    }

    let process = open(config, store, clock.clone(), redactor).await;
    call(&process, "whoami").await.unwrap();
    clock.advance(Duration::from_secs(3600));
    due.store(true, Ordering::SeqCst);
    let interrupted = "cannot renew the sign-in to upstream 'linear': the renewal was interrupted";
    assert_eq!(fault(&process, "whoami").await, ("upstream_unavailable", interrupted.to_owned()));
    assert!(!due.load(Ordering::SeqCst), "it has panicked");
    // The lock went with the task, and the tokens are in the store.
    clock.advance(Duration::from_secs(2));
    call(&process, "whoami").await.unwrap();
    panic_with(format!("{:?}", site.sign_out(PROCESS).await));
}

#[tokio::test]
async fn a_panic_blocks_nobody_and_shows_no_secret() {
    let script = Script {
        registration: Registration::WithSecret("client_secret_basic"),
        rotation: Rotation::ReuseEndsFamily,
        ..Script::default()
    };
    let world = World::new(script);
    let mut command = own_test(module_path!(), "child");
    command.arg("--nocapture").env("RUST_BACKTRACE", "0");
    command.env(URL, world.server.mcp()).env(STATE, world.state.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.matches("panicked at").count() >= 7, "{said}");
    let secrets = world.server.secrets();
    assert!(secrets.len() >= 9, "{secrets:?}");
    for secret in secrets {
        for spelling in spellings(&secret) {
            assert!(!said.contains(&spelling), "{spelling} is in: {said}");
        }
    }
    // It was one refresh, whose answer was kept.
    assert_eq!(world.server.grants("refresh_token").len(), 1);
}
