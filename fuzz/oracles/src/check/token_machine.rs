//! Tokens that processes share, in any interleaving.

use crate::bounds::{Charged, bounded};

/// Bytes that a call, a task or a token of the simulation holds for each byte that made it.
const BYTES_OF_AN_EVENT: u64 = 4096;
/// Steps whose time the simulation of an event may take.
const STEPS_OF_AN_EVENT: u64 = 2_000;

/// Every call ends with few requests, no refresh token is used twice, and what the provider knows works.
pub fn token_machine(data: &[u8]) {
    let events = data.len() as u64 + 64;
    bounded("the tokens", data.len(), || {
        ptc_oauth_simulation::run(data);
        let charged = Charged {
            bytes: BYTES_OF_AN_EVENT * events,
            // Calls and tokens of the provider are looked through one by one.
            steps: STEPS_OF_AN_EVENT * events * events,
            in_one_turn: true,
        };
        ((), charged)
    });
}
