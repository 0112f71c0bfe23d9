//! One suite over all back ends, with two handles of one store against each other; then what only files have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use ptc_state::{MemoryState, StateStore};

fn keys() -> SealingKeys {
    SealingKeys::of(&[b"a secret of at least 32 bytes, so long"]).unwrap()
}

/// Two handles of one store. The folder lives as long as the last of the tuple.
type Handles = (Arc<dyn AuthStore>, Arc<dyn AuthStore>, tempfile::TempDir);

/// Two handles for each back end.
fn stores() -> Vec<Handles> {
    let dir = || tempfile::tempdir().unwrap();
    let (plain, sealed) = (dir(), dir());
    let memory = MemoryStore::default();
    let state: Arc<dyn StateStore> = Arc::new(MemoryState::default());
    vec![
        (Arc::new(SharedStore::new(state.clone(), "one")), Arc::new(SharedStore::new(state, "other")), dir()),
        (Arc::new(memory.clone()), Arc::new(memory), dir()),
        (Arc::new(FileStore::new(plain.path(), None)), Arc::new(FileStore::new(plain.path(), None)), plain),
        (
            Arc::new(FileStore::new(sealed.path(), Some(keys()))),
            Arc::new(FileStore::new(sealed.path(), Some(keys()))),
            sealed,
        ),
    ]
}

async fn put(store: &dyn AuthStore, key: &RecordKey, text: &str) {
    let guard = store.lock(key).await.unwrap();
    store.write(&guard, text).await.unwrap();
}

async fn get(store: &dyn AuthStore, key: &RecordKey) -> Option<String> {
    store.read(key).await.unwrap().map(|text| text.to_string())
}

#[tokio::test]
async fn what_one_handle_writes_the_other_reads() {
    for (one, other, _dir) in stores() {
        let token = RecordKey::token("u", "https://as", "client", "https://h/mcp", "*");
        assert_eq!(get(&*other, &token).await, None);
        put(&*one, &token, r#"{"access_token": "a", "n": 1}"#).await;
        assert_eq!(get(&*other, &token).await.as_deref(), Some(r#"{"access_token": "a", "n": 1}"#));
        put(&*other, &token, r#"{"n": 2}"#).await;
        assert_eq!(get(&*one, &token).await.as_deref(), Some(r#"{"n": 2}"#));
        let somebody_else = RecordKey::token("u", "https://as", "client", "https://h/mcp", "p");
        assert_eq!(get(&*one, &somebody_else).await, None);
        let guard = one.lock(&token).await.unwrap();
        one.delete(&guard).await.unwrap();
        one.delete(&guard).await.unwrap();
        assert_eq!(get(&*other, &token).await, None);
    }
}

#[tokio::test]
async fn listings_have_keys_and_texts_and_no_pending_sign_ins() {
    for (one, other, _dir) in stores() {
        let keys = [
            RecordKey::token("u", "https://as", "c", "r", "*"),
            RecordKey::token("u", "https://as", "c", "r", "issuer|subject"),
            RecordKey::binding("u", "https://h/mcp", "*"),
            RecordKey::client("https://as", ["http://127.0.0.1:33418/callback"]),
            RecordKey::pending("the-state-that-is-secret"),
        ];
        for key in &keys {
            put(&*one, key, &format!("{{\"of\":{:?}}}", key.parts()[1..].join(" "))).await;
        }
        let listed = other.list(RecordKind::Token).await.unwrap();
        let mut found: Vec<_> =
            listed.iter().map(|l| (l.key.clone(), l.text.as_ref().unwrap().as_str())).collect();
        found.sort_by_key(|(key, _)| key.parts().to_vec());
        assert_eq!(
            found,
            [
                (keys[0].clone(), "{\"of\":\"https://as c r *\"}"),
                (keys[1].clone(), "{\"of\":\"https://as c r issuer|subject\"}")
            ]
        );
        assert_eq!(other.list(RecordKind::Client).await.unwrap().len(), 1);
        assert_eq!(other.list(RecordKind::Pending).await.unwrap().len(), 0);
        assert!(get(&*other, &keys[4]).await.is_some());
        assert!(!format!("{:?}", keys[4]).contains("secret"));
    }
}

#[tokio::test]
async fn a_lock_keeps_all_others_out_until_it_is_dropped() {
    for (one, other, _dir) in stores() {
        let key = RecordKey::binding("u", "https://h", "*");
        let count = Arc::new(AtomicU32::new(0));
        let most = Arc::new(AtomicU32::new(0));
        let work = (0..20).map(|turn| {
            let (store, key) = (if turn % 2 == 0 { one.clone() } else { other.clone() }, key.clone());
            let (count, most) = (count.clone(), most.clone());
            async move {
                let guard = store.lock(&key).await.unwrap();
                most.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                let n: u32 = get(&*store, &key).await.map_or(0, |text| text.parse().unwrap());
                store.write(&guard, &(n + 1).to_string()).await.unwrap();
                count.fetch_sub(1, Ordering::SeqCst);
            }
        });
        futures_util::future::join_all(work).await;
        assert_eq!(most.load(Ordering::SeqCst), 1);
        assert_eq!(get(&*one, &key).await.as_deref(), Some("20"));
        let held = one.lock(&key).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(60), other.lock(&key)).await;
        assert!(waiting.is_err(), "still locked");
        // Another record is free.
        drop(other.lock(&RecordKey::binding("u", "https://h", "p")).await.unwrap());
        drop(held);
        drop(other.lock(&key).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_waited_for_at_most_30_s() {
    let memory = MemoryStore::default();
    let key = RecordKey::binding("u", "https://h", "*");
    let _held = memory.lock(&key).await.unwrap();
    assert_eq!(memory.lock(&key).await.unwrap_err(), StoreError::Busy);
    let dir = tempfile::tempdir().unwrap();
    let file = FileStore::new(dir.path(), None);
    let _held = file.lock(&key).await.unwrap();
    assert_eq!(file.lock(&key).await.unwrap_err(), StoreError::Busy);
}

#[tokio::test]
async fn a_sealed_record_is_open_to_its_keys_alone() {
    let dir = tempfile::tempdir().unwrap();
    let key = RecordKey::token("u", "https://as", "c", "r", "p1");
    put(&FileStore::new(dir.path(), None), &key, r#"{"t": "plain"}"#).await;
    let sealed = FileStore::new(dir.path(), Some(keys()));
    assert_eq!(
        get(&sealed, &key).await.as_deref(),
        Some(r#"{"t": "plain"}"#),
        "written before there was a key"
    );
    put(&sealed, &key, r#"{"t": "token-token"}"#).await;
    let file = std::fs::read_to_string(sealed.folder().join(format!("{}.json", key.name()))).unwrap();
    assert!(!file.contains("token-token"), "{file}");
    let other = SealingKeys::of(&[b"quite another secret of 32 bytes or more"]).unwrap();
    for store in [FileStore::new(dir.path(), None), FileStore::new(dir.path(), Some(other))] {
        assert_eq!(store.read(&key).await.unwrap_err().to_string(), "sealed_with_another_key");
        let listed = store.list(RecordKind::Token).await.unwrap();
        assert_eq!(listed[0].text.as_ref().unwrap_err(), &StoreError::SealedWithAnotherKey);
    }
    // Moved to another principal it opens for nobody.
    let moved = RecordKey::token("u", "https://as", "c", "r", "p2");
    let text = file.replace("\"p1\"", "\"p2\"");
    std::fs::write(sealed.folder().join(format!("{}.json", moved.name())), text).unwrap();
    #[cfg(unix)]
    set_mode(&sealed.folder().join(format!("{}.json", moved.name())), 0o600);
    assert_eq!(sealed.read(&moved).await.unwrap_err(), StoreError::SealedWithAnotherKey);
}

#[tokio::test]
async fn files_that_are_no_records_are_told_and_never_read_as_some() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::new(dir.path(), None);
    let key = RecordKey::binding("u", "https://h", "*");
    put(&store, &key, "{}").await;
    let path = store.folder().join(format!("{}.json", key.name()));
    for text in
        ["", "{", "null", r#"{"v":2,"kind":"binding","record":{}}"#, r#"{"v":1,"kind":"token","record":{}}"#]
    {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(store.read(&key).await, Err(StoreError::Malformed { .. })), "{text}");
        assert_eq!(store.list(RecordKind::Binding).await.unwrap().len(), 0, "{text}");
    }
    let guard = store.lock(&key).await.unwrap();
    assert!(matches!(store.write(&guard, "no JSON").await, Err(StoreError::Malformed { .. })));
}

#[cfg(unix)]
fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn modes_are_made_and_checked_and_no_link_is_followed() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::new(&dir.path().join("a/b"), None);
    let key = RecordKey::binding("u", "https://h", "*");
    put(&store, &key, "{}").await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.folder()), 0o700);
    for entry in std::fs::read_dir(store.folder()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let path = store.folder().join(format!("{}.json", key.name()));
    set_mode(&path, 0o640);
    assert_eq!(
        store.read(&key).await.unwrap_err().to_string(),
        format!("{} must belong to you and have mode 0600", path.display())
    );
    let elsewhere = dir.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    set_mode(&elsewhere, 0o600);
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(matches!(store.read(&key).await, Err(StoreError::Exposed { mode: "0600", .. })));
    // A write replaces the link, not what it points to.
    put(&store, &key, "{\"n\":1}").await;
    assert_eq!(get(&store, &key).await.as_deref(), Some("{\"n\":1}"));
    assert!(!std::fs::read_to_string(&elsewhere).unwrap().contains("\"n\""));
    set_mode(store.folder(), 0o750);
    assert!(matches!(store.lock(&key).await, Err(StoreError::Exposed { mode: "0700", .. })));
}

#[cfg(unix)]
#[tokio::test]
async fn a_write_that_fails_leaves_the_record_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::new(dir.path(), None);
    let key = RecordKey::binding("u", "https://h", "*");
    put(&store, &key, "{\"n\":1}").await;
    let guard = store.lock(&key).await.unwrap();
    // A folder in the place of the temporary file cannot be written to, whoever tries.
    let temporary = store.folder().join(format!(".{}.json.new", key.name()));
    std::fs::create_dir(&temporary).unwrap();
    assert!(matches!(store.write(&guard, "{\"n\":2}").await, Err(StoreError::Io { .. })));
    assert_eq!(get(&store, &key).await.as_deref(), Some("{\"n\":1}"));
    std::fs::remove_dir(&temporary).unwrap();
    // What a process left that died in the middle is in nobody's way.
    std::fs::write(&temporary, "{").unwrap();
    store.write(&guard, "{\"n\":2}").await.unwrap();
    assert_eq!(get(&store, &key).await.as_deref(), Some("{\"n\":2}"));
}

#[test]
fn names_depend_on_kind_and_every_part() {
    let names = [
        RecordKey::token("u", "a", "b", "c", "d").name(),
        RecordKey::token("u", "a", "b", "c", "e").name(),
        RecordKey::binding("u", "a", "b").name(),
        RecordKey::client("a", ["b"]).name(),
        RecordKey::pending("a").name(),
    ];
    for (at, name) in names.iter().enumerate() {
        let (kind, digits) = name.split_once('-').unwrap();
        assert!(["token", "binding", "client", "pending"].contains(&kind));
        assert!(digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert!(!names[at + 1..].contains(name));
    }
}
