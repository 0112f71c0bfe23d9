//! Documentation of names that are neither functions nor special forms: the host or the session answers them.

/// A name with a meaning of its own.
pub(super) struct Reference {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
    /// How it is written.
    pub(super) signatures: &'static [&'static str],
    /// One line of documentation.
    pub(super) doc: &'static str,
}

pub(super) static REFERENCES: &[Reference] = &[
    Reference {
        name: "tool/call",
        namespace: "tool",
        signatures: &["(tool/call {:server s :tool t :args m})", "(tool/call 'server/tool m)"],
        doc: "Call a tool of an upstream server: {:ok true :value …} or {:ok false :reason … :message …}",
    },
    Reference {
        name: "tool/call!",
        namespace: "tool",
        signatures: &["(tool/call! {:server s :tool t :args m})", "(tool/call! 'server/tool m)"],
        doc: "The value of a call of a tool of an upstream server; the program fails with the call's message if the call does",
    },
    Reference {
        name: "tool/pages",
        namespace: "tool",
        signatures: &[
            "(tool/pages {:server s :tool t :args m})",
            "(tool/pages {:server s :tool t :args m} {:items key :next f :cursor argument :max-pages 100})",
        ],
        doc: "All items of all pages as a vector, or the first failed result (a map); follows the usual cursors, addresses, \
              totals and numbers of pages, or what :next gives; each page is a call",
    },
    Reference {
        name: "tool/servers",
        namespace: "tool",
        signatures: &["(tool/servers)"],
        doc: "Configured upstream servers",
    },
    Reference {
        name: "budget/remaining",
        namespace: "budget",
        signatures: &["(budget/remaining)"],
        doc: "Remaining budget as given by the host",
    },
    Reference {
        name: "*1",
        namespace: "clojure.core",
        signatures: &["*1"],
        doc: "Result of the previous program of the session, nil if there is none",
    },
    Reference {
        name: "*2",
        namespace: "clojure.core",
        signatures: &["*2"],
        doc: "Result of the program before *1",
    },
    Reference {
        name: "*3",
        namespace: "clojure.core",
        signatures: &["*3"],
        doc: "Result of the program before *2",
    },
];
