//! Snapshots that anybody may have written.

use crate::bounds::{Charged, bounded};
use crate::generate::{Choices, programs};
use crate::run::{self, GRANTED_BYTES, Host, LIMITS, Order, PLAIN_HOST, RESTORE_STEPS};
use ptc_vm::machine::RestoreError;

/// Bytes of a snapshot that say which build has written it.
const HEAD: usize = 14;

/// Whatever the bytes are: an error of the closed set, or a machine that ends within its meters.
pub fn restore(data: &[u8]) {
    let mut choices = Choices::new(data);
    let how = choices.below(8);
    let waits = choices.below(6) as u64;
    let text = programs::program(&mut choices, programs::Powers { tools: true });
    let Some(program) = run::compiled(&text) else { return };
    let mut machine = run::machine(&program, LIMITS);
    if run::drive(&mut machine, LIMITS, u64::MAX, PLAIN_HOST, waits) {
        return;
    }
    let Some(mut bytes) = run::written(&machine) else { return };
    drop(machine);
    if how == 0 {
        // Nothing but the head is ours.
        bytes.truncate(HEAD);
        bytes.extend(choices.rest());
    }
    while !choices.is_spent() && bytes.len() > HEAD {
        let at = HEAD + choices.below(bytes.len() - HEAD);
        match choices.below(4) {
            0 => bytes[at] = choices.byte(),
            1 => bytes[at] ^= 1 << choices.below(8),
            2 => drop(bytes.remove(at)),
            _ => bytes.insert(at, choices.byte()),
        }
    }
    let restored = bounded("a snapshot", bytes.len(), || {
        let charged = LIMITS.memory_bytes + GRANTED_BYTES;
        (run::restored(&bytes, LIMITS), Charged { bytes: charged, steps: RESTORE_STEPS, in_one_turn: false })
    });
    match restored {
        Ok(mut machine) => {
            let host = Host { order: Order::Last, ..PLAIN_HOST };
            run::drive_restored(&mut machine, host);
            run::ending(machine, LIMITS);
        }
        Err(damage) => {
            let said = damage.to_string();
            let expected = match damage {
                RestoreError::Invalid(part) => format!("invalid snapshot: {part}"),
                RestoreError::OtherBuild => {
                    "this program was started by another build of ptc; run it again".to_owned()
                }
                RestoreError::Refused(error) => error.message().to_owned(),
            };
            assert_eq!(said, expected);
        }
    }
}
