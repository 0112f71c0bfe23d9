//! `ptc program test`

use std::process::ExitCode;

use clap::Args;
use ptc_host::engine::{ChosenLimits, Engine, EngineOptions, EvalRequest, Limits};
use ptc_host::visible::visible;
use ptc_mcp::json::{Value as Json, json};
use ptc_programs::folder::ProgramFolder;
use ptc_programs::name::ProgramName;
use ptc_programs::replay::{TestReport, run_test};

use super::files::{ChosenProgram, chosen};
use super::live::LiveCalls;
use super::{LimitArgs, PlaceArgs, print_json};
use crate::cli::output::outln;

#[derive(Args, Debug)]
pub(super) struct TestArgs {
    /// The programs [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Ask the real upstreams for the replies of the tests, and compare their shapes; only tools that change nothing are called
    #[arg(long)]
    live: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

/// The tests of one program.
pub(super) struct ProgramReport {
    name: ProgramName,
    /// Why the program cannot run at all.
    fault: Option<String>,
    tests: Vec<TestReport>,
    /// Replies that the real upstreams were not asked for, a sentence each.
    not_asked: Vec<String>,
}

impl ProgramReport {
    fn failed(&self) -> usize {
        usize::from(self.fault.is_some()) + self.tests.iter().filter(|test| !test.failures.is_empty()).count()
    }

    fn json(&self) -> Json {
        let tests = self.tests.iter().map(|test| {
            json!({
                "test": test.title, "line": test.line, "ok": test.failures.is_empty(), "failures": test.failures,
                "steps": test.steps, "calls": test.calls,
            })
        });
        json!({"program": self.name.as_str(), "fault": self.fault, "tests": tests.collect::<Vec<_>>(), "not_asked": self.not_asked})
    }

    fn tell(&self) {
        if let Some(fault) = &self.fault {
            outln!("{}", visible(&format!("{}: {fault}", self.name)));
        }
        for test in &self.tests {
            match test.failures.as_slice() {
                [] => outln!(
                    "{}",
                    visible(&format!(
                        "{}: {} passed ({} steps, {} calls)",
                        self.name, test.title, test.steps, test.calls
                    ))
                ),
                failures => {
                    outln!(
                        "{}",
                        visible(&format!("{}: {} FAILED (line {})", self.name, test.title, test.line))
                    );
                    failures.iter().for_each(|failure| outln!("  {}", visible(failure)));
                }
            }
        }
        self.not_asked.iter().for_each(|note| outln!("{}", visible(&format!("{}: {note}", self.name))));
        if self.fault.is_none() && self.tests.is_empty() {
            outln!("{}: no tests", self.name);
        }
    }
}

pub(super) async fn run(place: &PlaceArgs, args: &TestArgs, as_json: bool) -> Result<ExitCode, String> {
    let folder = place.folder()?;
    let programs = chosen(&folder, &args.names)?;
    let mut reports = reports(&folder, programs.clone()).await?;
    if args.live {
        let live = LiveCalls::open(&args.limits).await?;
        for (report, chosen) in reports.iter_mut().zip(&programs) {
            let Ok(program) = &chosen.program else { continue };
            for (test, told) in program.tests().iter().zip(&mut report.tests) {
                let differences = live.differences(test).await;
                told.failures.extend(differences.found);
                report.not_asked.extend(differences.not_asked);
            }
        }
        live.close().await;
    }
    let failed: usize = reports.iter().map(ProgramReport::failed).sum();
    if as_json {
        let programs: Vec<Json> = reports.iter().map(ProgramReport::json).collect();
        print_json(&json!({"ok": failed == 0, "programs": programs}));
    } else {
        reports.iter().for_each(ProgramReport::tell);
        let tests: usize = reports.iter().map(|report| report.tests.len()).sum();
        outln!("{tests} test{}, {failed} failed", if tests == 1 { "" } else { "s" });
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tests of these programs.
pub(super) async fn reports(
    folder: &ProgramFolder,
    programs: Vec<ChosenProgram>,
) -> Result<Vec<ProgramReport>, String> {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() })
        .map_err(|error| error.to_string())?;
    let limits = Limits::with(ChosenLimits::default(), true);
    let mut reports = Vec::with_capacity(programs.len());
    for ChosenProgram { name, program } in programs {
        let mut report = ProgramReport { name, fault: None, tests: Vec::new(), not_asked: Vec::new() };
        match program.and_then(|program| Ok((folder.linked(&program)?, program))) {
            Err(fault) => report.fault = Some(fault),
            Ok((linked, program)) => {
                for test in &program.tests() {
                    let template = EvalRequest { limits, ..EvalRequest::new("") };
                    report.tests.push(run_test(&engine, &program, &linked, test, template).await);
                }
            }
        }
        reports.push(report);
    }
    Ok(reports)
}

/// The failures of a report in one sentence; `None` if all passed.
pub(super) fn failure_of(report: &ProgramReport) -> Option<String> {
    if let Some(fault) = &report.fault {
        return Some(fault.clone());
    }
    report.tests.iter().find_map(TestReport::failure)
}
