//! The texts about tools that differ from the lock, for programs and models (upstreams.md 22).

use super::ServerEntry;
use ptc_base::text::{string_literal, with_dots};

/// Bytes of a name of the program that a text shows.
const NAME_BYTES: usize = 256;
/// Bytes of a diff in a text for a program.
const DIFF_BYTES: usize = 1024;

/// Why a tool that the upstream lists may not be called until a person accepts it; `None` if it is not withheld. What nobody
/// has accepted is not in the text: models read it.
pub(crate) fn withheld(server: &ServerEntry, tool: &str) -> Option<String> {
    let report = server.pins().filter(|report| report.refuses)?;
    let why = report.why(tool)?;
    let mut text = refusal(server, tool, &why);
    if let Some(changed) = report.changed(tool) {
        text.push('\n');
        text.push_str(&changed.diff(DIFF_BYTES, false));
    }
    Some(text)
}

/// Why a tool may not be called that is none of the tools of this entry; `None` if its upstream is held to no pins.
pub(crate) fn refused_unlisted(server: &ServerEntry, tool: &str) -> Option<String> {
    if !server.is_held_to_pins() || server.tool(tool).is_some() {
        return None;
    }
    let why =
        if server.loaded { "its upstream does not list it" } else { "its upstream has not listed it yet" };
    withheld(server, tool).or_else(|| Some(refusal(server, tool, why)))
}

fn refusal(server: &ServerEntry, tool: &str, why: &str) -> String {
    let name = &server.name;
    format!(
        "tool '{name}.{}' is not accepted: {why}\nThe operator looks at it with `ptc check --pins` and accepts it with `ptc pin {name}`.",
        with_dots(tool, NAME_BYTES)
    )
}

/// What `doc` says of a tool that is offered although nobody has accepted it as it is; `None` of any other.
pub(crate) fn note(server: &ServerEntry, tool: &str) -> Option<String> {
    let report = server.pins()?;
    match report.changed(tool) {
        Some(changed) => Some(format!(
            "changed since it was pinned: {}\n{}",
            changed.facts_text(),
            changed.diff(DIFF_BYTES, true)
        )),
        None if report.is_pinned && report.is_new(tool) => {
            Some(format!("new since {} was pinned", string_literal(&server.name)))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, DiscoveryFault, Query, ToolRef, check_call, fixtures, tool_doc};
    use ptc_mcp::json::{Value, json};
    use ptc_secret::credentials::Redactor;
    use ptc_upstreams::config::{PinLock, UpstreamConfig};
    use ptc_vm::machine::{ToolArguments, UpstreamCall};

    fn tools(description: &str) -> Vec<Value> {
        vec![
            json!({"name": "late", "description": "Is new."}),
            json!({"name": "read", "description": description, "inputSchema": {"type": "object"}}),
            json!({"name": "same", "title": "Same", "annotations": {"readOnlyHint": true}}),
        ]
    }

    /// An upstream whose tools were accepted, but for `late`, when `read` said that it reads, and there was one more.
    fn pinned(pin: &str) -> UpstreamConfig {
        let mut upstream = fixtures::upstream("fs", json!({"pin": pin}));
        let mut accepted = tools("Reads.");
        accepted[0] = json!({"name": "gone"});
        let plain = fixtures::server("fs", accepted);
        let pinned = plain.tools().iter().map(|tool| (tool.name.clone(), tool.pinned())).collect();
        upstream
            .hold_to(Some(&PinLock { upstreams: [("fs".to_owned(), pinned)].into(), ..PinLock::default() }));
        upstream
    }

    fn server(pin: &str, description: &str) -> ServerEntry {
        ServerEntry::loaded(&pinned(pin), tools(description), &Redactor::new())
    }

    fn names(server: &ServerEntry) -> Vec<&str> {
        server.tools().iter().map(|tool| tool.name.as_str()).collect()
    }

    fn call(tool: &str) -> UpstreamCall {
        UpstreamCall {
            server: Ok("fs".to_owned()),
            tool: Ok(tool.to_owned()),
            arguments: Ok(ToolArguments { json: b"{}".to_vec(), hyphenated: Vec::new() }),
            by_pages: false,
        }
    }

    #[test]
    fn refused_tools_are_neither_listed_nor_called_and_their_text_is_not_shown() {
        let server = server("refuse", "Reads. Obey the letter.");
        assert_eq!(names(&server), ["same"]);
        assert_eq!(server.withheld().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["late", "read"]);
        assert_eq!(server.pins().unwrap().gone, ["gone"]);
        let catalog = Catalog::new([server]);
        assert!(check_call(&catalog, &call("same")).is_ok());
        let text = check_call(&catalog, &call("read")).unwrap_err();
        assert_eq!(
            text,
            "tool 'fs.read' is not accepted: its description changed since it was pinned\n\
             The operator looks at it with `ptc check --pins` and accepts it with `ptc pin fs`.\n\
             description:\n+ (16 characters that nobody has accepted)"
        );
        let text = check_call(&catalog, &call("late")).unwrap_err();
        assert!(
            text.starts_with("tool 'fs.late' is not accepted: it is new since the upstream was pinned\n")
        );
        // What is not listed is unknown, as ever.
        let text = check_call(&catalog, &call("gone")).unwrap_err();
        assert!(text.starts_with("no tool 'gone' in upstream 'fs'\n"), "{text}");
    }

    #[tokio::test]
    async fn doc_of_a_withheld_tool_says_what_changed() {
        let catalog = Catalog::new([server("refuse", "Deletes.")]);
        for query in [
            Query::Doc(ToolRef { server: "fs".into(), tool: "read".into() }),
            Query::Meta(ToolRef { server: "fs".into(), tool: "read".into() }),
        ] {
            let answer = query.answer(&catalog, 65_536, |_| true).await;
            let Err(DiscoveryFault::Program(text)) = answer else { panic!("{answer:?}") };
            assert!(text.contains("is not accepted: its description changed") && text.contains("- Reads."));
            assert!(!text.contains("Deletes") && !text.contains("Args:"), "{text}");
        }
    }

    #[test]
    fn warned_tools_stay_and_their_doc_shows_the_diff() {
        let server = server("warn", "Deletes.");
        assert_eq!((names(&server).len(), server.withheld().len()), (3, 0));
        let doc = |name: &str| tool_doc(&server, server.tool(name).unwrap());
        let read = doc("read");
        assert!(
            read.ends_with("\nchanged since it was pinned: description\ndescription:\n- Reads.\n+ Deletes."),
            "{read}"
        );
        assert!(doc("late").ends_with("\nnew since \"fs\" was pinned"));
        assert!(!doc("same").contains("pinned"));
        assert!(check_call(&Catalog::new([server.clone()]), &call("read")).is_ok());
        assert_eq!(refused_unlisted(&server, "read").or(refused_unlisted(&server, "nothing")), None);
    }

    #[test]
    fn nothing_is_called_before_a_refusing_upstream_has_listed_it() {
        let cold = ServerEntry::unloaded(&pinned("refuse"));
        let text = refused_unlisted(&cold, "same").unwrap();
        assert!(text.contains("its upstream has not listed it yet"), "{text}");
        assert_eq!(refused_unlisted(&ServerEntry::unloaded(&pinned("warn")), "same"), None);
        let loaded = server("refuse", "Reads.");
        assert_eq!(refused_unlisted(&loaded, "same"), None);
        let long = "x".repeat(5000);
        let text = refused_unlisted(&loaded, &long).unwrap();
        assert!(text.contains("its upstream does not list it") && text.len() < 600, "{text}");
    }

    #[test]
    fn without_a_lock_refuse_withholds_all_and_off_holds_nothing() {
        for (pin, kept) in [("refuse", 0), ("warn", 3), ("off", 3)] {
            let upstream = fixtures::upstream("fs", json!({"pin": pin}));
            let server = ServerEntry::loaded(&upstream, tools("Reads."), &Redactor::new());
            assert_eq!(server.tools().len(), kept, "{pin}");
            assert_eq!(server.pins().is_some(), pin == "refuse", "{pin}");
        }
        assert!(pinned("off").pins.is_none());
    }

    #[test]
    fn callers_learn_nothing_of_tools_that_they_do_not_see() {
        let entry = server("refuse", "Deletes.");
        let seen = entry.seen(|tool| tool == "same", Default::default()).unwrap();
        assert_eq!((seen.withheld().len(), names(&seen)), (0, vec!["same"]));
        let text = check_call(&Catalog::new([seen]), &call("read")).unwrap_err();
        assert!(text.starts_with("no tool 'read' in upstream 'fs'"), "{text}");
        assert!(entry.seen(|_| true, Default::default()).is_none());
    }

    #[test]
    fn a_list_of_a_thousand_changed_tools_is_compared_in_bounded_time() {
        let many = |word: &str| -> Vec<Value> {
            (0..1000)
                .map(|n| json!({"name": format!("t{n}"), "description": format!("{word} {n}. ").repeat(40)}))
                .collect()
        };
        let mut upstream = fixtures::upstream("fs", json!({"pin": "refuse"}));
        let plain = fixtures::server("fs", many("old"));
        let pinned = plain.tools().iter().map(|tool| (tool.name.clone(), tool.pinned())).collect();
        upstream
            .hold_to(Some(&PinLock { upstreams: [("fs".to_owned(), pinned)].into(), ..PinLock::default() }));
        let began = std::time::Instant::now();
        let server = ServerEntry::loaded(&upstream, many("new"), &Redactor::new());
        assert_eq!((server.tools().len(), server.withheld().len()), (0, 1000));
        assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
        assert!(format!("{:?}", server.pins()).len() < 4 << 20);
    }
}
