//! The spelling of names in arity messages.
//!
//! Functions of one fixed argument count are shown under their internal names there (functions.md 33), and
//! `partition-all` everywhere. Functions that are not in this table are shown as they are written.

use super::{Arities, Builtin};

/// Public name and the name shown, sorted by the first.
static DISPLAY_NAMES: &[(&str, &str)] = &[
    (".contains", "dot_contains"),
    (".endsWith", "dot_ends_with"),
    (".getTime", "dot_get_time"),
    (".isAfter", "dot_is_after"),
    (".isBefore", "dot_is_before"),
    (".lastIndexOf", "dot_last_index_of"),
    (".length", "dot_length"),
    (".minusDays", "dot_minus_days"),
    (".plusDays", "dot_plus_days"),
    (".startsWith", "dot_starts_with"),
    (".toDays", "dot_to_days"),
    (".toEpochDay", "dot_to_epoch_day"),
    (".toLowerCase", "dot_to_lower_case"),
    (".toMillis", "dot_to_millis"),
    (".toUpperCase", "dot_to_upper_case"),
    ("Boolean/parseBoolean", "boolean_parse_boolean"),
    ("Double/parseDouble", "parse_double"),
    ("Duration/between", "duration_between"),
    ("Float/parseFloat", "parse_double"),
    ("Instant/parse", "parse_temporal"),
    ("Integer/parseInt", "parse_long"),
    ("LocalDate/parse", "parse_temporal"),
    ("Long/parseLong", "parse_long"),
    ("NaN?", "nan?"),
    ("assoc-in", "assoc_in"),
    ("avg-by", "avg_by"),
    ("bit-clear", "bit_clear"),
    ("bit-flip", "bit_flip"),
    ("bit-not", "bit_not"),
    ("bit-set", "bit_set"),
    ("bit-shift-left", "bit_shift_left"),
    ("bit-shift-right", "bit_shift_right"),
    ("bit-test", "bit_test"),
    ("currentTimeMillis", "current_time_millis"),
    ("dec'", "dec"),
    ("distinct-by", "distinct_by"),
    ("drop-while", "drop_while"),
    ("ends-with?", "ends_with?"),
    ("group-by", "group_by"),
    ("inc'", "inc"),
    ("json/generate-string", "generate_string"),
    ("json/parse-string", "parse_string"),
    ("keep-indexed", "keep_indexed"),
    ("lower-case", "downcase"),
    ("map-entry?", "map_entry?"),
    ("map-indexed", "map_indexed"),
    ("nat-int?", "nat_int?"),
    ("neg-int?", "neg_int?"),
    ("not", "not_"),
    ("not-any?", "not_any?"),
    ("not-empty", "not_empty"),
    ("not-every?", "not_every?"),
    ("parse", "parse_temporal"),
    ("parse-boolean", "parse_boolean"),
    ("parse-double", "parse_double"),
    ("parse-int", "parse_long"),
    ("parse-long", "parse_long"),
    ("partition-all", "partition_all"),
    ("partition-by", "partition_by"),
    ("pos-int?", "pos_int?"),
    ("re-find", "re_find"),
    ("re-matches", "re_matches"),
    ("re-pattern", "re_pattern"),
    ("re-seq", "re_seq"),
    ("re-split", "re_split"),
    ("reduce-kv", "reduce_kv"),
    ("rem", "remainder"),
    ("select-keys", "select_keys"),
    ("split-at", "split_at"),
    ("split-lines", "split_lines"),
    ("split-with", "split_with"),
    ("starts-with?", "starts_with?"),
    ("sum-by", "sum_by"),
    ("take-last", "take_last"),
    ("take-while", "take_while"),
    ("tree-seq", "tree_seq"),
    ("trim-newline", "trim_newline"),
    ("type", "type_of"),
    ("update-keys", "update_keys"),
    ("update-vals", "update_vals"),
    ("upper-case", "upcase"),
];

/// The name that an arity message shows for this function.
pub(super) fn display_name(builtin: &Builtin) -> &'static str {
    match builtin.arities {
        Arities::OneOf([_]) => of(builtin.name),
        _ if builtin.name == "partition-all" => of(builtin.name),
        _ => builtin.name,
    }
}

fn of(name: &'static str) -> &'static str {
    DISPLAY_NAMES.binary_search_by(|(public, _)| public.cmp(&name)).map_or(name, |i| DISPLAY_NAMES[i].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(DISPLAY_NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(of("type"), "type_of");
        assert_eq!(of("first"), "first");
    }
}
