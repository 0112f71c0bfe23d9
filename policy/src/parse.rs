//! Reading the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_base::name_pattern::NamePattern;
use ptc_base::similar::most_similar;
use ptc_base::text::clip;
use ptc_base::visible::visible_line;
use ptc_mcp::json::{Map, Value, from_str, repeated_key_at};

use super::argument::{ArgumentRule, ToolArguments, is_alike};
use super::grant::Grant;
use super::identity::Identity;
use super::limits::Limits;
use super::path::Folder;
use super::policy::{MAX_FILE_BYTES, Policy, PolicyError};
use super::profile::Profiles;
use super::rule::{Condition, Rule, UpstreamRule};

/// Most rules of a file.
const MAX_RULES: usize = 1000;

/// Longest name of a profile, in characters.
const MAX_PROFILE_NAME: usize = 32;

type Parsed<T> = Result<T, PolicyError>;

impl Policy {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong first, with the place of its key.
    #[expect(clippy::disallowed_methods, reason = "entry point: Policy.parse")]
    pub fn parse(text: &str) -> Parsed<Policy> {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(PolicyError::new(format_args!(
                "the file has {} bytes, more than {MAX_FILE_BYTES}",
                text.len()
            )));
        }
        // Editors of Windows begin files so.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value =
            from_str(text).map_err(|fault| PolicyError::new(format_args!("the file is no JSON: {fault}")))?;
        if let Some((key, at)) = repeated_key_at(text) {
            let before = &text[..at];
            let line_begins = before.rfind('\n').map_or(0, |at| at + 1);
            return Err(PolicyError::new(format_args!(
                "an object has the key \"{}\" twice, the second time at line {}, column {}",
                visible_line(&key),
                before.matches('\n').count() + 1,
                before[line_begins..].chars().count() + 1
            )));
        }
        Policy::from_value(&value)
    }

    /// Reads the object that the text of a file would be.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_value(value: &Value) -> Parsed<Policy> {
        let file = Section::of("", value)?;
        file.knows(&["default", "scope_implies", "rules"])?;
        let default_allows = match file.word("default", &["allow", "deny"])? {
            Some(word) => word == "allow",
            None => false,
        };
        let implied = Implied::read(&file)?;
        let rules = file.list("rules")?.ok_or_else(|| PolicyError::new("rules must be a list"))?;
        if rules.len() > MAX_RULES {
            return Err(PolicyError::new(format_args!(
                "rules has {} members, more than {MAX_RULES}",
                rules.len()
            )));
        }
        let rules =
            rules.iter().enumerate().map(|(at, value)| rule(&format!("rules[{at}]"), value, &implied));
        let rules = rules.collect::<Parsed<Vec<_>>>()?;
        name_once(&rules)?;
        Ok(Policy::of(rules, default_allows))
    }
}

/// Refuses a name that two rules have: explanations would not tell them apart.
fn name_once(rules: &[Rule]) -> Parsed<()> {
    let mut named = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate() {
        let Some(name) = rule.name.as_deref() else { continue };
        if let Some(first) = named.insert(name, at) {
            return Err(PolicyError::new(format_args!("rules[{at}].name is that of rules[{first}]")));
        }
    }
    Ok(())
}

impl Profiles {
    /// Reads the object `profiles` of the upstreams file: `{"NAME": {"upstreams": {"github": {"allow": ["get_*"]}}}}`. An
    /// upstream has `allow`, `deny`, `list`, `resources` and `prompts` as a rule of a policy has them; what it leaves out is
    /// everything there is.
    ///
    /// # Errors
    /// A sentence with what is wrong first, and the place of its key.
    pub fn parse(value: &Value) -> Result<Profiles, String> {
        profiles(value).map(Profiles).map_err(|fault| fault.0)
    }
}

/// An object of the file, with its place.
struct Section<'v> {
    place: String,
    map: &'v Map,
}

impl<'v> Section<'v> {
    fn of(place: &str, value: &'v Value) -> Parsed<Section<'v>> {
        match value.as_object() {
            Some(map) => Ok(Section { place: place.to_owned(), map }),
            None if place.is_empty() => {
                Err(PolicyError::new(format_args!("the file must be an object, got {}", shown_value(value))))
            }
            None => {
                Err(PolicyError::new(format_args!("{place} must be an object, got {}", shown_value(value))))
            }
        }
    }

    /// The place of one of its keys.
    fn at(&self, key: &str) -> String {
        let key = visible_line(key);
        if self.place.is_empty() { key.into_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The fault of one of its keys: what it must be, and behind `; ` what to do; and what is there.
    fn error<T>(&self, key: &str, must: impl std::fmt::Display) -> Parsed<T> {
        Err(self.wrong(key, &must.to_string(), self.map.get(key)))
    }

    fn wrong(&self, key: &str, must: &str, got: Option<&Value>) -> PolicyError {
        let (must, advice) = must
            .split_once("; ")
            .map_or((must, String::new()), |(must, advice)| (must, format!("; {advice}")));
        let got = got.map(|got| format!(", got {}", shown_value(got))).unwrap_or_default();
        PolicyError::new(format_args!("{} must be {must}{got}{advice}", self.at(key)))
    }

    /// Refuses keys besides these. Those that begin with `$` are for editors.
    fn knows(&self, known: &[&str]) -> Parsed<()> {
        let Some(key) = self.map.keys().find(|key| !known.contains(&key.as_str()) && !key.starts_with('$'))
        else {
            return Ok(());
        };
        let near = most_similar(key, known.iter().copied());
        let near = near.map_or_else(
            || format!("; it has {}", known.join(", ")),
            |near| format!("; did you mean {near}?"),
        );
        Err(PolicyError::new(format_args!("{} is no known key{near}", self.at(key))))
    }

    fn section(&self, key: &str) -> Parsed<Option<Section<'v>>> {
        self.map.get(key).map(|value| Section::of(&self.at(key), value)).transpose()
    }

    fn list(&self, key: &str) -> Parsed<Option<&'v Vec<Value>>> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => self.error(key, "a list"),
        }
    }

    fn text(&self, key: &str) -> Parsed<Option<&'v str>> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => self.error(key, "a string with at least one character"),
        }
    }

    fn flag(&self, key: &str) -> Parsed<bool> {
        match self.map.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => self.error(key, "true or false"),
        }
    }

    fn word(&self, key: &str, words: &[&str]) -> Parsed<Option<&'v str>> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(Some(word)),
            Some(_) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                self.error(key, words.join(" or "))
            }
        }
    }

    /// Patterns of names, none of them empty.
    fn patterns(&self, key: &str) -> Parsed<Vec<NamePattern>> {
        let Some(items) = self.list(key)? else { return Ok(Vec::new()) };
        if items.is_empty() {
            return self.error(key, "a list with at least one pattern; leave it out to grant nothing");
        }
        let pattern = |(at, item): (usize, &Value)| match item.as_str().and_then(NamePattern::new) {
            Some(pattern) => Ok(pattern),
            None => {
                Err(self.wrong(&format!("{key}[{at}]"), "a pattern with at least one character", Some(item)))
            }
        };
        items.iter().enumerate().map(pattern).collect()
    }

    /// Refuses an object without members.
    fn has_members(&self, must: impl std::fmt::Display) -> Parsed<()> {
        match self.map.keys().next() {
            Some(_) => Ok(()),
            None => Err(PolicyError::new(format_args!("{} must {must}", self.place))),
        }
    }

    fn sections(&self) -> impl Iterator<Item = (&'v str, Parsed<Section<'v>>)> {
        self.map.iter().map(|(key, value)| (key.as_str(), Section::of(&self.at(key), value)))
    }
}

/// A value of the file, as a fault shows it.
fn shown_value(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    let shown = clip(&text, MOST);
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{rest}", visible_line(shown))
}

/// Which scopes imply which.
struct Implied(BTreeMap<String, Vec<String>>);

impl Implied {
    fn read(file: &Section<'_>) -> Parsed<Implied> {
        let Some(section) = file.section("scope_implies")? else { return Ok(Implied(BTreeMap::new())) };
        let mut implied = BTreeMap::new();
        for scope in section.map.keys() {
            let items = section.list(scope)?.into_iter().flatten();
            let texts = items.map(|item| match item.as_str() {
                Some(text) if !text.is_empty() => Ok(text.to_owned()),
                _ => section.error(scope, "a list of scopes"),
            });
            implied.insert(scope.clone(), texts.collect::<Parsed<Vec<_>>>()?);
        }
        Ok(Implied(implied))
    }

    /// The scope, and those that imply it, by however many steps.
    fn sources(&self, scope: &str) -> Vec<Box<str>> {
        let mut sources: Vec<Box<str>> = vec![scope.into()];
        let mut at = 0;
        while let Some(wanted) = sources.get(at).cloned() {
            for (source, implied) in &self.0 {
                if implied.iter().any(|scope| **scope == *wanted)
                    && !sources.iter().any(|known| **known == **source)
                {
                    sources.push(source.as_str().into());
                }
            }
            at += 1;
        }
        sources
    }
}

fn rule(place: &str, value: &Value, implied: &Implied) -> Parsed<Rule> {
    let section = Section::of(place, value)?;
    section.knows(&["name", "match", "upstreams", "limits", "operator"])?;
    let Some(wanted) = section.section("match")? else {
        return section.error("match", "an object; {} matches every caller");
    };
    let mut upstreams = Vec::new();
    if let Some(entries) = section.section("upstreams")? {
        for (name, entry) in entries.sections() {
            let entry = entry?;
            entry.has_members(
                "say what is granted, as {\"allow\": [\"get_*\"]} does; leave it out to grant nothing",
            )?;
            upstreams.push(upstream(name, &entry)?);
        }
    }
    check_about_allowed(place, &upstreams)?;
    Ok(Rule {
        name: section.text("name")?.map(Into::into),
        conditions: conditions(&wanted, implied)?,
        upstreams,
        limits: section
            .section("limits")?
            .map_or_else(|| Ok(Limits::default()), |limits| self::limits(&limits))?,
        is_operator: section.flag("operator")?,
    })
}

fn conditions(section: &Section<'_>, implied: &Implied) -> Parsed<Vec<Condition>> {
    section.knows(&["principal", "issuer", "subject", "scope", "claim"])?;
    let mut conditions = Vec::new();
    let text = |key| section.text(key).map(|text| text.map(Box::from));
    conditions.extend(text("principal")?.map(Condition::Principal));
    conditions.extend(text("issuer")?.map(Condition::Issuer));
    conditions.extend(text("subject")?.map(Condition::Subject));
    conditions.extend(section.text("scope")?.map(|scope| Condition::Scope(implied.sources(scope))));
    if let Some(claims) = section.section("claim")? {
        claims.has_members("name a claim; leave it out to ask for none")?;
        for name in claims.map.keys() {
            let Some(value) = claims.text(name)? else { continue };
            conditions.push(Condition::Claim(name.as_str().into(), value.into()));
        }
    }
    if let Some(Condition::Principal(name)) = conditions.first() {
        check_principal(section, name, &conditions)?;
    }
    Ok(conditions)
}

/// Refuses what no caller of that name can have: the facts of access tokens, unless its name is `ISSUER|SUBJECT`.
fn check_principal(section: &Section<'_>, name: &str, conditions: &[Condition]) -> Parsed<()> {
    let own = name.split_once('|');
    let impossible = conditions.iter().find_map(|condition| match (condition, own) {
        (Condition::Principal(_), _) => None,
        (Condition::Issuer(_), None) => Some("issuer"),
        (Condition::Subject(_), None) => Some("subject"),
        (Condition::Scope(_), None) => Some("scope"),
        (Condition::Claim(..), None) => Some("claim"),
        (Condition::Issuer(issuer), Some((own, _))) => (**issuer != *own).then_some("issuer"),
        (Condition::Subject(subject), Some((_, own))) => (**subject != *own).then_some("subject"),
        (Condition::Scope(_) | Condition::Claim(..), Some(_)) => None,
    });
    match impossible {
        None => Ok(()),
        Some(key) => Err(PolicyError::new(format_args!(
            "{} matches nobody: the caller {} has {} {key}",
            section.place,
            Value::from(name),
            if own.is_some() { "another" } else { "no access token, and so no" },
        ))),
    }
}

fn limits(section: &Section<'_>) -> Parsed<Limits> {
    section.knows(&Limits::NAMES)?;
    let mut limits = Limits::default();
    for (name, value) in section.map {
        let Some(limit) = limits.named(name) else { continue };
        match value.as_u64() {
            Some(number) if number > 0 => *limit = Some(number),
            _ => return section.error(name, "a positive integer"),
        }
    }
    Ok(limits)
}

fn upstream(name: &str, section: &Section<'_>) -> Parsed<UpstreamRule> {
    section.knows(&["allow", "deny", "list", "resources", "prompts", "args", "identity"])?;
    let Some(upstreams) = NamePattern::new(name) else {
        return Err(PolicyError::new(format_args!("{} is about an upstream without a name", section.place)));
    };
    let (allow, deny) = (section.patterns("allow")?, section.patterns("deny")?);
    if let Some(both) = allow.iter().find(|pattern| deny.contains(pattern)) {
        let both = visible_line(both.as_str());
        return Err(PolicyError::new(format_args!("{} allows and denies \"{both}\"", section.place)));
    }
    let mut arguments = Vec::new();
    if let Some(tools) = section.section("args")? {
        for (tool, rules) in tools.sections() {
            arguments.push(tool_arguments(tool, &rules?)?);
        }
    }
    let identity = section.word("identity", &["per_principal", "shared"])?.map(|word| match word {
        "shared" => Identity::Shared,
        _ => Identity::PerPrincipal,
    });
    let (list, resources) = (section.patterns("list")?, section.patterns("resources")?);
    Ok(UpstreamRule {
        upstreams,
        allow,
        deny,
        list,
        resources,
        prompts: section.patterns("prompts")?,
        arguments,
        identity,
    })
}

/// The profiles of a file, by name.
fn profiles(value: &Value) -> Parsed<BTreeMap<Box<str>, Arc<Grant>>> {
    let file = Section::of("profiles", value)?;
    let mut profiles = BTreeMap::new();
    for (name, section) in file.sections() {
        if !is_profile_name(name) {
            return file.error(name, "a name of at most 32 lower-case letters, digits and hyphens");
        }
        let section = section?;
        section.knows(&["upstreams"])?;
        let Some(entries) = section.section("upstreams")? else {
            return section.error("upstreams", "an object; {\"*\": {}} shows every upstream");
        };
        let upstreams =
            entries.sections().map(|(name, entry)| shown(name, &entry?)).collect::<Parsed<_>>()?;
        let rule = Rule { upstreams, ..Rule::default() };
        profiles.insert(name.into(), Arc::new(Grant::of(vec![Arc::new(rule)])));
    }
    Ok(profiles)
}

/// Whether a profile may have this name: it stands in an address.
fn is_profile_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_PROFILE_NAME).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// What a profile shows of the upstreams of a name: what it does not mention is everything.
fn shown(name: &str, section: &Section<'_>) -> Parsed<UpstreamRule> {
    section.knows(&["allow", "deny", "list", "resources", "prompts"])?;
    let mut rule = upstream(name, section)?;
    for (key, patterns) in
        [("allow", &mut rule.allow), ("resources", &mut rule.resources), ("prompts", &mut rule.prompts)]
    {
        if !section.map.contains_key(key) {
            patterns.extend(NamePattern::new("*"));
        }
    }
    Ok(rule)
}

/// Refuses rules on arguments of tools that no entry of their rule allows at the same upstream: they would never hold.
fn check_about_allowed(place: &str, upstreams: &[UpstreamRule]) -> Parsed<()> {
    for entry in upstreams {
        let allows = |tools: &NamePattern| {
            let beside = upstreams.iter().filter(|other| other.upstreams.overlaps(&entry.upstreams));
            beside.flat_map(|other| &other.allow).any(|allowed| allowed.overlaps(tools))
        };
        if let Some(idle) = entry.arguments.iter().find(|rules| !allows(&rules.tools)) {
            return Err(PolicyError::new(format_args!(
                "{place}.upstreams.{}.args.{} is about a tool that allow does not have",
                visible_line(entry.upstreams.as_str()),
                visible_line(idle.tools.as_str())
            )));
        }
    }
    Ok(())
}

fn tool_arguments(tool: &str, section: &Section<'_>) -> Parsed<ToolArguments> {
    let Some(tools) = NamePattern::new(tool) else {
        return Err(PolicyError::new(format_args!("{} is about a tool without a name", section.place)));
    };
    let names: Vec<&str> = section.map.keys().map(String::as_str).collect();
    for (at, name) in names.iter().enumerate() {
        if let Some(alike) = names[..at].iter().find(|other| is_alike(other, name)) {
            return Err(PolicyError::new(format_args!(
                "{} has \"{}\" and \"{}\": a call with one of them is refused for the other",
                section.place,
                visible_line(alike),
                visible_line(name)
            )));
        }
    }
    section.has_members("name an argument; leave it out to permit all")?;
    let rules = section.sections().map(|(name, rule)| Ok((name.into(), argument(&rule?)?)));
    Ok(ToolArguments { tools, rules: rules.collect::<Parsed<_>>()? })
}

fn argument(section: &Section<'_>) -> Parsed<ArgumentRule> {
    const RULES: [&str; 6] = ["in", "equals", "prefix", "under", "min", "max"];
    section.knows(&["in", "equals", "prefix", "under", "min", "max", "ignore_case", "percent"])?;
    if !RULES.iter().any(|key| section.map.contains_key(key)) {
        return Err(PolicyError::new(format_args!(
            "{} must have one of {}",
            section.place,
            RULES.join(", ")
        )));
    }
    let is_flat = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let one_of = match (section.list("in")?, section.map.get("equals")) {
        (None, None) => None,
        (Some(_), Some(_)) => {
            return Err(PolicyError::new(format_args!("{} has in and equals; keep one", section.place)));
        }
        (Some(values), None) if !values.is_empty() && values.iter().all(is_flat) => {
            Some(values.as_slice().into())
        }
        (Some(_), None) => {
            return section.error("in", "a list of strings, numbers and booleans, with at least one");
        }
        (None, Some(value)) if is_flat(value) => Some([value.clone()].into()),
        (None, Some(_)) => return section.error("equals", "a string, a number or a boolean"),
    };
    let has_literal_percent = section.word("percent", &["decode", "literal"])? == Some("literal");
    let ignores_case = section.flag("ignore_case")?;
    let under = match section.text("under")? {
        None if section.map.contains_key("percent") || section.map.contains_key("ignore_case") => {
            return Err(PolicyError::new(format_args!(
                "{} has ignore_case or percent without under",
                section.place
            )));
        }
        None => None,
        Some(text) => match Folder::new(text, ignores_case, has_literal_percent) {
            Some(folder) => Some(folder),
            None => {
                return section
                    .error("under", "a path that can be read in one way only, such as \"/reports\"");
            }
        },
    };
    let number = |key| match section.map.get(key) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.as_str().into())),
        Some(_) => section.error(key, "a number"),
    };
    let (min, max) = (number("min")?, number("max")?);
    let rule = ArgumentRule { one_of, prefix: section.text("prefix")?.map(Into::into), under, min, max };
    match rule.contradiction() {
        None => Ok(rule),
        Some(why) => Err(PolicyError::new(format_args!("{} permits nothing: {why}", section.place))),
    }
}
