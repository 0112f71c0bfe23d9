use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::state::{
    Answer, Claim, Claimed, Commit, Key, Kind, Listed, News, Owner as StoreOwner, Replica, StateError,
    StateStore, StoreLimits, Versioned, Write,
};
use ptc_mcp::json::{Value, json};

use super::super::back_ends::{Back, Shared};
use super::super::tests::{Bench, bench_over, keeping, limits, owner};
use ptc_protocol::settings::{Profile, Sessions};
use ptc_protocol::tool::Preparation;

/// Runs each test over each kind of store.
macro_rules! over_each_store {
    ($(async fn $name:ident($shared:ident: Shared) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn over(back: Back) {
                let Some($shared) = back.store(StoreLimits::default()) else { return };
                $body
            }

            #[tokio::test]
            async fn in_memory() {
                over(Back::Memory).await;
            }

            #[tokio::test]
            async fn in_a_file() {
                over(Back::File).await;
            }

            #[tokio::test]
            async fn in_a_server() {
                over(Back::Server).await;
            }
        }
    )*};
}

type Store = Arc<dyn StateStore>;

fn process(shared: &Shared) -> Bench {
    bench_over(Profile::Structured, limits(), Some(keeping(shared.handle())))
}

/// The one session in the store.
async fn only(store: &Store) -> Listed {
    let listed = store.list(None, Kind::Session).await.expect("a store that answers");
    let [only] = &listed[..] else { panic!("{listed:?}") };
    only.clone()
}

async fn read(store: &Store) -> Versioned {
    let listed = only(store).await;
    store.look(&listed).await.expect("a store that answers").expect("it is there")
}

/// Lets another writer without a lease commit `blob`.
async fn overwrite(store: &Store, blob: impl Into<Bytes>) {
    let listed = only(store).await;
    let key = Key::new(&StoreOwner::principal("me"), Kind::Session, listed.id.clone()).expect("an id");
    let write = Write::put(key, listed.version, blob).resting(Duration::from_secs(100));
    store.commit(Commit::one(write)).await.expect("it is of that version");
}

over_each_store! {
    async fn processes_that_share_a_store_take_turns_and_a_restart_loses_nothing(shared: Shared) {
        let store = shared.handle();
        let mut processes = [process(&shared), process(&shared)];
        let id = processes[0].start("me").await;
        processes[0].eval(&id, "(def n 0) (defn next-n [] (inc n))").await;
        let (told, _) = processes[1].eval(&id, "(println n) (def n (next-n)) n").await;
        assert_eq!((&told["result"], &told["session"]["turn"]), (&json!("user=> 1"), &json!(2)));
        // The first process has the newest values again, and so has the other one.
        assert_eq!(processes[1].eval(&id, "n").await.0["result"], "user=> 1");
        assert_eq!(processes[0].eval(&id, "[*1 *2]").await.0["result"], "user=> [1 1]");
        let version = read(&store).await.version;
        processes[0].eval(&id, "(undefined)").await;
        assert_eq!(read(&store).await.version, version, "a failure changes nothing");
        let order = json!({"session_id": id, "clear": ["tool_calls"]});
        let (forgotten, _) = processes[0].call("me", "lisp_session_forget", order).await;
        assert_eq!(forgotten["stored_keys"], json!(["n", "next-n"]));
        for turn in 2..=20 {
            let at = &processes[turn % 2];
            assert_eq!(at.eval(&id, "(def n (next-n)) n").await.0["result"], format!("user=> {turn}"));
        }
        processes[0] = process(&shared);
        assert_eq!(processes[0].eval(&id, "(next-n)").await.0["result"], "user=> 21");
        assert_eq!(processes[0].inspect(&id, "prints").await["prints"], json!(["0"]));
        let (listed, _) = processes[1].call("me", "lisp_session_list", json!({})).await;
        assert_eq!((&listed["count"], &listed["sessions"][0]["session_id"]), (&json!(1), &json!(id)));
        assert_eq!(processes[1].call("you", "lisp_session_list", json!({})).await.0["count"], 0);
    }
}

over_each_store! {
    async fn a_session_that_takes_many_turns_to_read_is_looked_at_and_changed_by_a_process_that_does_not_know_it(shared: Shared) {
        let roomy = Sessions {
            memory_bytes: 10_000_000,
            binding_bytes: 1_000_000,
            bindings: 100,
            source_bytes: 262_144,
            ..limits()
        };
        let process = || bench_over(Profile::Structured, roomy.clone(), Some(keeping(shared.handle())));
        let writes = process();
        let id = writes.start("me").await;
        // A turn is half a millisecond, and each of these texts has to be compiled again.
        let body = "(+ x (* 2 3)) ".repeat(120);
        for number in 0..20 {
            let told = writes.eval(&id, &format!("(defn f{number} [x] (do {body}))")).await.0;
            assert_eq!(told["status"], "ok", "{told}");
        }
        let seen = process().inspect(&id, "overview").await;
        assert_eq!((&seen["status"], &seen["session"]["binding_count"]), (&json!("ok"), &json!(20)), "{seen}");
        let order = json!({"session_id": id, "bindings": ["f7"]});
        let (left, _) = process().call("me", "lisp_session_forget", order).await;
        assert_eq!((&left["status"], &left["removed_bindings"]), (&json!("ok"), &json!(["f7"])), "{left}");
    }
}

over_each_store! {
    async fn five_small_bindings_take_little(shared: Shared) {
        let store = shared.handle();
        let process = process(&shared);
        let id = process.start("me").await;
        let five = "(def user \"ada\") (def total 42) (def ids [1 2 3]) (def by-id {1 :a 2 :b}) (def done? true)";
        process.eval(&id, five).await;
        let bytes = only(&store).await.bytes;
        assert!(bytes <= 600, "{bytes} bytes as they lie there");
    }
}

/// A program that runs until it is closed or its session changes, on a task of its own.
async fn begin(
    bench: &Bench,
    store: &Store,
    id: &str,
    program: &str,
) -> tokio::task::JoinHandle<(Value, String)> {
    let arguments = json!({"session_id": id, "program": program});
    let Preparation::Gated(work) = bench.prepare(&owner("me"), "lisp_session_eval", &arguments) else {
        panic!("not run");
    };
    let running = tokio::spawn(work.map(|reply| {
        let text = match &reply.text {
            ptc_protocol::tool::ReplyText::Plain(text) => text.clone(),
            ptc_protocol::tool::ReplyText::Mirrored => String::new(),
        };
        let structured =
            reply.structured.map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"));
        (structured, text)
    }));
    while only(store).await.lease.is_none() {
        tokio::task::yield_now().await;
    }
    running
}

over_each_store! {
    async fn one_run_at_a_time_over_all_processes(shared: Shared) {
        let store = shared.handle();
        let processes = [process(&shared), process(&shared)];
        let id = processes[0].start("me").await;
        processes[0].eval(&id, "(def x 1)").await;
        let endless = "(do (def x 2) (loop [] (recur)))";
        let running = begin(&processes[0], &store, &id, endless).await;
        for at in &processes {
            let (busy, _) = at.eval(&id, "x").await;
            assert_eq!((&busy["reason"], &busy["session_id"]), (&json!("session_busy"), &json!(id)));
            let clear = json!({"session_id": id, "clear": ["memory"]});
            assert_eq!(at.call("me", "lisp_session_forget", clear).await.0["reason"], "session_busy");
            let seen = at.inspect(&id, "memory").await;
            assert_eq!(
                (&seen["session"]["eval_status"], &seen["stored_keys"]),
                (&json!("running"), &json!(["x"]))
            );
            assert_eq!(
                at.call("me", "lisp_session_list", json!({})).await.0["sessions"][0]["eval_status"],
                "running"
            );
        }
        // Its client gives up: the lease is released, and no change remains.
        running.abort();
        while only(&store).await.lease.is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(processes[1].eval(&id, "x").await.0["result"], "user=> 1");
        // Its own process closes it: it ends at once.
        let running = begin(&processes[0], &store, &id, endless).await;
        processes[0].call("me", "lisp_session_close", json!({"session_id": id})).await;
        assert_eq!(running.await.expect("no panic").0["reason"], "session_closed");
        // At any moment, also between the store's acknowledgement and the program's first step.
        for _ in 0..20 {
            let id = processes[0].start("me").await;
            let running = begin(&processes[0], &store, &id, endless).await;
            processes[0].call("me", "lisp_session_close", json!({"session_id": id})).await;
            assert_eq!(running.await.expect("no panic").0["reason"], "session_closed");
        }
        for at in &processes {
            assert_eq!(at.eval(&id, "1").await.0["reason"], "session_closed");
            assert_eq!(at.inspect(&id, "memory").await["reason"], "session_closed");
            let again = at.call("me", "lisp_session_close", json!({"session_id": id})).await.0;
            assert_eq!(again["reason"], "session_closed");
        }
    }
}

over_each_store! {
    async fn a_lost_race_is_told_with_what_the_program_gave(shared: Shared) {
        let store = Fragile::new(shared.handle());
        let fragile = bench_over(Profile::Structured, limits(), Some(keeping(Arc::new(store.clone()))));
        let processes = [fragile, process(&shared)];
        let id = processes[0].start("me").await;
        processes[0].eval(&id, "(def x 1)").await;
        store.befalls(Mishap::Overwritten);
        let (told, text) = processes[0].eval(&id, "(println \"seen\") (def x 2) (inc x)").await;
        assert_eq!((&told["status"], &told["reason"]), (&json!("error"), &json!("session_conflict")));
        assert_eq!(
            told["message"],
            "this session was changed by another run; the definitions of this one were not kept"
        );
        assert_eq!((&told["result"], &told["prints"]), (&json!("user=> 3"), &json!(["seen"])));
        assert!(told.get("memory").is_none(), "{told}");
        assert!(text.starts_with("user=> 3\nprints (1 line):\n| seen\nsession_conflict: this session"), "{text}");
        assert!(text.ends_with("\n[not stored]"), "{text}");
        store.befalls(Mishap::None);
        for at in &processes {
            assert_eq!(at.eval(&id, "x").await.0["result"], "user=> 1");
        }
        // Another process closes it while it runs: it runs to its end, and its result is dropped.
        store.befalls(Mishap::Closed);
        assert_eq!(processes[0].eval(&id, "(def x 3)").await.0["reason"], "session_closed");
        store.befalls(Mishap::None);
        for at in &processes {
            assert_eq!(at.eval(&id, "x").await.0["reason"], "session_closed");
        }
    }
}

over_each_store! {
    async fn values_that_made_room_are_read_again(shared: Shared) {
        let store = shared.handle();
        let settings = Sessions { max: 1, max_per_owner: 50, ..limits() };
        let process = bench_over(Profile::Structured, settings, Some(keeping(store)));
        let mut ids = Vec::new();
        for n in 0..5 {
            let id = process.start("me").await;
            process.eval(&id, &format!("(def n {n}) (defn f [] n)")).await;
            ids.push(id);
        }
        for _ in 0..3 {
            for (n, id) in ids.iter().enumerate() {
                assert_eq!(process.eval(id, "(f)").await.0["result"], format!("user=> {n}"));
                assert_eq!(process.eval(id, "(f)").await.0["result"], format!("user=> {n}"));
            }
        }
    }
}

over_each_store! {
    async fn what_cannot_be_read_is_told_and_left_alone(shared: Shared) {
        let store = shared.handle();
        let process = process(&shared);
        let id = process.start("me").await;
        process.eval(&id, "(def x 1)").await;
        let good = read(&store).await.blob.expect("content");
        for (blob, reason) in [(vec![2, 0, 1], "session_other_build"), (vec![1, 0, 9, 9], "session_not_found")] {
            overwrite(&store, blob.clone()).await;
            let (told, _) = process.eval(&id, "x").await;
            assert_eq!(told["reason"], reason);
            if reason == "session_other_build" {
                assert_eq!(told["message"], "this session was saved by another build of ptc; start a new one");
            }
            assert_eq!(process.inspect(&id, "memory").await["reason"], reason);
            assert_eq!(read(&store).await.blob.expect("content"), blob);
            // It is released.
            while only(&store).await.lease.is_some() {
                tokio::task::yield_now().await;
            }
        }
        overwrite(&store, good).await;
        assert_eq!(process.eval(&id, "x").await.0["result"], "user=> 1");
        for strange in ["a}", "a b", "", &"x".repeat(10 << 10), "ä"] {
            assert_eq!(process.eval(strange, "1").await.0["reason"], "session_not_found", "{strange}");
        }
    }
}

#[tokio::test]
async fn texts_and_records_that_are_too_large_are_not_committed() {
    let limited = Back::Memory.store(StoreLimits { owner_bytes: 2000 }).expect("a store in memory");
    let unlimited = Back::Memory.store(StoreLimits::default()).expect("a store in memory");
    let small = Sessions { source_bytes: 60, ..limits() };
    let process = bench_over(Profile::Debug, small, Some(keeping(unlimited.handle())));
    let id = process.start("me").await;
    assert_eq!(process.eval(&id, "(defn f [] 1)").await.0["status"], "ok");
    let (told, _) = process.eval(&id, "(defn g [x] (str \"a text that is longer than it may be\" x))").await;
    assert_eq!(told["reason"], "session_limit_exceeded");
    assert_eq!(
        told["detail"],
        json!({"field": "source_bytes", "limit": "max_session_source_bytes", "actual": 72, "max": 60})
    );
    // Source text that no function needs does not count.
    assert_eq!(process.eval(&id, &format!("{} (f)", " ".repeat(500))).await.0["result"], "user=> 1");

    let process = bench_over(Profile::Structured, limits(), Some(keeping(limited.handle())));
    let id = process.start("me").await;
    process.eval(&id, "(def x 1)").await;
    let large = "(def y (map (fn [n] (str n \"-\" (* n n n n n))) (range 200))) (count y)";
    let (told, text) = process.eval(&id, large).await;
    assert_eq!((&told["reason"], &told["result"]), (&json!("session_limit_exceeded"), &json!("user=> 200")));
    assert!(text.ends_with("[not stored]"), "{text}");
    assert_eq!(process.eval(&id, "x").await.0["result"], "user=> 1");
}

/// The fault of the next commits and reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    None,
    /// The store is unavailable.
    Unavailable,
    /// Commits are made, and their answers are lost.
    Unanswered,
    /// Another writer commits first.
    Overwritten,
    /// Another process closes the session first.
    Closed,
}

/// A store that can be made to fail.
#[derive(Clone)]
struct Fragile {
    inner: Store,
    mishap: Arc<Mutex<Mishap>>,
}

impl Fragile {
    fn new(inner: Store) -> Fragile {
        Fragile { inner, mishap: Arc::new(Mutex::new(Mishap::None)) }
    }

    fn befalls(&self, mishap: Mishap) {
        *self.mishap.lock() = mishap;
    }

    fn mishap(&self) -> Mishap {
        *self.mishap.lock()
    }

    fn reading<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        if self.mishap() == Mishap::Unavailable { unavailable().boxed() } else { answer }
    }

    async fn commit_after(&self, mishap: Mishap, commit: Commit) -> Result<(), StateError> {
        let write = |key: &Key, version, blob| {
            Write::put(key.clone(), version, blob).resting(Duration::from_secs(100))
        };
        for key in commit.writes().iter().map(|write| &write.key) {
            let before = self.inner.read(key).await?;
            match (mishap, before) {
                (Mishap::Overwritten, Some(Versioned { version, blob: Some(blob), .. })) => {
                    self.inner.commit(Commit::one(write(key, version, blob))).await?;
                }
                (Mishap::Closed, _) => {
                    self.inner
                        .commit(Commit::one(Write::bury(key.clone(), Duration::from_secs(100))))
                        .await?;
                }
                _ => {}
            }
        }
        let done = self.inner.commit(commit).await;
        if mishap == Mishap::Unanswered { unavailable().await } else { done }
    }
}

async fn unavailable<T>() -> Result<T, StateError> {
    Err(StateError::Unavailable("refused".into()))
}

impl StateStore for Fragile {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        self.reading(self.inner.read(key))
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        self.reading(self.inner.claim(key, claim))
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        self.inner.renew(key, fence, lease)
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        match self.mishap() {
            Mishap::Unavailable => unavailable().boxed(),
            mishap => self.commit_after(mishap, commit).boxed(),
        }
    }

    fn spend<'a>(&'a self, owner: &'a StoreOwner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        self.inner.spend(owner, id, life)
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        self.inner.push(run, message, life)
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        self.inner.drain(run)
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        self.inner.woken(holder)
    }

    fn list<'a>(&'a self, owner: Option<&'a StoreOwner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        self.reading(self.inner.list(owner, kind))
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        self.reading(self.inner.look(listed))
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        self.inner.erase(listed)
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        self.inner.announce(text)
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        self.inner.news(point)
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        self.inner.attend(replica)
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.inner.replicas()
    }
}

over_each_store! {
    async fn a_store_that_fails_stops_session_work_and_nothing_is_made_up(shared: Shared) {
        let store = Fragile::new(shared.handle());
        let process = bench_over(Profile::Structured, limits(), Some(keeping(Arc::new(store.clone()))));
        let id = process.start("me").await;
        process.eval(&id, "(def x 1)").await;
        store.befalls(Mishap::Unavailable);
        let session = json!({"session_id": id, "program": "x"});
        for tool in ["start", "list", "eval", "inspect", "forget", "close"] {
            let arguments = match tool {
                "start" | "list" => json!({}),
                "eval" => session.clone(),
                _ => json!({"session_id": id}),
            };
            let (told, _) = process.call("me", &format!("lisp_session_{tool}"), arguments).await;
            assert_eq!(told["reason"], "state_unavailable", "{tool}: {told}");
            assert_eq!(told["message"], "the session store is unavailable; nothing was changed", "{tool}");
        }
        store.befalls(Mishap::None);
        assert_eq!(process.eval(&id, "x").await.0["result"], "user=> 1");
        // The answer to a commit is lost: the commit may have been made, and the next program sees the stored state.
        store.befalls(Mishap::Unanswered);
        let (told, text) = process.eval(&id, "(println \"p\") (def x 2) (inc x)").await;
        assert_eq!(told["reason"], "state_unavailable");
        assert_eq!(told["message"], "the program ran, and its definitions may not have been kept");
        assert_eq!((&told["result"], &told["prints"]), (&json!("user=> 3"), &json!(["p"])));
        assert!(text.ends_with("[not stored]"), "{text}");
        store.befalls(Mishap::None);
        assert_eq!(process.eval(&id, "x").await.0["result"], "user=> 2");
    }
}

over_each_store! {
    async fn an_eval_is_one_read_and_one_write(shared: Shared) {
        let store = shared.handle();
        let process = process(&shared);
        let id = process.start("me").await;
        process.eval(&id, "(def x 1)").await;
        let before = read(&store).await;
        process.eval(&id, "x").await;
        let after = read(&store).await;
        // One claim and one commit: the fence grew once, the version by one.
        assert_eq!(after.version, before.version + 1);
        assert!(after.lease.is_none());
    }
}

over_each_store! {
    async fn sessions_end_with_their_time(shared: Shared) {
        let process = process(&shared);
        let (started, _) = process.call("me", "lisp_session_start", json!({"ttl_ms": 1})).await;
        let id = started["session_id"].as_str().expect("an id").to_owned();
        loop {
            let (told, _) = process.eval(&id, "1").await;
            if told["status"] == "error" {
                assert!(told["reason"] == "session_closed" || told["reason"] == "session_not_found", "{told}");
                break;
            }
        }
        assert_eq!(process.call("me", "lisp_session_list", json!({})).await.0["count"], 0);
    }
}
