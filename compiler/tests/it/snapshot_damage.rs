//! Bytes of anybody in the place of a snapshot: they are refused, or what comes of them ends within its meters (waiting.md 2.5).

use crate::support::snapshotting::{LIMITS, compiled, drive, programs, read, read_fresh, start, written};
use crate::support::suspending::{ASKING, Order};
use ptc_vm::Step;
use ptc_vm::machine::{Payload, Reply, RestoreError};

/// What a machine may hold above its memory limit: the value that passed it.
const SLACK: u64 = 1 << 20;

/// Restores bytes that may be anything, and lets what comes of them run to its end.
fn run_anything(bytes: &[u8], what: &dyn std::fmt::Debug) {
    let mut machine = match read_fresh(bytes) {
        Ok(machine) => machine,
        Err(damage) => {
            let text = damage.to_string();
            let is_told = text.starts_with("invalid snapshot: ")
                || text == "this program was started by another build of ptc; run it again"
                || matches!(damage, RestoreError::Refused(_));
            assert!(is_told, "{what:?}: {text}");
            return;
        }
    };
    loop {
        match machine.resume(u64::MAX) {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                machine.take_calls();
                // What waits can be written again.
                written(&machine).unwrap_or_else(|pinned| panic!("{what:?}: {pinned}"));
                let call = machine.waiting_calls()[0];
                machine.complete(
                    call,
                    Reply::success(Payload::Json(br#"{"x":[1,{"a":"b"}],"ok":true}"#.to_vec().into())),
                );
            }
        }
    }
    let outcome = machine.finish(true);
    assert!(outcome.steps <= LIMITS.steps, "{what:?}: {} steps", outcome.steps);
    assert!(outcome.memory_peak <= LIMITS.memory_bytes + SLACK, "{what:?}: {} bytes", outcome.memory_peak);
}

/// Every snapshot of these programs' runs.
fn some_snapshots() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (index, source) in programs().enumerate() {
        let mut waits = 0;
        drive(start(&compiled(&source)), Vec::new(), Order::First, &mut |machine, _| {
            // One of each run, and not always the first.
            if waits == index % 3 {
                all.push((source.clone(), written(&machine).expect("waits")));
            }
            waits += 1;
            machine
        });
    }
    assert!(all.len() > 100, "{} snapshots", all.len());
    all
}

#[test]
fn damaged_bytes_are_refused_or_end_within_their_meters() {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let all = some_snapshots();
    for (source, bytes) in &all {
        for _ in 0..30 {
            let at = 14 + random(bytes.len() - 14);
            let mut damaged = bytes.clone();
            match random(4) {
                0 => damaged[at] ^= 1 << random(8),
                1 => damaged[at] = damaged[at].wrapping_add(random(5) as u8 + 1),
                2 => drop(damaged.remove(at)),
                _ => {
                    // A piece of another snapshot, or of another place in this one.
                    let (_, other) = &all[random(all.len())];
                    let from = random(other.len());
                    let piece = &other[from..other.len().min(from + 1 + random(12))];
                    damaged.splice(at..bytes.len().min(at + piece.len()), piece.iter().copied());
                }
            }
            run_anything(&damaged, &(source, at));
        }
    }
}

/// Numbers and tags lie behind the values, where few of the bytes above are.
#[test]
fn every_byte_of_frames_and_counters_may_be_anything() {
    let all = some_snapshots();
    // Fifteen of them: that of damage anywhere tries all, and the fuzz target `restore` any bytes.
    for (source, bytes) in all.iter().step_by(all.len() / 15) {
        // What the host has added is the last of them.
        for back in 6..bytes.len().min(90) {
            let at = bytes.len() - back;
            for value in [0, 2, bytes[at].wrapping_add(1), bytes[at].wrapping_sub(1)] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                if damaged != *bytes {
                    run_anything(&damaged, &(source, at, value));
                }
            }
        }
    }
}

#[test]
fn bytes_that_are_cut_short_or_too_long_are_refused() {
    for (source, bytes) in some_snapshots().iter().step_by(10) {
        for len in 0..bytes.len() {
            assert!(read_fresh(&bytes[..len]).is_err(), "{source}: {len} bytes");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(
            read_fresh(&longer).err().map(|damage| damage.to_string()).as_deref(),
            Some("invalid snapshot: end")
        );
    }
}

#[test]
fn another_build_is_told_in_one_sentence() {
    let sentence = "this program was started by another build of ptc; run it again";
    let machine = &mut start(&compiled(&format!("{ASKING} (f 1)")));
    assert!(matches!(machine.resume(u64::MAX), Step::Wait));
    machine.take_calls();
    let bytes = written(machine).expect("waits");
    assert_eq!(&bytes[..4], b"PTCS");
    let refused = |bytes: &[u8]| read_fresh(bytes).err().map(|damage| damage.to_string());
    for at in 4..14 {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert_eq!(refused(&other).as_deref(), Some(sentence), "byte {at}");
    }
    // The text comes to other code here.
    let other = read(&bytes, &mut |_| Ok(compiled(&format!("{ASKING} (f 2)"))));
    assert_eq!(other.err().map(|damage| damage.to_string()).as_deref(), Some(sentence));
    assert_eq!(refused(b"PTC").as_deref(), Some("invalid snapshot: length"));
    assert_eq!(refused(b"PTCX\x01\x00").as_deref(), Some("invalid snapshot: head"));
}
