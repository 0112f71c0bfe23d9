use crate::builtins::support::testing;
use crate::value::Value;

fn display(format: &str, args: &[Value]) -> String {
    let mut all = vec![Value::str(format)];
    all.extend_from_slice(args);
    match testing::call("format", all) {
        Ok(Value::Str(text)) => text.as_str().to_owned(),
        Ok(other) => panic!("{format}: not a text but {}", other.kind_label()),
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn widths_and_flags_are_those_of_java() {
    for (format, value, want) in [
        ("%5d|", Value::Int(42), "   42|"),
        ("%-5d|", Value::Int(42), "42   |"),
        ("%05d", Value::Int(-42), "-0042"),
        ("%+d", Value::Int(5), "+5"),
        ("% d", Value::Int(5), " 5"),
        ("%(d", Value::Int(-5), "(5)"),
        ("%,d", Value::Int(-1_234_567), "-1,234,567"),
        ("%,.2f", Value::float(1_234_567.891), "1,234,567.89"),
        ("%010.3f", Value::float(-2.71859), "-00002.719"),
        ("%x", Value::Int(255), "ff"),
        ("%#X", Value::Int(255), "0XFF"),
        ("%x", Value::Int(-1), "ffffffffffffffff"),
        ("%o", Value::Int(8), "10"),
        ("%c", Value::Int(0x1F600), "😀"),
        ("%b", Value::Nil, "false"),
        ("%B", Value::Int(0), "TRUE"),
        ("%S", Value::str("straße"), "STRASSE"),
        ("%.3s|", Value::str("abcdef"), "abc|"),
        ("%6s|", Value::str("日本"), "    日本|"),
        ("%s", Value::Nil, "null"),
        ("%s%%%n", Value::Int(5), "5%\n"),
    ] {
        assert_eq!(display(format, &[value]), want, "{format}");
    }
}

#[test]
fn numbers_are_rounded_half_up_in_their_shortest_digits() {
    for (format, x, want) in [
        ("%.1f", 0.25, "0.3"),
        ("%.1f", 0.15, "0.2"),
        ("%.2f", 1.005, "1.01"),
        ("%.0f", 0.5, "1"),
        ("%.0f", -0.4, "-0"),
        ("%.0f", 9.5, "10"),
        ("%.3f", 0.0004, "0.000"),
        ("%.3f", 0.0005, "0.001"),
        ("%.2f", 1e10, "10000000000.00"),
        ("%.15f", 0.1, "0.100000000000000"),
        ("%f", 3.5, "3.500000"),
        ("%e", 1234.5, "1.234500e+03"),
        ("%.3e", 12345.678, "1.235e+04"),
        ("%.0e", 9.99, "1e+01"),
        ("%e", 0.0, "0.000000e+00"),
        ("%.1e", -2.991964888532934e-09, "-3.0e-09"),
        ("%g", 0.0001, "0.000100000"),
        ("%g", 123456.0, "123456."),
        ("%g", 1234567.0, "1.23457e+06"),
        ("%.3g", 12.345, "12.3"),
        ("%f", f64::INFINITY, "Infinity"),
        ("%+e", f64::INFINITY, "+Infinity"),
        ("%f", f64::NAN, "NaN"),
    ] {
        let want = want.strip_suffix('.').unwrap_or(want);
        assert_eq!(display(format, &[Value::float(x)]), want, "{format} {x}");
    }
}

#[test]
fn integers_of_any_size_and_whole_floats_are_accepted() {
    let big = Value::integer("-123456789012345678901234567890".parse().expect("an integer"));
    assert_eq!(display("%,d", std::slice::from_ref(&big)), "-123,456,789,012,345,678,901,234,567,890");
    assert_eq!(display("%.1f", &[big]), "-123456789012345678901234567890.0");
    assert_eq!(display("%d", &[Value::float(3.0)]), "3");
    assert_eq!(display("%.2f", &[Value::Int(7)]), "7.00");
}

#[test]
fn arguments_can_be_chosen() {
    let args = [Value::str("a"), Value::str("b")];
    assert_eq!(display("%2$s %1$s %s %<s", &args), "b a a a");
    assert_eq!(display("%s %s", &args), "a b");
    assert_eq!(display("%s", &args), "a");
}

#[test]
fn faults_are_named() {
    for (format, value, want) in [
        ("%h", Value::str("x"), "Runtime error: unsupported format specifier in: %h"),
        ("a %q b", Value::Nil, "Runtime error: unsupported format specifier in: %q b"),
        ("%", Value::Nil, "Runtime error: unsupported format specifier in: %"),
        ("%.f", Value::float(1.5), "Runtime error: expected digits after '.' in format specifier"),
        ("%d", Value::str("x"), "Runtime error: %d expects an integer, got: \"x\""),
        ("%d", Value::float(1.5), "Runtime error: %d expects an integer, got: 1.5"),
        ("%f", Value::str("x"), "Runtime error: %f expects a number, got: \"x\""),
        ("%s %s", Value::Nil, "Runtime error: not enough arguments for format string"),
        ("%<s", Value::Nil, "Runtime error: not enough arguments for format string"),
    ] {
        assert_eq!(display(format, &[value]), want, "{format}");
    }
}

#[test]
fn digits_beyond_those_of_a_number_are_zeros() {
    for (format, x, want) in [
        ("%.5f", 1e10, "10000000000.00000"),
        ("%.3f", 1e-10, "0.000"),
        ("%.12f", 1e-10, "0.000000000100"),
        ("%.12f", 1.25e-9, "0.000000001250"),
        ("%.4f", 123.456, "123.4560"),
        ("%.0f", 1e22, "10000000000000000000000"),
        ("%.4e", 1.5e-9, "1.5000e-09"),
        ("%.4e", 1.5e9, "1.5000e+09"),
        ("%.4E", 0.0, "0.0000E+00"),
        ("%,.3f", 1e9, "1,000,000,000.000"),
        ("%.10g", 1.5, "1.500000000"),
    ] {
        assert_eq!(display(format, &[Value::float(x)]), want, "{format} {x}");
    }
    let long = display("%.1000000f", &[Value::float(1.5)]);
    assert_eq!(long, format!("1.5{}", "0".repeat(999_999)));
}

#[test]
fn a_precision_has_a_million_digits() {
    for conversion in ['f', 'e', 'g'] {
        let text = display(&format!("%.1000001{conversion}"), &[Value::float(1.5)]);
        let expected =
            format!("precision 1000001 of %{conversion} exceeds 1000000 digits; use a smaller one");
        assert_eq!(text, format!("Runtime error: {expected}"));
    }
    assert_eq!(display("%.1000001s", &[Value::str("a")]), "a", "texts are cut there");
}

#[test]
fn a_huge_width_is_refused_before_it_is_built() {
    for format in ["%999999999999s", "%0999999999999d", "%99999999999999999999999s", "%0999999999999.1f"] {
        let value = if format.contains('f') { Value::float(1.0) } else { Value::Int(1) };
        assert!(display(format, &[value]).starts_with("heap limit"), "{format}");
    }
}
