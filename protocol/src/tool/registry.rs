//! The tools of one server, in listing order: those of the product, and before and behind them those of
//! [sources](super::ToolSource).

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::policy::{Authority, Grant};
use ptc_host::sync::Mutex;
use tokio::sync::watch;

use super::listing::{Page, PlacedSection, Section, UnknownCursor, page, rendered};
use super::{Definition, SourcePlace, Tool, ToolName, ToolReply, ToolSource};
use crate::client::{ListStyle, LongText};
use crate::principal::{Owner, Principal};

/// The product's own tools as they are listed, for each of [`LongText::ALL`].
#[derive(Clone, PartialEq, Eq)]
struct OwnListings([Arc<Section>; LongText::ALL.len()]);

/// What is listed, as far as it is the same for all callers: it changes when somebody's list may have changed.
#[derive(Clone, PartialEq, Eq)]
struct Listed {
    own: OwnListings,
    /// The [revision](ToolSource::revision) of each source.
    revisions: Vec<u64>,
}

/// What one caller is shown of the list of tools, to be compared with what it is shown later.
#[derive(PartialEq, Eq)]
struct Shown(Vec<Arc<Section>>);

/// The changes of what one caller is shown.
pub struct ToolChanges {
    listed: watch::Receiver<Listed>,
    shown: Shown,
}

impl ToolChanges {
    /// Waits until `caller`, with what it may do then, is shown another list than before; `None` at the end of the server. What
    /// others see of a change is no business of this caller.
    pub async fn next(&mut self, registry: &Registry, caller: impl Fn() -> Principal) -> Option<()> {
        loop {
            self.listed.changed().await.ok()?;
            let now = registry.shown(&caller());
            if now != self.shown {
                self.shown = now;
                return Some(());
            }
        }
    }
}

/// Grants whose listings are kept.
const MOST_GRANTS: usize = 64;

/// All tools of a server, with their rendered listing. It is rendered again when its facts about upstreams have
/// changed.
pub struct Registry {
    tools: Vec<Box<dyn Tool>>,
    /// Their names. There are so few that a linear search is fastest.
    names: Vec<ToolName>,
    /// In listing order.
    sources: Vec<(SourcePlace, Arc<dyn ToolSource>)>,
    listed: watch::Sender<Listed>,
    /// The listings of callers with a policy, those that were used last first. Callers whom the same rules match share one.
    by_grant: Mutex<VecDeque<(Arc<Grant>, OwnListings)>>,
    refusals: HashMap<&'static str, ToolReply>,
}

/// A tool that was looked up.
pub enum FoundTool<'a> {
    /// One of the product.
    Own(&'a dyn Tool),
    /// One of a source.
    Other(Arc<dyn Tool>),
}

impl<'a> Deref for FoundTool<'a> {
    type Target = dyn Tool + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            FoundTool::Own(tool) => *tool,
            FoundTool::Other(tool) => &**tool,
        }
    }
}

impl Registry {
    /// Registers `tools` in listing order.
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        let definitions = definitions(&tools);
        let names = definitions.iter().map(|definition| definition.name.clone()).collect();
        let listed = watch::Sender::new(Listed { own: own_listings(&definitions), revisions: Vec::new() });
        let (sources, by_grant) = (Vec::new(), Mutex::default());
        Registry { tools, names, sources, listed, by_grant, refusals: HashMap::new() }
    }

    /// Adds the tools of a source, behind those of other sources of that place.
    #[must_use]
    pub fn with_source(mut self, place: SourcePlace, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push((place, source));
        self.sources.sort_by_key(|(place, _)| *place);
        self.listed.send_modify(|listed| listed.revisions = revisions(&self.sources));
        self
    }

    /// Renders the listing again. [Receivers](Self::changes) are notified if it has changed.
    pub(crate) fn refresh(&self) {
        self.render(true);
    }

    /// Renders the listing again without notification, as it was not sent yet.
    pub(crate) fn refresh_untold(&self) {
        self.render(false);
    }

    fn render(&self, tells: bool) {
        let own = own_listings(&definitions(&self.tools));
        let now = Listed { own, revisions: revisions(&self.sources) };
        // What one caller has been shown may change although the listing of everything, which is cut, does not.
        let had_others = !std::mem::take(&mut *self.by_grant.lock()).is_empty();
        self.listed.send_if_modified(|listed| {
            let changed = *listed != now;
            *listed = now;
            (changed || had_others) && tells
        });
    }

    /// The changes of what `caller` is shown from now on.
    pub fn changes_for(&self, caller: &Principal) -> ToolChanges {
        ToolChanges { listed: self.listed.subscribe(), shown: self.shown(caller) }
    }

    fn shown(&self, caller: &Principal) -> Shown {
        let style = ListStyle::default();
        let own = self.section(style.long_text, caller.authority());
        let listings = self.sources.iter().flat_map(|(_, source)| source.listings(caller));
        Shown([own].into_iter().chain(listings.map(|listing| listing.section(style))).collect())
    }

    /// Answers calls of tools that are known but not offered.
    #[must_use]
    pub fn refusing(mut self, names: &[&'static str], reply: &ToolReply) -> Self {
        self.refusals.extend(names.iter().map(|name| (*name, reply.clone())));
        self
    }

    /// The answer for a tool that is known but not offered.
    pub fn refusal(&self, name: &str) -> Option<(&'static str, &ToolReply)> {
        self.refusals.get_key_value(name).map(|(name, reply)| (*name, reply))
    }

    /// The product's own tool of that name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.names.iter().position(|known| known == name).map(|at| &*self.tools[at])
    }

    /// The tool of that name, and the name as we store it. Sources are asked on behalf of `caller`.
    pub fn find(&self, name: &str, caller: impl FnOnce() -> Principal) -> Option<(ToolName, FoundTool<'_>)> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Some((self.names[at].clone(), FoundTool::Own(&*self.tools[at])));
        }
        if self.sources.is_empty() || self.refusals.contains_key(name) {
            return None;
        }
        let caller = caller();
        let found = self.sources.iter().find_map(|(_, source)| source.find(name, &caller));
        found.map(|(name, tool)| (name, FoundTool::Other(tool)))
    }

    /// Records that the policy denies this caller a tool of that name, which [`find`](Self::find) does not find; `false` if there
    /// is none that anybody could call.
    pub(crate) fn records_denial(&self, name: &str, caller: &Principal) -> bool {
        self.sources.iter().any(|(_, source)| source.records_denial(name, caller))
    }

    /// Informs every tool that an owner will not return.
    pub fn owner_gone(&self, owner: &Owner) {
        self.tools.iter().for_each(|tool| tool.owner_gone(owner));
    }

    /// Informs every tool that the last token of an owner was revoked.
    pub fn owner_revoked(&self, owner: &Owner) {
        self.tools.iter().for_each(|tool| tool.owner_revoked(owner));
    }

    /// What is waited for, a moment, before the list of this caller is made; `None` if it can be made at once.
    pub fn before_listing(&self, caller: &Principal) -> Option<BoxFuture<'static, ()>> {
        let waits: Vec<_> =
            self.sources.iter().filter_map(|(_, source)| source.before_listing(caller)).collect();
        (!waits.is_empty()).then(|| join_all(waits).map(drop).boxed())
    }

    /// A page of the list of tools for this caller, for a client of this style.
    ///
    /// # Errors
    /// The cursor is none of ours.
    pub fn page(
        &self,
        style: ListStyle,
        caller: &Principal,
        cursor: Option<&str>,
    ) -> Result<Page, UnknownCursor> {
        let own = self.section(style.long_text, caller.authority());
        if self.sources.is_empty() {
            // All of it is sent at once, as it always was.
            return match cursor {
                None => Ok(Page { json: own.json().clone(), next: None }),
                Some(_) => Err(UnknownCursor),
            };
        }
        let firsts = self.sources.iter().take_while(|(place, _)| *place == SourcePlace::First).count();
        let own = PlacedSection { place: firsts, label: "".into(), is_sorted: false, section: own };
        let placed = |(place, (_, source)): (usize, &(SourcePlace, Arc<dyn ToolSource>))| {
            let listings = source.listings(caller).into_iter();
            listings.map(move |listing| PlacedSection {
                place,
                label: listing.label().clone(),
                is_sorted: true,
                section: listing.section(style),
            })
        };
        let (first, last) = self.sources.split_at(firsts);
        let mut sections: Vec<_> = (0..).zip(first).flat_map(placed).collect();
        sections.push(own);
        sections.extend((firsts + 1..).zip(last).flat_map(placed));
        page(&sections, cursor)
    }

    /// The `tools` array of `tools/list` without those of sources, as JSON, for a client that passes on long texts there, and
    /// for the caller of this authority.
    pub fn listing(&self, long_text: LongText, authority: Option<&Arc<Authority>>) -> Arc<[u8]> {
        self.section(long_text, authority).json().clone()
    }

    fn section(&self, long_text: LongText, authority: Option<&Arc<Authority>>) -> Arc<Section> {
        match authority {
            None => self.listed.borrow().own.0[long_text as usize].clone(),
            Some(authority) => self.own_listings_for(authority).0[long_text as usize].clone(),
        }
    }

    fn own_listings_for(&self, authority: &Arc<Authority>) -> OwnListings {
        let mut known = self.by_grant.lock();
        let at = known.iter().position(|(grant, _)| Arc::ptr_eq(grant, &authority.grant));
        let listings = match at.and_then(|at| known.remove(at)) {
            Some((_, listings)) => listings,
            None => {
                let definitions: Vec<_> =
                    self.tools.iter().map(|tool| tool.definition_for(authority)).collect();
                own_listings(&definitions)
            }
        };
        known.truncate(MOST_GRANTS - 1);
        known.push_front((authority.grant.clone(), listings.clone()));
        listings
    }
}

fn definitions(tools: &[Box<dyn Tool>]) -> Vec<Definition> {
    tools.iter().map(|tool| tool.definition()).collect()
}

fn own_listings(definitions: &[Definition]) -> OwnListings {
    let style = |long_text| ListStyle { long_text, ..ListStyle::default() };
    OwnListings(LongText::ALL.map(|long_text| Arc::new(rendered(definitions, style(long_text)))))
}

fn revisions(sources: &[(SourcePlace, Arc<dyn ToolSource>)]) -> Vec<u64> {
    sources.iter().map(|(_, source)| source.revision()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Annotations, CallContext, Preparation, SourceListing};
    use super::*;
    use ptc_host::policy::{Caller, CurrentPolicy, Policy};
    use ptc_mcp::json::Raw;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A tool whose description names who looks at it, and how often it was asked for one.
    #[derive(Default)]
    struct Named(Arc<AtomicUsize>);

    impl Named {
        fn described(&self, description: String) -> Definition {
            self.0.fetch_add(1, Ordering::Relaxed);
            Definition {
                name: "named".into(),
                title: Some("Named".into()),
                description,
                input_schema: "{}".into(),
                output_schema: None,
                annotations: Some(
                    Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }
                        .to_json(),
                ),
                meta: None,
                long: None,
            }
        }
    }

    impl Tool for Named {
        fn definition(&self) -> Definition {
            self.described("everything".into())
        }

        fn definition_for(&self, authority: &Arc<Authority>) -> Definition {
            self.described(format!("of {}", authority.caller.principal))
        }

        fn prepare(&self, _: Option<Raw<'_>>, _: &CallContext) -> Preparation {
            Preparation::Done(ToolReply::text(false, ""))
        }
    }

    #[test]
    fn callers_have_listings_of_their_own_which_those_of_one_grant_share() {
        let file = r#"{"rules": [
            {"match": {"claim": {"groups": "dev"}}, "upstreams": {"u": {"allow": ["a"]}}},
            {"match": {"principal": "cleo"}, "upstreams": {"u": {"allow": ["b"]}}}]}"#;
        let policy = CurrentPolicy::new(Policy::parse(file).unwrap());
        let of_group = |name: &str| {
            let groups = ptc_host::policy::Claim { name: "groups".into(), values: ["dev".into()].into() };
            policy.authority(Caller { claims: [groups].into(), ..Caller::named(name) })
        };
        let asked = Arc::<AtomicUsize>::default();
        let registry = Registry::new(vec![Box::new(Named(asked.clone()))]);
        let listing = |authority: Option<&Arc<Authority>>| {
            String::from_utf8(registry.listing(LongText::Nowhere, authority).to_vec()).unwrap()
        };
        let (ann, ben, cleo) = (of_group("ann"), of_group("ben"), policy.of_name("cleo"));
        assert!(listing(None).contains("everything"));
        assert!(listing(Some(&ann)).contains("of ann") && listing(Some(&cleo)).contains("of cleo"));
        assert!(listing(Some(&ben)).contains("of ann"), "the same rules match both");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        // A listing that callers have seen may have changed although that of everything has not.
        let changes = registry.listed.subscribe();
        registry.refresh();
        assert!(changes.has_changed().unwrap());
        assert!(listing(Some(&ben)).contains("of ben"), "it is made anew");
    }

    /// A source whose tools are those of its caller: one that has its name.
    struct Personal(Arc<AtomicUsize>);

    impl ToolSource for Personal {
        fn listings(&self, caller: &Principal) -> Vec<Arc<SourceListing>> {
            // Those of `ben` are described anew with each revision.
            let revision = if caller.name() == "ben" { self.0.load(Ordering::Relaxed) } else { 0 };
            let named = Named::default().described(format!("one's own {revision}"));
            let name = Arc::<str>::from(format!("of_{}", caller.name()));
            vec![Arc::new(SourceListing::new("personal", vec![Definition { name: name.into(), ..named }]))]
        }

        fn find(&self, name: &str, caller: &Principal) -> Option<(ToolName, Arc<dyn Tool>)> {
            let own = Arc::<str>::from(format!("of_{}", caller.name()));
            (*own == *name).then(|| (own.into(), Arc::new(Named::default()) as Arc<dyn Tool>))
        }

        fn revision(&self) -> u64 {
            self.0.load(Ordering::Relaxed) as u64
        }
    }

    #[test]
    fn callers_find_the_tools_of_sources_that_are_listed_for_them() {
        let revision = Arc::<AtomicUsize>::default();
        let source = Arc::new(Personal(revision.clone()));
        let registry =
            Registry::new(vec![Box::new(Named::default())]).with_source(SourcePlace::Last, source.clone());
        let (ann, ben) = (Principal::named("ann"), Principal::named("ben"));
        let names = |registry: &Registry, caller: &Principal| -> Vec<String> {
            let page =
                registry.page(ListStyle::default(), caller, None).unwrap_or_else(|_| panic!("no cursor"));
            let tools: serde_json::Value = serde_json::from_slice(&page.json).unwrap();
            tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&registry, &ann), ["named", "of_ann"]);
        assert_eq!(names(&registry, &ben), ["named", "of_ben"]);
        let finds = |name: &str, caller: &Principal| registry.find(name, || caller.clone()).is_some();
        assert!(finds("of_ann", &ann) && !finds("of_ann", &ben) && finds("named", &ben));
        let first = Registry::new(vec![Box::new(Named::default())]).with_source(SourcePlace::First, source);
        assert_eq!(names(&first, &ann), ["of_ann", "named"]);
        // A change of a source is a change of the list.
        let mut changes = registry.listed.subscribe();
        let (mut of_ann, mut of_ben) = (registry.changes_for(&ann), registry.changes_for(&ben));
        let is_told = |changes: &mut ToolChanges, caller: &Principal| {
            changes.next(&registry, || caller.clone()).now_or_never().is_some()
        };
        registry.refresh();
        assert!(!changes.has_changed().unwrap());
        assert!(!is_told(&mut of_ann, &ann));
        revision.store(1, Ordering::Relaxed);
        registry.refresh();
        assert!(changes.has_changed().unwrap());
        // Only the caller is told whose list is another one.
        assert!(!is_told(&mut of_ann, &ann) && is_told(&mut of_ben, &ben) && !is_told(&mut of_ben, &ben));
        changes.mark_unchanged();
        registry.refresh();
        assert!(!changes.has_changed().unwrap(), "it is told once");
    }
}
