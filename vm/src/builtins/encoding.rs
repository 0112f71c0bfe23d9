//! Base64 and the encoding of form fields and URLs, under the names that programs know from Java.
//!
//! A program has no bytes: where Java's methods take or give an array of them, there is a vector of integers.

use super::Builtin;
use super::namespaces::{BASE64, BASE64_CLASS, JAVA_STRING, NEW_STRING, URL_DECODER, URL_ENCODER};
use super::row::{constant, fun, section};
use super::support::Builder;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print::grow_string;
use crate::value::{Str, Value};
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Bytes that are encoded or decoded in one go: a multiple of 12, so that no digit of base64 depends on two pieces.
const PIECE: usize = 12 << 10;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// Values of `(Base64/getEncoder)` and its kin.
const CODER: &str = "base64";
const URL_CODER: &str = "base64-url";

/// The bytes of a text or of a vector of integers from -128 to 255.
fn bytes(ctx: &mut Ctx<'_>, name: &str, value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::Str(text) => {
            let bytes = text.as_str().as_bytes();
            ctx.charge(bytes.len() / 16)?;
            ctx.reserve(bytes.len())?;
            let mut out = Vec::with_capacity(bytes.len());
            for piece in meter::pieces(bytes) {
                out.extend_from_slice(piece);
            }
            Ok(out)
        }
        Value::Vector(items) => {
            ctx.charge(items.len())?;
            ctx.reserve(items.len())?;
            let mut out = Vec::with_capacity(items.len());
            for item in items.iter() {
                meter::uncharged(1);
                match item {
                    Value::Int(byte @ -128..=255) => out.push(byte as u8),
                    other => {
                        return Err(Error::type_error(format!(
                            "{name}: expected bytes, integers from -128 to 255, got {}",
                            crate::print::readable_lossy(&other)
                        )));
                    }
                }
            }
            Ok(out)
        }
        other => Err(Error::type_error(format!(
            "{name}: expected a text or a vector of bytes, got {}",
            other.kind_label()
        ))),
    }
}

/// Bytes as a vector, signed as Java's are.
fn vector_of(ctx: &mut Ctx<'_>, bytes: &[u8]) -> Result<Value> {
    ctx.charge(bytes.len())?;
    let mut out = Builder::with_capacity(bytes.len())?;
    for byte in bytes {
        meter::uncharged(1);
        out.push(Value::Int(i64::from(*byte as i8)))?;
    }
    Ok(out.take())
}

/// Bytes as a text, U+FFFD for invalid UTF-8, as in Java.
fn text_of(ctx: &mut Ctx<'_>, bytes: Vec<u8>) -> Result<Value> {
    ctx.charge(bytes.len() / 16)?;
    ctx.reserve(bytes.len().saturating_mul(3))?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Value::Str(Str::from_string(text)))
}

fn encoded(ctx: &mut Ctx<'_>, engine: &GeneralPurpose, bytes: &[u8]) -> Result<Value> {
    ctx.charge(bytes.len() / 8)?;
    ctx.reserve(bytes.len().saturating_mul(2))?;
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(PIECE) {
        meter::uncharged(piece.len() / 16);
        engine.encode_string(piece, &mut out);
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// The decoded bytes of base64, with or without padding; `None` if it is invalid.
fn decoded(ctx: &mut Ctx<'_>, engine: &GeneralPurpose, text: &[u8]) -> Result<Option<Vec<u8>>> {
    ctx.charge(text.len() / 8)?;
    ctx.reserve(text.len())?;
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let last = text.len().saturating_sub(1) / PIECE;
    for (i, piece) in text.chunks(PIECE).enumerate() {
        meter::uncharged(piece.len() / 16);
        // Padding ends a text.
        if i < last && piece.contains(&b'=') || engine.decode_vec(piece, &mut out).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}

/// `(base64/encode x)`
fn base64_encode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let bytes = bytes(ctx, "base64/encode", &args[0])?;
    encoded(ctx, &STANDARD, &bytes)
}

/// `(base64/decode s)`: a text; both alphabets are read.
fn base64_decode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else { return Err(Error::argument_types("base64/decode", args)) };
    let text = text.as_str().as_bytes();
    let engine = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) { &URL_SAFE } else { &STANDARD };
    let bytes = decoded(ctx, engine, text)?;
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Ok(Value::Str(Str::from_string(text))),
        None => {
            ctx.note(Str::new("base64/decode: the text is no base64 of a text: it gave nil"));
            Ok(Value::Nil)
        }
    }
}

/// The alphabet of an encoder or a decoder.
fn coder(method: &str, value: &Value) -> Result<&'static GeneralPurpose> {
    match value {
        Value::Keyword(name) if name.name() == CODER => Ok(&STANDARD),
        Value::Keyword(name) if name.name() == URL_CODER => Ok(&URL_SAFE),
        other => Err(Error::type_error(format!(
            "{method}: expected (Base64/getEncoder) or (Base64/getDecoder), got {}",
            other.kind_label()
        ))),
    }
}

/// `(.encodeToString encoder bytes)`
fn encode_to_string(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let engine = coder(".encodeToString", &args[0])?;
    let bytes = bytes(ctx, ".encodeToString", &args[1])?;
    encoded(ctx, engine, &bytes)
}

/// `(.encode encoder bytes)`
fn encode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match encode_to_string(ctx, args)? {
        Value::Str(text) => vector_of(ctx, text.as_str().as_bytes()),
        other => Ok(other),
    }
}

/// `(.decode decoder text)`
fn decode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let engine = coder(".decode", &args[0])?;
    let text = bytes(ctx, ".decode", &args[1])?;
    match decoded(ctx, engine, &text)? {
        Some(bytes) => vector_of(ctx, &bytes),
        None => Err(Error::type_error(".decode: the text is no base64")),
    }
}

/// `(.getBytes s)`, `(.getBytes s charset)`
fn get_bytes(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else { return Err(Error::argument_types(".getBytes", args)) };
    check_charset(".getBytes", args.get(1))?;
    vector_of(ctx, text.as_str().as_bytes())
}

/// Refuses charsets other than UTF-8.
fn check_charset(name: &str, charset: Option<&Value>) -> Result<()> {
    match charset {
        None => Ok(()),
        Some(Value::Str(charset)) if matches!(charset.as_str(), "UTF-8" | "utf-8" | "UTF8" | "utf8") => {
            Ok(())
        }
        Some(other) => Err(Error::type_error(format!(
            "{name}: texts are UTF-8 here, got {}",
            crate::print::readable_lossy(other)
        ))),
    }
}

/// `(String. x)`: a text of a text, of bytes, or of characters.
fn string(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    check_charset("String.", args.get(1))?;
    match args.first() {
        None => Ok(Value::str("")),
        Some(text @ Value::Str(_)) => Ok(text.clone()),
        Some(Value::Vector(items)) if matches!(items.get(0), Some(Value::Str(_))) => {
            let mut out = String::new();
            for item in items.iter() {
                ctx.charge(1)?;
                crate::print::write_plain(&item, &mut out)?;
            }
            Ok(Value::Str(Str::from_string(out)))
        }
        Some(other) => {
            let bytes = bytes(ctx, "String.", other)?;
            text_of(ctx, bytes)
        }
    }
}

/// `(URLEncoder/encode s)`, `(URLEncoder/encode s charset)`: as a field of a form, spaces as `+`.
fn url_encode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else { return Err(Error::argument_types("URLEncoder/encode", args)) };
    check_charset("URLEncoder/encode", args.get(1))?;
    ctx.charge(text.as_str().len() / 4)?;
    let mut out = String::new();
    grow_string(&mut out, text.as_str().len())?;
    for byte in text.as_str().bytes() {
        meter::uncharged(1);
        grow_string(&mut out, 3)?;
        match byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || b".-*_".contains(&byte) => out.push(char::from(byte)),
            byte => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// `(URLDecoder/decode s)`, `(URLDecoder/decode s charset)`
fn url_decode(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else { return Err(Error::argument_types("URLDecoder/decode", args)) };
    check_charset("URLDecoder/decode", args.get(1))?;
    let text = text.as_str().as_bytes();
    ctx.charge(text.len() / 4)?;
    ctx.reserve(text.len())?;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        meter::uncharged(1);
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digit = |i: usize| text.get(at + i).and_then(|digit| char::from(*digit).to_digit(16));
                let (Some(high), Some(low)) = (digit(1), digit(2)) else {
                    return Err(Error::type_error(format!(
                        "URLDecoder/decode: % at byte {at} is not followed by two hexadecimal digits"
                    )));
                };
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            byte => out.push(*byte),
        }
        at += 1;
    }
    text_of(ctx, out)
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("encoding", "Base64 and URLs").of([
    fun("base64/encode", BASE64, "x", base64_encode)
        .doc("Base64 of a text (UTF-8) or a vector of bytes")
        .example(r#"(base64/encode "hé")"#, r#""aMOp""#),
    fun("base64/decode", BASE64, "s", base64_decode)
        .doc("The text behind base64, also URL-safe or without padding; nil, with a note, if there is none")
        .example(r#"(base64/decode "aMOp")"#, r#""hé""#),
    constant("Base64/getEncoder", BASE64_CLASS, || Value::keyword(CODER))
        .doc("Encoder for .encodeToString and .encode")
        .example(r#"(.encodeToString (Base64/getEncoder) (.getBytes "hi"))"#, r#""aGk=""#),
    constant("Base64/getDecoder", BASE64_CLASS, || Value::keyword(CODER))
        .doc("Decoder for .decode")
        .example(r#"(String. (.decode (Base64/getDecoder) "aGk="))"#, r#""hi""#),
    constant("Base64/getUrlEncoder", BASE64_CLASS, || Value::keyword(URL_CODER))
        .doc("Encoder with the URL-safe alphabet")
        .example(r#"(.encodeToString (Base64/getUrlEncoder) [-5 -1])"#, r#""-_8=""#),
    constant("Base64/getUrlDecoder", BASE64_CLASS, || Value::keyword(URL_CODER))
        .doc("Decoder with the URL-safe alphabet")
        .example(r#"(.decode (Base64/getUrlDecoder) "-_8")"#, "[-5 -1]"),
    fun(".encodeToString", BASE64_CLASS, "encoder bytes", encode_to_string)
        .doc("Base64 of bytes (a vector of integers, or a text) as a text")
        .example(r#"(.encodeToString (Base64/getEncoder) "hi")"#, r#""aGk=""#),
    fun(".encode", BASE64_CLASS, "encoder bytes", encode)
        .doc("Base64 of bytes as bytes")
        .example("(.encode (Base64/getEncoder) [104])", "[97 65 61 61]"),
    fun(".decode", BASE64_CLASS, "decoder s", decode)
        .doc("The bytes behind base64, as a vector of integers")
        .example(r#"(.decode (Base64/getDecoder) "aGk=")"#, "[104 105]"),
    fun(".getBytes", JAVA_STRING, "s | s charset", get_bytes)
        .doc("The bytes of a text in UTF-8, as a vector of integers from -128 to 127")
        .example(r#"(.getBytes "é")"#, "[-61 -87]"),
    fun("String.", NEW_STRING, "| x | x charset", string)
        .doc("The text of a text, of a vector of bytes, or of a vector of characters")
        .example(r#"(String. "a")"#, r#""a""#)
        .example("(String. [104 105])", r#""hi""#),
    fun("URLEncoder/encode", URL_ENCODER, "s | s charset", url_encode)
        .doc("A text as a field of a form or URL: spaces as +, others as %XX")
        .example(r#"(URLEncoder/encode "a b&é" "UTF-8")"#, r#""a+b%26%C3%A9""#),
    fun("URLDecoder/decode", URL_DECODER, "s | s charset", url_decode)
        .doc("The text behind a field of a form or URL")
        .example(r#"(URLDecoder/decode "a+b%26%C3%A9")"#, r#""a b&é""#),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::support::testing::{call, display};

    #[test]
    fn base64_goes_both_ways_in_pieces_too() {
        for length in [0, 1, 2, 3, PIECE - 1, PIECE, 3 * PIECE + 1] {
            let text = Value::str("aé\n".repeat(length)[..].chars().take(length).collect::<String>());
            let coded = call("base64/encode", [text.clone()]).unwrap();
            let back = call("base64/decode", [coded]).unwrap();
            assert!(crate::value::equal(&text, &back), "{length}");
        }
        assert_eq!(display("base64/decode", [Value::str("aGk")]), "\"hi\"");
        for text in ["a", "a=b=", "é", "/+8="] {
            assert_eq!(display("base64/decode", [Value::str(text)]), "nil", "{text}");
        }
        let padded = format!("{}=", "A".repeat(PIECE - 1)) + "AAAA";
        assert_eq!(display("base64/decode", [Value::str(padded)]), "nil", "padding in the middle");
    }

    #[test]
    fn bytes_are_integers() {
        assert_eq!(display("String.", [Value::vector([Value::Int(-61), Value::Int(169)])]), "\"é\"");
        assert_eq!(display("String.", [Value::vector([Value::Int(255)])]), "\"\u{FFFD}\"");
        assert_eq!(display("String.", [Value::vector([Value::str("a"), Value::str("b")])]), "\"ab\"");
        assert_eq!(
            display("base64/encode", [Value::vector([Value::Int(256)])]),
            "! type_error: base64/encode: expected bytes, integers from -128 to 255, got 256"
        );
        assert_eq!(
            display(".getBytes", [Value::str("a"), Value::str("UTF-16")]),
            "! type_error: .getBytes: texts are UTF-8 here, got \"UTF-16\""
        );
        assert_eq!(
            display(".encodeToString", [Value::Nil, Value::str("a")]),
            "! type_error: .encodeToString: expected (Base64/getEncoder) or (Base64/getDecoder), got nil"
        );
    }

    #[test]
    fn urls_are_coded_as_by_java() {
        let text = "a b&c=ü/.-*_~+%";
        assert_eq!(display("URLEncoder/encode", [Value::str(text)]), "\"a+b%26c%3D%C3%BC%2F.-*_%7E%2B%25\"");
        let coded = call("URLEncoder/encode", [Value::str(text)]).unwrap();
        assert_eq!(display("URLDecoder/decode", [coded]), format!("{text:?}"));
        for text in ["%", "%4", "a%zz"] {
            assert!(
                display("URLDecoder/decode", [Value::str(text)]).contains("two hexadecimal digits"),
                "{text}"
            );
        }
    }
}
