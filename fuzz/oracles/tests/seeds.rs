//! The fuzz targets without a fuzzer: every seed of a target, every input that is kept in `fuzz/crash_inputs`, and inputs made of them
//! by mutation, the same on every run. `FUZZ_MUTANTS` says how many of those, 1 000 if it is not set.
//!
//! Each target is a test that runs in a process of its own, since the oracles measure the memory and the processor time of the whole
//! process, and since a process that aborts must not take the others along.

use libtest_mimic::{Arguments, Failed, Trial};
use nix::time::{ClockId, clock_gettime};
use ptc_fuzz_oracles::mutate::{Random, mutant};
use ptc_fuzz_oracles::seeds::fuzz_folder;
use ptc_fuzz_oracles::targets::{TARGETS, Target, find};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs};

/// Names the target that this process is to run.
const TARGET: &str = "PTC_FUZZ_TARGET";
/// How many mutants there are where `FUZZ_MUTANTS` does not say.
const MUTANTS: usize = 1_000;
/// Bytes of an input that a failure shows; its file has all.
const MOST_SHOWN: usize = 300;
/// Failures after which a target is given up.
const MOST_FAILURES: usize = 5;

fn main() -> ExitCode {
    if let Ok(name) = env::var(TARGET) {
        return run(find(&name).expect("a target of the table"));
    }
    let mut trials: Vec<Trial> =
        TARGETS.iter().map(|target| Trial::test(target.name, || in_a_process_of_its_own(target))).collect();
    trials.push(Trial::test("the_table_has_the_targets_of_libfuzzer_and_the_folders_of_inputs", names_agree));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn in_a_process_of_its_own(target: &Target) -> Result<(), Failed> {
    let mut process = Command::new(env::current_exe()?);
    let output = process.env(TARGET, target.name).env("RUST_BACKTRACE", "0").output()?;
    if !output.status.success() {
        // The last lines tell which input it was, even if the process could not.
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        return Err(format!("{}: {}\n{last}", target.name, output.status).into());
    }
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// Runs all inputs of a target. What fails is written where libFuzzer would write it.
fn run(target: &Target) -> ExitCode {
    let seeds = target.seeds();
    let kept = target.crash_inputs().expect("kept inputs can be read");
    let all: Vec<Vec<u8>> = seeds.iter().chain(kept.iter().map(|(_, bytes)| bytes)).cloned().collect();
    let mutants = env::var("FUZZ_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(MUTANTS);
    let mut random = Random::named(target.name);

    let seeds = seeds.into_iter().enumerate().map(|(at, bytes)| (format!("seed-{at:04}"), bytes));
    let mutants = (0..mutants).map(|at| (format!("mutant-{at:04}"), mutant(&all, &mut random)));
    let (mut ran, mut failures) = (0, 0);
    for (name, bytes) in kept.into_iter().chain(seeds).chain(mutants) {
        eprintln!("{}: {name}", target.name);
        ran += 1;
        if catch_unwind(|| (target.check)(&bytes)).is_ok() {
            continue;
        }
        let file = fuzz_folder().join("artifacts").join(target.name).join(name);
        keep(&file, &bytes);
        let shown = &bytes[..bytes.len().min(MOST_SHOWN)];
        eprintln!("a promise is broken: {}\n{}", file.display(), shown.escape_ascii());
        failures += 1;
        if failures == MOST_FAILURES {
            break;
        }
    }
    println!("{}: {ran} inputs in {:.2} s of processor time", target.name, processor_time().as_secs_f64());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn keep(file: &Path, bytes: &[u8]) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder that can be made");
    fs::write(file, bytes).expect("a file that can be written");
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the clock of a process is there").into()
}

/// What `fuzz/Cargo.toml` lists, which `fuzz/run` reads, is the table; so are the files of `fuzz/fuzz_targets`; and each folder of
/// `fuzz/crash_inputs` belongs to a target.
fn names_agree() -> Result<(), Failed> {
    let table: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml"))?;
    let listed = manifest.split("[[bin]]").skip(1).filter_map(|bin| bin.split('"').nth(1));
    assert_eq!(listed.map(str::to_owned).collect::<BTreeSet<_>>(), table, "targets of fuzz/Cargo.toml");

    let mut files = BTreeSet::new();
    for file in fs::read_dir(fuzz_folder().join("fuzz_targets"))? {
        let path = file?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let text = fs::read_to_string(&path)?;
        let wanted = [format!("begin(\"{name}\")"), format!("check::{name}(data)")];
        assert!(wanted.iter().all(|part| text.contains(part)), "{name}: {wanted:?} in\n{text}");
        files.insert(name);
    }
    assert_eq!(files, table, "files of fuzz/fuzz_targets");

    for folder in fs::read_dir(fuzz_folder().join("crash_inputs"))? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        assert!(!folder.path().is_dir() || table.contains(&name), "fuzz/crash_inputs/{name} is of no target");
    }
    Ok(())
}
