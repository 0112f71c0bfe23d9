//! A machine's state besides values, frames and stacks, as plain data.

use super::portable;
use crate::machine::{ForkKind, ForkNote, Limits};
use crate::value::{KeyName, MissedKey};

portable!(enum ForkKind { 0: Pmap, 1: Pcalls });
portable!(ForkNote { number, kind, count, errors });
portable!(KeyName { name, is_keyword });
portable!(MissedKey { key, keys });
portable!(Limits { memory_bytes, steps });
