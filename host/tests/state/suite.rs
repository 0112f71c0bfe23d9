//! What holds of every store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, join_all};
use ptc_host::state::{
    Change, Claim, Claimed, Commit, End, Key, Kind, Listed, Owner, Replica, Room, StateError, StateStore,
    StoreLimits, Versioned, Write,
};
use ptc_test_support::wait_until_async;

use crate::Handles;

/// One case: over a new store with these limits.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) limits: StoreLimits,
    pub(crate) run: fn(Handles) -> LocalBoxFuture<'static, ()>,
}

/// Cases by the names of their functions.
macro_rules! cases {
    ($($name:ident $(with $bytes:literal)?),* $(,)?) => {
        pub(crate) const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            limits: StoreLimits { owner_bytes: (256 << 20) $(* 0 + $bytes)? },
            run: |handles| $name(handles).boxed_local(),
        }),*];
    };
}

cases![
    what_one_handle_writes_the_other_reads,
    a_new_record_must_not_exist,
    a_version_is_written_over_once,
    what_was_never_there_is_gone,
    a_buried_record_stays_away,
    what_never_was_can_be_buried,
    a_commit_is_made_whole_or_not_at_all,
    nothing_is_found_under_another_owner,
    odd_names_of_owners_are_owners_like_others,
    a_claim_keeps_others_out_until_its_commit,
    a_claim_brings_no_content_that_is_known,
    whoever_was_overtaken_is_fenced,
    a_lease_is_renewed_and_given_back,
    what_does_not_exist_can_be_claimed,
    a_commit_without_a_lease_goes_by_the_version,
    a_lease_outlasts_a_commit_that_keeps_it,
    a_record_at_rest_expires,
    a_use_puts_expiry_off_but_not_the_end,
    an_id_is_spent_once,
    an_inbox_keeps_order_and_is_emptied_once,
    the_holder_of_a_run_is_woken,
    a_holder_is_woken_by_what_came_before_it_waited,
    a_watch_ends_with_the_next_version,
    a_list_has_what_is_there,
    a_kind_has_room_up_to_each_of_its_bounds,
    what_is_gone_leaves_its_room,
    an_operator_looks_at_records_and_erases_them,
    bytes_are_counted_over_all_of_a_principal with 3000,
    expired_records_do_not_count with 2000,
    announcements_reach_everybody,
    replicas_are_listed,
    no_change_is_lost_among_many,
    no_claim_is_given_twice,
];

/// Long enough for everything that must not happen by itself.
const HOUR: Duration = Duration::from_secs(3600);

fn alice() -> Owner {
    Owner::principal("alice")
}

fn key(owner: &Owner, id: &str) -> Key {
    Key::new(owner, Kind::Session, id).unwrap()
}

fn claim(holder: &str, lease: Duration) -> Claim {
    Claim { holder: holder.into(), lease, rest: None, known: 0, creates: false }
}

async fn put(store: &Arc<dyn StateStore>, key: &Key, version: u64, blob: &[u8]) -> Result<(), StateError> {
    store.commit(Commit::one(Write::put(key.clone(), version, Bytes::copy_from_slice(blob)))).await
}

async fn content(store: &Arc<dyn StateStore>, key: &Key) -> Option<(u64, Vec<u8>)> {
    let found = store.read(key).await.unwrap()?;
    Some((found.version, found.blob.unwrap().to_vec()))
}

async fn taken(store: &Arc<dyn StateStore>, key: &Key, claim: Claim) -> Versioned {
    match store.claim(key, claim).await.unwrap() {
        Claimed::Taken(found) => found,
        other => panic!("{other:?}"),
    }
}

async fn what_one_handle_writes_the_other_reads(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    assert_eq!(other.read(&key).await.unwrap(), None);
    let large: Vec<u8> = (0..1 << 20).map(|at: u32| (at ^ (at >> 9)) as u8).collect();
    for (version, blob) in [&b"\0\xff first"[..], b"", &large, b"last"].into_iter().enumerate() {
        put(&one, &key, version as u64, blob).await.unwrap();
        assert!(content(&other, &key).await == Some((version as u64 + 1, blob.to_vec())), "{version}");
        let found = other.read(&key).await.unwrap().unwrap();
        assert_eq!((found.ends_in, found.expires_in, found.lease), (None, None, None));
    }
}

async fn a_new_record_must_not_exist(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"one").await.unwrap();
    assert_eq!(put(&other, &key, 0, b"other").await, Err(StateError::Conflict));
    assert_eq!(content(&one, &key).await, Some((1, b"one".to_vec())));
}

async fn a_version_is_written_over_once(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"0").await.unwrap();
    put(&other, &key, 1, b"1").await.unwrap();
    for version in [0, 1, 3, 1 << 40] {
        assert_eq!(put(&one, &key, version, b"late").await, Err(StateError::Conflict), "{version}");
    }
    let at = |write: Write| one.commit(Commit::one(write.at_version(1)));
    assert_eq!(at(Write::bury(key.clone(), HOUR)).await, Err(StateError::Conflict));
    assert_eq!(at(Write::remove(key.clone())).await, Err(StateError::Conflict));
    assert_eq!(content(&one, &key).await, Some((2, b"1".to_vec())));
}

async fn what_was_never_there_is_gone(Handles { one, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    assert_eq!(put(&one, &key, 1, b"late").await, Err(StateError::Gone));
    assert_eq!(one.renew(&key, 1, HOUR).await, Err(StateError::Gone));
    assert_eq!(one.claim(&key, claim("one", HOUR)).await, Ok(Claimed::Absent));
    let write = Write::remove(key.clone());
    assert_eq!(one.commit(Commit::one(write.clone().at_version(1))).await, Err(StateError::Gone));
    one.commit(Commit::one(write)).await.unwrap();
    assert_eq!(one.read(&key).await, Ok(None));
}

async fn a_buried_record_stays_away(Handles { one, other, time }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mine = taken(&one, &key, claim("one", HOUR)).await;
    other.commit(Commit::one(Write::bury(key.clone(), HOUR))).await.unwrap();
    for store in [&one, &other] {
        assert_eq!(store.read(&key).await, Err(StateError::Gone));
        assert_eq!(store.claim(&key, claim("one", HOUR)).await, Err(StateError::Gone));
        assert_eq!(store.renew(&key, mine.fence, HOUR).await, Err(StateError::Gone));
        for version in [0, 1, 2] {
            assert_eq!(put(store, &key, version, b"late").await, Err(StateError::Gone), "{version}");
        }
        let late = Write::put(key.clone(), 1, &b"late"[..]).under(mine.fence);
        assert_eq!(store.commit(Commit::one(late)).await, Err(StateError::Gone));
        assert_eq!(store.list(Some(&alice()), Kind::Session).await, Ok(vec![]));
    }
    // Once more is no mistake, and what is removed may be made again.
    one.commit(Commit::one(Write::bury(key.clone(), HOUR))).await.unwrap();
    one.commit(Commit::one(Write::remove(key.clone()))).await.unwrap();
    put(&one, &key, 0, b"again").await.unwrap();
    // It is not remembered for ever.
    one.commit(Commit::one(Write::bury(key.clone(), time.short()))).await.unwrap();
    time.pass();
    wait_until_async("a tombstone goes", async || other.read(&key).await == Ok(None)).await;
}

async fn what_never_was_can_be_buried(Handles { one, other, .. }: Handles) {
    let key = Key::new(&alice(), Kind::HttpSession, "mcp_1").unwrap();
    one.commit(Commit::one(Write::bury(key.clone(), HOUR))).await.unwrap();
    assert_eq!(other.read(&key).await, Err(StateError::Gone));
    assert_eq!(put(&other, &key, 0, b"late").await, Err(StateError::Gone));
}

async fn a_commit_is_made_whole_or_not_at_all(Handles { one, other, .. }: Handles) {
    let owner = alice();
    let [first, second, third] = ["a", "b", "c"].map(|id| key(&owner, id));
    put(&one, &second, 0, b"second").await.unwrap();
    let commit = |second_version: u64| {
        Commit::of(&owner)
            .and(Write::put(first.clone(), 0, &b"first"[..]))
            .and(Write::put(second.clone(), second_version, &b"changed"[..]))
            .and(Write::bury(third.clone(), HOUR))
    };
    assert_eq!(one.commit(commit(0)).await, Err(StateError::Conflict));
    assert_eq!(content(&other, &first).await, None);
    assert_eq!(content(&other, &second).await, Some((1, b"second".to_vec())));
    assert_eq!(other.read(&third).await, Ok(None));
    one.commit(commit(1)).await.unwrap();
    assert_eq!(content(&other, &first).await, Some((1, b"first".to_vec())));
    assert_eq!(content(&other, &second).await, Some((2, b"changed".to_vec())));
    assert_eq!(other.read(&third).await, Err(StateError::Gone));
    // Records of several conversations of one principal may be in one.
    let conversation = key(&Owner::conversation("alice", "mcp_1"), "a");
    let both = Commit::of(&owner).and(Write::remove(first.clone())).and(Write::put(
        conversation.clone(),
        0,
        &b"x"[..],
    ));
    one.commit(both).await.unwrap();
    assert_eq!(content(&other, &first).await, None);
    assert!(content(&other, &conversation).await.is_some());
}

async fn nothing_is_found_under_another_owner(Handles { one, other, .. }: Handles) {
    let owners = [
        alice(),
        Owner::principal("bob"),
        Owner::conversation("alice", "mcp_1"),
        Owner::conversation("alice", "mcp_2"),
        Owner::conversation("bob", "mcp_1"),
    ];
    for owner in &owners {
        for other_owner in &owners {
            let is_own = other_owner == owner;
            let found = content(&other, &key(other_owner, "ses_1")).await.is_some();
            assert_eq!(
                found,
                owners.iter().take_while(|seen| *seen != owner).any(|seen| seen == other_owner)
            );
            assert!(!is_own || !found);
        }
        put(&one, &key(owner, "ses_1"), 0, format!("{}", owner.name()).as_bytes()).await.unwrap();
        assert_eq!(other.list(Some(owner), Kind::Session).await.unwrap().len(), 1);
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Session) {
            assert_eq!(other.read(&Key::new(owner, kind, "ses_1").unwrap()).await, Ok(None));
            assert_eq!(other.list(Some(owner), kind).await, Ok(vec![]));
        }
    }
    assert_eq!(other.list(None, Kind::Session).await.unwrap().len(), owners.len());
}

async fn odd_names_of_owners_are_owners_like_others(Handles { one, other, .. }: Handles) {
    let names = ["*", "a*", "a}", "{a}", "a:s:x", "a", "", "ä\0\n", "a b", "?", "[a]", "%00", "process"];
    for name in names {
        let owner = Owner::conversation(name, "x:}*");
        put(&one, &key(&owner, "ses_1"), 0, name.as_bytes()).await.unwrap();
        assert_eq!(content(&other, &key(&owner, "ses_1")).await, Some((1, name.as_bytes().to_vec())));
        let listed = other.list(Some(&owner), Kind::Session).await.unwrap();
        assert_eq!((listed.len(), &*listed[0].id), (1, "ses_1"));
        assert_eq!(other.list(Some(&Owner::principal(name)), Kind::Session).await, Ok(vec![]));
    }
    let owners: BTreeSet<_> =
        other.list(None, Kind::Session).await.unwrap().into_iter().map(|l| l.owner).collect();
    assert_eq!(owners.len(), names.len());
}

async fn a_claim_keeps_others_out_until_its_commit(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mine = taken(&one, &key, claim("one", HOUR)).await;
    assert_eq!((mine.version, mine.blob.as_deref()), (1, Some(&b"content"[..])));
    assert!(mine.fence > 0);
    for store in [&one, &other] {
        match store.claim(&key, claim("other", HOUR)).await.unwrap() {
            Claimed::Held(lease) => assert!(&*lease.holder == "one" && lease.left <= HOUR),
            taken => panic!("{taken:?}"),
        }
        let seen = store.read(&key).await.unwrap().unwrap();
        assert_eq!((seen.fence, &*seen.lease.unwrap().holder), (mine.fence, "one"));
    }
    one.commit(Commit::one(Write::put(key.clone(), 1, &b"changed"[..]).under(mine.fence))).await.unwrap();
    let theirs = taken(&other, &key, claim("other", HOUR)).await;
    assert_eq!((theirs.version, theirs.blob.as_deref()), (2, Some(&b"changed"[..])));
    assert!(theirs.fence > mine.fence);
}

async fn a_claim_brings_no_content_that_is_known(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    for (known, travels) in [(0, true), (1, false), (2, true)] {
        let found = taken(&other, &key, Claim { known, ..claim("other", HOUR) }).await;
        assert_eq!((found.version, found.blob.is_some()), (1, travels), "{known}");
        other.renew(&key, found.fence, Duration::ZERO).await.unwrap();
    }
}

async fn whoever_was_overtaken_is_fenced(Handles { one, other, time }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mine = taken(&one, &key, claim("one", time.short())).await;
    let late = |fence: u64| Commit::one(Write::put(key.clone(), 1, &b"late"[..]).under(fence));
    let waiting = Arc::new(std::sync::Mutex::new(None));
    time.pass();
    wait_until_async("a lease runs out", async || {
        match other.claim(&key, claim("other", HOUR)).await.unwrap() {
            Claimed::Taken(found) => waiting.lock().unwrap().replace(found).is_none(),
            _ => false,
        }
    })
    .await;
    let theirs = waiting.lock().unwrap().take().unwrap();
    assert!(theirs.fence > mine.fence);
    assert_eq!(one.commit(late(mine.fence)).await, Err(StateError::Fenced));
    assert_eq!(one.renew(&key, mine.fence, HOUR).await, Err(StateError::Fenced));
    other.commit(Commit::one(Write::put(key.clone(), 1, &b"theirs"[..]).under(theirs.fence))).await.unwrap();
    assert_eq!(one.commit(late(mine.fence)).await, Err(StateError::Conflict));
    assert_eq!(content(&one, &key).await, Some((2, b"theirs".to_vec())));
    // The end of a lease proves nothing: as long as nobody came, the commit is good.
    let mine = taken(&one, &key, claim("one", time.short())).await;
    time.pass();
    wait_until_async("a lease runs out", async || other.read(&key).await.unwrap().unwrap().lease.is_none())
        .await;
    one.commit(Commit::one(Write::put(key.clone(), 2, &b"mine"[..]).under(mine.fence))).await.unwrap();
}

async fn a_lease_is_renewed_and_given_back(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mine = taken(&one, &key, claim("one", Duration::from_secs(60))).await;
    one.renew(&key, mine.fence, HOUR).await.unwrap();
    match other.claim(&key, claim("other", HOUR)).await.unwrap() {
        Claimed::Held(lease) => assert!(lease.left > Duration::from_secs(1800), "{lease:?}"),
        taken => panic!("{taken:?}"),
    }
    assert_eq!(other.renew(&key, mine.fence + 1, HOUR).await, Err(StateError::Fenced));
    one.renew(&key, mine.fence, Duration::ZERO).await.unwrap();
    let theirs = taken(&other, &key, claim("other", HOUR)).await;
    assert!(theirs.fence > mine.fence);
    assert_eq!(one.renew(&key, mine.fence, HOUR).await, Err(StateError::Fenced));
}

async fn what_does_not_exist_can_be_claimed(Handles { one, other, time }: Handles) {
    let key = Key::new(&alice(), Kind::SignIn, "github").unwrap();
    let creating = |holder: &str, lease: Duration| Claim { creates: true, ..claim(holder, lease) };
    let mine = taken(&one, &key, creating("one", time.short())).await;
    assert_eq!((mine.version, mine.blob.as_ref()), (0, None));
    assert_eq!(other.read(&key).await, Ok(None));
    assert_eq!(other.list(Some(&alice()), Kind::SignIn).await, Ok(vec![]));
    let theirs = std::sync::Mutex::new(None);
    time.pass();
    wait_until_async("a lease runs out", async || {
        match other.claim(&key, creating("other", HOUR)).await.unwrap() {
            Claimed::Taken(found) => theirs.lock().unwrap().replace(found).is_none(),
            Claimed::Held(lease) => &*lease.holder != "one",
            Claimed::Absent => panic!("it is claimed whether it is there or not"),
        }
    })
    .await;
    let theirs = theirs.into_inner().unwrap().unwrap();
    assert!(theirs.fence > mine.fence, "also where the record was forgotten in between");
    let write = |fence: u64| Commit::one(Write::put(key.clone(), 0, &b"tokens"[..]).under(fence));
    assert_eq!(one.commit(write(mine.fence)).await, Err(StateError::Fenced));
    other.commit(write(theirs.fence)).await.unwrap();
    assert_eq!(content(&one, &key).await, Some((1, b"tokens".to_vec())));
    let found = taken(&one, &key, creating("one", HOUR)).await;
    assert_eq!((found.version, found.blob.as_deref()), (1, Some(&b"tokens"[..])));
}

async fn a_commit_without_a_lease_goes_by_the_version(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mine = taken(&one, &key, claim("one", HOUR)).await;
    put(&other, &key, 1, b"theirs").await.unwrap();
    let late = Write::put(key.clone(), 1, &b"late"[..]).under(mine.fence);
    assert_eq!(one.commit(Commit::one(late)).await, Err(StateError::Conflict));
    assert_eq!(content(&one, &key).await, Some((2, b"theirs".to_vec())));
}

async fn a_lease_outlasts_a_commit_that_keeps_it(Handles { one, other, .. }: Handles) {
    let key = Key::new(&alice(), Kind::Run, "run_1").unwrap();
    put(&one, &key, 0, b"running").await.unwrap();
    let mine = taken(&one, &key, claim("one", HOUR)).await;
    let write = |version: u64| Write::put(key.clone(), version, &b"progress"[..]).under(mine.fence);
    one.commit(Commit::one(write(1).keeping_lease())).await.unwrap();
    assert!(matches!(other.claim(&key, claim("other", HOUR)).await, Ok(Claimed::Held(_))));
    one.commit(Commit::one(write(2))).await.unwrap();
    assert_eq!(taken(&other, &key, claim("other", HOUR)).await.version, 3);
}

async fn a_record_at_rest_expires(Handles { one, other, time }: Handles) {
    let key = key(&alice(), "ses_1");
    let write = Write::put(key.clone(), 0, &b"content"[..]);
    one.commit(Commit::one(write.clone().resting(time.short()).ending(End::After(HOUR)))).await.unwrap();
    time.pass();
    wait_until_async("a record at rest goes", async || other.read(&key).await == Ok(None)).await;
    assert_eq!(one.claim(&key, claim("one", HOUR)).await, Ok(Claimed::Absent));
    assert_eq!(one.list(Some(&alice()), Kind::Session).await, Ok(vec![]));
    assert_eq!(put(&one, &key, 1, b"late").await, Err(StateError::Gone));
    one.commit(Commit::one(write.resting(HOUR).ending(End::After(time.short())))).await.unwrap();
    time.pass();
    wait_until_async("a record ends", async || other.read(&key).await == Ok(None)).await;
    put(&other, &key, 0, b"again").await.unwrap();
    assert_eq!(content(&one, &key).await, Some((1, b"again".to_vec())));
}

async fn a_use_puts_expiry_off_but_not_the_end(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let write =
        Write::put(key.clone(), 0, &b"content"[..]).resting(minutes(5)).ending(End::After(minutes(60)));
    one.commit(Commit::one(write)).await.unwrap();
    let left = |found: &Versioned| (found.expires_in.unwrap(), found.ends_in.unwrap());
    let (rest, end) = left(&other.read(&key).await.unwrap().unwrap());
    assert!(
        rest <= minutes(5) && rest > minutes(3) && end <= minutes(60) && end > minutes(58),
        "{rest:?} {end:?}"
    );
    let used = taken(&other, &key, Claim { rest: Some(minutes(20)), ..claim("other", HOUR) }).await;
    let (rest, end) = left(&used);
    assert!(rest <= minutes(20) && rest > minutes(18) && end <= minutes(60), "{rest:?} {end:?}");
    // A commit says how long it rests from then on, and keeps the end unless it names another.
    let write = Write::put(key.clone(), 1, &b"content"[..]).under(used.fence).resting(minutes(120));
    other.commit(Commit::one(write)).await.unwrap();
    let (rest, end) = left(&one.read(&key).await.unwrap().unwrap());
    assert!(rest <= minutes(60) && rest > minutes(58) && end <= minutes(60), "{rest:?} {end:?}");
    let write = Write::put(key.clone(), 2, &b"content"[..]).ending(End::After(minutes(10)));
    other.commit(Commit::one(write)).await.unwrap();
    let (rest, end) = left(&one.read(&key).await.unwrap().unwrap());
    assert!(rest <= minutes(10) && rest > minutes(8) && end <= minutes(10), "{rest:?} {end:?}");
    other.commit(Commit::one(Write::put(key.clone(), 3, &b"content"[..]).ending(End::Never))).await.unwrap();
    let found = one.read(&key).await.unwrap().unwrap();
    assert_eq!((found.version, found.ends_in, found.expires_in), (4, None, None));
}

async fn an_id_is_spent_once(Handles { one, other, time }: Handles) {
    let (alice, bob) = (alice(), Owner::principal("bob"));
    let id = [7; 16];
    let all = (0..64).map(|at| {
        let (store, owner) = (if at % 2 == 0 { one.clone() } else { other.clone() }, alice.clone());
        tokio::spawn(async move { store.spend(&owner, &id, HOUR).await.unwrap() })
    });
    let firsts = join_all(all).await.into_iter().filter(|first| *first.as_ref().unwrap()).count();
    assert_eq!(firsts, 1);
    assert_eq!(one.spend(&Owner::conversation("alice", "mcp_1"), &id, HOUR).await, Ok(false));
    assert_eq!(one.spend(&bob, &id, HOUR).await, Ok(true));
    assert_eq!(one.spend(&alice, &[8; 16], time.short()).await, Ok(true));
    time.pass();
    wait_until_async("a spent id is forgotten", async || other.spend(&alice, &[8; 16], HOUR).await.unwrap())
        .await;
    assert_eq!(one.spend(&alice, &[8; 16], HOUR).await, Ok(false));
}

async fn an_inbox_keeps_order_and_is_emptied_once(Handles { one, other, time }: Handles) {
    let run = |owner: Owner| Key::new(&owner, Kind::Run, "run_1").unwrap();
    let (mine, foreign) = (run(alice()), run(Owner::principal("bob")));
    assert_eq!(one.drain(&mine).await, Ok(vec![]));
    for (at, store) in [&one, &other, &one].into_iter().enumerate() {
        store.push(&mine, format!("{at}\0").into(), HOUR).await.unwrap();
    }
    other.push(&foreign, "foreign".into(), HOUR).await.unwrap();
    assert_eq!(other.drain(&mine).await, Ok(["0\0", "1\0", "2\0"].map(Bytes::from).to_vec()));
    assert_eq!(one.drain(&mine).await, Ok(vec![]));
    assert_eq!(one.drain(&foreign).await, Ok(vec![Bytes::from("foreign")]));
    one.push(&mine, "old".into(), time.short()).await.unwrap();
    time.has_passed().await;
    one.push(&mine, "new".into(), HOUR).await.unwrap();
    assert_eq!(other.drain(&mine).await, Ok(vec![Bytes::from("new")]));
    // Each message is drained by one of two.
    for at in 0..50 {
        one.push(&mine, format!("{at}").into(), HOUR).await.unwrap();
    }
    let (one_drained, other_drained) = tokio::join!(one.drain(&mine), other.drain(&mine));
    assert_eq!(one_drained.unwrap().len() + other_drained.unwrap().len(), 50);
}

async fn the_holder_of_a_run_is_woken(Handles { one, other, .. }: Handles) {
    let run = Key::new(&alice(), Kind::Run, "run_1").unwrap();
    put(&one, &run, 0, b"waiting").await.unwrap();
    taken(&one, &run, claim("one", HOUR)).await;
    let woken = tokio::spawn({
        let (one, run) = (one.clone(), run.clone());
        async move {
            loop {
                let messages = one.drain(&run).await.unwrap();
                if !messages.is_empty() {
                    return messages;
                }
                one.woken("one").await;
            }
        }
    });
    other.push(&run, "answer".into(), HOUR).await.unwrap();
    assert_eq!(woken.await.unwrap(), [Bytes::from("answer")]);
}

async fn a_holder_is_woken_by_what_came_before_it_waited(Handles { one, other, .. }: Handles) {
    let run = Key::new(&alice(), Kind::Run, "run_1").unwrap();
    put(&one, &run, 0, b"waiting").await.unwrap();
    taken(&one, &run, claim("early", HOUR)).await;
    other.push(&run, "answer".into(), HOUR).await.unwrap();
    one.woken("early").await;
    assert_eq!(one.drain(&run).await, Ok(vec![Bytes::from("answer")]));
}

async fn a_watch_ends_with_the_next_version(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "watched");
    let watch = |known| {
        let (one, key) = (one.clone(), key.clone());
        tokio::spawn(async move { one.watch(&key, known).await })
    };
    let made = watch(0);
    put(&other, &key, 0, b"made").await.unwrap();
    assert_eq!(made.await.unwrap().unwrap().unwrap().version, 1);
    // What has another version already is not waited for.
    let current = one.watch(&key, 7).await.unwrap().unwrap();
    assert_eq!((current.version, current.blob.as_deref()), (1, Some(&b"made"[..])));
    let changed = watch(1);
    put(&one, &key, 1, b"changed").await.unwrap();
    assert_eq!(changed.await.unwrap().unwrap().unwrap().blob.as_deref(), Some(&b"changed"[..]));
}

async fn a_list_has_what_is_there(Handles { one, other, .. }: Handles) {
    let owner = alice();
    for at in 0..30 {
        let write = Write::put(key(&owner, &format!("ses_{at}")), 0, vec![b'x'; 100]).resting(HOUR);
        one.commit(Commit::one(write)).await.unwrap();
    }
    put(&one, &Key::new(&owner, Kind::Run, "run_1").unwrap(), 0, b"run").await.unwrap();
    put(&one, &key(&Owner::principal("bob"), "ses_bob"), 0, b"bob").await.unwrap();
    put(&one, &key(&owner, "ses_0"), 1, b"changed").await.unwrap();
    taken(&one, &key(&owner, "ses_1"), claim("one", HOUR)).await;
    one.commit(Commit::one(Write::bury(key(&owner, "ses_2"), HOUR))).await.unwrap();
    one.commit(Commit::one(Write::remove(key(&owner, "ses_3")))).await.unwrap();
    let mut listed = other.list(Some(&owner), Kind::Session).await.unwrap();
    listed.sort_by_key(|listed| listed.id[4..].parse::<u32>().unwrap());
    let ids: Vec<&str> = listed.iter().map(|listed| &*listed.id).collect();
    let wanted: Vec<String> =
        (0..30).filter(|at| ![2, 3].contains(at)).map(|at| format!("ses_{at}")).collect();
    assert_eq!(ids, wanted);
    // Runs and what was deleted are not sessions, however many records there are.
    for (most, fewer) in [(28, false), (29, true), (30, true), (31, true), (0, false)] {
        assert_eq!(other.has_fewer(&owner, Kind::Session, most).await, Ok(fewer), "{most}");
    }
    assert!(listed.iter().all(|listed| (listed.kind, &listed.conversation) == (Kind::Session, &None)));
    assert!(listed[2].bytes >= 100 && listed[2].bytes < 200, "{}", listed[2].bytes);
    assert!(listed[2].expires_in.is_some_and(|left| left <= HOUR));
    assert_eq!((listed[0].version, &listed[0].lease), (2, &None));
    assert_eq!(listed[1].lease.as_ref().map(|lease| &*lease.holder), Some("one"));
    assert_eq!(other.list(None, Kind::Session).await.unwrap().len(), 29);
    assert_eq!(other.list(None, Kind::Run).await.unwrap().len(), 1);
}

const AMPLE: Room = Room { records: 1000, bytes: 1 << 20, all: 1000 };

fn run(owner: &Owner, number: usize) -> Key {
    Key::new(owner, Kind::Run, format!("run_{number}")).unwrap()
}

async fn put_run(store: &Arc<dyn StateStore>, owner: &Owner, number: usize, rest: Duration) {
    let write = Write::put(run(owner, number), 0, vec![b'x'; 1000]).resting(rest).ending(End::After(rest));
    store.commit(Commit::one(write)).await.unwrap();
}

async fn a_kind_has_room_up_to_each_of_its_bounds(Handles { one, other, .. }: Handles) {
    let (alice, bob) = (alice(), Owner::principal("bob"));
    let conversation = Owner::conversation("alice", "mcp_1");
    // There is room before there is anything.
    assert_eq!(one.has_room(&alice, Kind::Run, Room { records: 1, bytes: 1, all: 1 }).await, Ok(true));
    for number in 0..3 {
        put_run(&one, &alice, number, HOUR).await;
        put_run(&other, &bob, number, HOUR).await;
    }
    put_run(&one, &bob, 3, HOUR).await;
    // None of these is a run of alice's.
    put_run(&one, &conversation, 0, HOUR).await;
    for number in 0..20 {
        put(&one, &key(&alice, &format!("ses_{number}")), 0, &[b'x'; 1000]).await.unwrap();
    }
    for store in [&one, &other] {
        for (owner, room, has) in [
            (&alice, AMPLE, true),
            (&alice, Room { records: 3, ..AMPLE }, false),
            (&alice, Room { records: 4, ..AMPLE }, true),
            // Stores that seal add some bytes to each.
            (&alice, Room { bytes: 3000, ..AMPLE }, false),
            (&alice, Room { bytes: 3600, ..AMPLE }, true),
            (&alice, Room { all: 8, ..AMPLE }, false),
            (&alice, Room { all: 9, ..AMPLE }, true),
            (&bob, Room { records: 4, ..AMPLE }, false),
            (&bob, Room { records: 5, bytes: 4800, all: 9 }, true),
        ] {
            assert_eq!(store.has_room(owner, Kind::Run, room).await, Ok(has), "{owner:?} {room:?}");
        }
    }
    assert_eq!(other.list(None, Kind::Run).await.unwrap().len(), 8);
}

async fn what_is_gone_leaves_its_room(Handles { one, other, time }: Handles) {
    let alice = alice();
    for number in 0..4 {
        put_run(&one, &alice, number, HOUR).await;
    }
    put_run(&one, &alice, 4, time.short()).await;
    // By both bounds, which need not see a run go at the same moment.
    let has_room = async |store: &Arc<dyn StateStore>, most: usize| {
        let (own, all) = (Room { records: most, ..AMPLE }, Room { all: most, ..AMPLE });
        let own = store.has_room(&alice, Kind::Run, own).await.unwrap();
        own && store.has_room(&alice, Kind::Run, all).await.unwrap()
    };
    let is_full = async |store: &Arc<dyn StateStore>, most: usize| {
        let (own, all) = (Room { records: most, ..AMPLE }, Room { all: most, ..AMPLE });
        let own = store.has_room(&alice, Kind::Run, own).await.unwrap();
        !own && !store.has_room(&alice, Kind::Run, all).await.unwrap()
    };
    time.pass();
    wait_until_async("a run expires", || has_room(&other, 5)).await;
    assert!(is_full(&one, 4).await);
    // One is over, and told of for a while; one is deleted, one as if it had never been, one is new again.
    let over = Write::put(run(&alice, 0), 1, vec![b'y'; 10]).resting(time.short()).ending(End::Keep);
    one.commit(Commit::one(over)).await.unwrap();
    one.commit(Commit::one(Write::bury(run(&alice, 1), HOUR))).await.unwrap();
    one.commit(Commit::one(Write::remove(run(&alice, 2)))).await.unwrap();
    time.pass();
    wait_until_async("a run that is over expires", || has_room(&other, 2)).await;
    assert!(is_full(&one, 1).await);
    put_run(&other, &alice, 2, HOUR).await;
    for store in [&one, &other] {
        assert!(is_full(store, 2).await && has_room(store, 3).await);
    }
    // What is refused takes none.
    let again = Write::put(run(&alice, 2), 0, vec![b'z'; 10]).resting(HOUR);
    assert_eq!(one.commit(Commit::one(again)).await, Err(StateError::Conflict));
    let buried = Write::put(run(&alice, 1), 0, vec![b'z'; 10]).resting(HOUR);
    assert_eq!(one.commit(Commit::one(buried)).await, Err(StateError::Gone));
    for store in [&one, &other] {
        assert!(is_full(store, 2).await && has_room(store, 3).await);
    }
}

async fn an_operator_looks_at_records_and_erases_them(Handles { one, other, .. }: Handles) {
    let conversation = Owner::conversation("alice", "mcp_1");
    for owner in [alice(), conversation.clone(), Owner::principal("bob")] {
        put(&one, &key(&owner, "ses_1"), 0, b"content").await.unwrap();
    }
    taken(&one, &key(&conversation, "ses_1"), claim("one", HOUR)).await;
    let all = other.list(None, Kind::Session).await.unwrap();
    assert_eq!(all.len(), 3);
    let is_taken = |listed: &&Listed| listed.lease.is_some();
    let listed = all.iter().find(is_taken).unwrap();
    let seen = other.look(listed).await.unwrap().unwrap();
    assert_eq!((seen.version, seen.blob.as_deref()), (1, Some(&b"content"[..])));
    assert_eq!(other.erase(listed).await, Ok(true));
    assert_eq!(other.erase(listed).await, Ok(false));
    assert_eq!(other.look(listed).await, Err(StateError::Gone));
    assert_eq!(one.read(&key(&conversation, "ses_1")).await, Err(StateError::Gone));
    assert!(content(&one, &key(&alice(), "ses_1")).await.is_some());
    assert_eq!(other.list(None, Kind::Session).await.unwrap().len(), 2);
}

async fn bytes_are_counted_over_all_of_a_principal(Handles { one, other, .. }: Handles) {
    // Stores that seal add some bytes to each.
    let (kib, half) = (vec![b'x'; 1000], vec![b'x'; 500]);
    let owner = alice();
    let conversation = Owner::conversation("alice", "mcp_1");
    let blob = Key::new(&owner, Kind::Blob, "blob_1").unwrap();
    put(&one, &key(&owner, "ses_1"), 0, &kib).await.unwrap();
    put(&other, &key(&conversation, "ses_1"), 0, &half).await.unwrap();
    put(&one, &blob, 0, &kib).await.unwrap();
    for store in [&one, &other] {
        assert_eq!(put(store, &key(&owner, "ses_2"), 0, &kib[..600]).await, Err(StateError::Full));
        assert_eq!(put(store, &blob, 1, &[b'x'; 1600]).await, Err(StateError::Full));
    }
    assert_eq!(content(&one, &blob).await, Some((1, kib.clone())));
    // What does not grow goes on; others, and what is not counted, have nothing to do with it.
    put(&other, &key(&owner, "ses_1"), 1, &kib).await.unwrap();
    put(&other, &key(&Owner::principal("bob"), "ses_1"), 0, &kib).await.unwrap();
    put(&other, &Key::new(&owner, Kind::SignIn, "github").unwrap(), 0, &kib).await.unwrap();
    // What is freed is there for others.
    one.commit(Commit::one(Write::bury(blob.clone(), HOUR))).await.unwrap();
    put(&other, &key(&owner, "ses_2"), 0, &kib).await.unwrap();
    assert_eq!(put(&one, &key(&owner, "ses_3"), 0, &kib).await, Err(StateError::Full));
    one.commit(Commit::one(Write::remove(key(&owner, "ses_2")))).await.unwrap();
    put(&other, &key(&owner, "ses_3"), 0, &kib).await.unwrap();
    put(&other, &key(&owner, "ses_3"), 1, &half).await.unwrap();
    put(&one, &key(&owner, "ses_4"), 0, &half[..300]).await.unwrap();
    // One commit is looked at as a whole.
    let moved = Commit::of(&owner)
        .and(Write::put(key(&owner, "ses_5"), 0, kib.clone()))
        .and(Write::remove(key(&owner, "ses_1")));
    one.commit(moved).await.unwrap();
}

async fn expired_records_do_not_count(Handles { one, other, time }: Handles) {
    let owner = alice();
    let write = Write::put(key(&owner, "ses_1"), 0, vec![b'x'; 1000]).resting(time.short());
    one.commit(Commit::one(write)).await.unwrap();
    time.pass();
    wait_until_async("a record expires", async || one.read(&key(&owner, "ses_1")).await == Ok(None)).await;
    put(&other, &key(&owner, "ses_2"), 0, &[b'x'; 1500]).await.unwrap();
    assert_eq!(put(&one, &key(&owner, "ses_3"), 0, &[b'x'; 1000]).await, Err(StateError::Full));
}

async fn announcements_reach_everybody(Handles { one, other, .. }: Handles) {
    let start = other.news(0).await.unwrap();
    assert!(start.said.is_empty() && !start.missed);
    one.announce("first").await.unwrap();
    other.announce("second").await.unwrap();
    for store in [&one, &other] {
        let news = store.news(start.until).await.unwrap();
        assert_eq!(news.said.iter().map(|said| &**said).collect::<Vec<_>>(), ["first", "second"]);
        assert!(!news.missed);
        assert_eq!(store.news(news.until).await.unwrap().said, [] as [Arc<str>; 0]);
    }
    let point = one.news(start.until).await.unwrap().until;
    one.announce("third").await.unwrap();
    let news = other.news(point).await.unwrap();
    assert_eq!(news.said.iter().map(|said| &**said).collect::<Vec<_>>(), ["third"]);
}

async fn replicas_are_listed(Handles { one, other, .. }: Handles) {
    assert_eq!(one.replicas().await, Ok(vec![]));
    let replica =
        |name: &str, build: &str| Replica { name: name.into(), build: build.into(), seen: Duration::ZERO };
    one.attend(&replica("one", "1")).await.unwrap();
    other.attend(&replica("other", "2")).await.unwrap();
    one.attend(&replica("one", "3")).await.unwrap();
    for store in [&one, &other] {
        let listed = store.replicas().await.unwrap();
        let names: Vec<_> = listed.iter().map(|replica| (&*replica.name, &*replica.build)).collect();
        assert_eq!(names, [("one", "3"), ("other", "2")]);
        assert!(listed.iter().all(|replica| replica.seen < Duration::from_secs(30)));
    }
}

/// Counters in two records that grow together, by many at once.
async fn no_change_is_lost_among_many(Handles { one, other, .. }: Handles) {
    const EACH: u64 = 20;
    let owner = alice();
    let keys = ["a", "b"].map(|id| key(&owner, id));
    let tasks = (0..8).map(|at| {
        let store = if at % 2 == 0 { one.clone() } else { other.clone() };
        let (owner, keys) = (owner.clone(), keys.clone());
        tokio::spawn(async move {
            let mut made = 0;
            while made < EACH {
                let mut commit = Commit::of(&owner);
                for key in &keys {
                    let (version, blob) = content(&store, key).await.unwrap_or_default();
                    commit = commit.and(Write::put(key.clone(), version, [&blob[..], &[at]].concat()));
                }
                match store.commit(commit).await {
                    Ok(()) => made += 1,
                    Err(error) => assert_eq!(error, StateError::Conflict),
                }
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|ended| ended.unwrap());
    let [a, b] = &keys;
    let (version, blob) = content(&one, a).await.unwrap();
    assert_eq!((version, blob.len() as u64), (8 * EACH, 8 * EACH));
    assert_eq!(content(&other, b).await, Some((version, blob.clone())));
    for at in 0..8 {
        assert_eq!(blob.iter().filter(|by| **by == at).count() as u64, EACH);
    }
}

async fn no_claim_is_given_twice(Handles { one, other, .. }: Handles) {
    let key = key(&alice(), "ses_1");
    put(&one, &key, 0, b"content").await.unwrap();
    let mut last = 0;
    for version in 1..=20 {
        let claims = (0..8).map(|at| {
            let (store, key) = (if at % 2 == 0 { one.clone() } else { other.clone() }, key.clone());
            tokio::spawn(async move { store.claim(&key, claim("x", HOUR)).await.unwrap() })
        });
        let taken: Vec<_> = join_all(claims)
            .await
            .into_iter()
            .filter_map(|claimed| match claimed.unwrap() {
                Claimed::Taken(found) => Some(found),
                _ => None,
            })
            .collect();
        let [mine] = &taken[..] else { panic!("{taken:?}") };
        assert!(mine.fence > last && mine.version == version);
        last = mine.fence;
        let write = Write::put(key.clone(), version, &b"content"[..]).under(mine.fence);
        assert!(matches!(write.change, Change::Put { .. }));
        one.commit(Commit::one(write)).await.unwrap();
    }
}
