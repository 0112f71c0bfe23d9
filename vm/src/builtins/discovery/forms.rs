//! Documentation of what is no function: special forms, and names that the host answers.

/// A form that discovery describes.
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// Its namespace.
    pub namespace: &'static str,
    /// How it is written.
    pub signatures: &'static [&'static str],
    /// One line of what it does.
    pub doc: &'static str,
}

/// The special forms of the language, as the compiler knows them.
pub fn special_forms() -> impl Iterator<Item = &'static Form> {
    SPECIAL.iter()
}

/// Names with a meaning of their own that are no special forms.
pub(super) fn named_references() -> impl Iterator<Item = &'static Form> {
    REFERENCES.iter()
}

static SPECIAL: &[Form] = &[
    Form {
        name: "def",
        namespace: "clojure.core",
        signatures: &["(def name value)", "(def name doc value)"],
        doc: "Bind a name in the user namespace; yields the var",
    },
    Form {
        name: "defonce",
        namespace: "clojure.core",
        signatures: &["(defonce name value)", "(defonce name doc value)"],
        doc: "Bind a name unless it is bound already; the value is then not evaluated",
    },
    Form {
        name: "defn",
        namespace: "clojure.core",
        signatures: &[
            "(defn name [params] body…)",
            "(defn name doc [params] body…)",
            "(defn name ([params] body…) …)",
        ],
        doc: "Define a named function",
    },
    Form {
        name: "declare",
        namespace: "clojure.core",
        signatures: &["(declare name…)"],
        doc: "Announce names that are defined further down",
    },
    Form {
        name: "fn",
        namespace: "clojure.core",
        signatures: &["(fn [params] body…)", "(fn name [params] body…)"],
        doc: "Function literal, optionally named for self-reference",
    },
    Form {
        name: "let",
        namespace: "clojure.core",
        signatures: &["(let [pattern value …] body…)"],
        doc: "Local bindings with destructuring",
    },
    Form {
        name: "letfn",
        namespace: "clojure.core",
        signatures: &["(letfn [(name [params] body…) …] body…)"],
        doc: "Local functions that may call each other",
    },
    Form {
        name: "loop",
        namespace: "clojure.core",
        signatures: &["(loop [pattern value …] body…)"],
        doc: "Local bindings that recur can rebind",
    },
    Form {
        name: "recur",
        namespace: "clojure.core",
        signatures: &["(recur value…)"],
        doc: "Jump back to the enclosing loop or function with new values",
    },
    Form {
        name: "if",
        namespace: "clojure.core",
        signatures: &["(if test then)", "(if test then else)"],
        doc: "Conditional",
    },
    Form {
        name: "if-not",
        namespace: "clojure.core",
        signatures: &["(if-not test then)", "(if-not test then else)"],
        doc: "Conditional with negated test",
    },
    Form {
        name: "when",
        namespace: "clojure.core",
        signatures: &["(when test body…)"],
        doc: "Body if the test is truthy, else nil",
    },
    Form {
        name: "when-not",
        namespace: "clojure.core",
        signatures: &["(when-not test body…)"],
        doc: "Body if the test is falsy, else nil",
    },
    Form {
        name: "if-let",
        namespace: "clojure.core",
        signatures: &["(if-let [pattern value] then)", "(if-let [pattern value] then else)"],
        doc: "Bind and branch on truthiness",
    },
    Form {
        name: "when-let",
        namespace: "clojure.core",
        signatures: &["(when-let [pattern value] body…)"],
        doc: "Bind and run the body if truthy",
    },
    Form {
        name: "if-some",
        namespace: "clojure.core",
        signatures: &["(if-some [pattern value] then)", "(if-some [pattern value] then else)"],
        doc: "Bind and branch on non-nil",
    },
    Form {
        name: "when-some",
        namespace: "clojure.core",
        signatures: &["(when-some [pattern value] body…)"],
        doc: "Bind and run the body if non-nil",
    },
    Form {
        name: "when-first",
        namespace: "clojure.core",
        signatures: &["(when-first [pattern coll] body…)"],
        doc: "Bind the first element and run the body if the collection is not empty",
    },
    Form {
        name: "cond",
        namespace: "clojure.core",
        signatures: &["(cond test value … :else value)"],
        doc: "Value of the first clause whose test is truthy",
    },
    Form {
        name: "case",
        namespace: "clojure.core",
        signatures: &["(case value constant result … default)"],
        doc: "Dispatch on constant values; nil without match or default",
    },
    Form {
        name: "condp",
        namespace: "clojure.core",
        signatures: &["(condp predicate value test result … default)"],
        doc: "Dispatch with a two-argument predicate; nil without match or default",
    },
    Form {
        name: "->",
        namespace: "clojure.core",
        signatures: &["(-> value step…)"],
        doc: "Thread a value as first argument through the steps",
    },
    Form {
        name: "->>",
        namespace: "clojure.core",
        signatures: &["(->> value step…)"],
        doc: "Thread a value as last argument through the steps",
    },
    Form {
        name: "as->",
        namespace: "clojure.core",
        signatures: &["(as-> value name step…)"],
        doc: "Thread a value under a name through the steps",
    },
    Form {
        name: "cond->",
        namespace: "clojure.core",
        signatures: &["(cond-> value test step …)"],
        doc: "Thread first through the steps whose tests hold",
    },
    Form {
        name: "cond->>",
        namespace: "clojure.core",
        signatures: &["(cond->> value test step …)"],
        doc: "Thread last through the steps whose tests hold",
    },
    Form {
        name: "some->",
        namespace: "clojure.core",
        signatures: &["(some-> value step…)"],
        doc: "Thread first, stopping at nil",
    },
    Form {
        name: "some->>",
        namespace: "clojure.core",
        signatures: &["(some->> value step…)"],
        doc: "Thread last, stopping at nil",
    },
    Form {
        name: "do",
        namespace: "clojure.core",
        signatures: &["(do form…)"],
        doc: "Evaluate in order, last value",
    },
    Form {
        name: "doto",
        namespace: "clojure.core",
        signatures: &["(doto value step…)"],
        doc: "Run the steps with the value as first argument, and give the value",
    },
    Form {
        name: "comment",
        namespace: "clojure.core",
        signatures: &["(comment form…)"],
        doc: "Ignore the content, nil",
    },
    Form {
        name: "and",
        namespace: "clojure.core",
        signatures: &["(and form…)"],
        doc: "First falsy value, else the last; (and) is true",
    },
    Form {
        name: "or",
        namespace: "clojure.core",
        signatures: &["(or form…)"],
        doc: "First truthy value, else the last; (or) is nil; an unbound plain name counts as nil",
    },
    Form {
        name: "doseq",
        namespace: "clojure.core",
        signatures: &["(doseq [pattern coll …] body…)"],
        doc: "Iterate for side effects, nil",
    },
    Form {
        name: "dotimes",
        namespace: "clojure.core",
        signatures: &["(dotimes [name n] body…)"],
        doc: "Run the body for 0 to n-1, nil",
    },
    Form {
        name: "for",
        namespace: "clojure.core",
        signatures: &["(for [pattern coll …] body)"],
        doc: "List comprehension with :when :let :while, a vector",
    },
    Form {
        name: "quote",
        namespace: "clojure.core",
        signatures: &["(quote name)"],
        doc: "Symbol reference; also written 'name",
    },
    Form {
        name: "return",
        namespace: "clojure.core",
        signatures: &["(return value)"],
        doc: "End the program successfully with a value",
    },
    Form {
        name: "fail",
        namespace: "clojure.core",
        signatures: &["(fail value)"],
        doc: "End the program as failed with a value",
    },
    Form {
        name: "task",
        namespace: "clojure.core",
        signatures: &["(task id value)"],
        doc: "Evaluate once per journal id, then answer from the journal",
    },
    Form {
        name: "step-done",
        namespace: "clojure.core",
        signatures: &["(step-done id text)"],
        doc: "Record a summary under an id, yields the summary",
    },
    Form {
        name: "task-reset",
        namespace: "clojure.core",
        signatures: &["(task-reset id)"],
        doc: "Forget a journal entry, nil",
    },
    Form {
        name: "pmap",
        namespace: "clojure.core",
        signatures: &["(pmap f coll…)"],
        doc: "As map, with all calls of tools at the same time",
    },
    Form {
        name: "pcalls",
        namespace: "clojure.core",
        signatures: &["(pcalls f…)"],
        doc: "Results of functions without arguments, with all calls of tools at the same time",
    },
    Form {
        name: "apply",
        namespace: "clojure.core",
        signatures: &["(apply f coll)", "(apply f x… coll)"],
        doc: "Call a function with a collection spread as its last arguments",
    },
    Form {
        name: "juxt",
        namespace: "clojure.core",
        signatures: &["(juxt f…)"],
        doc: "Function returning the results of several functions",
    },
    Form {
        name: "apropos",
        namespace: "clojure.core",
        signatures: &["(apropos query)", "(apropos query {:limit 8 :load false})"],
        doc: "Search functions and tools by words",
    },
    Form {
        name: "dir",
        namespace: "clojure.core",
        signatures: &["(dir ref)", "(dir ref {:limit 50 :offset 0})"],
        doc: "Members of a namespace, class or upstream server",
    },
    Form {
        name: "doc",
        namespace: "clojure.core",
        signatures: &["(doc ref)"],
        doc: "Documentation of a function or tool as text",
    },
    Form {
        name: "meta",
        namespace: "clojure.core",
        signatures: &["(meta ref)"],
        doc: "Description of a function or tool as a map",
    },
    Form {
        name: "ns-publics",
        namespace: "clojure.core",
        signatures: &["(ns-publics ns)"],
        doc: "Public names of a namespace, as a map",
    },
    Form {
        name: "all-ns",
        namespace: "clojure.core",
        signatures: &["(all-ns)"],
        doc: "Names of the namespaces",
    },
    Form {
        name: "ns-name",
        namespace: "clojure.core",
        signatures: &["(ns-name ns)"],
        doc: "Canonical name of a namespace",
    },
    Form {
        name: "source",
        namespace: "clojure.core",
        signatures: &["(source ref)"],
        doc: "Print the definition of a function of the program",
    },
];

static REFERENCES: &[Form] = &[
    Form {
        name: "tool/call",
        namespace: "tool",
        signatures: &["(tool/call {:server s :tool t :args m})", "(tool/call 'server/tool m)"],
        doc: "Call a tool of an upstream server: {:ok true :value …} or {:ok false :reason … :message …}",
    },
    Form {
        name: "tool/servers",
        namespace: "tool",
        signatures: &["(tool/servers)"],
        doc: "Configured upstream servers",
    },
    Form {
        name: "budget/remaining",
        namespace: "budget",
        signatures: &["(budget/remaining)"],
        doc: "Remaining budget as given by the host",
    },
    Form {
        name: "*1",
        namespace: "clojure.core",
        signatures: &["*1"],
        doc: "Result of the previous program of the session, nil if there is none",
    },
    Form {
        name: "*2",
        namespace: "clojure.core",
        signatures: &["*2"],
        doc: "Result of the program before *1",
    },
    Form {
        name: "*3",
        namespace: "clojure.core",
        signatures: &["*3"],
        doc: "Result of the program before *2",
    },
];
