//! What people do with drafts on the console.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_mcp::json::{Value as Json, json};
use ptc_observers::draft_desk::{DraftDesk, DraftId, DraftRefusal};
use ptc_programs::draft::{Draft, DraftSummary};
use ptc_programs::draft_store::{DraftFault, DraftStore};
use ptc_programs::name::ProgramName;
use ptc_programs::replay::TestReport;
use ptc_programs::text_diff::text_diff;
use ptc_protocol::principal::Principal;

use super::check::DraftCheck;
use crate::kept::Approver;

/// The drafts of a server.
pub struct ServerDrafts {
    /// Where they lie.
    pub store: Arc<dyn DraftStore>,
    /// Looks at them.
    pub check: Arc<DraftCheck>,
    /// Approves them.
    pub approver: Arc<dyn Approver>,
}

fn unavailable(fault: &DraftFault) -> DraftRefusal {
    match fault {
        DraftFault::Replaced => DraftRefusal::Replaced,
        fault => DraftRefusal::Unavailable(fault.to_string()),
    }
}

fn named(draft: DraftId<'_>) -> Result<ProgramName, DraftRefusal> {
    ProgramName::new(draft.name).map_err(|_| DraftRefusal::NotFound)
}

fn taken(name: &ProgramName) -> String {
    format!("another tool has the name {}", name.tool_name())
}

fn summary(draft: &DraftSummary) -> Json {
    json!({
        "name": draft.name.as_str(), "principal": &*draft.principal, "at": draft.at, "digest": draft.digest,
        "bytes": draft.bytes, "description": draft.description,
    })
}

fn test_report(report: &TestReport) -> Json {
    json!({"test": report.title, "ok": report.failures.is_empty(), "failures": report.failures})
}

impl ServerDrafts {
    async fn read(&self, draft: DraftId<'_>) -> Result<Draft, DraftRefusal> {
        let read = self.store.read(draft.principal, &named(draft)?).await;
        read.map_err(|fault| unavailable(&fault))?.ok_or(DraftRefusal::NotFound)
    }

    /// The program of this name that is served.
    fn served(&self, draft: &Draft) -> Json {
        let set = self.check.kept.programs.current();
        let Some(served) = set.of_tool(&draft.name.tool_name()) else { return Json::Null };
        let (program, approval) = (&served.program, &served.approval);
        json!({
            "digest": &*program.digest, "by": approval.by, "at": approval.at,
            "diff": text_diff(&program.text, &draft.text, usize::MAX),
        })
    }

    async fn shown(&self, draft: DraftId<'_>, viewer: &Principal) -> Result<Json, DraftRefusal> {
        let draft = self.read(draft).await?;
        let mut shown = summary(&draft.summary());
        shown["text"] = json!(&*draft.text);
        shown["served"] = self.served(&draft);
        match draft.read() {
            Err(fault) => shown["fault"] = json!(fault.in_file(&draft.name.file_name())),
            Ok(program) => {
                shown["tools"] = json!(program.head.tools.patterns().collect::<Vec<_>>());
                shown["calls"] = json!(program.calls.iter().map(ProgramName::as_str).collect::<Vec<_>>());
                shown["remarks"] = json!(self.check.remarks(&program, viewer));
                let left = self.check.kept.programs.current().callers_of_another(&program);
                shown["no_longer_approved"] = json!(left);
                if self.check.is_taken(&program.name, Some(viewer)) {
                    shown["fault"] = json!(taken(&program.name));
                } else {
                    match self.check.tests(&program, viewer, None).await {
                        Err(why) => shown["fault"] = json!(why),
                        Ok(reports) => shown["tests"] = reports.iter().map(test_report).collect(),
                    }
                }
            }
        }
        Ok(shown)
    }

    async fn approved(&self, id: DraftId<'_>, digest: &str, by: &Principal) -> Result<Json, DraftRefusal> {
        let draft = self.read(id).await?;
        if draft.digest() != digest {
            return Err(DraftRefusal::Replaced);
        }
        let refused = |why: String| DraftRefusal::Refused(why);
        let program = draft.read().map_err(|fault| refused(fault.in_file(&draft.name.file_name())))?;
        if self.check.is_taken(&program.name, None) {
            return Err(refused(taken(&program.name)));
        }
        let approved = self.approver.approve(Arc::new(program), by.name()).await.map_err(refused)?;
        // One that was proposed meanwhile stays.
        if let Err(fault) = self.store.remove(id.principal, &draft.name, Some(digest)).await {
            tracing::warn!(event = "draft_not_removed", program = %draft.name, reason = %fault);
        }
        tracing::info!(event = "draft_approved", program = %draft.name, revision = approved.revision);
        Ok(json!({
            "program": draft.name.as_str(), "digest": digest, "revision": approved.revision, "place": approved.place,
            "no_longer_approved": approved.no_longer_approved,
        }))
    }
}

impl DraftDesk for ServerDrafts {
    fn list<'a>(&'a self, principal: Option<&'a str>) -> BoxFuture<'a, Result<Json, DraftRefusal>> {
        async move {
            let list = self.store.list(principal).await.map_err(|fault| unavailable(&fault))?;
            let drafts: Vec<Json> = list.drafts.iter().map(summary).collect();
            Ok(json!({"drafts": drafts, "unreadable": list.unreadable, "is_part": list.is_part}))
        }
        .boxed()
    }

    fn show<'a>(
        &'a self,
        draft: DraftId<'a>,
        viewer: &'a Principal,
    ) -> BoxFuture<'a, Result<Json, DraftRefusal>> {
        self.shown(draft, viewer).boxed()
    }

    fn approve<'a>(
        &'a self,
        draft: DraftId<'a>,
        digest: &'a str,
        by: &'a Principal,
    ) -> BoxFuture<'a, Result<Json, DraftRefusal>> {
        self.approved(draft, digest, by).boxed()
    }

    fn discard<'a>(
        &'a self,
        draft: DraftId<'a>,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Json, DraftRefusal>> {
        async move {
            let removed = self.store.remove(draft.principal, &named(draft)?, Some(digest)).await;
            match removed.map_err(|fault| unavailable(&fault))? {
                true => Ok(json!({"discarded": draft.name})),
                false => Err(DraftRefusal::NotFound),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::{Approved, CurrentPrograms, KeptDirectory, KeptRules, ProgramSet, ServedProgram};
    use ptc_host::engine::{Engine, EngineOptions, Limits};
    use ptc_host::state::{MemoryState, StoreLimits};
    use ptc_host::sync::Mutex;
    use ptc_programs::draft_rows::DraftRows;
    use ptc_programs::lock::Approval;
    use ptc_programs::program::KeptProgram;
    use ptc_protocol::tool::ToolName;

    /// Writes down what was approved.
    #[derive(Default)]
    struct Notebook(Mutex<Vec<String>>);

    impl Approver for Notebook {
        fn approve<'a>(
            &'a self,
            program: Arc<KeptProgram>,
            by: &'a str,
        ) -> BoxFuture<'a, Result<Approved, String>> {
            async move {
                if program.text.contains("refuse me") {
                    return Err("its lock is that of somebody else".to_owned());
                }
                self.0.lock().push(format!("{} {} by {by}", program.name, program.digest));
                let no_longer_approved = vec!["caller, which calls one".to_owned()];
                Ok(Approved { revision: 8, place: "the folder p".to_owned(), no_longer_approved })
            }
            .boxed()
        }
    }

    const SERVED: &str = "{:description \"Says two.\"}\n2\n";

    fn desk() -> (ServerDrafts, Arc<Notebook>) {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let name = ProgramName::new("two").unwrap();
        let program = Arc::new(KeptProgram::read(name, SERVED).unwrap());
        let approval = Approval {
            digest: program.digest.clone(),
            calls: Default::default(),
            language: 0,
            tools: Default::default(),
            by: "olga".to_owned(),
            at: "2026-01-31T12:00:00Z".to_owned(),
        };
        let served = ServedProgram::new(program.clone(), program.text.clone(), approval.into());
        let programs = CurrentPrograms::new(ProgramSet::new([served], 7));
        let kept = KeptDirectory::new(programs, None, KeptRules::default());
        kept.reserve(vec![ToolName::Fixed("other")]);
        let check = DraftCheck { engine, limits: Limits::plain(), kept };
        let store = Arc::new(DraftRows::new(Arc::new(MemoryState::new(StoreLimits::default()))));
        let notebook = Arc::new(Notebook::default());
        (ServerDrafts { store, check: Arc::new(check), approver: notebook.clone() }, notebook)
    }

    async fn put(desk: &ServerDrafts, name: &str, text: &str) -> String {
        let draft = Draft {
            name: ProgramName::new(name).unwrap(),
            principal: "ann".into(),
            at: "2026-01-31T12:00:00Z".to_owned(),
            text: text.into(),
        };
        desk.store.put(&draft).await.unwrap();
        draft.digest()
    }

    fn of_ann(name: &str) -> DraftId<'_> {
        DraftId { principal: "ann", name }
    }

    #[tokio::test]
    async fn a_draft_is_shown_with_its_tests_and_what_it_changes() {
        let (desk, _) = desk();
        let olga = Principal::named("olga");
        let text =
            "{:description \"Says two.\"\n :tests [{:value 2} {:name \"odd\" :value 3}]}\n(program/two {})\n";
        put(&desk, "two-again", text).await;
        put(&desk, "two", "{:description \"Says two.\"}\n(+ 1 1)\n").await;
        put(&desk, "cut", "{:description \"x\"").await;
        put(&desk, "other", "{:description \"x\"}\n1\n").await;
        let shown = desk.show(of_ann("two-again"), &olga).await.unwrap();
        assert_eq!(shown["text"], text);
        assert_eq!((&shown["calls"], &shown["served"]), (&json!(["two"]), &Json::Null));
        assert_eq!((&shown["tests"][0]["ok"], &shown["tests"][1]["ok"]), (&json!(true), &json!(false)));
        assert_eq!(shown["tests"][1]["failures"], json!(["expected 3, got 2"]));
        let shown = desk.show(of_ann("two"), &olga).await.unwrap();
        assert_eq!(shown["served"]["diff"], "@@ -1 +1 @@\n {:description \"Says two.\"}\n-2\n+(+ 1 1)\n");
        assert_eq!((&shown["served"]["by"], &shown["tests"]), (&json!("olga"), &json!([])));
        let shown = desk.show(of_ann("cut"), &olga).await.unwrap();
        assert!(shown["fault"].as_str().unwrap().starts_with("cut.clj:1:1 "), "{shown}");
        let shown = desk.show(of_ann("other"), &olga).await.unwrap();
        assert_eq!(shown["fault"], "another tool has the name other");
        assert_eq!(desk.show(of_ann("none"), &olga).await, Err(DraftRefusal::NotFound));
        assert_eq!(desk.show(of_ann("../two"), &olga).await, Err(DraftRefusal::NotFound));
        let list = desk.list(Some("ann")).await.unwrap();
        assert_eq!(list["drafts"].as_array().unwrap().len(), 4);
        assert_eq!(desk.list(Some("bob")).await.unwrap()["drafts"], json!([]));
    }

    #[tokio::test]
    async fn the_text_that_was_shown_is_approved_and_no_other_one() {
        let (desk, notebook) = desk();
        let olga = Principal::named("olga");
        let seen = put(&desk, "one", "{:description \"Says one.\"}\n1\n").await;
        let later = put(&desk, "one", "{:description \"Says one.\"}\n(fail \"no\")\n").await;
        assert_eq!(desk.approve(of_ann("one"), &seen, &olga).await, Err(DraftRefusal::Replaced));
        assert_eq!(desk.discard(of_ann("one"), &seen).await, Err(DraftRefusal::Replaced));
        let approved = desk.approve(of_ann("one"), &later, &olga).await.unwrap();
        let expected = json!({"program": "one", "digest": later, "revision": 8, "place": "the folder p",
            "no_longer_approved": ["caller, which calls one"]});
        assert_eq!(approved, expected);
        assert_eq!(*notebook.0.lock(), [format!("one {later} by olga")]);
        assert_eq!(desk.approve(of_ann("one"), &later, &olga).await, Err(DraftRefusal::NotFound));

        let refused = |why: &str| Err(DraftRefusal::Refused(why.to_owned()));
        let digest = put(&desk, "mine", "{:description \"refuse me\"}\n1\n").await;
        let why = "its lock is that of somebody else";
        assert_eq!(desk.approve(of_ann("mine"), &digest, &olga).await, refused(why));
        assert!(desk.show(of_ann("mine"), &olga).await.is_ok(), "what was not approved is a draft");
        assert_eq!(desk.discard(of_ann("mine"), &digest).await, Ok(json!({"discarded": "mine"})));
        assert_eq!(desk.discard(of_ann("mine"), &digest).await, Err(DraftRefusal::NotFound));
        let digest = put(&desk, "other", "{:description \"x\"}\n1\n").await;
        let why = "another tool has the name other";
        assert_eq!(desk.approve(of_ann("other"), &digest, &olga).await, refused(why));
    }
}
