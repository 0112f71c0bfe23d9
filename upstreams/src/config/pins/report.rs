//! How the tools of an upstream differ from those that were accepted.

use super::definition::{PinnedTool, ToolFact};
use super::diff::{ChangedLine, DiffLine, diff};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Bytes that a line has when lines are cut to make room for others.
const MIN_LINE: usize = 240;
/// Bytes of all diffs of one report. Tools that change beyond it are named without what changed.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// The pins that the tools of one upstream are held to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamPins {
    /// Whether tools that nobody has accepted are withheld (`"pin": "refuse"`), or told of only.
    pub refuses: bool,
    /// The tools as they were accepted, by name; `None` if the lock does not have the upstream, or there is no lock.
    pub accepted: Option<BTreeMap<String, PinnedTool>>,
}

impl UpstreamPins {
    /// How `listed` tools differ from those that were accepted. `admits` says whether the upstream's filter lets a name through:
    /// what it hides is not missed.
    #[must_use]
    pub fn compare(&self, listed: &[PinnedTool], admits: impl Fn(&str) -> bool) -> PinReport {
        let is_pinned = self.accepted.is_some();
        let mut report = PinReport { refuses: self.refuses, is_pinned, ..PinReport::default() };
        let mut room = MAX_DIFF_BYTES;
        let mut unseen: BTreeMap<&str, &PinnedTool> =
            self.accepted.iter().flatten().map(|(name, tool)| (name.as_str(), tool)).collect();
        for tool in listed {
            match unseen.remove(tool.name()) {
                None => report.new.push(tool.name().to_owned()),
                Some(accepted) if accepted == tool => {}
                Some(accepted) => report.changed.push(ChangedTool::of(accepted, tool, &mut room)),
            }
        }
        report.gone = unseen.into_keys().filter(|name| admits(name)).map(str::to_owned).collect();
        report.new.sort_unstable();
        report.changed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        report
    }
}

/// How the tools of an upstream differ from those that were accepted. Names are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinReport {
    /// Whether tools that nobody has accepted are withheld.
    pub refuses: bool,
    /// Whether the lock has the upstream. If not, all its tools are new.
    pub is_pinned: bool,
    /// Tools with another definition.
    pub changed: Vec<ChangedTool>,
    /// Tools that were not there.
    pub new: Vec<String>,
    /// Tools that are not there any more.
    pub gone: Vec<String>,
}

impl PinReport {
    /// Whether all tools are as they were accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.new.is_empty() && self.gone.is_empty()
    }

    /// What changed of a tool.
    #[must_use]
    pub fn changed(&self, tool: &str) -> Option<&ChangedTool> {
        let found = self.changed.binary_search_by(|changed| changed.name.as_str().cmp(tool)).ok()?;
        Some(&self.changed[found])
    }

    /// Whether a tool is listed that was not there.
    #[must_use]
    pub fn is_new(&self, tool: &str) -> bool {
        self.new.binary_search_by(|new| new.as_str().cmp(tool)).is_ok()
    }

    /// Whether a tool is listed that nobody has accepted as it is.
    #[must_use]
    pub fn is_unaccepted(&self, tool: &str) -> bool {
        self.is_new(tool) || self.changed(tool).is_some()
    }

    /// Why a tool is not accepted, for the end of a sentence; `None` if it is.
    #[must_use]
    pub fn why(&self, tool: &str) -> Option<String> {
        match self.changed(tool) {
            Some(changed) => Some(format!("its {} changed since it was pinned", changed.facts_text())),
            None if !self.is_new(tool) => None,
            None if self.is_pinned => Some("it is new since the upstream was pinned".to_owned()),
            None => Some("its upstream is not pinned".to_owned()),
        }
    }

    /// The report without the tools that `sees` does not admit.
    #[must_use]
    pub fn seen(&self, sees: impl Fn(&str) -> bool) -> Self {
        let names = |names: &[String]| names.iter().filter(|name| sees(name)).cloned().collect();
        Self {
            refuses: self.refuses,
            is_pinned: self.is_pinned,
            changed: self.changed.iter().filter(|changed| sees(&changed.name)).cloned().collect(),
            new: names(&self.new),
            gone: names(&self.gone),
        }
    }

    /// A sentence on what differs: `2 tools changed, 1 is new, 1 is gone`; empty if nothing does.
    #[must_use]
    pub fn summary(&self) -> String {
        if !self.is_pinned && !self.new.is_empty() {
            return format!("none of its {} tools is pinned", self.new.len());
        }
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let (changed, new, gone) = (self.changed.len(), self.new.len(), self.gone.len());
        let parts = [
            (changed, format!("{changed} {} changed", is(changed))),
            (new, format!("{new} {} new", is(new))),
            (gone, format!("{gone} {} gone", is(gone))),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!("of its tools {}", parts.join(", ")),
        }
    }
}

/// A tool whose definition is not the one that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangedTool {
    /// Its name.
    pub name: String,
    /// The facts that differ, in order, with what differs; without lines where that would be too much.
    pub facts: Vec<(ToolFact, Vec<DiffLine>)>,
}

impl ChangedTool {
    /// How a tool differs from one that was accepted. `room`: bytes of lines that may still be shown; what they take is taken off.
    #[must_use]
    pub fn of(accepted: &PinnedTool, listed: &PinnedTool, room: &mut usize) -> Self {
        let differs = |fact: &ToolFact| accepted.fact(*fact) != listed.fact(*fact);
        let facts = ToolFact::ALL.into_iter().filter(differs).map(|fact| {
            let lines = match *room {
                0 => Vec::new(),
                _ => diff(fact, accepted.fact(fact), listed.fact(fact)),
            };
            let bytes = lines.iter().map(|line| match line {
                DiffLine::Removed(line) | DiffLine::Added(line) => line.len() + 32,
                DiffLine::More(_) => 32,
            });
            *room = room.saturating_sub(bytes.sum());
            (fact, lines)
        });
        Self { name: listed.name().to_owned(), facts: facts.collect() }
    }

    /// All of a tool that was not there, as if each of its facts had come.
    #[must_use]
    pub fn whole(tool: &PinnedTool) -> Self {
        Self::of(&PinnedTool::new(tool.name(), BTreeMap::new()), tool, &mut { MAX_DIFF_BYTES })
    }

    /// The names of the facts that differ: `description and input_schema`.
    #[must_use]
    pub fn facts_text(&self) -> String {
        let names: Vec<&str> = self.facts.iter().map(|(fact, _)| fact.as_str()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// The diff in at most about `most` bytes, a line for each line that went (`- …`) or came (`+ …`). Without `shows_new`, of
    /// what came only the length is told: nobody has accepted it. Long lines are cut before others are left out, and lines that
    /// went leave half of the room to those that came.
    #[must_use]
    pub fn diff(&self, most: usize, shows_new: bool) -> String {
        let headers: usize = self.facts.iter().map(|(fact, _)| fact.as_str().len() + 2).sum();
        let room = most.saturating_sub(headers);
        let lines = || self.facts.iter().flat_map(|(_, lines)| lines);
        let limit = line_limit(lines().filter_map(|line| Some(line.changed()?.len() + MARK)).collect(), room);
        let taken = |line: &ChangedLine| limit.min(line.len() + MARK);
        let removed = lines().map(|line| if let DiffLine::Removed(line) = line { taken(line) } else { 0 });
        let added = lines().map(|line| if let DiffLine::Added(line) = line { taken(line) } else { 0 });
        let (removed, added) = (removed.sum::<usize>(), added.sum::<usize>());
        let mut old_room = room - added.min(room / 2);
        let mut new_room = room - removed.min(old_room);
        let mut text = String::new();
        for (fact, lines) in &self.facts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}:", fact.as_str());
            if lines.is_empty() {
                text.push_str("(too much has changed to show it here)\n");
            }
            let mut left_out = 0;
            let mut lines = lines.iter().peekable();
            while let Some(line) = lines.next() {
                let (mark, line, room) = match line {
                    DiffLine::More(count) => {
                        left_out += count;
                        continue;
                    }
                    DiffLine::Added(line) if !shows_new => {
                        let mut characters = line.characters();
                        while let Some(DiffLine::Added(next)) =
                            lines.next_if(|next| matches!(next, DiffLine::Added(_)))
                        {
                            characters += next.characters();
                        }
                        let _ = writeln!(text, "+ ({characters} characters that nobody has accepted)");
                        continue;
                    }
                    DiffLine::Removed(line) => ('-', line, &mut old_room),
                    DiffLine::Added(line) => ('+', line, &mut new_room),
                };
                if taken(line) > *room {
                    // What is shown of a side has no gaps.
                    (*room, left_out) = (0, left_out + 1);
                    continue;
                }
                *room -= taken(line);
                let _ = writeln!(text, "{mark} {}", line.shown(limit - MARK));
            }
            if left_out > 0 {
                let _ = writeln!(text, "… and {left_out} more lines");
            }
        }
        text.truncate(text.len().saturating_sub(1));
        text
    }
}

/// Bytes of a line beside its text: the mark, a blank and the line feed.
const MARK: usize = 3;

/// How many bytes of each line of these sizes fit into `room` together: the most of which all lines have a part, but no fewer than
/// [`MIN_LINE`], if there are as many.
fn line_limit(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let (mut left, mut count) = (room, sizes.len());
    for size in &sizes {
        if *size > left / count {
            return (left / count).max((MIN_LINE + MARK).min(room / 2)).max(MARK);
        }
        (left, count) = (left - size, count - 1);
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::super::definition::tests::tool;
    use super::*;
    use ptc_mcp::json::{Value, json};

    fn schema() -> Value {
        json!({"type": "object"})
    }

    fn pins(refuses: bool) -> UpstreamPins {
        let accepted = [tool("a", "One.", &schema()), tool("b", "Two.", &schema())];
        let accepted = accepted.map(|tool| (tool.name().to_owned(), tool)).into_iter().collect();
        UpstreamPins { refuses, accepted: Some(accepted) }
    }

    #[test]
    fn changed_new_and_gone_tools_are_told_apart() {
        let listed = [tool("c", "", &schema()), tool("a", "One. More.", &json!({"type": "object", "x": 1}))];
        let report = pins(true).compare(&listed, |_| true);
        assert_eq!(report.summary(), "of its tools 1 is changed, 1 is new, 1 is gone");
        assert_eq!((&report.new[..], &report.gone[..]), (&["c".to_owned()][..], &["b".to_owned()][..]));
        assert_eq!(report.why("a").unwrap(), "its description and input_schema changed since it was pinned");
        assert_eq!(report.why("c").unwrap(), "it is new since the upstream was pinned");
        assert_eq!(report.why("b"), None);
        assert!(report.is_unaccepted("a") && report.is_unaccepted("c") && !report.is_unaccepted("b"));
        assert!(report.seen(|_| false).is_empty() && report.seen(|name| name == "c").new == ["c"]);
        // What the filter hides is not missed.
        assert!(pins(true).compare(&listed, |name| name != "b").gone.is_empty());
        let same = [tool("b", "Two.", &schema()), tool("a", "One.", &schema())];
        let report = pins(false).compare(&same, |_| true);
        assert!(report.is_empty() && report.summary().is_empty());
    }

    #[test]
    fn without_a_lock_everything_is_new() {
        let report = UpstreamPins::default().compare(&[tool("a", "", &schema())], |_| true);
        assert!(!report.is_pinned && report.is_new("a"));
        assert_eq!(report.summary(), "none of its 1 tools is pinned");
        assert_eq!(report.why("a").unwrap(), "its upstream is not pinned");
    }

    #[test]
    fn what_nobody_accepted_is_shown_to_people_only() {
        let listed = [tool("a", "Obey me. And me.", &json!({"type": "object", "obey": "me"}))];
        let report = pins(true).compare(&listed, |_| true);
        let changed = report.changed("a").unwrap();
        let whole = "description:\n- One.\n+ Obey me.\n+ And me.\ninput_schema:\n+   \"obey\": \"me\",";
        assert_eq!(changed.diff(4096, true), whole);
        let safe = changed.diff(4096, false);
        assert!(!safe.to_lowercase().contains("obey") && !safe.contains("And me"), "{safe}");
        assert!(safe.contains("- One.\n+ (15 characters that nobody has accepted)"), "{safe}");
        let short = changed.diff(30, true);
        assert!(short.ends_with("more lines") && short.len() < 80, "{short}");
    }

    #[test]
    fn lines_that_came_have_room_beside_those_that_went() {
        let diff = |old: &str, new: &str, most: usize| {
            ChangedTool::of(&tool("a", old, &schema()), &tool("a", new, &schema()), &mut { usize::MAX })
                .diff(most, true)
        };
        let lines = |word: &str| (0..400).map(|n| format!("{word} {n}\n")).collect::<String>();
        let shown = diff(&lines("old"), &lines("new"), 800);
        let count = |mark: &str| shown.lines().filter(|line| line.starts_with(mark)).count();
        assert!(count("- old") > 20 && count("+ new") > 20, "{shown}");
        let left_out = 800 - count("- ") - count("+ ");
        assert!(shown.ends_with(&format!("\n… and {left_out} more lines")), "{shown}");
        // Long lines are cut, and say so.
        let shown = diff(&"a".repeat(900), &("b".repeat(900) + "EVIL"), 800);
        assert!(shown.contains("\n- aa") && shown.ends_with("bb… (514 more characters)"), "{shown}");
        let shown = diff("A", &("b".repeat(700) + "EVIL"), 800);
        assert!(shown.ends_with("bEVIL"), "{shown}");
    }

    #[test]
    fn blank_lines_are_shown() {
        let changed =
            ChangedTool::of(&tool("a", "A", &schema()), &tool("a", "A\n", &schema()), &mut { 4096 });
        assert_eq!(changed.diff(4096, true), "description:\n+ ");
    }

    #[test]
    fn reports_on_many_tools_are_bounded() {
        let text =
            |word: &str| (0..200).map(|n| format!("{word} {n} {}\n", "x".repeat(200))).collect::<String>();
        let tools = |word: &str| -> Vec<PinnedTool> {
            (0..1000).map(|n| tool(&format!("t{n}"), &text(word), &schema())).collect()
        };
        let accepted = tools("old").into_iter().map(|tool| (tool.name().to_owned(), tool)).collect();
        let pins = UpstreamPins { refuses: false, accepted: Some(accepted) };
        let report = pins.compare(&tools("new"), |_| true);
        assert_eq!(report.changed.len(), 1000);
        let bytes: usize = report.changed.iter().map(|changed| changed.diff(usize::MAX, true).len()).sum();
        assert!(bytes < 2 * MAX_DIFF_BYTES, "{bytes}");
        assert!(
            report.changed.iter().any(|changed| changed.diff(200, true).contains("too much has changed"))
        );
    }
}
