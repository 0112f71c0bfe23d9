//! Checks values against schemas.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use ptc_mcp::json::{Kind, Number, Value as Json};

use super::{BoundKeyword, ParsedSchema, SchemaId, SchemaNode, SchemaPattern};

/// A value that is checked.
pub trait SchemaSubject: Sized {
    /// A text as such a value.
    fn of_text(text: &str) -> Self;

    /// Whether it is of a kind.
    fn is_of(&self, kind: Kind) -> bool;

    /// Whether it is one of the values that a schema lists. `work` is told what that costs beyond looking at each; if it refuses,
    /// nothing counts any more.
    fn is_one_of(&self, listed: &[Json], work: &mut dyn FnMut(usize) -> bool) -> bool;

    /// Its text, if it is one.
    fn text(&self) -> Option<Cow<'_, str>>;

    /// Whether it is a number.
    fn is_number(&self) -> bool;

    /// Whether it is a number that no float comes near.
    fn is_beyond_floats(&self) -> bool {
        false
    }

    /// Its order beside a number, if they can be compared.
    fn order(&self, limit: &Number) -> Option<Ordering>;

    /// Whether it is a multiple of a number.
    fn is_multiple_of(&self, step: &Number) -> bool;

    /// How many elements or members it has, if it is of that kind.
    fn count(&self, kind: Kind) -> Option<usize>;

    /// Visits its elements.
    fn each_element(&self, visit: &mut dyn FnMut(usize, &Self));

    /// Visits its members.
    fn each_member<'v>(&'v self, visit: &mut dyn FnMut(&'v str, &'v Self));

    /// Its member of this very name.
    fn member(&self, name: &str) -> Option<&Self>;

    /// The place of an element that is the same as one before it.
    fn repeated(&self) -> Option<usize>;
}

/// What a caller says of values that do not fit, and how far it looks.
pub trait SchemaWording {
    /// The values.
    type Value: SchemaSubject;
    /// A text with its place, as the caller keeps it.
    type Complaint;

    /// Schemas within each other that are applied.
    const MAX_DEPTH: usize;
    /// MisfitList that are spelled out.
    const MAX_COMPLAINTS: usize;
    /// Whether values listed, lengths and patterns count as work, besides schemas that are applied.
    const WEIGHS_VALUES: bool = false;
    /// Whether the kind of a value counts before the values that are listed.
    const KINDS_FIRST: bool = true;
    /// Whether members go by their declarations, which they may spell otherwise, and null is as good as nothing where nothing is
    /// required. Otherwise they go by their order in the value.
    const BY_DECLARATION: bool = false;

    /// The complaint about a value, which does not fit this schema.
    fn complaint(
        &self,
        misfit: &SchemaMisfit<'_>,
        node: &SchemaNode,
        value: &Self::Value,
        place: &SchemaPlace<'_>,
    ) -> Self::Complaint;

    /// The complaint about a check that went too far.
    fn limit(&self, limit: ValidationLimit, place: &SchemaPlace<'_>) -> Self::Complaint;

    /// The faults of a value that none of several schemas fits: each of them, with what is wrong.
    fn none_fits(
        &self,
        keyword: &'static str,
        failed: Vec<(SchemaId, MisfitList<Self::Complaint>)>,
        node: &SchemaNode,
        value: &Self::Value,
        place: &SchemaPlace<'_>,
    ) -> MisfitList<Self::Complaint>;

    /// Whether a text has what a pattern is for.
    ///
    /// # Errors
    /// The search went too far.
    fn matches(&self, pattern: &SchemaPattern, text: &str) -> Result<bool, String> {
        Ok(pattern.automaton.as_ref().is_none_or(|automaton| automaton.is_match(text)))
    }

    /// The name of a format that a value has not.
    fn missed_format(&self, _node: &SchemaNode, _value: &Self::Value) -> Option<String> {
        None
    }

    /// Whether a name that is not declared is let through although no others are allowed.
    fn is_exempt(&self, _name: &str) -> bool {
        false
    }

    /// Tells that work was done.
    fn charge(&self, _units: usize) {}
}

/// Why a value does not fit.
#[derive(Debug)]
pub enum SchemaMisfit<'m> {
    /// No value does.
    Never,
    /// It is of another kind.
    Kind,
    /// It is not the `const`.
    Constant(&'m Json),
    /// It is none of the `enum`.
    Choice(&'m [Json]),
    /// It is beyond a bound; the count, if parts of it are counted.
    Bound(BoundKeyword, &'m Number, Option<usize>),
    /// It is no number that a float could hold.
    BeyondFloats,
    /// A pattern does not match.
    Pattern(&'m str),
    /// It has not the format of this name.
    Format(String),
    /// The element at this place is the same as one before.
    Repeated(usize),
    /// So many elements fit `contains`, which has this schema.
    Contains(usize, SchemaId),
    /// The member at this place is missing; its schema, if it is declared.
    Missing(Option<SchemaId>),
    /// The member at this place is not allowed.
    Unexpected,
    /// The name of the member at this place does not fit `propertyNames`, which has this schema.
    Name(SchemaId),
    /// A member wants another one beside it.
    Beside(&'m str, &'m str),
    /// It fits `not`, which has this schema.
    RuledOut(SchemaId),
    /// So many of `oneOf` fit.
    Several(usize, &'m [SchemaId]),
}

impl SchemaMisfit<'_> {
    /// How many levels above the place the value is that is of another kind altogether, so that its other misfits say little.
    fn levels_above(&self) -> Option<usize> {
        match self {
            SchemaMisfit::Kind | SchemaMisfit::Choice(_) => Some(0),
            SchemaMisfit::Constant(_) | SchemaMisfit::Unexpected => Some(1),
            _ => None,
        }
    }
}

/// What ends a check early.
#[derive(Debug, Clone)]
pub enum ValidationLimit {
    /// The work is done that the value is worth.
    Work,
    /// Schemas nest too deep.
    Depth,
    /// A pattern took too much.
    Pattern(String),
}

/// The way from the root to a value.
#[derive(Debug, Clone, Copy)]
pub struct SchemaPlace<'p> {
    above: Option<&'p SchemaPlace<'p>>,
    step: PlaceStep<'p>,
    depth: usize,
}

/// A step of a [`SchemaPlace`].
#[derive(Debug, Clone, Copy)]
pub enum PlaceStep<'p> {
    /// The member of this name.
    Member(&'p str),
    /// The element at this place.
    Element(usize),
}

impl<'p> SchemaPlace<'p> {
    const ROOT: SchemaPlace<'static> = SchemaPlace { above: None, step: PlaceStep::Element(0), depth: 0 };

    fn then(&'p self, step: PlaceStep<'p>) -> SchemaPlace<'p> {
        SchemaPlace { above: Some(self), step, depth: self.depth + 1 }
    }

    /// How many steps there are.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The last step; of the root, nothing.
    #[must_use]
    pub fn last(&self) -> Option<PlaceStep<'p>> {
        self.above.map(|_| self.step)
    }

    /// The steps, from the root on.
    #[must_use]
    pub fn steps(&self) -> Vec<PlaceStep<'p>> {
        let mut steps = Vec::with_capacity(self.depth);
        let mut place = *self;
        while let Some(above) = place.above {
            steps.push(place.step);
            place = *above;
        }
        steps.reverse();
        steps
    }
}

/// What is wrong with a value.
#[derive(Debug)]
pub struct MisfitList<F> {
    /// Those that are spelled out, in order.
    pub spelled: Vec<F>,
    /// How many more there are.
    pub more: usize,
    /// The steps to the deepest place that one is about.
    pub deepest: usize,
    /// The steps to the outermost value that is of another kind altogether.
    pub outermost_kind: Option<usize>,
    /// Whether some member is not spelled as it is declared, or is null.
    pub is_respelled: bool,
}

impl<F> Default for MisfitList<F> {
    fn default() -> Self {
        MisfitList { spelled: Vec::new(), more: 0, deepest: 0, outermost_kind: None, is_respelled: false }
    }
}

impl<F> MisfitList<F> {
    /// One complaint about the value at this place.
    pub fn one(place: &SchemaPlace<'_>, complaint: F) -> MisfitList<F> {
        MisfitList { spelled: vec![complaint], deepest: place.depth, ..MisfitList::default() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spelled.is_empty() && self.more == 0
    }

    /// Takes over others, of which `max` are spelled out together.
    fn join(&mut self, other: MisfitList<F>, max: usize) {
        self.deepest = self.deepest.max(other.deepest);
        self.outermost_kind = self.outermost_kind.into_iter().chain(other.outermost_kind).min();
        self.more += other.more + (self.spelled.len() + other.spelled.len()).saturating_sub(max);
        self.spelled.extend(other.spelled);
        self.spelled.truncate(max);
    }
}

/// A check of a value.
pub struct Validation<'a, W: SchemaWording> {
    schema: &'a ParsedSchema,
    wording: &'a W,
    /// Work that is left.
    left: usize,
    depth: usize,
    /// What ended the check early.
    limit: Option<W::Complaint>,
    /// Whether faults are counted and not spelled out, as no caller reads them.
    is_quiet: bool,
    found: MisfitList<W::Complaint>,
}

impl<'a, W: SchemaWording> Validation<'a, W> {
    /// A check that may apply so many schemas.
    pub fn new(schema: &'a ParsedSchema, wording: &'a W, work: usize) -> Self {
        let found = MisfitList::default();
        Validation { schema, wording, left: work, depth: 0, limit: None, is_quiet: false, found }
    }

    /// All that is wrong with a value.
    ///
    /// # Errors
    /// What ended the check early, which is nothing that was found.
    pub fn check(mut self, value: &W::Value) -> Result<MisfitList<W::Complaint>, W::Complaint> {
        self.value(ParsedSchema::ROOT, value, &SchemaPlace::ROOT);
        self.limit.map_or(Ok(self.found), Err)
    }

    /// Whether a value fits a schema of the document. Takes its work from `left`.
    pub fn fits(
        schema: &'a ParsedSchema,
        wording: &'a W,
        id: SchemaId,
        value: &W::Value,
        left: &mut usize,
    ) -> bool {
        let mut check = Self::new(schema, wording, *left);
        let fits = check.is_fit(id, value, &SchemaPlace::ROOT);
        *left = check.left;
        fits
    }

    /// Notes work. `false` if the check is over.
    fn work(&mut self, units: usize, place: &SchemaPlace<'_>) -> bool {
        self.wording.charge(units);
        match self.left.checked_sub(units) {
            Some(left) => self.left = left,
            None => self.end(ValidationLimit::Work, place),
        }
        self.limit.is_none()
    }

    /// Notes work on the value itself, where that counts.
    fn weigh(&mut self, units: usize, place: &SchemaPlace<'_>) -> bool {
        if W::WEIGHS_VALUES { self.work(units, place) } else { self.limit.is_none() }
    }

    fn end(&mut self, limit: ValidationLimit, place: &SchemaPlace<'_>) {
        self.left = 0;
        self.limit.get_or_insert_with(|| self.wording.limit(limit, place));
    }

    fn add(
        &mut self,
        misfit: SchemaMisfit<'_>,
        node: &SchemaNode,
        value: &W::Value,
        place: &SchemaPlace<'_>,
    ) {
        let found = &mut self.found;
        if let Some(above) = misfit.levels_above() {
            let at = place.depth.saturating_sub(above);
            found.outermost_kind = Some(found.outermost_kind.map_or(at, |before| before.min(at)));
        }
        found.deepest = found.deepest.max(place.depth);
        if self.is_quiet || found.spelled.len() == W::MAX_COMPLAINTS {
            found.more += 1;
        } else {
            found.spelled.push(self.wording.complaint(&misfit, node, value, place));
        }
    }

    /// What another schema finds wrong with the value.
    fn aside(&mut self, id: SchemaId, value: &W::Value, place: &SchemaPlace<'_>) -> MisfitList<W::Complaint> {
        let outer = std::mem::take(&mut self.found);
        self.value(id, value, place);
        std::mem::replace(&mut self.found, outer)
    }

    /// Whether the value fits another schema too.
    fn is_fit(&mut self, id: SchemaId, value: &W::Value, place: &SchemaPlace<'_>) -> bool {
        let was_quiet = std::mem::replace(&mut self.is_quiet, true);
        let found = self.aside(id, value, place);
        self.is_quiet = was_quiet;
        found.is_empty() && self.limit.is_none()
    }

    fn value(&mut self, id: SchemaId, value: &W::Value, place: &SchemaPlace<'_>) {
        if !self.work(1, place) {
            return;
        }
        let node = &self.schema[id];
        match node.verdict {
            Some(true) => {}
            Some(false) => self.add(SchemaMisfit::Never, node, value, place),
            None if self.depth == W::MAX_DEPTH => self.end(ValidationLimit::Depth, place),
            None => {
                self.depth += 1;
                self.keywords(node, value, place);
                self.depth -= 1;
            }
        }
    }

    fn keywords(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        if node.is_nullable && value.is_of(Kind::Null) {
            return;
        }
        let is_of_kind = node.kinds.is_empty() || node.kinds.iter().any(|kind| value.is_of(*kind));
        if W::KINDS_FIRST && !is_of_kind {
            return self.add(SchemaMisfit::Kind, node, value, place);
        }
        if let Some(constant) = &node.constant
            && !self.is_one_of(std::slice::from_ref(constant), value, place)
        {
            return self.add(SchemaMisfit::Constant(constant), node, value, place);
        }
        if let Some(choices) = &node.choices
            && !self.is_one_of(choices, value, place)
        {
            return self.add(SchemaMisfit::Choice(choices), node, value, place);
        }
        if !is_of_kind {
            return self.add(SchemaMisfit::Kind, node, value, place);
        }
        if let Some((_, target)) = node.reference {
            self.value(target, value, place);
        }
        self.bounds(node, value, place);
        self.texts(node, value, place);
        self.elements(node, value, place);
        if value.is_of(Kind::Object) {
            match W::BY_DECLARATION {
                true => self.declared_members(node, value, place),
                false => self.members(node, value, place),
            }
        }
        self.combined(node, value, place);
    }

    /// Whether a value is listed; also where the limit ends the check.
    fn is_one_of(&mut self, listed: &[Json], value: &W::Value, place: &SchemaPlace<'_>) -> bool {
        let is_listed = !self.weigh(listed.len(), place)
            || value.is_one_of(listed, &mut |units| self.weigh(units, place));
        is_listed || self.limit.is_some()
    }

    fn bounds(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        let is_beyond = value.is_beyond_floats();
        // An integer of any size is one; nothing else is a number that is this large.
        if is_beyond && (node.kinds.contains(&Kind::Number) || !value.is_of(Kind::Integer)) {
            self.add(SchemaMisfit::BeyondFloats, node, value, place);
        }
        for (keyword, limit) in &node.bounds {
            let count = match keyword.counts() {
                Some(Kind::String) => value.text().map(|text| {
                    self.weigh(text.len() / 64, place);
                    text.chars().count()
                }),
                Some(kind) => value.count(kind),
                None => None,
            };
            if count.is_none() && (keyword.counts().is_some() || is_beyond || !value.is_number()) {
                continue;
            }
            let order = match count {
                Some(count) => Some((count as u64).cmp(&limit.as_u64().unwrap_or(u64::MAX))),
                None => value.order(limit),
            };
            let fits = match keyword {
                BoundKeyword::MultipleOf => value.is_multiple_of(limit),
                BoundKeyword::ExclusiveMinimum => order.is_some_and(Ordering::is_gt),
                BoundKeyword::ExclusiveMaximum => order.is_some_and(Ordering::is_lt),
                keyword if keyword.words() == "at least" => order.is_some_and(Ordering::is_ge),
                _ => order.is_some_and(Ordering::is_le),
            };
            if !fits {
                self.add(SchemaMisfit::Bound(*keyword, limit, count), node, value, place);
            }
        }
    }

    /// `pattern` and `format`.
    fn texts(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        if let Some(pattern) = &node.pattern
            && let Some(text) = value.text()
            && self.weigh(1 + text.len() / 16, place)
            && !self.matches(pattern, &text, place)
        {
            self.add(SchemaMisfit::Pattern(&pattern.text), node, value, place);
        }
        if let Some(name) = node.format.as_ref().and_then(|_| self.wording.missed_format(node, value)) {
            self.add(SchemaMisfit::Format(name), node, value, place);
        }
    }

    fn matches(&mut self, pattern: &SchemaPattern, text: &str, place: &SchemaPlace<'_>) -> bool {
        self.wording.matches(pattern, text).unwrap_or_else(|detail| {
            self.end(ValidationLimit::Pattern(detail), place);
            true
        })
    }

    fn elements(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        if !node.prefix.is_empty() || node.items.is_some() {
            value.each_element(&mut |at, element| {
                if let Some(schema) = node.element(at) {
                    self.value(schema, element, &place.then(PlaceStep::Element(at)));
                }
            });
        }
        if node.has_unique_items
            && let Some(at) = value.repeated()
        {
            self.add(SchemaMisfit::Repeated(at), node, value, place);
        }
        if let Some((schema, least, most)) = node.contains
            && value.is_of(Kind::Array)
        {
            let mut found = 0;
            value.each_element(&mut |_, element| found += usize::from(self.is_fit(schema, element, place)));
            if !(least..=most).contains(&(found as u64)) {
                self.add(SchemaMisfit::Contains(found, schema), node, value, place);
            }
        }
    }

    fn members(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        for name in node.required.iter().filter(|name| value.member(name).is_none()) {
            self.add(SchemaMisfit::Missing(None), node, value, &place.then(PlaceStep::Member(name)));
        }
        for (name, others) in node.dependent_required.iter().filter(|(name, _)| value.member(name).is_some())
        {
            for other in others.iter().filter(|other| value.member(other).is_none()) {
                self.add(SchemaMisfit::Beside(name, other), node, value, place);
            }
        }
        value.each_member(&mut |name, member| {
            let place = &place.then(PlaceStep::Member(name));
            if let Some(names) = node.names
                && !self.is_fit(names, &W::Value::of_text(name), place)
            {
                self.add(SchemaMisfit::Name(names), node, member, place);
            }
            let schemas = self.schemas_of(node, name, place);
            schemas.iter().for_each(|schema| self.value(*schema, member, place));
            if let Some(others) =
                node.additional.filter(|_| schemas.is_empty() && !self.wording.is_exempt(name))
            {
                self.additional(others, node, member, place);
            }
        });
        if let Some(others) = node.unevaluated {
            let mut known = HashSet::new();
            self.evaluated(node, value, place, &mut known);
            value.each_member(&mut |name, member| {
                if !known.contains(name) {
                    self.additional(others, node, member, &place.then(PlaceStep::Member(name)));
                }
            });
        }
    }

    /// A member that is not declared.
    fn additional(
        &mut self,
        schema: SchemaId,
        node: &'a SchemaNode,
        member: &W::Value,
        place: &SchemaPlace<'_>,
    ) {
        match self.schema[schema].verdict {
            Some(false) => self.add(SchemaMisfit::Unexpected, node, member, place),
            _ => self.value(schema, member, place),
        }
    }

    /// Members by their declarations: the others first, then each declared one, by what spells it best.
    fn declared_members(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        let properties = node.properties.as_ref().map_or(&[][..], |table| &table.list);
        if !self.weigh(properties.len(), place) {
            return;
        }
        let mut found: Vec<Option<(bool, &W::Value)>> = vec![None; properties.len()];
        value.each_member(&mut |name, member| {
            let here = place.then(PlaceStep::Member(name));
            if let Some(names) = node.names {
                self.value(names, &W::Value::of_text(name), &here);
            }
            match (node.properties.as_ref().and_then(|table| table.place(name)), node.additional) {
                (Some(at), _) => {
                    let is_exact = properties[at].name == name;
                    self.found.is_respelled |= !is_exact || member.is_of(Kind::Null);
                    if found[at].is_none_or(|(before, _)| is_exact && !before) {
                        found[at] = Some((is_exact, member));
                    }
                }
                (None, Some(others)) => self.additional(others, node, member, &here),
                (None, None) => {}
            }
        });
        for (property, entry) in properties.iter().zip(found) {
            let here = place.then(PlaceStep::Member(&property.name));
            match entry {
                None if property.is_required => {
                    self.add(SchemaMisfit::Missing(Some(property.schema)), node, value, &here);
                }
                Some((_, member)) if property.is_required || !member.is_of(Kind::Null) => {
                    self.value(property.schema, member, &here);
                }
                _ => {}
            }
        }
    }

    /// The schemas that `properties` and `patternProperties` have for a name.
    fn schemas_of(&mut self, node: &'a SchemaNode, name: &str, place: &SchemaPlace<'_>) -> Vec<SchemaId> {
        let exact =
            node.properties.as_ref().and_then(|table| table.get(name)).map(|property| property.schema);
        let matching =
            node.pattern_properties.iter().filter(|(pattern, _)| self.matches(pattern, name, place));
        exact.into_iter().chain(matching.map(|(_, schema)| *schema)).collect()
    }

    /// Collects the members that a schema, or one within it that the value fits, speaks of.
    fn evaluated<'v>(
        &mut self,
        node: &'a SchemaNode,
        value: &'v W::Value,
        place: &SchemaPlace<'_>,
        known: &mut HashSet<&'v str>,
    ) {
        if self.depth == W::MAX_DEPTH || !self.work(1, place) {
            return;
        }
        self.depth += 1;
        value.each_member(&mut |name, _| {
            if node.additional.is_some() || !self.schemas_of(node, name, place).is_empty() {
                known.insert(name);
            }
        });
        let mut within: Vec<SchemaId> = node.reference.iter().map(|(_, target)| *target).collect();
        let alternatives = node.all_of.iter().chain(&node.any_of).chain(&node.one_of);
        within.extend(alternatives.filter(|id| self.is_fit(**id, value, place)));
        if let Some(condition) = node.condition {
            match self.is_fit(condition, value, place) {
                true => within.extend([condition].into_iter().chain(node.consequence)),
                false => within.extend(node.alternative),
            }
        }
        within.iter().for_each(|id| self.evaluated(&self.schema[*id], value, place, known));
        self.depth -= 1;
    }

    fn combined(&mut self, node: &'a SchemaNode, value: &W::Value, place: &SchemaPlace<'_>) {
        node.all_of.iter().for_each(|id| self.value(*id, value, place));
        for (keyword, ids) in [("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
            if !ids.is_empty() {
                self.alternatives(keyword, ids, node, value, place);
            }
        }
        if let Some(not) = node.not
            && self.is_fit(not, value, place)
        {
            self.add(SchemaMisfit::RuledOut(not), node, value, place);
        }
        if let Some(condition) = node.condition {
            let holds = self.is_fit(condition, value, place);
            if let Some(branch) = if holds { node.consequence } else { node.alternative } {
                self.value(branch, value, place);
            }
        }
    }

    /// One of several schemas. If none fits, the wording says of which one most likely meant.
    fn alternatives(
        &mut self,
        keyword: &'static str,
        ids: &'a [SchemaId],
        node: &'a SchemaNode,
        value: &W::Value,
        place: &SchemaPlace<'_>,
    ) {
        let (mut fitting, mut failed) = (0, Vec::new());
        for id in ids {
            let found = self.aside(*id, value, place);
            if self.limit.is_some() {
                return;
            }
            if !found.is_empty() {
                failed.push((*id, found));
                continue;
            }
            fitting += 1;
            self.found.is_respelled |= found.is_respelled;
            if keyword == "anyOf" {
                return;
            }
        }
        match fitting {
            1 => {}
            0 if self.is_quiet => self.found.more += 1,
            0 => self
                .found
                .join(self.wording.none_fits(keyword, failed, node, value, place), W::MAX_COMPLAINTS),
            many => self.add(SchemaMisfit::Several(many, ids), node, value, place),
        }
    }
}
