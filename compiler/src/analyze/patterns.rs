//! Destructuring.

use super::analyzer::Analyzer;
use crate::ast::{EntryPattern, LocalId, Node, NodeId, Pattern, PatternId, TableRange};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use smallvec::SmallVec;

type Entries = SmallVec<[EntryPattern; 6]>;

/// Names and values after `:or` that are looked through in the time of a step.
const DEFAULTS_OF_A_STEP: usize = 4;

/// `:keys`, `:strs` or `:syms` in a map pattern.
struct KeyList {
    kind: &'static str,
    /// The namespace of all its keys, as in `:user/keys`.
    namespace: Option<String>,
}

impl KeyList {
    fn of(keyword: &str) -> Option<KeyList> {
        let (namespace, name) = match keyword.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, keyword),
        };
        let kind = ["keys", "strs", "syms"].into_iter().find(|kind| *kind == name)?;
        Some(KeyList { kind, namespace: namespace.map(str::to_owned) })
    }
}

impl Analyzer<'_, '_> {
    /// A pattern; its names are bound from here on.
    pub(super) fn pattern(&mut self, form: Form) -> Result<PatternId> {
        match form.kind {
            FormKind::Symbol(name) => {
                let local = self.bind_checked(name, form.span)?;
                Ok(self.add_pattern(Pattern::Bind(local)))
            }
            FormKind::Vector(items) => self.vector_pattern(items),
            FormKind::Map(items) => self.map_pattern(items, false),
            _ => Err(CompileError::pattern(self.source, form.span)),
        }
    }

    pub(super) fn add_pattern(&mut self, pattern: Pattern) -> PatternId {
        self.ast.patterns.push(pattern);
        PatternId(self.ast.patterns.len() as u32 - 1)
    }

    fn bind_checked(&mut self, name: Name, span: Span) -> Result<LocalId> {
        self.refuse_placeholder(name, span)?;
        Ok(self.bind(name))
    }

    fn is_symbol(&self, form: Form, text: &str) -> bool {
        matches!(form.kind, FormKind::Symbol(name) if self.text(name) == text)
    }

    fn is_keyword(&self, form: Form, text: &str) -> bool {
        matches!(form.kind, FormKind::Keyword(name) if self.text(name) == text)
    }

    /// Splits `p … & rest` at the `&` and checks the part after it. Returns the rest pattern, if there is one.
    pub(super) fn split_rest(&self, items: Items) -> Result<(Items, Option<Form>)> {
        let Some(at) = self.forms[items].iter().position(|&form| self.is_symbol(form, "&")) else {
            return Ok((items, None));
        };
        let behind = items.skip(at + 1);
        let ampersand = self.forms.at(items, at).span;
        match &self.forms[behind] {
            [] => Err(CompileError::form(ampersand, "& must be followed by a pattern")),
            [rest] => Ok((items.take(at), Some(*rest))),
            [_, extra, .., last] | [_, extra @ last] => {
                let span = extra.span.to(last.span);
                let text = crate::source::excerpt(self.source, span);
                let text = format!("& must be followed by exactly one pattern, got extra: {text}");
                Err(CompileError::form(span, text))
            }
        }
    }

    fn vector_pattern(&mut self, items: Items) -> Result<PatternId> {
        let (items, whole) = self.split_whole(items)?;
        let (items, rest) = self.split_rest(items)?;
        let mut patterns: SmallVec<[PatternId; 6]> = SmallVec::new();
        for i in 0..items.len() {
            patterns.push(self.pattern(self.forms.at(items, i))?);
        }
        let rest = rest.map(|rest| self.rest_pattern(rest)).transpose()?;
        let items = TableRange::append(&mut self.ast.pattern_lists, &patterns);
        let whole = match whole {
            Some((name, span)) => Some(self.bind_checked(name, span)?),
            None => None,
        };
        Ok(self.add_pattern(Pattern::Vector { items, rest, whole }))
    }

    /// Takes `:as name` off the end of a vector pattern.
    fn split_whole(&self, items: Items) -> Result<(Items, Option<(Name, Span)>)> {
        if let [.., keyword, name] = &self.forms[items]
            && self.is_keyword(*keyword, "as")
            && let FormKind::Symbol(symbol) = name.kind
        {
            return Ok((items.take(items.len() - 2), Some((symbol, name.span))));
        }
        Ok((items, None))
    }

    /// The text of a form that is a keyword.
    fn keyword_text(&self, form: Form) -> Option<&str> {
        match form.kind {
            FormKind::Keyword(name) => Some(self.text(name)),
            FormKind::JoinedKeyword { text, .. } => Some(self.forms.string(text)),
            _ => None,
        }
    }

    /// The pattern after `&`: a map pattern takes keyword arguments.
    pub(super) fn rest_pattern(&mut self, form: Form) -> Result<PatternId> {
        match form.kind {
            FormKind::Map(items) => self.map_pattern(items, true),
            _ => self.pattern(form),
        }
    }

    fn map_pattern(&mut self, items: Items, keyword_arguments: bool) -> Result<PatternId> {
        let mut defaults = Items::default();
        let mut whole = None;
        for i in (0..items.len()).step_by(2) {
            let (key, value) = (self.forms.at(items, i), self.forms.at(items, i + 1));
            if self.is_keyword(key, "or") {
                defaults = self.defaults(value)?;
            } else if self.is_keyword(key, "as") {
                let FormKind::Symbol(name) = value.kind else {
                    let text = format!(":as must be followed by a symbol, got: {}", self.excerpt(value));
                    return Err(CompileError::form(value.span, text));
                };
                whole = Some(self.bind_checked(name, value.span)?);
            }
        }
        let mut entries = Entries::new();
        for i in (0..items.len()).step_by(2) {
            let (left, right) = (self.forms.at(items, i), self.forms.at(items, i + 1));
            match self.keyword_text(left) {
                Some("or" | "as") => {}
                Some(text) => {
                    let Some(list) = KeyList::of(text) else {
                        return Err(CompileError::pattern(self.source, left.span));
                    };
                    self.key_list(list, right, defaults, &mut entries)?;
                }
                None => {
                    let key = self.expr(right, false)?;
                    let entry = self.entry(left, key, defaults)?;
                    entries.push(entry);
                }
            }
        }
        let entries = TableRange::append(&mut self.ast.entries, &entries);
        Ok(self.add_pattern(Pattern::Map { entries, whole, keyword_arguments }))
    }

    /// The map after `:or`.
    fn defaults(&self, form: Form) -> Result<Items> {
        let FormKind::Map(items) = form.kind else {
            let text = format!(":or must be a map of symbols to defaults, got: {}", self.excerpt(form));
            return Err(CompileError::form(form.span, text));
        };
        match self.forms[items].iter().step_by(2).find(|key| !matches!(key.kind, FormKind::Symbol(_))) {
            Some(key) => Err(CompileError::form(key.span, "default keys must be symbols")),
            None => Ok(items),
        }
    }

    /// `:keys [a b]`, `:user/keys [a b]` and their kin. A name in the list may have a namespace, which belongs to the key and
    /// not to the local.
    fn key_list(
        &mut self,
        KeyList { kind, namespace }: KeyList,
        list: Form,
        defaults: Items,
        entries: &mut Entries,
    ) -> Result<()> {
        let FormKind::Vector(items) = list.kind else {
            return Err(CompileError::form(list.span, format!("invalid :{kind} destructuring form")));
        };
        for i in 0..items.len() {
            let item = self.forms.at(items, i);
            let (whole, local) = match item.kind {
                FormKind::Symbol(name) => (name, name),
                FormKind::Qualified { name, .. } => (self.intern(item.span), name),
                FormKind::Keyword(name) => match self.text(name).find('/') {
                    Some(slash) => {
                        let span = self.forms.names.span(name);
                        (name, self.intern(Span { start: span.start + slash as u32 + 1, ..span }))
                    }
                    None => (name, name),
                },
                _ => {
                    let text = "expected keyword or symbol in destructuring key";
                    return Err(CompileError::form(item.span, text));
                }
            };
            let key = match (kind, &namespace) {
                ("keys", None) => Node::Keyword(whole),
                ("syms", None) => Node::Symbol(whole),
                ("keys" | "syms", Some(namespace)) => {
                    let text = self.joined(namespace, local, item.span)?;
                    Node::Joined { text, is_keyword: kind == "keys" }
                }
                _ => {
                    let text = self.forms.names.span(whole);
                    Node::Str(self.forms.add_string(text))
                }
            };
            let key = self.ast.add(key, item.span);
            let entry = self.entry(Form { kind: FormKind::Symbol(local), span: item.span }, key, defaults)?;
            entries.push(entry);
        }
        Ok(())
    }

    /// The text of a name in a namespace that stands elsewhere.
    fn joined(&mut self, namespace: &str, name: Name, span: Span) -> Result<u32> {
        let name = self.text(name);
        self.forms.join_keyword(namespace, name, 0).map_err(|error| CompileError::limit(span, &error))
    }

    fn entry(&mut self, left: Form, key: NodeId, defaults: Items) -> Result<EntryPattern> {
        let default = match left.kind {
            FormKind::Symbol(name) => {
                self.charge_work(defaults.len() / DEFAULTS_OF_A_STEP, left.span)?;
                let at =
                    self.forms[defaults].iter().step_by(2).position(|key| key.kind == FormKind::Symbol(name));
                at.map(|at| self.expr(self.forms.at(defaults, 2 * at + 1), false)).transpose()?
            }
            _ => None,
        };
        let pattern = self.pattern(left)?;
        Ok(EntryPattern { key, pattern, default })
    }
}
