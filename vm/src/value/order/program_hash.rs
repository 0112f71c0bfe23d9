//! The hashes that programs see: `hash` of Clojure and `hashCode` of Java, the same in every process.

use super::hash::HashLevel;
use super::memory::{AllocationFacts, LONG, Stack, identity};
use crate::meter;
use crate::value::{Cursor, Value, parts_of_name};
use num_bigint::{BigInt, Sign};

/// Whose hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hashing {
    /// Clojure's: Murmur3, by which values are found in its maps.
    Clojure,
    /// Java's.
    Java,
}

/// The hash of a value. Values that are equal have the same, but for a whole float beside the integer.
///
/// # Errors
/// The value itself or the one in it that has no hash: a function, a pattern, a date and their like.
pub(crate) fn program_hash(value: &Value, hashing: Hashing) -> Result<i32, Value> {
    match enter(value) {
        Some((level, ordered)) => collection(ProgramHashFrame::new(level, ordered, 0), hashing),
        None => scalar(value, hashing),
    }
}

/// Clojure's hash of the elements of a collection, in their order or independent of it.
///
/// # Errors
/// As [`program_hash`].
pub(crate) fn hash_of_elements(elements: Cursor, ordered: bool) -> Result<i32, Value> {
    collection(ProgramHashFrame::new(HashLevel::Values(elements), ordered, 0), Hashing::Clojure)
}

/// A collection whose elements are being added to its hash.
struct ProgramHashFrame {
    level: HashLevel,
    ordered: bool,
    address: usize,
    /// The sum so far.
    sum: i32,
    /// How many elements or entries came.
    count: i32,
    /// The hash of the key whose value comes next.
    key: i32,
}

impl ProgramHashFrame {
    fn new(level: HashLevel, ordered: bool, address: usize) -> ProgramHashFrame {
        ProgramHashFrame { level, ordered, address, sum: i32::from(ordered), count: 0, key: 0 }
    }

    fn add(&mut self, hash: i32, hashing: Hashing) {
        let hash = match &self.level {
            HashLevel::Entries(_, Some(_)) => {
                self.key = hash;
                return;
            }
            HashLevel::Entries(_, None) if hashing == Hashing::Java => self.key ^ hash,
            HashLevel::Entries(_, None) => mix_collection(chained(chained(1, self.key), hash), 2),
            HashLevel::Values(_) => hash,
        };
        self.sum = if self.ordered { chained(self.sum, hash) } else { self.sum.wrapping_add(hash) };
        self.count = self.count.wrapping_add(1);
    }

    fn finish(&self, hashing: Hashing) -> i32 {
        match hashing {
            Hashing::Clojure => mix_collection(self.sum, self.count),
            Hashing::Java => self.sum,
        }
    }
}

fn chained(hash: i32, next: i32) -> i32 {
    hash.wrapping_mul(31).wrapping_add(next)
}

/// The part to enter, and whether its order counts.
fn enter(value: &Value) -> Option<(HashLevel, bool)> {
    Some(match value {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
            (HashLevel::Values(Cursor::Vector(items.iter())), true)
        }
        Value::Set(set) => (HashLevel::Values(Cursor::Set(set.clone().into_iter())), false),
        Value::Map(map) => (HashLevel::Entries(map.clone().into_iter(), None), false),
        _ => return None,
    })
}

/// Walks as [`hash`](super::hash) does.
fn collection(outer: ProgramHashFrame, hashing: Hashing) -> Result<i32, Value> {
    let mut top = outer;
    let mut levels = Stack::new();
    let mut looks = 0_u32;
    let mut known: Option<AllocationFacts<i32>> = None;
    loop {
        meter::work(1);
        if meter::exhausted() {
            return Ok(0);
        }
        looks = looks.saturating_add(1);
        let long = looks > LONG;
        let Some(item) = top.level.next() else {
            let hash = top.finish(hashing);
            let Some(parent) = levels.pop() else { return Ok(hash) };
            if long {
                known.get_or_insert_default().insert(top.address, hash);
            }
            top = parent;
            top.add(hash, hashing);
            continue;
        };
        let Some((level, ordered)) = enter(&item) else {
            top.add(scalar(&item, hashing)?, hashing);
            continue;
        };
        let address = identity(&item).unwrap_or_default();
        if let Some(hash) = known.as_ref().and_then(|known| known.get(address)) {
            top.add(hash, hashing);
            continue;
        }
        levels.push(std::mem::replace(&mut top, ProgramHashFrame::new(level, ordered, address)));
    }
}

fn scalar(value: &Value, hashing: Hashing) -> Result<i32, Value> {
    let clojure = hashing == Hashing::Clojure;
    Ok(match value {
        Value::Nil => 0,
        Value::True => 1231,
        Value::False => 1237,
        Value::Int(n) if clojure => murmur_of_long(*n),
        Value::Int(n) => folded(n.cast_unsigned()),
        Value::BigInt(n) => of_big(n.get()),
        Value::Float(x) if x.is_nan() => folded(0x7FF8 << 48),
        // The zeros are equal.
        Value::Float(x) if clojure && x.get() == 0.0 => 0,
        Value::Float(x) => folded(x.get().to_bits()),
        Value::Str(text) if clojure => murmur_of_int(of_text(text.as_str())),
        Value::Str(text) => of_text(text.as_str()),
        Value::Symbol(name) => of_name(name.as_str(), clojure),
        Value::Keyword(keyword) => of_name(keyword.name(), clojure).wrapping_add(GOLDEN),
        other => return Err(other.clone()),
    })
}

/// The halves of 64 bits together, as Java does it.
fn folded(bits: u64) -> i32 {
    ((bits ^ (bits >> 32)) as u32).cast_signed()
}

/// Java's hash of an integer outside 64 bits.
fn of_big(n: &BigInt) -> i32 {
    meter::work(n.bits() / 512);
    if meter::exhausted() {
        return 0;
    }
    let magnitude = n.iter_u32_digits().rev().fold(0, |hash, digit| chained(hash, digit.cast_signed()));
    if n.sign() == Sign::Minus { magnitude.wrapping_neg() } else { magnitude }
}

/// Java's hash of a text.
fn of_text(text: &str) -> i32 {
    charged_pieces(text).flat_map(str::encode_utf16).fold(0, |hash, unit| chained(hash, unit.into()))
}

/// The pieces of a text, of which a long one costs a step for every 16 bytes; none where the program's steps are used up.
fn charged_pieces(text: &str) -> impl Iterator<Item = &str> {
    meter::text_pieces(text).take_while(|piece| {
        meter::work(piece.len() as u64 / 16);
        !meter::exhausted()
    })
}

/// The hash of a symbol, and but for a summand of a keyword.
fn of_name(text: &str, clojure: bool) -> i32 {
    let (namespace, name) = parts_of_name(text);
    combined(if clojure { murmur_of_text(name) } else { of_text(name) }, namespace.map_or(0, of_text))
}

/// The golden ratio in 32 bits.
const GOLDEN: i32 = 0x9E37_79B9_u32.cast_signed();

/// One hash of two, as Clojure does it.
pub(crate) fn combined(seed: i32, hash: i32) -> i32 {
    seed ^ hash.wrapping_add(GOLDEN).wrapping_add(seed << 6).wrapping_add(seed >> 2)
}

// --- Murmur3 -------------------------------------------------------------------------------------------------

/// The hash of a collection of so many elements, from their combined hash.
pub(crate) fn mix_collection(hash: i32, count: i32) -> i32 {
    finished(mixed(0, hash), count)
}

fn murmur_of_int(n: i32) -> i32 {
    if n == 0 { 0 } else { finished(mixed(0, n), 4) }
}

fn murmur_of_long(n: i64) -> i32 {
    if n == 0 { 0 } else { finished(mixed(mixed(0, n as i32), (n >> 32) as i32), 8) }
}

fn murmur_of_text(text: &str) -> i32 {
    let (mut hash, mut length, mut before) = (0, 0_i32, None);
    for unit in charged_pieces(text).flat_map(str::encode_utf16) {
        length = length.wrapping_add(1);
        let unit = i32::from(unit);
        match before.take() {
            None => before = Some(unit),
            Some(low) => hash = mixed(hash, low | (unit << 16)),
        }
    }
    finished(hash ^ before.map_or(0, scrambled), length.wrapping_mul(2))
}

fn scrambled(block: i32) -> i32 {
    block.wrapping_mul(0xCC9E_2D51_u32.cast_signed()).rotate_left(15).wrapping_mul(0x1B87_3593)
}

fn mixed(hash: i32, block: i32) -> i32 {
    (hash ^ scrambled(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64_u32.cast_signed())
}

fn finished(hash: i32, length: i32) -> i32 {
    let hash = (hash ^ length).cast_unsigned();
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    (hash ^ (hash >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Map, Vector};

    fn hash(value: &Value) -> i32 {
        program_hash(value, Hashing::Clojure).unwrap_or_default()
    }

    fn ints(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().copied().map(Value::Int).collect()
    }

    #[test]
    fn hashes_are_those_of_clojure() {
        let symbol = |name: &str| Value::Symbol(crate::value::Str::new(name));
        let entry = |name: &str, n| (Value::keyword(name), Value::Int(n));
        for (value, expected) in [
            (Value::Nil, 0),
            (Value::True, 1231),
            (Value::False, 1237),
            (Value::Int(0), 0),
            (Value::Int(1), 1_392_991_556),
            (Value::float(0.5), 1_071_644_672),
            (Value::float(-0.325_532_51), -254_028_961),
            (Value::float(-0.000_003_255_325_1), 1_485_958_587),
            (Value::float(-0.0), 0),
            (Value::str(""), 0),
            (Value::str("a"), 1_455_541_201),
            (Value::keyword("a"), -2_123_407_586),
            (symbol("foo"), -1_385_541_733),
            (symbol("foo/bar"), 254_379_989),
            (symbol("js/Array"), -423_508_366),
            (symbol("/"), -1_371_932_971),
            (Value::vector([]), -2_017_569_654),
            (Value::list([]), -2_017_569_654),
            (Value::vector(ints(&[1, 2])), 156_247_261),
            (Value::list(ints(&[1, 2])), 156_247_261),
            (Value::vector(ints(&[1, 2, 3])), 736_442_005),
            (Value::Set(ints(&[1, 2]).into_iter().collect()), 460_223_544),
            (Value::Set(ints(&[1, 2, 3]).into_iter().collect()), 439_094_965),
            (Value::Map(Map::new()), -15_128_758),
            (Value::Map(Map::from_entries(vec![entry("a", 1), entry("b", 2)])), 161_871_944),
            (Value::Map(Map::from_entries(vec![entry("start", 133), entry("end", 134)])), 242_724_810),
            (Value::vector(vec![Value::keyword("x"); 5]), -22_668_590),
        ] {
            assert_eq!(hash(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn what_differs_from_run_to_run_has_no_hash() {
        let date = Value::temporal(crate::value::Temporal::Date(1));
        let inside = Value::vector([Value::Int(1), Value::vector([date.clone()])]);
        for value in [date, inside] {
            assert!(matches!(program_hash(&value, Hashing::Clojure), Err(Value::Temporal(_))));
        }
    }

    #[test]
    fn hashes_of_java_are_those_of_its_collections() {
        let java = |value: &Value| program_hash(value, Hashing::Java).unwrap_or_default();
        let text = |text: &str| java(&Value::str(text));
        assert_eq!(
            (text("a"), text("hello"), text("é\u{1F600}")),
            (97, 99_162_322, 233 * 961 + 55357 * 31 + 56832)
        );
        assert_eq!(java(&Value::Int(-1)), 0);
        assert_eq!(java(&Value::vector(ints(&[1, 2]))), 994);
        let map = Map::from_entries(vec![(Value::Int(1), Value::Int(2))]);
        assert_eq!(java(&Value::Map(map)), 3);
    }

    #[test]
    fn a_tree_of_shared_parts_costs_its_nodes() {
        let mut account = meter::Account::new(u64::MAX >> 1);
        let _installed = account.install();
        meter::set_work_limit(100_000);
        let tree = |_| (0..60).fold(Value::Int(1), |part, _| Value::vector([part.clone(), part]));
        assert_eq!(hash(&tree(())), hash(&tree(())));
        assert!(!meter::exhausted());
        let wide = Value::Vector((0..200_000).map(|n| Value::vector([Value::Int(n)])).collect::<Vector>());
        hash(&wide);
        assert!(meter::exhausted());
    }
}
