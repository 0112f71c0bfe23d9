//! Research over two upstreams, with citations that the model cannot make up: a program cuts every quote out of the
//! document that it names, and the host checks it once more.
//!
//! `cargo run --example research`

mod common;
// A module of `common` would be dead code in the other examples.
#[path = "common/mcp_server.rs"]
mod mcp_server;

use ptc_agent::agent::{Agent, Transport};
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::{LlmResponse, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The outcome.
pub(crate) struct Report {
    /// The answer: `{answer, citations [{source, quote}]}`.
    pub(crate) answer: Json,
    /// Citations whose quote stands in the document that they name.
    pub(crate) found: usize,
    /// Calls of the upstreams.
    pub(crate) calls: usize,
    /// Characters of the documents.
    pub(crate) read: usize,
    /// Characters that the model was sent.
    pub(crate) sent: usize,
}

/// Two collections of documents: id and text.
const PAPERS: [(&str, &str); 3] = [
    ("p1", "Glaciers of the northern range lost nine percent of their area between 1990 and 2020."),
    ("p2", "Trees at the upper limit grow faster than they did a century ago."),
    ("p3", "Most glaciers advanced during the cold decades around 1980."),
];
const REPORTS: [(&str, &str); 2] = [
    ("r7", "The reservoir depends on meltwater from two glaciers, which may be gone by 2060."),
    ("r8", "Tourism rose in all valleys."),
];

/// The documents are long; one sentence in each matters.
fn text(sentence: &str) -> String {
    let filler = "The methods are those of earlier work and are not repeated here. ".repeat(60);
    format!("{filler}{sentence} {filler}")
}

fn answer_from(documents: &[(&str, &str)], tool: &str, arguments: &Json) -> String {
    match tool {
        "list" => json!(documents.iter().map(|(id, _)| *id).collect::<Vec<_>>()).to_string(),
        _ => {
            let known = documents.iter().find(|(id, _)| arguments["id"] == *id);
            known.map(|(_, sentence)| text(sentence)).unwrap_or_default()
        }
    }
}

/// The upstreams: two servers with the same two tools.
async fn upstreams() -> Result<(Arc<Aggregator>, impl Fn() -> usize), Box<dyn Error>> {
    let id = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let list = json!([
        {"name": "list", "description": "Ids of all documents", "inputSchema": {"type": "object"}},
        {"name": "read", "description": "The text of a document", "inputSchema": id}]);
    let (papers, of_papers) =
        mcp_server::serve(list.clone(), |tool, arguments| answer_from(&PAPERS, tool, arguments)).await?;
    let (reports, of_reports) =
        mcp_server::serve(list, |tool, arguments| answer_from(&REPORTS, tool, arguments)).await?;
    let config = json!({"upstreams": {
        "papers": {"transport": "mcp_http", "allow_insecure_http": true, "url": papers, "description": "Scientific papers"},
        "reports": {"transport": "mcp_http", "allow_insecure_http": true, "url": reports, "description": "Reports of the agency"}}});
    let env = ProcessEnv::current();
    let config =
        UpstreamsConfig::from_value(&config, &LoadOptions { env: &env, base_dir: None, own_exe: None })?;
    let aggregator = Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen)).await?;
    Ok((aggregator, move || of_papers.load(Ordering::Relaxed) + of_reports.load(Ordering::Relaxed)))
}

/// Runs the research.
pub(crate) async fn run() -> Result<Report, Box<dyn Error>> {
    let (aggregator, calls) = upstreams().await?;
    let agent =
        Agent::builder("What do papers and reports say about glaciers? Cite each with its exact sentence.")
            .transport(Transport::ToolCall)
            .signature("{answer :string, citations [{source :string, quote :string}]}")
            .max_turns(6)
            .build()?;

    // First every sentence on the subject is collected and kept; then the model has read them and writes its answer.
    let collect = "(defn documents [server]
  (pmap (fn [id] {:source (str server \"/\" id)
                  :text (:value (tool/call {:server server :tool \"read\" :args {:id id}}))})
        (:value (tool/call {:server server :tool \"list\" :args {}}))))
(def citations
  (vec (for [document (mapcat documents [\"papers\" \"reports\"])
             sentence (re-seq #\"[^.]*\\bglaciers\\b[^.]*\\.\" (str/lower-case (:text document)))
             :let [start (str/index-of (str/lower-case (:text document)) sentence)]]
         {:source (:source document)
          :quote (str/trim (subs (:text document) start (+ start (count sentence))))})))
citations";
    let conclude = "(return {:answer \"Glaciers grew around 1980, have lost nine percent since 1990, and may be gone by 2060.\" \
                    :citations citations})";
    let program = |id: &str, source: &str| {
        let arguments = json!({"program": source}).to_string();
        LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), "lisp_eval", &arguments)])
    };
    let model = common::model(vec![program("call_1", collect), program("call_2", conclude)])?;
    let options = RunOptions { upstreams: Some(aggregator.clone()), ..RunOptions::new(model) };
    let ran = agent.run(options).await;
    aggregator.shutdown().await;
    let step = ran?;

    let answer = step.value.clone().unwrap_or_default();
    let documents: Vec<(String, String)> = [("papers", &PAPERS[..]), ("reports", &REPORTS[..])]
        .into_iter()
        .flat_map(|(server, all)| {
            all.iter().map(move |(id, sentence)| (format!("{server}/{id}"), text(sentence)))
        })
        .collect();
    let stands = |citation: &&Json| {
        let quote = citation["quote"].as_str().filter(|quote| !quote.is_empty());
        documents
            .iter()
            .any(|(id, text)| citation["source"] == *id && quote.is_some_and(|it| text.contains(it)))
    };
    let found = answer["citations"].as_array().into_iter().flatten().filter(stands).count();
    let read = documents.iter().map(|(_, text)| text.len()).sum();
    let sent = serde_json::to_string(&step.messages)?.len();
    Ok(Report { answer, found, calls: calls(), read, sent })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let report = run().await?;
    println!("{:#}", report.answer);
    println!("citations that stand  {}", report.found);
    println!("calls of upstreams    {}", report.calls);
    println!("documents             {} characters", report.read);
    println!("conversation          {} characters", report.sent);
    Ok(())
}
