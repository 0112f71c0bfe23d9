use crate::builtins::support::testing::{call, check, display, outcome, read};
use crate::error::Reason;
use crate::machine::Limits;
use crate::value::{Value, Vector};

#[test]
fn walks_rebuild_collections() {
    check(&[
        ("(walk inc identity [1 2])", "[2 3]"),
        ("(walk inc identity #{1 2})", "#{2 3}"),
        ("(walk identity count {:a 1 :b 2})", "2"),
        ("(walk inc dec 5)", "4"),
        ("(walk inc nil? nil)", "true"),
        ("(walk #{1} identity [1 2])", "[1 nil]"),
        (
            "(walk first identity {:a 1})",
            "! type_error: walk: inner function must return [key, value], got: :a",
        ),
        (
            r#"(walk "str" identity [1])"#,
            "! type_error: walk: invalid argument types: string, function, list",
        ),
        ("(prewalk identity [1 [2 #{3}] {:a 1}])", "[1 [2 #{3}] {:a 1}]"),
        ("(prewalk {1 [2] 2 3} 1)", "[3]"),
        ("(postwalk identity {:a [1 {}]})", "{:a [1 {}]}"),
        ("(postwalk nil? nil)", "true"),
        ("(postwalk count [[1 2]])", "! type_error: count: arg 1 expected seqable, got number"),
        ("(postwalk 5 [])", "! type_error: postwalk: invalid argument types: number, list"),
        ("(prewalk-replace {:a [:b] :b 1} [:a :c])", "[[1] :c]"),
        ("(postwalk-replace {:b 1 [1] 2} [[:b] {:b :b}])", "[2 {1 1}]"),
        (r#"(keywordize-keys [{"a" 1 "b c" {"d" 2} 3 4}])"#, r#"[{3 4 :a 1 "b c" {:d 2}}]"#),
        (r#"(keywordize-keys {"user/id" 1 "a/b/c" 2 "/x" 3})"#, r#"{:user/id 1 "/x" 3 "a/b/c" 2}"#),
        ("(stringify-keys {:a {:b :c} :user/id 1})", r#"{"a" {"b" :c} "id" 1}"#),
    ]);
}

#[test]
fn tree_seq_lists_parents_before_children() {
    check(&[
        ("(tree-seq vector? identity [1 [2]])", "[[1 [2]] 1 [2] 2]"),
        (
            "(tree-seq :kids :kids {:id 1 :kids [{:id 2} {:id 3}]})",
            "[{:id 1 :kids [{:id 2} {:id 3}]} {:id 2} {:id 3}]",
        ),
        ("(tree-seq map? identity {:a 1})", "[{:a 1} [:a 1]]"),
        ("(tree-seq vector? :none [1])", "[[1]]"),
        (r#"(tree-seq string? seq "ab")"#, r#"["ab" "a" "b"]"#),
        (r#"(tree-seq string? seq "a")"#, r#"["a" "a"]"#),
        (
            "(tree-seq 5 seq [1 [2]])",
            "! type_error: tree-seq: invalid argument types: number, function, list",
        ),
        (
            "(tree-seq vector? count [1])",
            "! type_error: tree-seq: invalid argument types: function, function, list",
        ),
    ]);
}

fn deep(depth: usize) -> Value {
    (0..depth).fold(Value::Int(1), |value, _| Value::vector(vec![value]))
}

fn framed_identity() -> Value {
    call("comp", [read("identity"), read("identity")]).expect("a function")
}

#[test]
fn deep_trees_take_no_native_stack() {
    let limits = || Limits { memory_bytes: 1 << 30, steps: 1 << 30 };
    for function in [read("identity"), framed_identity()] {
        for name in ["prewalk", "postwalk"] {
            let run = outcome(name, [function.clone(), deep(100_000)], limits());
            assert!(matches!(run.result, Ok(Value::Vector(_))), "{name}");
            assert!(run.steps >= 100_000);
        }
    }
    let run = outcome("tree-seq", [read("vector?"), read("identity"), deep(100_000)], limits());
    assert!(matches!(run.result, Ok(Value::Vector(nodes)) if nodes.len() == 100_001));
}

fn reason(name: &str, args: Vec<Value>, limits: Limits) -> Reason {
    outcome(name, args, limits).result.expect_err("it never ends").reason()
}

#[test]
fn a_walk_that_never_ends_is_stopped_by_a_limit() {
    let grows = call("partial", [read("vector"), Value::Int(1)]).expect("a function");
    let yes = call("constantly", [Value::True]).expect("a function");
    for (name, args) in
        [("prewalk", vec![grows, Value::Int(0)]), ("tree-seq", vec![yes, read("vector"), Value::Int(0)])]
    {
        let memory = Limits { memory_bytes: 100_000, steps: 1 << 40 };
        assert_eq!(reason(name, args.clone(), memory), Reason::MemoryExceeded, "{name}");
        let steps = Limits { memory_bytes: 1 << 40, steps: 10_000 };
        assert_eq!(reason(name, args, steps), Reason::StepLimitExceeded, "{name}");
    }
}

#[test]
fn functions_that_need_a_frame_give_the_same() {
    let form = || read("[1 {:a #{2}} [3 []]]");
    for name in ["prewalk", "postwalk"] {
        assert_eq!(display(name, [framed_identity(), form()]), "[1 {:a #{2}} [3 []]]");
    }
    assert_eq!(display("walk", [framed_identity(), framed_identity(), form()]), "[1 {:a #{2}} [3 []]]");
    let nodes = display(
        "tree-seq",
        [call("comp", [read("vector?")]).expect("a function"), framed_identity(), read("[1 [2]]")],
    );
    assert_eq!(nodes, "[[1 [2]] 1 [2] 2]");
    let many = Value::Vector(Vector::range(0, 1, 10_000));
    assert!(
        matches!(call("postwalk", [framed_identity(), many]), Ok(Value::Vector(items)) if items.len() == 10_000)
    );
}
