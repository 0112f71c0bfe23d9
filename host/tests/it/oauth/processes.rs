//! Several processes on one store. The children are this binary, run for one test.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::sign_in::store::FileStore;
use ptc_mcp::json::json;

use ptc_test_support::authorization_server::{Rotation, Script, Trouble};
use ptc_test_support::child_process::own_test;
use ptc_test_support::fake_http::Gate;
use ptc_test_support::wait_until_async;

use super::world::{World, ahead, call, config, fault, mcp_entry, open};

const URL: &str = "PTC_TEST_OAUTH_URL";
const STATE: &str = "PTC_TEST_OAUTH_STATE";
const AHEAD: &str = "PTC_TEST_OAUTH_AHEAD";
/// Where each child leaves a file that says that it is there.
const ATTENDANCE: &str = "PTC_TEST_OAUTH_ATTENDANCE";

/// Plays a child, if it is one: calls at the end of a token's life.
#[tokio::test]
async fn child() {
    let (Ok(url), Ok(state), Ok(ahead)) = (std::env::var(URL), std::env::var(STATE), std::env::var(AHEAD))
    else {
        return;
    };
    if let Some(attendance) = std::env::var_os(ATTENDANCE) {
        std::fs::write(Path::new(&attendance).join(std::process::id().to_string()), "").unwrap();
    }
    let config = config(&mcp_entry(&url, &json!({"type": "oauth"})));
    let store = Arc::new(FileStore::new(Path::new(&state), None));
    let process = open(config, store, self::ahead(ahead.parse().unwrap()), Redactor::new()).await;
    for reply in futures_util::future::join_all((0..10).map(|_| call(&process, "whoami"))).await {
        reply.unwrap();
    }
}

fn spawn(world: &World, ahead: u64, attendance: &Path) -> Child {
    own_test(module_path!(), "child")
        .env(URL, world.server.mcp())
        .env(STATE, world.state.path())
        .env(AHEAD, ahead.to_string())
        .env(ATTENDANCE, attendance)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

async fn ended(mut child: Child) -> bool {
    tokio::task::spawn_blocking(move || child.wait().unwrap().success()).await.unwrap()
}

#[tokio::test]
async fn four_processes_make_one_refresh() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    for round in 1..=2 {
        world.advance(3600);
        let (gate, attendance) = (Gate::default(), tempfile::tempdir().unwrap());
        world.server.trouble("/token", Trouble::Held(gate.clone()));
        let children: Vec<Child> = (0..4).map(|_| spawn(&world, round * 3600, attendance.path())).collect();
        wait_until_async("all are there, and one refreshes", async || {
            attendance.path().read_dir().unwrap().count() == 4 && gate.came() == 1
        })
        .await;
        gate.let_one_pass();
        for child in children {
            assert!(ended(child).await);
        }
        assert_eq!(world.server.grants("refresh_token").len() as u64, round);
    }
    assert!(world.server.is_signed_in());
}

#[tokio::test]
async fn a_process_killed_between_answer_and_write_loses_one_rotation_and_no_more() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    world.advance(3600);
    world.server.trouble("/token", Trouble::Withheld);
    let attendance = tempfile::tempdir().unwrap();
    let mut child = spawn(&world, 3600, attendance.path());
    // The server has given out new tokens, and the child does not have them yet.
    wait_until_async("tokens are given out", async || {
        assert!(child.try_wait().unwrap().is_none(), "the child has ended");
        world.server.rotations() > 0
    })
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
    let process = world.process().await;
    let told = fault(&process, "whoami").await;
    let spent = world.server.grants("refresh_token").len();
    // The rotation was lost: the sign-in has ended, and nobody asks again and again.
    assert!(told.0 == "auth_required" && told.1.contains("invalid_grant"), "{told:?}");
    for _ in 0..3 {
        world.advance(2);
        assert_eq!(fault(&process, "whoami").await.0, "auth_required");
    }
    assert_eq!(world.server.grants("refresh_token").len(), spent);
    world.log_in().await.unwrap();
    world.advance(2);
    call(&process, "whoami").await.unwrap();
}
