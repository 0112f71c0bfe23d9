//! The tools of one server, in listing order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ptc_host::policy::{Authority, Grant};
use ptc_host::sync::Mutex;
use ptc_mcp::json::write_string;
use tokio::sync::watch;

use super::{Annotations, Definition, Tool, ToolReply};
use crate::client::LongText;
use crate::principal::Owner;

/// The `tools` array of `tools/list`, as JSON, for each of [`LongText::ALL`].
#[derive(Clone, PartialEq, Eq)]
pub struct Listings([Arc<[u8]>; 3]);

/// Grants whose listings are kept.
const MOST_GRANTS: usize = 64;

/// All tools of a server, with their rendered listing. It is rendered again when its facts about upstreams have
/// changed.
pub struct Registry {
    tools: Vec<Box<dyn Tool>>,
    /// Their names. There are so few that a linear search is fastest.
    names: Vec<&'static str>,
    listing: watch::Sender<Listings>,
    /// The listings of callers with a policy, those that were used last first. Callers whom the same rules match share one.
    by_grant: Mutex<VecDeque<(Arc<Grant>, Listings)>>,
    refusals: HashMap<&'static str, ToolReply>,
}

impl Registry {
    /// Registers `tools` in listing order.
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        let definitions = definitions(&tools);
        let names = definitions.iter().map(|definition| definition.name).collect();
        let listing = watch::Sender::new(rendered(&definitions));
        Registry { tools, names, listing, by_grant: Mutex::default(), refusals: HashMap::new() }
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
        let now = rendered(&definitions(&self.tools));
        // What one caller has been shown may change although the listing of everything, which is cut, does not.
        let had_others = !std::mem::take(&mut *self.by_grant.lock()).is_empty();
        self.listing.send_if_modified(|listing| {
            let changed = *listing != now;
            *listing = now;
            (changed || had_others) && tells
        });
    }

    /// A receiver of each listing that differs from the one before.
    pub fn changes(&self) -> watch::Receiver<Listings> {
        self.listing.subscribe()
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

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.find(name).map(|(_, tool)| tool)
    }

    /// The tool of that name, and the name as we store it.
    pub fn find(&self, name: &str) -> Option<(&'static str, &dyn Tool)> {
        self.names.iter().position(|known| *known == name).map(|at| (self.names[at], &*self.tools[at]))
    }

    /// Informs every tool that an owner will not return.
    pub fn owner_gone(&self, owner: &Owner) {
        self.tools.iter().for_each(|tool| tool.owner_gone(owner));
    }

    /// Informs every tool that the last token of an owner was revoked.
    pub fn owner_revoked(&self, owner: &Owner) {
        self.tools.iter().for_each(|tool| tool.owner_revoked(owner));
    }

    /// The `tools` array of `tools/list`, as JSON, for a client that passes on long texts there, and for the caller of this
    /// authority.
    pub fn listing(&self, long_text: LongText, authority: Option<&Arc<Authority>>) -> Arc<[u8]> {
        match authority {
            None => self.listing.borrow().0[long_text as usize].clone(),
            Some(authority) => self.listing_for(authority).0[long_text as usize].clone(),
        }
    }

    fn listing_for(&self, authority: &Arc<Authority>) -> Listings {
        let mut known = self.by_grant.lock();
        let at = known.iter().position(|(grant, _)| Arc::ptr_eq(grant, &authority.grant));
        let listings = match at.and_then(|at| known.remove(at)) {
            Some((_, listings)) => listings,
            None => {
                let definitions: Vec<_> =
                    self.tools.iter().map(|tool| tool.definition_for(authority)).collect();
                rendered(&definitions)
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

fn rendered(definitions: &[Definition]) -> Listings {
    Listings(LongText::ALL.map(|long_text| {
        let mut listing = vec![b'['];
        for (at, definition) in definitions.iter().enumerate() {
            if at > 0 {
                listing.push(b',');
            }
            write_definition(&mut listing, definition, long_text);
        }
        listing.push(b']');
        listing.into()
    }))
}

fn write_definition(out: &mut Vec<u8>, definition: &Definition, long_text: LongText) {
    let (description, input_schema) = match (&definition.long, long_text) {
        (Some(long), LongText::Tool) => (&long.in_tool, &definition.input_schema),
        (Some(long), LongText::Parameter) => (&long.beside_parameter, &long.with_parameter),
        (None, _) | (_, LongText::Nowhere) => (&definition.description, &definition.input_schema),
    };
    let Annotations { read_only, destructive, idempotent, open_world } = definition.annotations;
    out.extend_from_slice(b"{\"name\":");
    write_string(out, definition.name);
    out.extend_from_slice(b",\"title\":");
    write_string(out, definition.title);
    out.extend_from_slice(b",\"description\":");
    write_string(out, description);
    out.extend_from_slice(b",\"inputSchema\":");
    out.extend_from_slice(input_schema.as_bytes());
    if let Some(schema) = &definition.output_schema {
        out.extend_from_slice(b",\"outputSchema\":");
        out.extend_from_slice(schema.as_bytes());
    }
    out.extend_from_slice(
        format!(
            ",\"annotations\":{{\"readOnlyHint\":{read_only},\"destructiveHint\":{destructive},\
             \"idempotentHint\":{idempotent},\"openWorldHint\":{open_world}}}"
        )
        .as_bytes(),
    );
    if let Some(meta) = &definition.meta {
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(meta.as_bytes());
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::super::{CallContext, Preparation};
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
                name: "named",
                title: "Named",
                description,
                input_schema: "{}".into(),
                output_schema: None,
                annotations: Annotations {
                    read_only: true,
                    destructive: false,
                    idempotent: true,
                    open_world: false,
                },
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
        let changes = registry.changes();
        registry.refresh();
        assert!(changes.has_changed().unwrap());
        assert!(listing(Some(&ben)).contains("of ben"), "it is made anew");
    }
}
