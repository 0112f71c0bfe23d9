//! The special forms of the language, in one table.
//!
//! The compiler dispatches on [`SpecialForm`] by an exhaustive match, so a row without an implementation does not compile.
//! `doc` and its kin show the signatures and the description. The hints for unbound names and the REPL's completion read the
//! names.
//!
//! Several forms share their name with a builtin, which is the form's value where it is not called.

/// Bindings that may take the name of a special form in call position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadowing {
    /// Nothing.
    Never,
    /// A local.
    Local,
    /// A local, or a definition of the program. The first implementation does not have these forms.
    Definition,
}

/// Whether the name of a form counts towards the limit of names in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    /// It counts.
    Counted,
    /// It is one of the usual forms, which are free.
    Free,
}

/// The properties of a form.
struct Row {
    name: &'static str,
    shadowing: Shadowing,
    counting: Counting,
    signatures: &'static [&'static str],
    doc: &'static str,
}

/// Makes the enumeration and the table of rows from one list:
/// `Variant "name" Shadowing Counting ["(signature)", …] "description";`
macro_rules! special_forms {
    ($($variant:ident $name:literal $shadowing:ident $counting:ident [$($signature:literal),*] $doc:literal;)*) => {
        /// A special form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SpecialForm {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl SpecialForm {
            /// All special forms.
            pub const ALL: &[SpecialForm] = &[$(SpecialForm::$variant),*];
        }

        /// The rows, by the number of the variant.
        static ROWS: &[Row] = &[$(Row {
            name: $name,
            shadowing: Shadowing::$shadowing,
            counting: Counting::$counting,
            signatures: &[$($signature),*],
            doc: $doc,
        }),*];
    };
}

special_forms! {
    // Definitions.
    Def "def" Never Counted ["(def name value)", "(def name doc value)", "(def name)"]
        "Bind a name in the user namespace; yields the var";
    Defonce "defonce" Never Counted ["(defonce name value)", "(defonce name doc value)"]
        "Bind a name unless it is bound already; the value is then not evaluated";
    Defn "defn" Local Counted
        ["(defn name [params] body…)", "(defn name doc [params] body…)", "(defn name ([params] body…) …)"]
        "Define a named function";
    DefnPrivate "defn-" Definition Counted ["(defn- name [params] body…)"]
        "As defn: no name is private";
    Declare "declare" Definition Counted ["(declare name…)"]
        "Announce names that are defined further down";

    // Functions and local bindings.
    Fn "fn" Local Free ["(fn [params] body…)", "(fn name [params] body…)"]
        "Function literal, optionally named for self-reference";
    Let "let" Local Free ["(let [pattern value …] body…)"]
        "Local bindings with destructuring";
    Letfn "letfn" Definition Counted ["(letfn [(name [params] body…) …] body…)"]
        "Local functions that may call each other";
    Loop "loop" Local Counted ["(loop [pattern value …] body…)"]
        "Local bindings that recur can rebind";
    Recur "recur" Never Counted ["(recur value…)"]
        "Jump back to the enclosing loop or function with new values";

    // Conditionals.
    If "if" Never Free ["(if test then)", "(if test then else)"]
        "Conditional";
    IfNot "if-not" Local Counted ["(if-not test then)", "(if-not test then else)"]
        "Conditional with negated test";
    When "when" Local Free ["(when test body…)"]
        "Body if the test is truthy, else nil";
    WhenNot "when-not" Local Counted ["(when-not test body…)"]
        "Body if the test is falsy, else nil";
    IfLet "if-let" Local Free ["(if-let [pattern value] then)", "(if-let [pattern value] then else)"]
        "Bind and branch on truthiness";
    WhenLet "when-let" Local Free ["(when-let [pattern value] body…)"]
        "Bind and run the body if truthy";
    IfSome "if-some" Local Free ["(if-some [pattern value] then)", "(if-some [pattern value] then else)"]
        "Bind and branch on non-nil";
    WhenSome "when-some" Local Free ["(when-some [pattern value] body…)"]
        "Bind and run the body if non-nil";
    WhenFirst "when-first" Local Free ["(when-first [pattern coll] body…)"]
        "Bind the first element and run the body if the collection is not empty";
    Cond "cond" Local Free ["(cond test value … :else value)"]
        "Value of the first clause whose test is truthy";
    Case "case" Local Counted ["(case value constant result … default)"]
        "Dispatch on constant values; nil without match or default";
    Condp "condp" Local Counted ["(condp predicate value test result … default)"]
        "Dispatch with a two-argument predicate; nil without match or default";

    // Threading.
    ThreadFirst "->" Local Free ["(-> value step…)"]
        "Thread a value as first argument through the steps";
    ThreadLast "->>" Local Free ["(->> value step…)"]
        "Thread a value as last argument through the steps";
    ThreadAs "as->" Local Free ["(as-> value name step…)"]
        "Thread a value under a name through the steps";
    CondThreadFirst "cond->" Local Free ["(cond-> value test step …)"]
        "Thread first through the steps whose tests hold";
    CondThreadLast "cond->>" Local Free ["(cond->> value test step …)"]
        "Thread last through the steps whose tests hold";
    SomeThreadFirst "some->" Local Free ["(some-> value step…)"]
        "Thread first, stopping at nil";
    SomeThreadLast "some->>" Local Free ["(some->> value step…)"]
        "Thread last, stopping at nil";

    // Sequence and logic.
    Do "do" Never Free ["(do form…)"]
        "Evaluate in order, last value";
    Doto "doto" Definition Counted ["(doto value step…)"]
        "Run the steps with the value as first argument, and give the value";
    Comment "comment" Local Counted ["(comment form…)"]
        "Ignore the content, nil";
    And "and" Local Free ["(and form…)"]
        "First falsy value, else the last; (and) is true";
    Or "or" Local Free ["(or form…)"]
        "First truthy value, else the last; (or) is nil; an unbound plain name counts as nil";

    WithOutStr "with-out-str" Definition Counted ["(with-out-str body…)"]
        "Text of what the body prints";

    // Iteration.
    Doseq "doseq" Local Counted ["(doseq [pattern coll …] body…)"]
        "Iterate for side effects, nil";
    Dotimes "dotimes" Definition Counted ["(dotimes [name n] body…)"]
        "Run the body for 0 to n-1, nil";
    For "for" Local Counted ["(for [pattern coll …] body)"]
        "List comprehension with :when :let :while, a vector";

    // Quotation.
    Quote "quote" Local Free ["(quote name)"]
        "Symbol reference; also written 'name";

    // The end of a program, and its journal.
    Return "return" Never Free ["(return value)"]
        "End the program successfully with a value";
    Fail "fail" Never Free ["(fail value)"]
        "End the program as failed with a value";
    Task "task" Never Counted ["(task id value)"]
        "Evaluate once per journal id, then answer from the journal";
    StepDone "step-done" Never Counted ["(step-done id text)"]
        "Record a summary under an id, yields the summary";
    TaskReset "task-reset" Never Counted ["(task-reset id)"]
        "Forget a journal entry, nil";

    // Calls of a builtin whose shape is checked before the program runs.
    Pmap "pmap" Local Counted ["(pmap f coll…)"]
        "As map, with all calls of tools at the same time";
    Pcalls "pcalls" Local Counted ["(pcalls f…)"]
        "Results of functions without arguments, with all calls of tools at the same time";
    Apply "apply" Local Counted ["(apply f coll)", "(apply f x… coll)"]
        "Call a function with a collection spread as its last arguments";
    Juxt "juxt" Local Counted ["(juxt f…)"]
        "Function returning the results of several functions";

    // Discovery.
    Apropos "apropos" Local Free ["(apropos query)", "(apropos query {:limit 8 :load false})"]
        "Search functions and tools by words";
    Dir "dir" Local Free ["(dir ref)", "(dir ref {:limit 50 :offset 0})"]
        "Members of a namespace, class or upstream server";
    Doc "doc" Local Free ["(doc ref…)", "(doc server {:offset 0})"]
        "Documentation of functions, tools and servers as text";
    Meta "meta" Local Free ["(meta ref)"]
        "Description of a function or tool as a map";
    NsPublics "ns-publics" Local Counted ["(ns-publics ns)"]
        "Public names of a namespace, as a map";
    AllNs "all-ns" Definition Counted ["(all-ns)"]
        "Names of the namespaces";
    NsName "ns-name" Definition Counted ["(ns-name ns)"]
        "Canonical name of a namespace";
    Source "source" Definition Counted ["(source ref)"]
        "Print the definition of a function of the program";

    // What `(.method x)` says better.
    Dot "." Never Counted []
        "";
}

impl SpecialForm {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The form of this name.
    pub(crate) fn named(name: &str) -> Option<SpecialForm> {
        SpecialForm::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// The forms that `doc` describes. `.` is another spelling of method calls.
    pub(crate) fn described() -> impl Iterator<Item = SpecialForm> {
        SpecialForm::ALL.iter().copied().filter(|form| !form.signatures().is_empty())
    }

    /// How a program writes it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The bindings that may take its name.
    pub fn shadowing(self) -> Shadowing {
        self.row().shadowing
    }

    /// Whether its name counts towards the limit of names in a program.
    pub fn is_counted(self) -> bool {
        self.row().counting == Counting::Counted
    }

    /// The shapes of its calls, as `doc` shows them.
    pub(crate) fn signatures(self) -> &'static [&'static str] {
        self.row().signatures
    }

    /// One line of documentation.
    pub(crate) fn doc(self) -> &'static str {
        self.row().doc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_listed_once() {
        let names: std::collections::HashSet<&str> =
            SpecialForm::ALL.iter().map(|form| form.name()).collect();
        assert_eq!(names.len(), SpecialForm::ALL.len());
        for &form in SpecialForm::ALL {
            assert_eq!(SpecialForm::named(form.name()), Some(form));
        }
        assert_eq!(SpecialForm::named("nope"), None);
    }

    #[test]
    fn all_forms_but_the_dot_have_documentation() {
        let silent =
            SpecialForm::ALL.iter().filter(|form| form.doc().is_empty() || form.signatures().is_empty());
        assert_eq!(silent.collect::<Vec<_>>(), [&SpecialForm::Dot]);
    }
}
