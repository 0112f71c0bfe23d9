//! Every word of the language card in the description of `lisp_eval` is held to by a program: a word that no program here
//! runs fails the test.

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};

use super::card::forms;
use ptc_test_support::in_process::{Pipe, fake_upstream, service, settings};

/// What the card offers, a program with it, and what its answer contains.
const OFFERED: [(&str, &str, &str); 37] = [
    ("let", "(let [a 1] a)", "1"),
    ("fn", "((fn [x] (inc x)) 1)", "2"),
    ("defn", "(defn f [x] x) (f 3)", "3"),
    ("#()", "(#(+ % 1) 3)", "4"),
    ("if", "(if true 5 6)", "5"),
    ("cond", "(cond false 1 :else 6)", "6"),
    ("case", "(case 1 1 7 8)", "7"),
    ("loop/recur", "(loop [i 0] (if (< i 8) (recur (inc i)) i))", "8"),
    ("for", "(for [x [1 2] :when (odd? x)] x)", "[1]"),
    ("doseq", "(doseq [x [1 2]] (println \"seen\" x))", "seen 2"),
    ("->", "(-> 8 inc)", "9"),
    ("->>", "(->> [1 2] (map inc))", "[2 3]"),
    ("destructuring", "(let [{:keys [a] [b] :list} {:a 1 :list [2]}] [a b])", "[1 2]"),
    ("maps", "(assoc {} \"k\" 1)", "{\"k\" 1}"),
    ("vectors", "(conj [1] 2)", "[1 2]"),
    ("sets", "(conj #{1} 1)", "#{1}"),
    ("strings", "(str \"a\" 1)", "a1"),
    ("regex", "(re-find #\"\\d+\" \"a12\")", "12"),
    ("math", "(Math/sqrt 9)", "3"),
    ("endless", "(take 2 (iterate inc 5))", "[5 6]"),
    ("(range)", "(take 3 (range))", "[0 1 2]"),
    ("json/parse-string", "(json/parse-string \"{\\\"a\\\": [1]}\")", "{\"a\" [1]}"),
    ("json/generate-string", "(json/generate-string {\"a\" [1]})", "[1]}"),
    ("str/join", "(str/join \",\" [1 2])", "1,2"),
    ("set/union", "(set/union #{1} #{1})", "#{1}"),
    ("Double/parseDouble", "(Double/parseDouble \"1.5\")", "1.5"),
    ("LocalDate/parse", "(LocalDate/parse \"2026-03-01\")", "2026-03-01"),
    ("String methods", "(.toUpperCase \"abc\")", "ABC"),
    ("apropos", "(apropos \"sort\")", "sort"),
    ("dir", "(dir 'str)", "join"),
    ("doc", "(doc 'map)", "map"),
    ("meta", "(meta 'map)", "map"),
    ("(get row \"status\")", "(get (first data/orders) \"status\")", "paid"),
    ("data/orders", "(count data/orders)", "2"),
    ("println", "(println \"shown\") 1", "shown"),
    (
        "(count (filter #(= \"paid\" (get % \"status\")) data/orders))",
        "(count (filter #(= \"paid\" (get % \"status\")) data/orders))",
        "1",
    ),
    ("prints before an error", "(println \"shown before\") (fail \"end\")", "shown before"),
];

/// The forms of the hints, with what stands for their names, and the answer.
const HINTED: [(&str, &str, &str); 8] = [
    ("(tool/call! {...})", "(get FORM \"items\")", "[1 2]"),
    ("(tool/pages {...})", "FORM", "[1 2]"),
    ("(json/parse-lenient text)", "(let [text \"[{'a': None}]\"] FORM)", "[{\"a\" nil}]"),
    ("(csv/parse-string text)", "(let [text \"a,b\\n1,2\"] FORM)", "[{\"a\" \"1\" \"b\" \"2\"}]"),
    ("(day-name (LocalDate/parse \"2026-03-01\"))", "FORM", "Sunday"),
    ("(json/parse-lines text)", "(let [text \"{\\\"a\\\": 1}\\n[2]\"] FORM)", "[{\"a\" 1} [2]]"),
    ("(format \"%.2f\" x)", "(let [x 1.005] FORM)", "1.0"),
    ("(str/join \"\\n\" lines)", "(let [lines [\"a\" \"b\"]] FORM)", "a\nb"),
];

/// What `{...}` stands for in a form that calls a tool.
const CALL: &str = "{:server \"fake\" :tool \"echo\" :args {:items [1 2]}}";

/// What the card says is missing, and programs that show it.
const MISSING: [(&str, &str); 7] = [
    ("macros", "(defmacro m [x] x)"),
    ("atoms", "(atom 1)"),
    ("futures", "(future 1)"),
    ("try/catch", "(try 1 (catch Exception e 2))"),
    ("files", "(slurp \"/etc/hosts\")"),
    ("network", "(slurp \"http://localhost/\")"),
    ("other Java", "(java.util.UUID/randomUUID)"),
];

/// Metadata is no value of the language, so there is nothing that fails.
const UNSHOWN: [&str; 1] = ["metadata"];

/// The listed words of a line: between commas, semicolons and, with `spaced`, spaces.
fn words(line: &str, spaced: bool) -> Vec<&str> {
    let (_, list) = line.split_once(": ").expect("a label");
    let list = list.split(". ").next().unwrap_or(list).trim_end_matches('.');
    list.split([',', ';'])
        .flat_map(|part| if spaced { part.split(' ').collect() } else { vec![part] })
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect()
}

async fn reply(pipe: &mut Pipe, program: &str) -> (String, bool) {
    let context = json!({"orders": [{"status": "paid"}, {"status": "open"}]});
    let arguments = json!({"program": program, "context": context});
    pipe.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "lisp_eval", "arguments": arguments}}))
        .await;
    let told: Value = serde_json::from_str(&pipe.line().await).unwrap();
    let text = told["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    (text, told["result"]["isError"] == true)
}

#[tokio::test]
async fn every_word_of_the_language_card_is_true() {
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&[]), Some(&upstream), &redactor);
    let mut pipe = Pipe::open(service);
    pipe.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})).await;
    let listed: Value = serde_json::from_str(&pipe.line().await).unwrap();
    let description = listed["result"]["tools"][0]["description"].as_str().unwrap().to_owned();
    let card = description.split("\n\n").find(|part| part.starts_with("PTC-Lisp reference")).unwrap();
    let offered = |word: &str| {
        OFFERED
            .iter()
            .find(|(known, ..)| *known == word)
            .unwrap_or_else(|| panic!("no program runs {word:?}"))
    };
    let mut missing = Vec::new();
    for line in card.lines().skip(1) {
        match line.split_once(": ").map_or(line, |(label, _)| label) {
            "Forms" | "Help" => drop(words(line, true).into_iter().map(offered).collect::<Vec<_>>()),
            "Namespaces" => {
                let spaced = words(line, false).into_iter().flat_map(|part| {
                    if part == "String methods" { vec![part] } else { part.split(' ').collect() }
                });
                drop(spaced.map(offered).collect::<Vec<_>>());
            }
            "Not available" => missing = words(line, false),
            "JSON maps keep string keys" => {
                assert_eq!(forms(line), ["(get row \"status\")", "(not (data/orders))"]);
            }
            "Example" => drop(offered(forms(line)[0])),
            _ => {
                for form in forms(line) {
                    let hint = HINTED.iter().find(|(known, ..)| *known == form);
                    let (_, around, answer) =
                        hint.unwrap_or_else(|| panic!("no program runs the hint {form}"));
                    let (text, is_error) =
                        reply(&mut pipe, &around.replace("FORM", &form.replace("{...}", CALL))).await;
                    assert!(!is_error && text.contains(answer), "{form} gave {text}");
                }
            }
        }
    }
    assert!(card.contains(HINTED[0].0), "the first hint has a place beside a small catalog: {card}");
    for (word, program, answer) in OFFERED {
        let (text, is_error) = reply(&mut pipe, program).await;
        assert_eq!(is_error, program.contains("(fail "), "{word}: {text}");
        assert!(text.contains(answer), "{word}: {program} gave {text}");
    }
    assert!(reply(&mut pipe, "(data/orders)").await.1, "(not (data/orders))");
    missing.retain(|word| !UNSHOWN.contains(word));
    assert_eq!(missing, MISSING.map(|(word, _)| word));
    for (word, program) in MISSING {
        let (text, is_error) = reply(&mut pipe, program).await;
        assert!(is_error, "{word}: {program} gave {text}");
    }
    upstream.shutdown().await;
}
