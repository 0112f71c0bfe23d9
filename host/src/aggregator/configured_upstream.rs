//! An upstream and its configuration.
//!
//! Several sets of upstreams may have one: a reload makes a new set, in which upstreams that did not change stay the same.

use super::read_pins::ReadPins;
use super::sampler::SamplingCounts;
use ptc_base::sync::Mutex;
use ptc_upstreams::config::{SchemaSource, Transport, UpstreamConfig};
use ptc_upstreams::sign_in::Site;
use ptc_upstreams::upstream::{ToolInfo, Upstream, UpstreamEvent};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;
use tokio::runtime::Handle;
use tokio::sync::broadcast;

/// One configured upstream.
pub(super) struct ConfiguredUpstream {
    pub(super) config: UpstreamConfig,
    pub(super) handle: Arc<dyn Upstream>,
    /// How it is signed in to, if it is.
    pub(super) site: Option<Arc<Site>>,
    /// The list that the catalog's entry was made of.
    pub(super) taken: Mutex<Option<Arc<[ToolInfo]>>>,
    /// Held while the entry of a list is made.
    pub(super) taking: tokio::sync::Mutex<()>,
    /// How the list that was read last stands to the lock, if it is held to one.
    pub(super) pins: Arc<ReadPins>,
    /// Counts of its requests for a model's answer.
    pub(super) samplings: Arc<SamplingCounts>,
    /// Ends it after the last set that has it.
    pub(super) tenure: Arc<Tenure>,
    /// Whether no other set had it before.
    pub(super) is_new: bool,
    /// Whether its entry differs from that of the set before, which had the same connection.
    pub(super) has_new_entry: bool,
    /// Its events since it came into this set, until they are followed.
    news: Mutex<Option<broadcast::Receiver<UpstreamEvent>>>,
    /// The state of the file with its document when it was opened, if it has one.
    document: Option<DocumentStamp>,
}

/// Length and time of change of a file.
type DocumentStamp = (u64, Option<SystemTime>);

impl ConfiguredUpstream {
    /// An upstream that is in no set yet. Its tasks run on `owner`.
    pub(super) fn new(
        config: UpstreamConfig,
        handle: Arc<dyn Upstream>,
        site: Option<Arc<Site>>,
        owner: Handle,
    ) -> Self {
        let tenure = Arc::new(Tenure { handle: handle.clone(), owner, has_ended: AtomicBool::new(false) });
        let document = document_stamp(&config);
        ConfiguredUpstream {
            is_new: true,
            has_new_entry: false,
            news: Mutex::default(),
            config,
            handle,
            site,
            taken: Mutex::default(),
            taking: tokio::sync::Mutex::default(),
            pins: Arc::default(),
            samplings: Arc::default(),
            tenure,
            document,
        }
    }

    /// The same upstream in another set, which has the list of tools that this one has.
    pub(super) fn stays(&self) -> Self {
        ConfiguredUpstream {
            is_new: false,
            has_new_entry: false,
            // Before the list is taken over, so that no change is missed.
            news: Mutex::new(Some(self.handle.events())),
            config: self.config.clone(),
            handle: self.handle.clone(),
            site: self.site.clone(),
            taken: Mutex::new(self.taken().clone()),
            taking: tokio::sync::Mutex::default(),
            pins: self.pins.clone(),
            samplings: self.samplings.clone(),
            tenure: self.tenure.clone(),
            document: self.document,
        }
    }

    /// The same upstream in another set, by another entry that needs no other connection. Its list is taken anew.
    pub(super) fn stays_as(&self, config: UpstreamConfig) -> Self {
        let (taken, pins) = (Mutex::default(), Arc::default());
        ConfiguredUpstream { config, taken, pins, has_new_entry: true, ..self.stays() }
    }

    /// Its events, from the moment on when it came into this set.
    pub(super) fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.news.lock().take().unwrap_or_else(|| self.handle.events())
    }

    /// Whether the file with its document is as it was when it was opened.
    pub(super) fn has_its_document(&self) -> bool {
        document_stamp(&self.config) == self.document
    }

    pub(super) fn taken(&self) -> MutexGuard<'_, Option<Arc<[ToolInfo]>>> {
        self.taken.lock()
    }
}

fn document_stamp(config: &UpstreamConfig) -> Option<DocumentStamp> {
    let Transport::OpenApi(entry) = &config.transport else { return None };
    let SchemaSource::File(path) = &entry.schema else { return None };
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

/// Ends an upstream in order once it was left out of the current set and no program has it any more.
pub(super) struct Tenure {
    pub(super) handle: Arc<dyn Upstream>,
    owner: Handle,
    has_ended: AtomicBool,
}

impl Tenure {
    /// No further set has it.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        // Where nobody ended it, its owner shuts it down or drops it.
        if *self.has_ended.get_mut() {
            let handle = self.handle.clone();
            self.owner.spawn(async move { handle.shutdown().await });
        }
    }
}
