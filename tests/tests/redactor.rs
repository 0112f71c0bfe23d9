//! What the redactor takes for the secrets that it knows. The only test here: engines of others would free meanwhile, and the allocator
//! counts for all threads.

use peak_alloc::PeakAlloc;
use ptc_host::credentials::{Redactor, Secret};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A token of so many characters, in no order.
fn token(number: u64, len: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[usize::try_from(state >> 58).unwrap()])
    };
    (0..len).map(|_| letter()).collect()
}

#[test]
fn secrets_take_a_few_bytes_for_each_of_theirs_and_renewals_no_more() {
    let redactor = Redactor::new();
    let before = ALLOCATOR.current_usage();
    let bytes = 64 * 2048;
    for number in 0..64 {
        let owner = format!("sign-in {number}");
        redactor.replace(&owner, "*", &[Secret::new(token(number, 2048))]).unwrap();
    }
    let held = ALLOCATOR.current_usage() - before;
    assert!(held < 6 * bytes, "{held} bytes for {bytes} of secrets");
    // A thousand renewals of one sign-in: what is replaced gives way, and nothing is made anew besides.
    ALLOCATOR.reset_peak_usage();
    for number in 0..1000 {
        redactor.replace("sign-in 0", "*", &[Secret::new(token(1000 + number, 2048))]).unwrap();
    }
    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak < 6 * (256 << 10) + (256 << 10), "{peak} bytes at the peak");
    let text = format!("<{}> <{}>", token(63, 2048), token(1999, 2048));
    assert_eq!(redactor.scrub(&text), "<[REDACTED]> <[REDACTED]>");
}
