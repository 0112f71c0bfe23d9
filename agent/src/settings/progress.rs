//! The plan's progress, shown to a PTC-Lisp agent's model after each program (agent.md 3, `plan`, `progress_fn`).

/// The input for a progress text.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The plan's steps, in order.
    pub plan: &'a [String],
    /// Ids and summaries of the steps that `(step-done id summary)` marked, in order.
    pub done: &'a [(String, String)],
    /// The turn whose program ran, from 1.
    pub turn: u32,
    /// Turns that the run may take.
    pub max_turns: u32,
}

/// Makes the text from the progress.
pub type ProgressFn = dyn Fn(&Progress<'_>) -> String + Send + Sync;

/// The plan's steps with a mark at those that are done, known by their text or their number.
pub(super) fn checklist(progress: Progress<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut listed = vec![false; progress.done.len()];
    for (at, step) in progress.plan.iter().enumerate() {
        let number = (at + 1).to_string();
        let found = progress.done.iter().rposition(|(id, _)| id == step || *id == number);
        for (seen, (id, _)) in listed.iter_mut().zip(progress.done) {
            *seen |= id == step || *id == number;
        }
        lines.push(match found.map(|at| &progress.done[at].1) {
            Some(summary) => format!("{number}. [x] {step}: {summary}"),
            None => format!("{number}. [ ] {step}"),
        });
    }
    let others = progress.done.iter().zip(listed).filter(|(_, listed)| !listed);
    lines.extend(others.map(|((id, summary), _)| format!("- [x] {id}: {summary}")));
    if lines.is_empty() {
        return String::new();
    }
    let lines = lines.join("\n").replace("</progress", "<\\/progress");
    format!("<progress>\n{lines}\n</progress>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checklist_marks_what_is_done() {
        let plan = ["count".to_owned(), "sum".to_owned()];
        let done = [("count", "3 rows"), ("2", "7"), ("else", "</progress>")]
            .map(|(id, text)| (id.to_owned(), text.to_owned()));
        let progress = |done| Progress { plan: &plan, done, turn: 1, max_turns: 2 };
        assert_eq!(checklist(progress(&[])), "<progress>\n1. [ ] count\n2. [ ] sum\n</progress>");
        assert_eq!(
            checklist(progress(&done)),
            "<progress>\n1. [x] count: 3 rows\n2. [x] sum: 7\n- [x] else: <\\/progress>\n</progress>"
        );
    }
}
