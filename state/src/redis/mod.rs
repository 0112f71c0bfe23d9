//! A store in a Valkey or Redis server, or a cluster of them (state.md 2.3).
//!
//! | Part | Purpose |
//! |---|---|
//! | `address` | the address of the server, and the checks before anything is sent |
//! | `notes` | when runs go, of all owners in one place: a count of them needs no list |
//! | `link` | connections, their limits of time, and the runtime that they live on |
//! | `scripts` | the Lua scripts, and their answers |
//! | `write` | one record of a commit, as scripts take it |
//! | `waking` | the channel by which a holder hears of messages |
//!
//! All keys of one owner have its digest as hash tag: they lie in one slot, so that one script can check and count them.

mod address;
mod link;
mod notes;
mod scripts;
mod waking;
mod write;

pub use address::{RedisAddressError, RedisOptions};

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join};
use redis::{ScriptInvocation, Value};

use super::lease::millis;
use super::names::{Name, id_prefix, principal_name, split_id};
use super::replica::{REMEMBERED, REPLICA_LIFE};
use super::{
    Answer, Change, Claim, Claimed, Commit, End, Key, Kind, Lease, Listed, News, Owner, Replica, Room,
    StateError, StateStore, StoreLimits, TOMBSTONE_LIFE, Versioned,
};
use link::Link;
use notes::{NOTED, Note};
use scripts::{Parts, SCRIPTS};
use waking::Waking;
use write::{Write, signed};

use ptc_secret::digest::hex;

/// A store in a server. Clones are handles of one store and share its connection.
#[derive(Clone)]
pub struct RedisState(Arc<Shared>);

struct Shared {
    link: Link,
    waking: Waking,
    namespace: String,
    limits: StoreLimits,
}

impl std::fmt::Debug for RedisState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisState").field("namespace", &self.0.namespace).finish_non_exhaustive()
    }
}

impl RedisState {
    /// A store in the server that `options` name. Nothing is sent before the first operation.
    ///
    /// # Errors
    /// The fault in the options.
    pub fn new(options: &RedisOptions) -> Result<Self, RedisAddressError> {
        let link = Link::new(options)?;
        let waking = Waking::new(format!("{}:wake:", options.namespace));
        Ok(Self(Arc::new(Shared {
            link,
            waking,
            namespace: options.namespace.clone(),
            limits: options.limits,
        })))
    }

    /// The prefix of a principal's keys.
    fn prefix(&self, principal: &str) -> String {
        format!("{}:{{{principal}}}:", self.0.namespace)
    }

    /// A key of all who use the store.
    fn common(&self, name: &str) -> String {
        format!("{}:{{all}}:{name}", self.0.namespace)
    }

    fn key(&self, name: &Name) -> String {
        format!("{}{}:{}", self.prefix(&name.principal), name.letter, name.id)
    }

    /// Runs a script once.
    fn once<'a>(&'a self, invocation: ScriptInvocation<'static>) -> Answer<'a, Value> {
        async move { self.0.link.run(invocation).await }.boxed()
    }

    /// Runs a script that changes nothing, a second time if its answer was lost.
    fn again<'a>(
        &'a self,
        invocation: impl Fn() -> ScriptInvocation<'static> + Send + 'a,
    ) -> Answer<'a, Value> {
        async move {
            match self.0.link.run(invocation()).await {
                Err(StateError::Unavailable(_)) => self.0.link.run(invocation()).await,
                answer => answer,
            }
        }
        .boxed()
    }

    async fn read_name(&self, name: &Name) -> Result<Option<Versioned>, StateError> {
        let key = self.key(name);
        let read = || {
            let mut read = SCRIPTS.read.prepare_invoke();
            read.key(&key);
            read
        };
        let mut parts = Parts::of(self.again(read).await?)?;
        match &*parts.text()? {
            "absent" => Ok(None),
            "gone" => Err(StateError::Gone),
            "found" => found(&mut parts).map(Some),
            other => Err(scripts::unknown(other)),
        }
    }

    /// Makes all changes, or none. The expiry of runs is noted: of new ones together with the change, of others after it. A
    /// process that dies in between leaves one that is counted for too long.
    async fn commit_names(&self, principal: &str, writes: Vec<Write>) -> Result<(), StateError> {
        let prefix = self.prefix(principal);
        let notes = writes.iter().filter_map(|write| Note::of(&prefix, write));
        let (new, changed): (Vec<Note>, Vec<Note>) = notes.partition(|note| note.is_new);
        let (_, committed) = join(self.note(&new), self.commit_all(prefix, writes)).await;
        match &committed {
            // What has been done stays done: whether it is noted changes nothing for whoever asked for it.
            Ok(()) => drop(self.note(&changed).await),
            Err(StateError::Full | StateError::Gone | StateError::Fenced) => {
                drop(self.note(&new.into_iter().map(Note::gone).collect::<Vec<_>>()).await);
            }
            // It is there, or may be.
            Err(_) => {}
        }
        committed
    }

    /// Notes when runs go, for all owners in one place.
    async fn note(&self, notes: &[Note]) -> Result<(), StateError> {
        if notes.is_empty() {
            return Ok(());
        }
        let mut note = SCRIPTS.note.prepare_invoke();
        note.key(self.common(NOTED));
        for one in notes {
            note.arg(&one.key).arg(one.left);
        }
        scripts::outcome(self.once(note).await?)
    }

    async fn commit_all(&self, prefix: String, writes: Vec<Write>) -> Result<(), StateError> {
        let mut commit = SCRIPTS.commit.prepare_invoke();
        commit.key(format!("{prefix}u")).arg(&prefix).arg(self.0.limits.owner_bytes);
        for write in writes {
            let field = format!("{}:{}", write.name.letter, write.name.id);
            commit.key(format!("{prefix}{field}")).arg(field);
            let number =
                |version: Option<u64>| version.map_or_else(|| "-1".to_owned(), |version| version.to_string());
            let time = |time: Option<Duration>| time.map_or(-1, signed);
            let (op, expected, blob, rest, end) = match write.change {
                Change::Put { version, blob, rest, end } => {
                    let end = match end {
                        End::Keep => -1,
                        End::Never => -2,
                        End::After(time) => signed(time),
                    };
                    ("p", number(Some(version)), blob, time(rest), end)
                }
                Change::Bury { version, life } => ("b", number(version), Bytes::new(), signed(life), -1),
                Change::Remove { version } => ("r", number(version), Bytes::new(), -1, -1),
            };
            commit
                .arg(op)
                .arg(expected)
                .arg(write.fence.unwrap_or(0))
                .arg(i64::from(write.keeps_lease))
                .arg(&blob[..])
                .arg(i64::from(write.counts))
                .arg(rest)
                .arg(end);
        }
        scripts::outcome(self.once(commit).await?)
    }

    async fn list_principal(
        &self,
        principal: &str,
        kind: Kind,
        prefix: Option<&str>,
    ) -> Result<Vec<Listed>, StateError> {
        let own = self.prefix(principal);
        let list = || {
            let mut list = SCRIPTS.list.prepare_invoke();
            list.key(format!("{own}u")).arg(&own).arg(format!("{}:", kind.letter()));
            list
        };
        let rows = scripts::array(self.again(list).await?)?;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            let mut parts = Parts::of(row)?;
            let name = parts.text()?;
            let (version, bytes, expires, holder, lease) =
                (parts.number()?, parts.number()?, parts.time()?, parts.text()?, parts.time()?);
            let Some((conversation, id)) = split_id(&name) else { continue };
            let wanted = prefix.is_none_or(|prefix| {
                prefix.strip_suffix('.').unwrap_or_default() == conversation.unwrap_or_default()
            });
            if wanted {
                listed.push(Listed {
                    owner: principal.into(),
                    conversation: conversation.map(Into::into),
                    kind,
                    id: id.into(),
                    version,
                    bytes,
                    expires_in: expires,
                    lease: lease_of(holder, lease),
                });
            }
        }
        Ok(listed)
    }

    /// The principals that have records.
    async fn principals(&self) -> Result<Vec<String>, StateError> {
        let (before, after) = (format!("{}:{{", self.0.namespace), "}:u");
        let keys = self.0.link.scan(format!("{before}*{after}")).await?;
        let mut all: Vec<String> = keys
            .iter()
            .filter_map(|key| Some(key.strip_prefix(before.as_str())?.strip_suffix(after)?.to_owned()))
            .collect();
        // A scan may meet a key twice.
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// The store's time in milliseconds, and the replicas that are there.
    #[expect(clippy::disallowed_methods, reason = "entry point: RedisState.replicas_with")]
    async fn replicas_with(&self, own: Option<&Replica>) -> Result<(u64, Vec<Replica>), StateError> {
        let key = self.common("n");
        let text = own.map(|replica| serde_json::to_string(replica).unwrap_or_default());
        let attend = || {
            let mut attend = SCRIPTS.attend.prepare_invoke();
            attend.key(&key).arg(millis(REPLICA_LIFE));
            if let (Some(replica), Some(text)) = (own, &text) {
                attend.arg(&replica.name).arg(text);
            }
            attend
        };
        let mut answer = Parts::of(self.again(attend).await?)?;
        let (now, rows) = (answer.number()?, answer.array()?);
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let mut parts = Parts::of(row)?;
            let (text, seen) = (parts.text()?, parts.time()?);
            // What another build says of itself may have another form.
            if let Ok(replica) = serde_json::from_str::<Replica>(&text) {
                all.push(Replica { seen: seen.unwrap_or_default(), ..replica });
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok((now, all))
    }
}

/// A record as `read` and `claim` tell it, from its version on.
fn found(parts: &mut Parts) -> Result<Versioned, StateError> {
    let (version, fence, blob) = (parts.number()?, parts.number()?, parts.bytes()?);
    let (ends_in, expires_in, holder, lease) = (parts.time()?, parts.time()?, parts.text()?, parts.time()?);
    Ok(Versioned { version, fence, blob, ends_in, expires_in, lease: lease_of(holder, lease) })
}

/// The lease that runs out after `left`, if it has not.
fn lease_of(holder: String, left: Option<Duration>) -> Option<Lease> {
    let left = left.filter(|left| !left.is_zero())?;
    Some(Lease { holder: holder.into(), left })
}

impl StateStore for RedisState {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        async move { self.read_name(&Name::of(key)).await }.boxed()
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        async move {
            let name = Name::of(key);
            let mut script = SCRIPTS.claim.prepare_invoke();
            script
                .key(self.key(&name))
                .key(format!("{}u", self.prefix(&name.principal)))
                .arg(&*claim.holder)
                .arg(signed(claim.lease))
                .arg(claim.rest.map_or(-1, signed))
                .arg(claim.known)
                .arg(i64::from(claim.creates));
            let mut parts = Parts::of(self.once(script).await?)?;
            match &*parts.text()? {
                "absent" => Ok(Claimed::Absent),
                "gone" => Err(StateError::Gone),
                "held" => {
                    let (holder, left) = (parts.text()?, parts.time()?);
                    Ok(Claimed::Held(Lease { holder: holder.into(), left: left.unwrap_or_default() }))
                }
                "taken" => found(&mut parts).map(Claimed::Taken),
                other => Err(scripts::unknown(other)),
            }
        }
        .boxed()
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        async move {
            let mut renew = SCRIPTS.renew.prepare_invoke();
            renew.key(self.key(&Name::of(key))).arg(fence).arg(signed(lease));
            scripts::outcome(self.once(renew).await?)
        }
        .boxed()
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        async move {
            let writes = commit.writes().iter().map(|write| Write {
                name: Name::of(&write.key),
                fence: write.fence,
                keeps_lease: write.keeps_lease,
                counts: write.key.kind().is_counted(),
                change: write.change.clone(),
            });
            self.commit_names(&principal_name(commit.owner()), writes.collect()).await
        }
        .boxed()
    }

    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        async move {
            let digits = hex(id);
            let mut set = redis::cmd("SET");
            set.arg(format!("{}j:{digits}", self.prefix(&principal_name(owner))));
            set.arg("1").arg("NX").arg("PX").arg(signed(life).max(1));
            Ok(!matches!(self.0.link.command(set).await?, Value::Nil))
        }
        .boxed()
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        async move {
            let name = Name::of(run);
            let mut push = SCRIPTS.push.prepare_invoke();
            push.key(format!("{}i:{}", self.prefix(&name.principal), name.id)).key(self.key(&name));
            push.arg(&message[..]).arg(signed(life)).arg(self.0.waking.prefix());
            scripts::outcome(self.once(push).await?)
        }
        .boxed()
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        async move {
            let name = Name::of(run);
            let mut drain = SCRIPTS.drain.prepare_invoke();
            drain.key(format!("{}i:{}", self.prefix(&name.principal), name.id));
            let messages = scripts::array(self.once(drain).await?)?;
            messages.into_iter().map(scripts::bytes).collect()
        }
        .boxed()
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        self.0.waking.woken(holder, &self.0.link)
    }

    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        async move {
            if let Some(owner) = owner {
                let prefix = id_prefix(owner);
                return self.list_principal(&principal_name(owner), kind, Some(&prefix)).await;
            }
            let mut all = Vec::new();
            for principal in self.principals().await? {
                all.extend(self.list_principal(&principal, kind, None).await?);
            }
            Ok(all)
        }
        .boxed()
    }

    fn has_fewer<'a>(&'a self, owner: &'a Owner, kind: Kind, most: usize) -> Answer<'a, bool> {
        async move {
            let counts = format!("{}u", self.prefix(&principal_name(owner)));
            let room = || {
                let mut room = SCRIPTS.room.prepare_invoke();
                room.key(&counts);
                room
            };
            let held = Parts::of(self.again(room).await?)?.number()?;
            if held < most as u64 {
                return Ok(true);
            }
            // Some have expired, or are of another kind or of another conversation.
            Ok(self.list(Some(owner), kind).await?.len() < most)
        }
        .boxed()
    }

    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        async move {
            let counts = format!("{}u", self.prefix(&principal_name(owner)));
            let own = || {
                let mut own = SCRIPTS.room.prepare_invoke();
                own.key(&counts);
                own
            };
            let place = self.common(NOTED);
            let all = || {
                let mut all = SCRIPTS.noted.prepare_invoke();
                all.key(&place);
                all
            };
            let (own, all) = join(self.again(own), self.again(all)).await;
            let mut own = Parts::of(own?)?;
            let (records, bytes) = (own.number()?, own.number()?);
            let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            if !room.has(count(records), bytes) {
                // Some have expired, or are of another kind or of another conversation.
                let own = self.list(Some(owner), kind).await?;
                if !room.has(own.len(), own.iter().map(|listed| listed.bytes).sum()) {
                    return Ok(false);
                }
            }
            Ok((kind == Kind::Run && count(scripts::count(&all?)?) < room.all)
                || self.list(None, kind).await?.len() < room.all)
        }
        .boxed()
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        async move { self.read_name(&Name::of_listed(listed)?).await }.boxed()
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        async move {
            let name = Name::of_listed(listed)?;
            match self.read_name(&name).await {
                Ok(None) | Err(StateError::Gone) => return Ok(false),
                Ok(Some(_)) | Err(StateError::Corrupt) => {}
                Err(error) => return Err(error),
            }
            let principal = name.principal.clone();
            let change = Change::Bury { version: None, life: TOMBSTONE_LIFE };
            let counts = listed.kind.is_counted();
            let write = Write { name, fence: None, keeps_lease: false, counts, change };
            self.commit_names(&principal, vec![write]).await?;
            Ok(true)
        }
        .boxed()
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        async move {
            let mut announce = SCRIPTS.announce.prepare_invoke();
            announce.key(self.common("e")).key(self.common("c")).arg(text).arg(REMEMBERED);
            self.once(announce).await.map(drop)
        }
        .boxed()
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        async move {
            let (said, number) = (self.common("e"), self.common("c"));
            let news = || {
                let mut news = SCRIPTS.news.prepare_invoke();
                news.key(&said).key(&number).arg(point);
                news
            };
            let mut parts = Parts::of(self.again(news).await?)?;
            let (until, said, missed) = (parts.number()?, parts.array()?, parts.number()?);
            let said = said.into_iter().map(|said| {
                let text = scripts::text(said)?;
                // Each has its number in front, so that the same text can be said twice.
                Ok(text.split_once(':').map_or(text.as_str(), |(_, said)| said).into())
            });
            Ok(News { until, said: said.collect::<Result<_, StateError>>()?, missed: missed > 0 })
        }
        .boxed()
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        async move { Ok(self.replicas_with(Some(replica)).await?.0) }.boxed()
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        async move { Ok(self.replicas_with(None).await?.1) }.boxed()
    }
}
