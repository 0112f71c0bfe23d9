//! Profiles: named parts of the upstreams, each with an address of its own. A profile shows less and grants nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_base::similar::most_similar;

use super::grant::Grant;

/// The profiles of a server, by name.
#[derive(Clone, Debug, Default)]
pub struct Profiles(pub(super) BTreeMap<Box<str>, Arc<Grant>>);

impl Profiles {
    /// The part that a profile shows.
    pub fn named(&self, name: &str) -> Option<&Arc<Grant>> {
        self.0.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// The profiles of these names, as `fresh` has them, and those that it lacks as they are: the names are addresses, which stay.
    #[must_use]
    pub fn with_contents_of(&self, fresh: &Profiles) -> Profiles {
        let present = self.0.iter().map(|(name, former)| {
            let content = fresh.named(name).unwrap_or(former);
            (name.clone(), content.clone())
        });
        Profiles(present.collect())
    }

    /// The profiles that show upstreams by a pattern that fits none of these names, each with the first such pattern.
    pub fn idle<'p>(&'p self, names: &[&str]) -> impl Iterator<Item = (&'p str, &'p str)> {
        self.0.iter().filter_map(|(name, grant)| Some((&**name, grant.idle(names)?)))
    }

    /// Why there is no profile of that name: a sentence for an operator.
    pub fn lacks(&self, name: &str) -> String {
        let near = most_similar(name, self.names()).map(|near| format!("; did you mean {near}?"));
        let known = || {
            let names: Vec<&str> = self.names().collect();
            if names.is_empty() {
                "; the upstreams file has none".to_owned()
            } else {
                format!("; there are {}", names.join(", "))
            }
        };
        format!("no profile {name:?}{}", near.unwrap_or_else(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::grant::Access;
    use crate::policy::Policy;
    use ptc_base::name_pattern::NamePattern;
    use ptc_mcp::json::json;

    fn profiles() -> Profiles {
        let file = json!({
            "support": {"upstreams": {"github": {"allow": ["get_*", "list_*"], "deny": ["list_secrets"]}, "docs": {}}},
            "all": {"upstreams": {"*": {}}},
        });
        Profiles::parse(&file).unwrap()
    }

    #[test]
    fn a_profile_shows_a_part_and_what_it_leaves_out_is_everything() {
        let profiles = profiles();
        let support = profiles.named("support").unwrap();
        assert_eq!(support.tool("github", "get_issue"), Access::Allowed);
        for (upstream, tool) in
            [("github", "list_secrets"), ("github", "delete_repo"), ("billing", "get_bill")]
        {
            assert_eq!(support.tool(upstream, tool), Access::Hidden, "{upstream}.{tool}");
        }
        assert!(support.tool("docs", "anything") == Access::Allowed && support.resource("docs", "docs://a"));
        assert!(support.upstream("docs") && !support.upstream("billing"));
        assert!(support.check_arguments("docs", "anything", "{}").is_ok());
    }

    #[test]
    fn a_profile_grants_nothing() {
        let policy = r#"{"rules": [{"match": {}, "upstreams": {"github": {"allow": ["get_*"], "args": {"get_*": {"repo": {"in": ["web"]}}}}}}]}"#;
        let grant = Policy::parse(policy).unwrap().grant(&Caller::named("ann"));
        let within = grant.within(profiles().named("all").unwrap());
        assert_eq!(within.tool("github", "get_issue"), Access::Allowed);
        assert_eq!(within.tool("github", "delete_repo"), Access::Hidden);
        assert_eq!(within.tool("docs", "anything"), Access::Hidden);
        assert!(within.check_arguments("github", "get_issue", r#"{"repo": "web"}"#).is_ok());
        assert!(within.check_arguments("github", "get_issue", r#"{"repo": "app"}"#).is_err());
        let within = grant.within(profiles().named("support").unwrap());
        assert!(within.upstream("github") && !within.upstream("docs"));
        let part = |upstream, tool| {
            let pattern = |text: &str| NamePattern::new(text).unwrap();
            Arc::new(Grant::of_patterns(&[(pattern(upstream), pattern(tool))], &[], &[]))
        };
        let twice = within.within(&part("*", "*_issue"));
        assert_eq!(twice.tool("github", "get_issue"), Access::Allowed, "what all of them allow");
        assert_eq!(twice.tool("github", "get_repo"), Access::Hidden, "by the second part");
        assert_eq!(twice.tool("github", "delete_issue"), Access::Hidden, "by the first, and by the policy");
        assert!(twice.upstream("github") && !within.within(&part("docs", "*")).upstream("github"));
    }

    #[test]
    fn a_caller_at_the_address_of_a_profile_sees_that_part_of_what_it_may() {
        let at = |profile: &str| Caller { profile: Some(profile.into()), ..Caller::named("ann") };
        let open = Policy::open().with_profiles(profiles());
        assert_eq!(open.grant(&Caller::named("ann")).tool("billing", "pay"), Access::Allowed);
        assert_eq!(open.grant(&at("support")).tool("billing", "pay"), Access::Hidden);
        assert_eq!(open.grant(&at("support")).tool("github", "get_issue"), Access::Allowed);
        assert!(Arc::ptr_eq(&open.grant(&at("all")), &open.grant(&at("all"))));
        assert_eq!(open.grant(&at("gone")).tool("github", "get_issue"), Access::Hidden);
        let closed = Policy::parse(r#"{"rules": []}"#).unwrap().with_profiles(profiles());
        assert_eq!(closed.grant(&at("all")).tool("github", "get_issue"), Access::Hidden);
    }

    #[test]
    fn names_stay_while_contents_change() {
        let fresh = Profiles::parse(&json!({
            "support": {"upstreams": {"docs": {"allow": ["search"]}}}, "new": {"upstreams": {"*": {}}},
        }));
        let kept = profiles().with_contents_of(&fresh.unwrap());
        assert_eq!(kept.names().collect::<Vec<_>>(), ["all", "support"]);
        let support = kept.named("support").unwrap();
        assert_eq!(
            [support.tool("docs", "search"), support.tool("docs", "x")],
            [Access::Allowed, Access::Hidden]
        );
        assert!(!support.upstream("github") && kept.named("all").unwrap().upstream("github"));
    }

    #[test]
    fn names_stand_in_addresses() {
        for name in ["", "A", "a/b", "-a", "a-", "ä", &"a".repeat(33)] {
            let refused = Profiles::parse(&json!({name: {"upstreams": {"*": {}}}}));
            assert!(refused.is_err(), "{name}");
        }
        assert_eq!(profiles().idle(&["github"]).collect::<Vec<_>>(), [("support", "docs")]);
        assert_eq!(profiles().lacks("suport"), "no profile \"suport\"; did you mean support?");
        assert_eq!(profiles().lacks("x"), "no profile \"x\"; there are all, support");
    }

    #[test]
    fn faults_are_told_with_their_place() {
        for (file, fault) in [
            (json!([]), "profiles must be an object, got []"),
            (
                json!({"A": {}}),
                "profiles.A must be a name of at most 32 lower-case letters, digits and hyphens, got {}",
            ),
            (json!({"a": {}}), "profiles.a.upstreams must be an object; {\"*\": {}} shows every upstream"),
            (
                json!({"a": {"upstreams": {"x": {"args": {}}}}}),
                "profiles.a.upstreams.x.args is no known key; it has allow, deny, list, resources, prompts",
            ),
            (
                json!({"a": {"upstreams": {"x": {"allow": [""]}}}}),
                "profiles.a.upstreams.x.allow[0] must be a pattern with at least one character, got \"\"",
            ),
        ] {
            assert_eq!(Profiles::parse(&file).unwrap_err(), fault, "{file}");
        }
    }
}
