//! Inputs made of others, as a fuzzer makes them, but the same on every run.

/// Most bytes of an input, as `fuzz/run` has it.
const MOST_BYTES: usize = 4096;
/// Most changes to one input.
const MOST_CHANGES: usize = 6;
/// Most bytes that one change takes out, repeats or copies.
const MOST_AT_ONCE: usize = 64;
/// Bytes that mean something to what is tested.
const TELLING: &[u8] = b"\0\xff\x7f\x80\n\r\"'\\{}[]()#;:,./%&= 0129-+eE";

/// Numbers that look random and are the same on every machine: SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of this name.
    pub fn named(name: &str) -> Self {
        // FNV-1a.
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    /// The next number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        (self.word() >> 56) as u8
    }

    /// A number below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.word() % n as u64) as usize }
    }
}

/// Makes an input of one of `inputs`, with bits flipped, bytes replaced, put in, taken out and repeated, parts of others spliced
/// in, and its end cut off.
///
/// # Panics
/// If there is no input.
pub fn mutant(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = inputs[random.below(inputs.len())].clone();
    bytes.truncate(MOST_BYTES);
    for _ in 0..=random.below(MOST_CHANGES) {
        change(&mut bytes, inputs, random);
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(9) {
        0 | 1 => flip(bytes, at, random),
        2 => replace(bytes, at, TELLING[random.below(TELLING.len())]),
        3 => replace(bytes, at, random.byte()),
        4 => {
            let byte = TELLING[random.below(TELLING.len())];
            bytes.insert(random.below(bytes.len() + 1), byte);
        }
        5 => drop(bytes.drain(part(bytes.len(), at, random))),
        6 => {
            let part = bytes[part(bytes.len(), at, random)].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, part);
        }
        7 => {
            let other = &inputs[random.below(inputs.len())];
            let from = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => bytes.truncate(random.below(bytes.len() + 1)),
    }
}

fn flip(bytes: &mut [u8], at: usize, random: &mut Random) {
    let bit = 1 << random.below(8);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= bit;
    }
}

fn replace(bytes: &mut [u8], at: usize, with: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte = with;
    }
}

/// A part of `length` bytes that begins at `at`.
fn part(length: usize, at: usize, random: &mut Random) -> std::ops::Range<usize> {
    let most = (length - at).min(MOST_AT_ONCE);
    at..at + random.below(most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_of_a_seed_are_the_same_every_time_and_seldom_equal() {
        let inputs = [b"(+ 1 2)".to_vec(), Vec::new(), vec![7; 2 * MOST_BYTES]];
        let made = |name| {
            let mut random = Random::named(name);
            (0..1_000).map(|_| mutant(&inputs, &mut random)).collect::<Vec<_>>()
        };
        let mutants = made("vm");
        assert_eq!(mutants, made("vm"));
        assert_ne!(mutants, made("json"));
        assert!(mutants.iter().all(|mutant| mutant.len() <= MOST_BYTES));
        let different: std::collections::HashSet<_> = mutants.iter().collect();
        assert!(different.len() > 600, "{}", different.len());
    }
}
