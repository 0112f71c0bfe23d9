//! The namespaces and classes of the library, and the qualifiers with which programs spell their members.

/// A namespace or a class that functions of the library belong to.
#[derive(Clone, Copy)]
pub(super) struct LibraryNamespace {
    /// The name that the documentation shows.
    pub(super) name: &'static str,
    /// The prefixes of qualified spellings of a member.
    pub(super) qualifiers: &'static [&'static str],
}

const fn namespace(name: &'static str, qualifiers: &'static [&'static str]) -> LibraryNamespace {
    LibraryNamespace { name, qualifiers }
}

/// Extensions of the language, which belong to no namespace and have only a bare name.
pub(super) const EXTENSION: LibraryNamespace = namespace("", &[]);
/// Extensions that the documentation files under the name of this product.
pub(super) const PTC: LibraryNamespace = namespace("ptc", &[]);

pub(super) const CORE: LibraryNamespace = namespace("clojure.core", &["clojure.core/", "core/"]);
/// Functions of `clojure.core` that have no qualified spelling.
pub(super) const UNQUALIFIED_CORE: LibraryNamespace = namespace("clojure.core", &[]);
pub(super) const STRING: LibraryNamespace =
    namespace("clojure.string", &["clojure.string/", "str/", "string/"]);
pub(super) const SET: LibraryNamespace = namespace("clojure.set", &["clojure.set/", "set/"]);
pub(super) const WALK: LibraryNamespace = namespace("clojure.walk", &["clojure.walk/", "walk/"]);
/// The supported part of `clojure.data`.
pub(super) const DATA: LibraryNamespace = namespace("clojure.data", &["clojure.data/"]);
pub(super) const PPRINT: LibraryNamespace = namespace("clojure.pprint", &["clojure.pprint/"]);
pub(super) const JSON: LibraryNamespace = namespace("json", &["json/"]);
pub(super) const CSV: LibraryNamespace = namespace("csv", &["csv/"]);
/// The supported part of the library of that name.
pub(super) const DATA_CSV: LibraryNamespace = namespace("csv", &["csv/", "clojure.data.csv/"]);
/// Resources of upstream servers.
pub(super) const RESOURCE: LibraryNamespace = namespace("resource", &["resource/"]);
/// Prompts of upstream servers.
pub(super) const PROMPT: LibraryNamespace = namespace("prompt", &["prompt/"]);
/// Data as text, under the name of Clojure's reader of it.
pub(super) const EDN: LibraryNamespace = namespace("clojure.edn", &["edn/", "clojure.edn/"]);
/// The supported part of `clojure.math.combinatorics`.
pub(super) const COMBINATORICS: LibraryNamespace =
    namespace("clojure.math.combinatorics", &["combinatorics/", "combo/", "clojure.math.combinatorics/"]);
pub(super) const BASE64: LibraryNamespace = namespace("base64", &["base64/"]);
pub(super) const REGEX: LibraryNamespace = namespace("regex", &["regex/"]);

pub(super) const MATH: LibraryNamespace = namespace("Math", &["Math/", "clojure.math/"]);
pub(super) const SYSTEM: LibraryNamespace = namespace("java.lang.System", &["System/"]);
pub(super) const OBJECT: LibraryNamespace = namespace("java.lang.Object", &[]);
pub(super) const COMPARABLE: LibraryNamespace = namespace("java.lang.Comparable", &[]);
pub(super) const JAVA_STRING: LibraryNamespace = namespace("java.lang.String", &["String/"]);
/// The constructor of strings.
pub(super) const NEW_STRING: LibraryNamespace = namespace("java.lang.String", &[]);
pub(super) const CHARACTER: LibraryNamespace =
    namespace("java.lang.Character", &["Character/", "java.lang.Character/"]);
pub(super) const BOOLEAN: LibraryNamespace = namespace("java.lang.Boolean", &["Boolean/"]);
pub(super) const INTEGER: LibraryNamespace = namespace("java.lang.Integer", &["Integer/"]);
pub(super) const LONG: LibraryNamespace = namespace("java.lang.Long", &["Long/"]);
pub(super) const FLOAT: LibraryNamespace = namespace("java.lang.Float", &["Float/"]);
pub(super) const DOUBLE: LibraryNamespace = namespace("java.lang.Double", &["Double/"]);

/// The constructors of numbers.
pub(super) const NUMBER: LibraryNamespace = namespace("java.lang.Number", &[]);
pub(super) const QUEUE: LibraryNamespace =
    namespace("clojure.lang.PersistentQueue", &["PersistentQueue/", "clojure.lang.PersistentQueue/"]);
pub(super) const COLLECTION: LibraryNamespace = namespace("java.util.Collection", &[]);
pub(super) const BASE64_CLASS: LibraryNamespace =
    namespace("java.util.Base64", &["Base64/", "java.util.Base64/"]);
pub(super) const URL_ENCODER: LibraryNamespace =
    namespace("java.net.URLEncoder", &["URLEncoder/", "java.net.URLEncoder/"]);
pub(super) const URL_DECODER: LibraryNamespace =
    namespace("java.net.URLDecoder", &["URLDecoder/", "java.net.URLDecoder/"]);

pub(super) const DATE: LibraryNamespace = namespace("java.util.Date", &[]);
/// Methods that dates and instants have in common.
pub(super) const JAVA_TIME: LibraryNamespace = namespace("java.time", &[]);
pub(super) const LOCAL_DATE: LibraryNamespace =
    namespace("java.time.LocalDate", &["LocalDate/", "java.time.LocalDate/"]);
pub(super) const INSTANT: LibraryNamespace =
    namespace("java.time.Instant", &["Instant/", "java.time.Instant/"]);
pub(super) const DURATION: LibraryNamespace =
    namespace("java.time.Duration", &["Duration/", "java.time.Duration/"]);
pub(super) const CHRONO_UNIT: LibraryNamespace =
    namespace("java.time.temporal.ChronoUnit", &["ChronoUnit/", "java.time.temporal.ChronoUnit/"]);
pub(super) const LOCAL_DATE_TIME: LibraryNamespace =
    namespace("java.time.LocalDateTime", &["LocalDateTime/", "java.time.LocalDateTime/"]);
pub(super) const OFFSET_DATE_TIME: LibraryNamespace =
    namespace("java.time.OffsetDateTime", &["OffsetDateTime/", "java.time.OffsetDateTime/"]);
pub(super) const ZONED_DATE_TIME: LibraryNamespace =
    namespace("java.time.ZonedDateTime", &["ZonedDateTime/", "java.time.ZonedDateTime/"]);
pub(super) const ZONE_ID: LibraryNamespace = namespace("java.time.ZoneId", &["ZoneId/", "java.time.ZoneId/"]);
pub(super) const ZONE_OFFSET: LibraryNamespace =
    namespace("java.time.ZoneOffset", &["ZoneOffset/", "java.time.ZoneOffset/"]);
pub(super) const DATE_TIME_FORMATTER: LibraryNamespace = namespace(
    "java.time.format.DateTimeFormatter",
    &["DateTimeFormatter/", "java.time.format.DateTimeFormatter/"],
);
