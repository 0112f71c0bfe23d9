//! What a check finds of what was done to files.

use super::super::chain::ChainEnd;
use super::super::line::{LOG, line};
use super::*;

/// A chain in files of so many lines each, the first of which names the file, and the last one of all is that of the end.
fn files(lines: &[usize]) -> Vec<String> {
    let mut end = ChainEnd::new("c".repeat(32));
    let count = lines.len();
    let file = |(number, lines): (usize, &usize)| {
        let mut out = Vec::new();
        let opened = line(LOG, |line| {
            line.string("event", OPENED);
            line.string("file", "audit");
            line.string("chain", &"c".repeat(32));
            if number > 0 {
                line.string("after", &format!("audit.{number}"));
            }
        });
        end.append(&opened, &mut out);
        for at in 1..*lines {
            let last = number + 1 == count && at + 1 == *lines;
            let text = match last {
                true => line(LOG, |line| line.string("event", CLOSED)),
                false => line("program", |line| line.integer("n", at as u64)),
            };
            end.append(&text, &mut out);
        }
        String::from_utf8(out).unwrap()
    };
    lines.iter().enumerate().map(file).collect()
}

fn check(verifier: Verifier, files: &[String]) -> Report {
    let sources = files
        .iter()
        .enumerate()
        .map(|(number, text)| AuditSource { name: format!("f{number}"), reader: text.as_bytes() });
    verifier.verify(sources).unwrap()
}

/// The findings, as `FILE:LINE kind`.
fn found(files: &[String]) -> Vec<String> {
    let report = check(Verifier::new(false), files);
    for finding in &report.findings {
        let message = finding.kind.message(finding.line);
        assert!(message.contains(". ") || message.contains(": "), "says what to do: {message}");
    }
    let findings = report.findings.iter();
    findings
        .map(|found| {
            format!("{}:{} {}", found.file.as_deref().unwrap_or("-"), found.line, found.kind.as_str())
        })
        .collect()
}

/// The lines of a text, to be changed.
fn edited(text: &str, edit: impl FnOnce(&mut Vec<String>)) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    edit(&mut lines);
    lines.into_iter().map(|line| line + "\n").collect()
}

#[test]
fn whole_chains_are_good_in_any_order() {
    let files = files(&[4, 3, 5]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let given = order.map(|at: usize| files[at].clone());
        let report = check(Verifier::new(false), &given);
        assert!(report.is_good() && report.notes.is_empty(), "{report:?}");
        let ends: Vec<_> = report.files.iter().map(|file| file.end).collect();
        assert_eq!(ends, [FileEnd::Continued, FileEnd::Continued, FileEnd::Closed]);
        assert_eq!(report.files[2].last_seq, Some(12));
    }
}

#[test]
fn every_change_of_a_line_is_found_at_the_next_one() {
    let files = files(&[4, 4]);
    for (file, text) in files.iter().enumerate() {
        for at in 0..text.lines().count() {
            let mut changed = files.clone();
            changed[file] = edited(text, |lines| lines[at] = lines[at].replacen("2", "3", 1));
            let wanted = match (file, at) {
                (0, 3) => vec!["f1:1 file_changed".to_owned()],
                // Nothing stands behind the last line.
                (1, 3) => Vec::new(),
                _ => vec![format!("f{file}:{} changed", at + 2)],
            };
            assert_eq!(found(&changed), wanted, "line {at} of {file}");
        }
    }
}

#[test]
fn lines_that_are_missing_are_found_wherever_they_are() {
    let files = files(&[5, 5]);
    let with = |file: usize, edit: &dyn Fn(&mut Vec<String>)| {
        let mut changed = files.clone();
        changed[file] = edited(&files[file], edit);
        found(&changed)
    };
    assert_eq!(with(0, &|lines| drop(lines.remove(2))), ["f0:3 missing"]);
    assert_eq!(with(0, &|lines| drop(lines.drain(1..4))), ["f0:2 missing"]);
    assert_eq!(with(0, &|lines| lines.truncate(3)), ["f1:1 file_missing"], "its end");
    assert_eq!(with(1, &|lines| drop(lines.remove(0))), ["f1:1 beginning_cut"]);
    assert_eq!(with(0, &|lines| drop(lines.drain(..2))), ["f0:1 beginning_cut"]);
    assert_eq!(with(0, &|lines| lines.clear()), ["f0:0 empty", "f1:1 older_missing"]);
}

#[test]
fn lines_that_were_inserted_or_moved_are_found() {
    let files = files(&[6]);
    let with = |edit: &dyn Fn(&mut Vec<String>)| found(&[edited(&files[0], edit)]);
    assert_eq!(with(&|lines| lines.insert(2, lines[1].clone())), ["f0:3 inserted"]);
    assert_eq!(with(&|lines| lines.insert(2, r#"{"kind":"run"}"#.to_owned())), ["f0:3 foreign"]);
    assert_eq!(with(&|lines| lines.insert(2, "noise".to_owned())), ["f0:3 foreign"]);
    assert_eq!(with(&|lines| lines.swap(2, 3)), ["f0:3 missing", "f0:4 inserted", "f0:5 missing"]);
    let forged =
        r#"{"kind":"run","seq":3,"prev":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
    assert_eq!(with(&|lines| lines.insert(2, forged.to_owned())), ["f0:3 changed", "f0:4 inserted"]);
}

#[test]
fn files_that_are_missing_or_given_twice_are_found() {
    let files = files(&[3, 3, 3]);
    assert_eq!(found(&[files[0].clone(), files[2].clone()]), ["f1:1 file_missing"]);
    assert_eq!(found(&files[1..]), ["f0:1 older_missing"]);
    assert_eq!(found(&[files[0].clone(), files[0].clone(), files[1].clone()]), ["f1:1 file_repeated"]);
    let partial = check(Verifier::new(true), &files[1..]);
    assert!(partial.is_good(), "{partial:?}");
    assert_eq!(partial.notes[0].kind, NoteKind::BeginsLater { seq: 4 });
    let older = check(Verifier::new(false), &files[1..]);
    assert!(older.findings[0].kind.message(1).contains("audit.1"), "{older:?}");
}

#[test]
fn a_cut_of_the_end_is_seen_as_an_open_end_and_found_by_a_digest_that_was_kept() {
    let files = files(&[6]);
    let whole = check(Verifier::new(false), &files);
    let digest = whole.files[0].last_digest.unwrap();
    let cut = [edited(&files[0], |lines| lines.truncate(4))];
    let seen = check(Verifier::new(false), &cut);
    assert!(seen.is_good() && seen.files[0].end == FileEnd::Open, "{seen:?}");
    let mut verifier = Verifier::new(false);
    verifier.expect(digest);
    let seen = check(verifier, &cut);
    assert_eq!(seen.findings[0].kind, FindingKind::ExpectedLineMissing { digest });
    let mut verifier = Verifier::new(false);
    verifier.expect(digest);
    assert!(check(verifier, &files).is_good());
}

#[test]
fn what_is_no_log_has_no_chain() {
    for text in ["{\"kind\":\"run\"}\n", "{}\n{}\n"] {
        assert_eq!(found(&[text.to_owned()]), ["f0:0 no_chain"], "{text}");
    }
    assert_eq!(found(&["\u{1f}\u{8b}noise\n".to_owned()]), ["f0:1 foreign", "f0:0 no_chain"]);
}
