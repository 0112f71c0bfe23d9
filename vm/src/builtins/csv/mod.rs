//! Separated values: text to rows and back (functions.md 26; RFC 4180).

mod options;
mod reader;
mod rows;
mod writer;

pub(super) use rows::MORE;

use super::Builtin;
use super::namespaces::{CSV, DATA_CSV};
use super::row::{fun, section};
use crate::error::Result;
use crate::value::Value;

/// The rows of a CSV text as maps by the names of its first line.
pub(super) fn rows_of(text: Value) -> Result<Value> {
    rows::rows("csv/parse-string", &[text], options::Header::Own)
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("csv", "CSV").of([
    fun("csv/parse-string", CSV, "s | s {:separator :header} | s & options", rows::parse)
        .doc(
            "Vector of the rows of a CSV text as maps by the names of its first line; all cells are strings. \
             :header false gives vectors, a vector names the columns; :separator is another character",
        )
        .example(r#"(csv/parse-string "id,name\n1,\"Ann, B.\"\n")"#, r#"[{"id" "1" "name" "Ann, B."}]"#)
        .example(r#"(csv/parse-string "1;2\n3;4" {:separator ";" :header false})"#, r#"[["1" "2"] ["3" "4"]]"#)
        .example(r#"(map :b (csv/parse-string "1,2" {:header [:a :b]}))"#, r#"["2"]"#),
    fun("csv/read-csv", DATA_CSV, "s | s {:separator :header} | s & options", rows::read)
        .doc("As csv/parse-string with :header false: vector of the rows of a CSV text as vectors of strings")
        .example(r#"(csv/read-csv "a,b\n1,\"x \"\"y\"\"\"")"#, r#"[["a" "b"] ["1" "x \"y\""]]"#),
    fun("csv/generate-string", CSV, "rows | rows {:separator :header} | rows & options", writer::generate)
        .doc(
            "CSV text of maps or vectors. The first line has the keys of maps in order, or the columns that :header \
             names; :header false leaves it out",
        )
        .example(r#"(csv/generate-string [{:id 1 :note "a, b"} {:id 2}])"#, r#""id,note\n1,\"a, b\"\n2,\n""#)
        .example(r#"(csv/generate-string [["x" 1.5] ["y" nil]] {:header ["k" "v"]})"#, r#""k,v\nx,1.5\ny,\n""#),
]);

#[cfg(test)]
mod tests;
