//! The three example programs of the aggregator's guide, with adapted data, and their correct answers.

/// A program, its title, and its correct answer.
pub(super) struct Example {
    pub(super) title: &'static str,
    pub(super) program: &'static str,
    pub(super) answer: &'static str,
}

pub(super) const EXAMPLES: [Example; 3] = [
    Example {
        title: "Simple read: one file from one server",
        program: r#"(let [r (tool/call {:server "fs"
                    :tool   "read_text_file"
                    :args   {:path "/tmp/sandbox/notes.md"}})]
  (if (:ok r)
    (:value r)
    (fail (:message r))))"#,
        answer: "user=> \"# Release notes, draft\\n\\n* The importer reads gzip files directly.\\n* Fewer round trips: one \
                 program instead of ten tool calls.\\n* `store.get` answers unknown ids with an error.\\n\"",
    },
    Example {
        title: "Cross-server filter: open pull requests that touch watched files",
        program: r#"(def unwrap
  (fn [r]
    (if (:ok r)
      (:value r)
      (fail (:message r)))))

(def open-prs
  (unwrap (tool/call {:server "github"
                      :tool   "list_prs"
                      :args   {:state "open" :limit 50}})))

(def watched-paths
  (unwrap (tool/call {:server "fs"
                      :tool   "read_text_file"
                      :args   {:path "/etc/watched-paths.txt"}})))

(def watch-set
  (set (clojure.string/split-lines watched-paths)))

(def hits
  (filter (fn [pr]
            (some watch-set (:files pr)))
          open-prs))

(map :number hits)"#,
        answer: "user=> [403 411 419 427 435 443]",
    },
    Example {
        title: "Parallel batch: ten items at once, one of them unknown",
        program: r#"(def ids [101 102 103 104 105 106 107 108 109 110])

(def items
  (pmap (fn [id]
          (tool/call {:server "store"
                      :tool   "get"
                      :args   {:id id}}))
        ids))

;; Drop world-fault failures (here: 107 is unknown):
(def good (map :value (filter :ok items)))

(map :name good)"#,
        answer: r#"user=> ["anvil" "bellows" "chisel" "drill" "easel" "file" "hammer" "iron" "jig"]"#,
    },
];
