//! The demo's output: coloured at a terminal, plain in a pipe.

use crate::cli::output::outln;
use crate::cli::report;
use ptc_host::visible::visible;
use ptc_mcp::json::Value;

use super::programs::Example;
use std::io::IsTerminal;

/// Longest part of an answer that is shown, in characters.
const ANSWER_CHARS: usize = 200;

/// Writes the demo to standard output and sums its bytes.
pub(super) struct Screen {
    color: bool,
    fetched: u64,
    returned: u64,
    calls: u64,
}

impl Screen {
    pub(super) fn new() -> Screen {
        let color = report::has_colours(std::io::stdout().is_terminal());
        Screen { color, fetched: 0, returned: 0, calls: 0 }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn introduction(&self, tools: &Value) {
        let names: Vec<&str> = tools["tools"]
            .as_array()
            .map_or_else(Vec::new, |tools| tools.iter().filter_map(|tool| tool["name"].as_str()).collect());
        outln!("{}", self.paint("1", "ptc demo: one small program instead of many tool calls"));
        outln!();
        outln!("Three upstream servers run as child processes: fs, github, store.");
        outln!("The client sees {} tool: {}. Its programs reach all others.", names.len(), names.join(", "));
    }

    pub(super) fn example(&mut self, number: usize, example: &Example, result: &Value, right: bool) {
        outln!();
        outln!("{}", self.paint("1", &format!("{number}. {}", example.title)));
        outln!();
        for line in example.program.lines() {
            outln!("    {}", self.paint("2", line));
        }
        outln!();
        let content = &result["structuredContent"];
        let answer = content["result"].as_str().or(content["message"].as_str()).unwrap_or("(no answer)");
        let verdict = if right { self.paint("32", "right") } else { self.paint("31", "WRONG") };
        outln!("  answer   {}  [{verdict}]", visible(&shortened(answer)));
        if !right {
            outln!("  expected {}", visible(&shortened(example.answer)));
        }
        let calls = content["upstream_calls"].as_array().map_or(&[][..], Vec::as_slice);
        outln!("  calls    {}", calls.len());
        for call in calls {
            let text = |key: &str| call[key].as_str().unwrap_or_default();
            let name = format!("{}.{}", text("server"), text("tool"));
            let status = match call["reason"].as_str() {
                None => self.paint("32", "ok"),
                Some(reason) => self.paint("33", reason),
            };
            let bytes =
                call["result_bytes"].as_u64().map_or_else(String::new, |bytes| format!("{bytes} bytes"));
            outln!("    {name:<20} {:>4} ms  {bytes:>12}  {status}", call["duration_ms"]);
        }
        let metrics = &content["ptc_metrics"];
        let number = |key: &str| metrics[key].as_u64().unwrap_or_default();
        let (fetched, returned) = (number("upstream_result_bytes"), number("final_result_bytes"));
        outln!("  bytes    {fetched} fetched, {returned} returned{}", reduction(fetched, returned));
        self.fetched += fetched;
        self.returned += returned;
        self.calls += calls.len() as u64;
    }

    pub(super) fn conclusion(&self, right: usize, of: usize) {
        outln!();
        let verdict = format!("{right} of {of} answers right");
        outln!("{}", self.paint(if right == of { "1;32" } else { "1;31" }, &verdict));
        outln!(
            "{} upstream calls, {} model round trips; {} bytes fetched, {} bytes returned to the model{}",
            self.calls,
            of,
            self.fetched,
            self.returned,
            reduction(self.fetched, self.returned)
        );
        outln!("(Measured here: payload that the programs collapsed. Not a claim about tokens saved.)");
    }
}

fn reduction(fetched: u64, returned: u64) -> String {
    if fetched == 0 || returned == 0 {
        return String::new();
    }
    format!(", {:.1} to 1", fetched as f64 / returned as f64)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ANSWER_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
