//! Qualified names: the existing prefixes and their members.

use ptc_vm::machine::{Builtin, Library};
use ptc_vm::value::BuiltinId;

/// A namespace as its error text shows it.
struct Namespace {
    /// Its spellings.
    prefixes: &'static [&'static str],
    /// The title of its list.
    title: &'static str,
    /// Its members, in the order of the list.
    members: &'static str,
    /// Whether the list shows them with their prefix.
    qualified: bool,
}

const fn namespace(
    prefixes: &'static [&'static str],
    title: &'static str,
    members: &'static str,
) -> Namespace {
    Namespace { prefixes, title, members, qualified: false }
}

const NAMESPACES: &[Namespace] = &[
    namespace(
        &["clojure.string", "str", "string"],
        "String",
        "blank? downcase ends-with? extract extract-int format includes? index-of join last-index-of lower-case name \
         parse-boolean parse-double parse-int parse-long pr-str replace split split-lines starts-with? str subs trim \
         trim-newline triml trimr upcase upper-case",
    ),
    namespace(
        &["clojure.set", "set"],
        "Set",
        "contains? difference disj intersection set hash-set set? union vec vector",
    ),
    namespace(&["clojure.walk", "walk"], "Walk", "postwalk prewalk walk"),
    namespace(&["regex"], "Regex", "re-find re-matches re-pattern re-seq re-split regex?"),
    namespace(
        &["Math"],
        "Math",
        "abs bit-and bit-and-not bit-clear bit-flip bit-not bit-or bit-set bit-shift-left bit-shift-right bit-test \
         bit-xor ceil double float floor int max min pow quot round sqrt trunc",
    ),
    Namespace {
        prefixes: &["json"],
        title: "JSON",
        members: "generate-string parse-string",
        qualified: true,
    },
    Namespace {
        prefixes: &["csv"],
        title: "CSV",
        members: "generate-string parse-string read-csv",
        qualified: true,
    },
    namespace(&["System"], "Interop", "currentTimeMillis"),
    namespace(&["Boolean"], "Interop", "parseBoolean"),
    namespace(&["Double"], "Interop", "parseDouble POSITIVE_INFINITY NEGATIVE_INFINITY NaN"),
    namespace(&["Float"], "Interop", "parseFloat"),
    namespace(&["Integer"], "Interop", "parseInt"),
    namespace(&["Long"], "Interop", "parseLong"),
    namespace(&["LocalDate", "java.time.LocalDate", "Instant", "java.time.Instant"], "Interop", "parse"),
    Namespace { prefixes: &["Duration"], title: "Interop", members: "between", qualified: true },
    namespace(&["java.time.Duration"], "Interop", "between"),
    namespace(
        &["clojure.core", "core"],
        "Core",
        "* *' + +' - -' / < <= = == > >= NaN? abs apply assoc assoc-in associative? bit-and bit-and-not \
         bit-clear bit-flip bit-not bit-or bit-set bit-shift-left bit-shift-right bit-test bit-xor boolean \
         boolean? butlast char? coll? comp compare complement concat conj cons list constantly contains? \
         count counted? dec dec' decimal? dedupe disj dissoc distinct distinct? double double? drop nthnext \
         nthrest drop-last drop-while empty empty? even? every-pred every? false? ffirst filter filterv find \
         first flatten float float? fn? fnext fnil format frequencies get get-in group-by identity ifn? inc \
         inc' indexed? infinite? int int? integer? interleave interpose into keep keep-indexed key keys \
         keyword keyword? last map map-entry? map-indexed map? mapcat mapv max max-key merge merge-with min \
         min-key mod name nat-int? neg-int? neg? next nfirst nil? nnext not not-any? not-empty not-every? \
         not= nth number? odd? parse-boolean parse-double parse-long partial partition partition-all \
         partition-by peek pop pos-int? pos? pr-str println quot range ratio? rational? re-find re-matches \
         re-pattern re-seq reduce reduce-kv rem remove replace rest reverse reversible? second select-keys \
         seq seq? seqable? sequential? set hash-set set? some some-fn some? sort sort-by sorted? split-at \
         split-with str string? subs subvec symbol? take take-last take-while tree-seq true? type update \
         update-in update-keys update-vals val vals vec vector hash-map array-map vector? zero? zipmap",
    ),
];

/// Java-like members that have another name as builtins.
const JAVA_NAMES: &[(&str, &str)] = &[
    ("Integer/parseInt", "parse-long"),
    ("Long/parseLong", "parse-long"),
    ("Double/parseDouble", "parse-double"),
    ("Float/parseFloat", "parse-double"),
    ("LocalDate/parse", "parse"),
    ("Instant/parse", "parse"),
    ("java.time.LocalDate/parse", "parse"),
    ("java.time.Instant/parse", "parse"),
    ("java.time.Duration/between", "Duration/between"),
    ("Boolean/parseBoolean", "Boolean/parseBoolean"),
];

/// The builtin that `prefix/name` means: a spelling that the registry knows, or a member of the tables.
pub(super) fn member(prefix: &str, name: &str, library: &Library) -> Option<BuiltinId> {
    let qualified = format!("{prefix}/{name}");
    if let Some(id) = library.id(&qualified) {
        return Some(id);
    }
    let namespace = find(prefix)?;
    if !namespace.members.split_ascii_whitespace().any(|member| member == name) {
        return None;
    }
    if let Some((_, builtin)) = JAVA_NAMES.iter().find(|(java, _)| *java == qualified) {
        return library.id(builtin);
    }
    library.id(name)
}

fn find(prefix: &str) -> Option<&'static Namespace> {
    NAMESPACES.iter().find(|namespace| namespace.prefixes.contains(&prefix))
}

/// Whether there are names with this prefix.
pub(super) fn exists(prefix: &str, library: &Library) -> bool {
    let spelled =
        |spelling: &&str| spelling.strip_prefix(prefix).is_some_and(|member| member.starts_with('/'));
    let has_member =
        |builtin: &&Builtin| spelled(&builtin.name) || library.aliases(builtin).iter().any(spelled);
    find(prefix).is_some() || library.all().iter().any(has_member)
}

/// A hint as a sentence of its own: it stands before the lists, which few read to their end.
fn advice(hint: &str) -> String {
    match hint.trim_start_matches(['.', ' ']).trim_end_matches('.') {
        "" => String::new(),
        advice => format!(" {advice}."),
    }
}

/// The message about an unknown qualified name; `hint` is the replacement, if that is known.
pub(super) fn not_available(prefix: &str, name: &str, hint: &str) -> String {
    let Some(namespace) = find(prefix) else { return unknown(prefix, hint) };
    let show =
        |member: &str| if namespace.qualified { format!("{prefix}/{member}") } else { member.to_owned() };
    let members: Vec<String> = namespace.members.split_ascii_whitespace().map(show).collect();
    let advice = advice(hint);
    format!("{} is not available.{advice} {} functions: {}", show(name), namespace.title, members.join(", "))
}

/// The message about an unknown prefix; `hint` is the replacement, if that is known.
pub(super) fn unknown(prefix: &str, hint: &str) -> String {
    let advice = advice(hint);
    let json = if advice.is_empty() {
        " For JSON parsing use json/parse-string (not cheshire.core/...)."
    } else {
        ""
    };
    format!(
        "unknown namespace {prefix}/.{advice} Available namespaces: data/, tool/, program/, mcp/, budget/, json/, clojure.core/, \
         core/, clojure.string/, str/, string/, clojure.set/, set/, clojure.walk/, walk/, regex/, Math/, System/, Boolean/, \
         Double/, Float/, Integer/, Long/, LocalDate/, Instant/, Duration/, java.time.LocalDate/, java.time.Instant/, \
         java.time.Duration/, java.util.Date..{json}"
    )
}
