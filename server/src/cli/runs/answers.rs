//! Answers questions of runs from a terminal.

use std::process::ExitCode;

use ptc_host::questions::approval::Decision;
use ptc_host::visible::{visible, visible_line};
use ptc_mcp::json::{Map, Value, json};

use super::args::{AnswerArgs, FormArgs};
use super::client::RunsClient;
use super::found;
use crate::cli::output::outln;
use crate::cli::pairs;

/// Allows or refuses calls; other questions can only be declined.
///
/// # Errors
/// One sentence: there is no such run or question, the question is ambiguous, or the server refuses.
pub(super) async fn decide(
    client: &RunsClient,
    told: &Value,
    to: &AnswerArgs,
    decision: Decision,
    as_json: bool,
) -> Result<ExitCode, String> {
    let run = found(told, &to.id)?;
    let fits = |asked: &&Value| decision == Decision::Refuse || is_approval(asked);
    let open: Vec<&Value> = open(run).filter(fits).collect();
    let chosen = match &to.question {
        None if to.all_questions && !open.is_empty() => open,
        question => vec![one(&open, run, question.as_deref())?],
    };
    let answer = |asked: &Value| match is_approval(asked) {
        true => json!({"action": "accept", "content": {"decision": decision.as_str()}}),
        false => json!({"action": "decline"}),
    };
    let answers = chosen.iter().map(|asked| (text_of(&asked["id"]).to_owned(), answer(asked))).collect();
    send(client, run, answers, as_json).await
}

/// Fills in a form, or accepts.
///
/// # Errors
/// As [`decide`].
pub(super) async fn fill_in(
    client: &RunsClient,
    told: &Value,
    form: &FormArgs,
    as_json: bool,
) -> Result<ExitCode, String> {
    let run = found(told, &form.id)?;
    let (question, fields) = match form.words.split_first() {
        Some((first, others)) if !first.contains('=') => (Some(first.as_str()), others),
        _ => (None, form.words.as_slice()),
    };
    let open: Vec<&Value> = open(run).filter(|asked| !is_approval(asked)).collect();
    let asked = one(&open, run, question)?;
    let schema = &asked["schema"];
    let names = schema["properties"].as_object().map(Map::keys).into_iter().flatten();
    if fields.is_empty() && names.clone().next().is_some() {
        let names: Vec<String> = names.map(|name| format!("{}=…", visible_line(name))).collect();
        return Err(format!(
            "it wants fields: ptc runs answer {} {} {}",
            form.id,
            text_of(&asked["id"]),
            names.join(" ")
        ));
    }
    let content = pairs::object("{}", fields, Some(schema))?;
    let answer = json!({"action": "accept", "content": content});
    send(client, run, [(text_of(&asked["id"]).to_owned(), answer)].into_iter().collect(), as_json).await
}

fn is_approval(asked: &Value) -> bool {
    asked["kind"] == "approval"
}

/// The open questions.
fn open(run: &Value) -> impl Iterator<Item = &Value> {
    run["questions"].as_array().into_iter().flatten().filter(|asked| asked["answer"].is_null())
}

/// The named question, else the only one.
fn one<'q>(open: &[&'q Value], run: &Value, named: Option<&str>) -> Result<&'q Value, String> {
    let lines = || -> String {
        let line = |asked: &&Value| {
            let message = text_of(&asked["message"]).lines().next().unwrap_or_default();
            format!("\n  {} {}: {}", text_of(&asked["id"]), text_of(&asked["kind"]), visible(message))
        };
        open.iter().map(line).collect()
    };
    match (named, open) {
        (_, []) => {
            Err(format!("{} asks nothing that this could answer: ptc runs show {0}", text_of(&run["run_id"])))
        }
        (None, [only]) => Ok(only),
        (None, _) => Err(format!("it asks several things; name the one that is meant:{}", lines())),
        (Some(name), _) => {
            let asked = open.iter().find(|asked| asked["id"].as_str() == Some(name));
            asked.copied().ok_or_else(|| format!("{name:?} is not open there; open are:{}", lines()))
        }
    }
}

/// Sends the answers, and prints the result of each.
async fn send(client: &RunsClient, run: &Value, answers: Map, as_json: bool) -> Result<ExitCode, String> {
    let id = text_of(&run["run_id"]);
    let body = json!({"answers": answers, "principal": run["principal"]});
    let told = client.post(&format!("/console/api/runs/{id}/answers"), &body).await?;
    if as_json {
        outln!("{told}");
    }
    let outcomes = told["answers"].as_object().cloned().unwrap_or_default();
    let mut counted = !outcomes.is_empty();
    for (question, outcome) in &outcomes {
        let word = text_of(&outcome["outcome"]);
        counted &= word == "counted";
        if !as_json {
            outln!("{id} {}: {}", visible_line(question), told_outcome(word, outcome["fault"].as_str()));
        }
    }
    Ok(if counted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told_outcome(word: &str, fault: Option<&str>) -> String {
    match word {
        "counted" => "answered; the program goes on".to_owned(),
        "misfit" => format!("the answer does not fit: {}", visible(fault.unwrap_or_default())),
        "not_here" => {
            "cannot be answered here: its upstream wants the client's own user to decide".to_owned()
        }
        "already_answered" => "somebody has answered already".to_owned(),
        "not_open" => "is not asked any more".to_owned(),
        "no_answer" => "was no answer".to_owned(),
        other => visible_line(other).into_owned(),
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::from_str;

    use super::*;

    #[test]
    fn the_only_open_question_is_meant_and_of_several_one_is_named() {
        let run = from_str::<Value>(
            r#"{"run_id": "run_a", "questions": [
                {"id": "q1", "kind": "approval", "message": "Allow 1?\nx", "answer": {"action": "accept"}},
                {"id": "q2", "kind": "approval", "message": "Allow 2?", "answer": null},
                {"id": "q3", "kind": "ask", "message": "Which?", "answer": null}
            ]}"#,
        )
        .unwrap();
        let all: Vec<&Value> = open(&run).collect();
        assert_eq!(one(&all, &run, Some("q3")).unwrap()["id"], "q3");
        assert_eq!(one(&all[..1], &run, None).unwrap()["id"], "q2");
        assert_eq!(
            one(&all, &run, None).unwrap_err(),
            "it asks several things; name the one that is meant:\n  q2 approval: Allow 2?\n  q3 ask: Which?"
        );
        assert!(one(&all, &run, Some("q1")).unwrap_err().starts_with("\"q1\" is not open there"));
        assert!(one(&[], &run, None).unwrap_err().ends_with("ptc runs show run_a"));
    }
}
