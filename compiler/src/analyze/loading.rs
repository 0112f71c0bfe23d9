//! `require`, `use`, `import` and `ns` at top level: every namespace of the library is there without them, so they only say
//! how the rest of the program spells its names (language.md 5.1).

use super::analyzer::Analyzer;
use super::namespaces;
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use ptc_vm::machine::qualified_hint;

/// Namespaces of Clojure and its usual libraries, and the prefix under which the language has their members.
const LOADABLE: &[(&str, &str)] = &[
    ("clojure.core", "clojure.core"),
    ("clojure.string", "clojure.string"),
    ("clojure.set", "clojure.set"),
    ("clojure.walk", "clojure.walk"),
    ("clojure.data", "clojure.data"),
    ("clojure.math", "Math"),
    ("clojure.math.combinatorics", "combinatorics"),
    ("clojure.edn", "edn"),
    ("clojure.pprint", "clojure.pprint"),
    ("clojure.data.json", "json"),
    ("cheshire.core", "json"),
    ("clojure.data.csv", "csv"),
    ("json", "json"),
    ("csv", "csv"),
];

/// Prefixes that no alias can take, but `data` for `clojure.data`, beside whose one member the context is there.
const RESERVED: [&str; 5] = ["data", "tool", "mcp", "budget", "user"];

/// A namespace as a program asks for it.
struct NamespaceRequest {
    name: Name,
    span: Span,
    /// The rest of the vector after its name.
    options: Items,
}

impl Analyzer<'_, '_> {
    /// Whether a form at top level is one of these; its effect begins here.
    pub(super) fn loads(&mut self, form: Form) -> Result<bool> {
        let FormKind::List(items) = form.kind else { return Ok(false) };
        if items.is_empty() {
            return Ok(false);
        }
        let FormKind::Symbol(head) = self.forms.at(items, 0).kind else { return Ok(false) };
        if self.names[head.index()].defined > 0 {
            return Ok(false);
        }
        let arguments = items.skip(1);
        match self.text(head) {
            "require" => self.each(arguments, |this, form| this.require(form, false))?,
            "use" => self.each(arguments, |this, form| this.require(form, true))?,
            "import" => self.each(arguments, Self::import)?,
            "ns" => self.namespace(arguments, form.span)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn each(&mut self, items: Items, one: impl Fn(&mut Self, Form) -> Result<()>) -> Result<()> {
        (0..items.len()).try_for_each(|i| one(self, self.forms.at(items, i)))
    }

    /// `(ns name "text" {…} (:require …) …)`
    fn namespace(&mut self, items: Items, span: Span) -> Result<()> {
        if items.is_empty() || !matches!(self.forms.at(items, 0).kind, FormKind::Symbol(_)) {
            return Err(CompileError::form(span, "expected (ns name (:require [namespace :as alias]))"));
        }
        self.each(items.skip(1), |this, clause| {
            let FormKind::List(parts) = clause.kind else { return Ok(()) };
            if parts.is_empty() {
                return Ok(());
            }
            let FormKind::Keyword(kind) = this.forms.at(parts, 0).kind else { return Ok(()) };
            match this.text(kind) {
                "require" => this.each(parts.skip(1), |this, form| this.require(form, false)),
                "use" => this.each(parts.skip(1), |this, form| this.require(form, true)),
                "import" => this.each(parts.skip(1), Self::import),
                // `:refer-clojure` and `:gen-class` change nothing here.
                _ => Ok(()),
            }
        })
    }

    /// `'a.b`, `'[a.b :as c :refer [d]]`, `'(a [b :as c])`, or the same without the quote, as in `ns`.
    fn require(&mut self, form: Form, all: bool) -> Result<()> {
        match form.kind {
            FormKind::Quoted(items) => self.require(self.forms.at(items, 0), all),
            FormKind::List(items) if self.is_quote(items) => self.require(self.forms.at(items, 1), all),
            // `:reload`, `:verbose`
            FormKind::Keyword(_) => Ok(()),
            FormKind::QuotedSymbol(name) | FormKind::Symbol(name) => {
                self.load(&NamespaceRequest { name, span: form.span, options: Items::default() }, None, all)
            }
            FormKind::Vector(items) => {
                let wanted = self.wanted(form, items)?;
                self.load(&wanted, None, all)
            }
            FormKind::List(items) if !items.is_empty() => {
                let FormKind::Symbol(prefix) = self.forms.at(items, 0).kind else {
                    return Err(self.not_a_namespace(form));
                };
                self.each(items.skip(1), |this, form| {
                    let wanted = match form.kind {
                        FormKind::Symbol(name) => {
                            NamespaceRequest { name, span: form.span, options: Items::default() }
                        }
                        FormKind::Vector(items) => this.wanted(form, items)?,
                        _ => return Err(this.not_a_namespace(form)),
                    };
                    this.load(&wanted, Some(prefix), all)
                })
            }
            _ => Err(self.not_a_namespace(form)),
        }
    }

    /// Whether a list is `(quote form)`.
    fn is_quote(&self, items: Items) -> bool {
        matches!(self.forms[items], [Form { kind: FormKind::Symbol(name), .. }, _] if self.text(name) == "quote")
    }

    fn wanted(&self, form: Form, items: Items) -> Result<NamespaceRequest> {
        match self.forms[items].first().map(|first| first.kind) {
            Some(FormKind::Symbol(name)) => {
                Ok(NamespaceRequest { name, span: form.span, options: items.skip(1) })
            }
            _ => Err(self.not_a_namespace(form)),
        }
    }

    fn not_a_namespace(&self, form: Form) -> CompileError {
        let found = self.excerpt(form);
        let text = format!("{found} names no namespace: write (require '[clojure.string :as str])");
        CompileError::form(form.span, text)
    }

    fn load(&mut self, wanted: &NamespaceRequest, under: Option<Name>, all: bool) -> Result<()> {
        let own = self.text(wanted.name);
        let qualified = under.map(|prefix| format!("{}.{own}", self.text(prefix)));
        let full = qualified.as_deref().unwrap_or(own);
        let found = LOADABLE.iter().find(|(name, _)| *name == full).map(|(_, prefix)| *prefix);
        let Some(prefix) = found.filter(|prefix| namespaces::exists(prefix, self.library)) else {
            return Err(CompileError::form(wanted.span, self.unknown_namespace(full)));
        };
        if under.is_none() && full != prefix {
            // Its own name is then a prefix too: `clojure.data.json/read-str`.
            self.loaded.aliases.push((wanted.name, prefix));
        }
        if all && !self.is_selective(wanted) {
            self.refer_all(prefix);
        }
        for i in (0..wanted.options.len()).step_by(2) {
            let FormKind::Keyword(option) = self.forms.at(wanted.options, i).kind else {
                return Err(self.not_an_option(wanted, full));
            };
            if i + 1 == wanted.options.len() {
                return Err(self.not_an_option(wanted, full));
            }
            let value = self.forms.at(wanted.options, i + 1);
            match (self.text(option), value.kind) {
                ("as" | "as-alias", FormKind::Symbol(alias)) => self.alias(alias, prefix, value.span)?,
                ("refer" | "only", FormKind::Vector(names) | FormKind::List(names)) => {
                    self.each(names, |this, form| this.refer(form, full, prefix))?;
                }
                ("refer", FormKind::Keyword(every)) if self.text(every) == "all" => self.refer_all(prefix),
                ("exclude" | "include-macros", _) => {}
                _ => return Err(self.not_an_option(wanted, full)),
            }
        }
        Ok(())
    }

    /// Whether options say which names a `use` is about.
    fn is_selective(&self, wanted: &NamespaceRequest) -> bool {
        let names = |form: &Form| matches!(form.kind, FormKind::Keyword(option) if matches!(self.text(option), "only" | "refer"));
        self.forms[wanted.options].iter().step_by(2).any(names)
    }

    /// The members of the core mean themselves anyway.
    fn refer_all(&mut self, prefix: &'static str) {
        if prefix != "clojure.core" {
            self.loaded.all.push(prefix);
        }
    }

    fn alias(&mut self, alias: Name, prefix: &'static str, span: Span) -> Result<()> {
        let text = self.text(alias);
        if RESERVED.contains(&text) && (text, prefix) != ("data", "clojure.data") {
            return Err(CompileError::form(span, format!("{text}/ is reserved: choose another alias")));
        }
        self.loaded.aliases.push((alias, prefix));
        Ok(())
    }

    /// A bare name of `:refer`.
    fn refer(&mut self, form: Form, full: &str, prefix: &'static str) -> Result<()> {
        let FormKind::Symbol(name) = form.kind else { return Err(self.not_a_namespace(form)) };
        let text = self.text(name);
        match namespaces::member(prefix, text, self.library) {
            Some(id) => {
                if self.builtin_value(name) != Some(id) {
                    self.loaded.referred.push((name, id));
                }
                Ok(())
            }
            // A special form, such as `for`, is there under its name.
            None if self.known(name).special.is_some() => Ok(()),
            None => Err(CompileError::form(form.span, format!("{full} has no {text} here"))
                .with_hint(qualified_hint(full, text, self.library))),
        }
    }

    fn not_an_option(&self, wanted: &NamespaceRequest, full: &str) -> CompileError {
        let text = format!(
            "[{full} …] takes :as alias, :refer [names] and :refer :all, each with its value: write [{full} :as alias]"
        );
        CompileError::form(wanted.span, text)
    }

    fn unknown_namespace(&self, full: &str) -> String {
        let known: Vec<_> = LOADABLE
            .iter()
            .filter(|(_, prefix)| namespaces::exists(prefix, self.library))
            .map(|(name, _)| *name)
            .collect();
        format!("there is no namespace {full}. Known: {}. Nothing else can be loaded", known.join(", "))
    }

    /// `java.time.LocalDate`, `(java.time LocalDate Instant)`, quoted or not.
    fn import(&mut self, form: Form) -> Result<()> {
        match form.kind {
            FormKind::Quoted(items) => self.import(self.forms.at(items, 0)),
            FormKind::List(items) if self.is_quote(items) => self.import(self.forms.at(items, 1)),
            FormKind::QuotedSymbol(name) | FormKind::Symbol(name) => {
                let full = self.text(name);
                self.class(full.rsplit_once('.').map_or(full, |(_, class)| class), full, form.span)
            }
            FormKind::List(items) | FormKind::Vector(items) if !items.is_empty() => {
                let FormKind::Symbol(package) = self.forms.at(items, 0).kind else {
                    return Err(self.not_a_class(form));
                };
                self.each(items.skip(1), |this, form| match form.kind {
                    FormKind::Symbol(name) => {
                        let class = this.text(name);
                        this.class(class, &format!("{}.{class}", this.text(package)), form.span)
                    }
                    _ => Err(this.not_a_class(form)),
                })
            }
            _ => Err(self.not_a_class(form)),
        }
    }

    /// A class is there if any of its members or its constructor is.
    fn class(&self, class: &str, full: &str, span: Span) -> Result<()> {
        let has = |name: &str| {
            namespaces::exists(name, self.library) || self.library.id(&format!("{name}.")).is_some()
        };
        let is_class = full.starts_with("java.") || full.starts_with("clojure.lang.");
        if is_class && (has(class) || has(full)) {
            return Ok(());
        }
        let text = format!(
            "there is no class {full} here. Known are LocalDate, LocalDateTime, Instant, Duration and the like of java.time, \
             java.util.Date, and the static methods of Math, Integer, Long, Double, Boolean and String"
        );
        Err(CompileError::form(span, text))
    }

    fn not_a_class(&self, form: Form) -> CompileError {
        let found = self.excerpt(form);
        CompileError::form(form.span, format!("{found} names no class: write (import java.time.LocalDate)"))
    }
}
