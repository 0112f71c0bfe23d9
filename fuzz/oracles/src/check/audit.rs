//! Files of an audit log that somebody may have changed.

use crate::bounds::{Charged, bounded};
use crate::generate::Choices;
use ptc_host::digest::sha256_hex;
use ptc_server::observers::audit::verify::{AuditSource, Report, Verifier};

/// Most lines of a chain that is made here.
const MOST_LINES: usize = 12;

/// Any bytes have a report; a chain is good as it was written, and with any byte changed, put in or taken out before its last line it is
/// not.
pub fn audit(data: &[u8]) {
    let files: Vec<&[u8]> = data.split(|byte| *byte == 0xff).collect();
    for partial in [false, true] {
        let report =
            bounded("files of an audit log", data.len(), || (verified(partial, &files), Charged::default()));
        for finding in &report.findings {
            let message = finding.kind.message(finding.line);
            assert!(!message.contains('\n'), "{message:?}");
        }
        assert_eq!(report.is_good(), report.findings.is_empty());
        assert_eq!(report.files.len(), files.len());
    }
    let mut choices = Choices::new(data);
    let lines = chain(2 + choices.below(MOST_LINES));
    let whole: Vec<u8> = lines.concat();
    assert!(verified(false, &[&whole]).is_good());
    // Files are cut at any line, if the second one names itself.
    let last = whole.len() - lines.last().map_or(0, Vec::len);
    let at = choices.below(last);
    let byte = whole[at];
    let other = u8::try_from(choices.below(255)).unwrap_or_default();
    let other = if other >= byte { other.wrapping_add(1) } else { other };
    let mut changed = whole.clone();
    match choices.below(3) {
        0 => changed[at] = other,
        1 => changed.insert(at, other),
        _ => drop(changed.remove(at)),
    }
    let report = verified(false, &[&changed]);
    assert!(!report.is_good(), "{at} {byte} {other} {:?}", String::from_utf8_lossy(&changed));
}

fn verified(partial: bool, files: &[&[u8]]) -> Report {
    let sources = files.iter().map(|text| AuditSource { name: "f".to_owned(), reader: *text });
    match Verifier::new(partial).verify(sources) {
        Ok(report) => report,
        Err((name, error)) => panic!("{name}: {error}"),
    }
}

/// The lines of a chain, each with its line feed.
fn chain(count: usize) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for seq in 1..=count {
        let line = match lines.last() {
            None => format!(r#"{{"kind":"log","event":"opened","file":"f","chain":"c","seq":{seq}}}"#),
            Some(before) => {
                let prev = sha256_hex(&before[..before.len() - 1]);
                format!(r#"{{"kind":"run","n":"é","seq":{seq},"prev":"{prev}"}}"#)
            }
        };
        lines.push(line.into_bytes());
        if let Some(line) = lines.last_mut() {
            line.push(b'\n');
        }
    }
    lines
}

/// A file of a log as it is written, and with parts that a killed process has left.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let whole = chain(3).concat();
    let torn = [&whole[..], b"{\"kind\":\"ru"].concat();
    let two = [&whole[..], b"\xff", &whole].concat();
    vec![whole, torn, two]
}
