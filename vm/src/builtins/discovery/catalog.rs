//! Everything discoverable: functions, special forms, and the program's own definitions.

use super::references::{REFERENCES, Reference};
use crate::builtins::{Builtin, Library};
use crate::error::{Error, Reason};
use crate::machine::{Binding, Namespace};
use crate::special_forms::SpecialForm;
use crate::value::{Map, Value};
use std::borrow::Cow;

/// The user namespace by name.
pub(super) const USER: &str = "user";

/// A named thing, as the discovery forms describe it.
pub(super) struct Listing<'n> {
    /// Name within its namespace.
    pub(super) name: &'n str,
    /// How a program refers to it.
    pub(super) reference: &'n str,
    pub(super) namespace: &'n str,
    pub(super) kind: &'static str,
    pub(super) doc: &'n str,
    pub(super) signatures: Vec<Cow<'n, str>>,
    pub(super) section: &'static str,
}

/// A namespace or class: its names, and the one that is shown.
struct Space {
    /// The name that is shown.
    canonical: &'static str,
    /// All names.
    names: &'static [&'static str],
    /// Whether it is a class, which `ns-publics` does not know.
    class: bool,
}

const fn namespace(canonical: &'static str, names: &'static [&'static str]) -> Space {
    Space { canonical, names, class: false }
}

const fn class(canonical: &'static str, names: &'static [&'static str]) -> Space {
    Space { canonical, names, class: true }
}

static SPACES: &[Space] = &[
    namespace("clojure.core", &["clojure.core", "core"]),
    namespace("clojure.string", &["clojure.string", "str", "string"]),
    namespace("clojure.set", &["clojure.set", "set"]),
    namespace("clojure.walk", &["clojure.walk", "walk"]),
    namespace("regex", &["regex"]),
    namespace("json", &["json"]),
    namespace("csv", &["csv", "clojure.data.csv"]),
    class("Math", &["Math", "java.lang.Math"]),
    class("System", &["System", "java.lang.System"]),
    class("Boolean", &["Boolean", "java.lang.Boolean"]),
    class("Double", &["Double", "java.lang.Double"]),
    class("Float", &["Float", "java.lang.Float"]),
    class("Integer", &["Integer", "java.lang.Integer"]),
    class("Long", &["Long", "java.lang.Long"]),
    class("String", &["String", "java.lang.String"]),
    class("LocalDate", &["LocalDate", "java.time.LocalDate"]),
    class("Instant", &["Instant", "java.time.Instant"]),
    class("LocalDateTime", &["LocalDateTime", "java.time.LocalDateTime"]),
    class("OffsetDateTime", &["OffsetDateTime", "java.time.OffsetDateTime"]),
    class("ZonedDateTime", &["ZonedDateTime", "java.time.ZonedDateTime"]),
    class("ZoneId", &["ZoneId", "java.time.ZoneId"]),
    class("ZoneOffset", &["ZoneOffset", "java.time.ZoneOffset"]),
    class("DateTimeFormatter", &["DateTimeFormatter", "java.time.format.DateTimeFormatter"]),
    class("Duration", &["Duration", "java.time.Duration"]),
    class("ChronoUnit", &["ChronoUnit", "java.time.temporal.ChronoUnit"]),
    class("Date", &["Date", "java.util.Date"]),
];

/// Namespaces that `(all-ns)` lists.
pub(super) const ALL: [&str; 6] =
    ["clojure.core", "clojure.string", "clojure.set", "clojure.walk", "json", "csv"];

/// The canonical name of a namespace, or of a class where those count.
pub(super) fn canonical(name: &str, classes: bool) -> Option<&'static str> {
    if name == USER {
        return Some(USER);
    }
    let space = SPACES.iter().find(|space| space.names.contains(&name) && (classes || !space.class))?;
    Some(space.canonical)
}

fn of_builtin<'n>(builtin: &'static Builtin, name: &'n str, reference: &'n str) -> Listing<'n> {
    let java = builtin.namespace.starts_with("java.");
    Listing {
        name,
        reference,
        namespace: builtin.namespace,
        kind: if java { "java-interop" } else { "ptc-builtin" },
        doc: builtin.doc,
        signatures: builtin.signatures(),
        section: builtin.section.title,
    }
}

fn of_form<'n>(form: SpecialForm) -> Listing<'n> {
    of_reference(&Reference {
        name: form.name(),
        namespace: "clojure.core",
        signatures: form.signatures(),
        doc: form.doc(),
    })
}

fn of_reference<'n>(reference: &Reference) -> Listing<'n> {
    Listing {
        name: reference.name,
        reference: reference.name,
        namespace: reference.namespace,
        kind: "ptc-builtin",
        doc: reference.doc,
        signatures: reference.signatures.iter().map(|s| Cow::Borrowed(*s)).collect(),
        section: "Special forms",
    }
}

/// Special forms, and names with a meaning of their own.
fn forms<'n>() -> impl Iterator<Item = Listing<'n>> {
    SpecialForm::described().map(of_form).chain(REFERENCES.iter().map(of_reference))
}

fn of_definition<'n>(name: &'n str, binding: &'n Binding) -> Listing<'n> {
    let function = binding.value.is_function();
    let info = binding.info.as_deref();
    let call = |parameters: &str| {
        let inner =
            parameters.trim().strip_prefix('[').and_then(|p| p.strip_suffix(']')).unwrap_or(parameters);
        Cow::Owned(if inner.is_empty() { format!("({name})") } else { format!("({name} {inner})") })
    };
    let signatures = match (info, &binding.value) {
        (Some(info), _) if !info.parameters.is_empty() => info.parameters.iter().map(|p| call(p)).collect(),
        (_, Value::Closure(closure)) => {
            let display = &*closure.code().display;
            vec![call(display.strip_prefix("#fn").unwrap_or(display))]
        }
        _ => Vec::new(),
    };
    Listing {
        name,
        reference: name,
        namespace: USER,
        kind: if function { "user-function" } else { "user-value" },
        doc: info.and_then(|info| info.doc.as_deref()).unwrap_or(""),
        signatures,
        section: "Definitions of the program",
    }
}

/// The target of a reference: a definition of the program, a function, a special form.
pub(super) fn find<'n>(reference: &'n str, user: &'n Namespace) -> Option<Listing<'n>> {
    let own = reference.strip_prefix("user/").unwrap_or(reference);
    if let Some(binding) = user.get(own) {
        return Some(Listing { reference, ..of_definition(own, binding) });
    }
    if let Some(builtin) = user.library().find(reference) {
        let name = match reference.rsplit_once('/') {
            Some((prefix, name)) if !prefix.is_empty() && !name.is_empty() => name,
            _ => reference,
        };
        return Some(of_builtin(builtin, name, reference));
    }
    let core = reference.strip_prefix("clojure.core/").or_else(|| reference.strip_prefix("core/"));
    let name = core.unwrap_or(reference);
    let form = forms().find(|form| form.name == name)?;
    Some(Listing { reference, ..form })
}

/// The members of a namespace or class by its canonical name, sorted by name.
pub(super) fn members<'n>(space: &'static str, user: &'n Namespace) -> Vec<Listing<'n>> {
    let mut found: Vec<Listing<'n>> = if space == USER {
        user.bindings().into_iter().map(|(name, binding)| of_definition(name, binding)).collect()
    } else {
        let Some(space) = SPACES.iter().find(|known| known.canonical == space) else { return Vec::new() };
        let library = user.library();
        library.all().iter().filter_map(|builtin| member_of(library, space, builtin)).collect()
    };
    found.sort_by(|a, b| a.name.cmp(b.name));
    found
}

/// A builtin as a member of a space.
fn member_of(
    library: &'static Library,
    space: &Space,
    builtin: &'static Builtin,
) -> Option<Listing<'static>> {
    // Methods and constructors have no qualified name; they belong to the class that is their namespace.
    if space.class
        && space.names.contains(&builtin.namespace)
        && (builtin.name.starts_with('.') || builtin.name.ends_with('.'))
    {
        return Some(of_builtin(builtin, builtin.name, builtin.name));
    }
    let aliases = library.aliases(builtin);
    let spelling = std::iter::once(&builtin.name).chain(aliases).find_map(|name| {
        let (prefix, member) = name.rsplit_once('/')?;
        (prefix == space.canonical && !member.is_empty()).then_some((*name, member))
    });
    // `clojure.core//` is the name of the division.
    let slash = || {
        let name = aliases
            .iter()
            .find(|name| name.strip_suffix("//").is_some_and(|prefix| prefix == space.canonical))?;
        Some((*name, "/"))
    };
    let (qualified, member) = spelling.or_else(slash)?;
    // Members of `json` are shown qualified: they have no other name.
    let name = if space.canonical == "json" { qualified } else { member };
    Some(of_builtin(builtin, name, qualified))
}

/// All that a search looks at: functions by their own names, special forms, definitions of the program.
pub(super) fn everything(user: &Namespace) -> impl Iterator<Item = Listing<'_>> {
    let own = user.bindings().into_iter().map(|(name, binding)| of_definition(name, binding));
    built_in(user.library()).chain(own)
}

/// The part of [`everything`] that is the same for all programs.
pub(super) fn built_in<'n>(library: &'static Library) -> impl Iterator<Item = Listing<'n>> {
    let functions = library.all().iter().map(|builtin| {
        let name = builtin.name;
        let short = name.strip_prefix("clojure.string/").unwrap_or(name);
        of_builtin(builtin, short, name)
    });
    functions.chain(forms().filter(|form| library.find(form.name).is_none()))
}

impl Listing<'_> {
    /// The text of `doc`.
    pub(super) fn text(&self) -> String {
        let mut text = self.reference.to_owned();
        let signatures = self.signatures.join(", ");
        for (label, value) in [
            ("Description", self.doc),
            ("Kind", self.kind),
            ("Namespace", self.namespace),
            ("Signatures", &signatures),
        ] {
            if !value.is_empty() {
                text.push_str(&format!("\n{label}: {value}"));
            }
        }
        text
    }

    /// The line of `dir`: the description cut at 120 bytes.
    pub(super) fn line(&self) -> String {
        line_of(self.name, self.doc)
    }

    fn signatures(&self) -> Value {
        Value::vector(self.signatures.iter().map(Value::str).collect::<Vec<Value>>())
    }

    /// The map of `meta`.
    pub(super) fn meta(&self) -> Value {
        to_map([
            ("kind", Value::str(self.kind)),
            ("source", Value::str(if self.namespace == USER { USER } else { "local" })),
            ("namespace", Value::str(self.namespace)),
            ("name", Value::str(self.name)),
            ("ref", Value::str(self.reference)),
            ("description", Value::str(self.doc)),
            ("signatures", self.signatures()),
            ("section", Value::str(self.section)),
        ])
    }

    /// The map of `ns-publics`.
    pub(super) fn public(&self) -> Value {
        to_map([
            ("name", Value::str(self.name)),
            ("doc", Value::str(self.doc)),
            ("arglists", self.signatures()),
            ("section", Value::str(self.section)),
            ("source", Value::str(if self.namespace == USER { USER } else { "local" })),
        ])
    }
}

/// A name with its description, cut at 120 bytes.
pub(super) fn line_of(name: &str, doc: &str) -> String {
    const LONGEST: usize = 120;
    if doc.is_empty() {
        return name.to_owned();
    }
    let doc = doc.replace(['\n', '\r'], " ");
    if doc.len() <= LONGEST {
        return format!("{name} - {doc}");
    }
    format!("{name} - {}...", &doc[..doc.floor_char_boundary(LONGEST)])
}

/// A fault of the program, worded as the discovery forms do.
#[cold]
pub(super) fn fault(text: String) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: {text}"))
}

/// A map with keyword keys.
pub(super) fn to_map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let mut map = Map::new();
    for (key, value) in entries {
        map.insert(Value::keyword(key), value);
    }
    Value::Map(map)
}
