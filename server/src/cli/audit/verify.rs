//! `ptc audit verify FILES…`

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

use ptc_host::visible::visible;
use ptc_mcp::json::{Value, json};
use ptc_observers::audit::verify::{AuditSource, FileEnd, FileReport, LineDigest, Report, Verifier};

use super::VerifyArgs;
use crate::cli::output::{self, outln};
use crate::cli::report;

/// Bytes that are read of a file at a time.
const BUFFER: usize = 256 << 10;

pub(super) fn run(args: &VerifyArgs) -> ExitCode {
    let mut verifier = Verifier::new(args.partial);
    for digest in &args.has {
        match LineDigest::parse(&digest.to_ascii_lowercase()) {
            Some(digest) => verifier.expect(digest),
            None => {
                return report::refused(&format!(
                    "--has wants a SHA-256 in 64 hexadecimal digits, got: {digest}"
                ));
            }
        }
    }
    let checked = args.files.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>();
    let checked = checked.and_then(|sources| verifier.verify(sources));
    match checked {
        Ok(found) => {
            if args.json {
                output::write(format_args!("{}\n", visible(&as_json(&found).to_string())));
            } else {
                show(&found);
            }
            if found.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err((name, error)) => {
            let text = format!("{name}: {error}");
            if args.json {
                let fault = json!({"ok": false, "error": text});
                output::write(format_args!("{}\n", visible(&fault.to_string())));
                return ExitCode::FAILURE;
            }
            report::fault(&text)
        }
    }
}

/// A file, which may also be a pipe (`<(zcat FILE)`).
fn open(path: &Path) -> Result<AuditSource<Box<dyn BufRead>>, (String, io::Error)> {
    let name = path.display().to_string();
    if path == Path::new("-") {
        return Ok(AuditSource { name: "standard input".to_owned(), reader: Box::new(io::stdin().lock()) });
    }
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        false => Ok(file),
    });
    match opened {
        Ok(file) => Ok(AuditSource { name, reader: Box::new(BufReader::with_capacity(BUFFER, file)) }),
        Err(error) => Err((name, error)),
    }
}

fn show(found: &Report) {
    for file in &found.files {
        outln!("{}: {}", visible(&file.name), described(file));
    }
    for note in &found.notes {
        outln!("{}:{}: note: {}", visible(&note.file), note.line, visible(&note.kind.message()));
    }
    for finding in &found.findings {
        let place = match (&finding.file, finding.line) {
            (None, _) => String::new(),
            (Some(file), 0) => format!("{}: ", visible(file)),
            (Some(file), line) => format!("{}:{line}: ", visible(file)),
        };
        outln!("{place}{}", visible(&finding.kind.message(finding.line)));
    }
    let more = found.findings_count - found.findings.len() as u64;
    if more > 0 {
        outln!("and {more} more");
    }
    match found.findings_count {
        0 if found.has_open_starts() => {
            outln!(
                "nothing was found to be wrong, as far as the files tell; the notes name what they cannot tell"
            )
        }
        0 => outln!("nothing is wrong"),
        1 => outln!("1 thing is wrong"),
        count => outln!("{count} things are wrong"),
    }
}

fn described(file: &FileReport) -> String {
    let plural = if file.lines == 1 { "" } else { "s" };
    let mut text = format!("{} line{plural}", file.lines);
    if let (Some(first), Some(last)) = (file.first_seq, file.last_seq) {
        text +=
            &format!(", {first} to {last} of chain {}", file.chain.as_deref().unwrap_or("without a name"));
    }
    text += match (file.last_seq, file.end) {
        (None, _) => "",
        (_, FileEnd::Closed) => ", ends with the last line of its process",
        (_, FileEnd::Continued) => ", goes on in the next file",
        (_, FileEnd::Open) => {
            ", ends in the middle: its process runs or was killed, or the end was cut, which only --has can tell"
        }
    };
    match &file.last_digest {
        Some(digest) if file.end != FileEnd::Continued => format!("{text}; last digest {}", digest.hex()),
        _ => text,
    }
}

fn as_json(found: &Report) -> Value {
    let files: Vec<Value> = found
        .files
        .iter()
        .map(|file| {
            json!({
                "file": file.name,
                "lines": file.lines,
                "chain": file.chain,
                "first_seq": file.first_seq,
                "last_seq": file.last_seq,
                "last_digest": file.last_digest.map(|digest| digest.hex()),
                "end": file.end.as_str(),
            })
        })
        .collect();
    let findings: Vec<Value> = found
        .findings
        .iter()
        .map(|finding| {
            json!({
                "file": finding.file,
                "line": finding.line,
                "kind": finding.kind.as_str(),
                "message": finding.kind.message(finding.line),
            })
        })
        .collect();
    let notes: Vec<Value> = found
        .notes
        .iter()
        .map(|note| {
            json!({
                "file": note.file,
                "line": note.line,
                "kind": note.kind.as_str(),
                "message": note.kind.message(),
            })
        })
        .collect();
    json!({
        "ok": found.is_good(),
        "files": files,
        "findings": findings,
        "findings_count": found.findings_count,
        "notes": notes,
    })
}
