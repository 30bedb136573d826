use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn l07_every_id_reads_as_itself_and_only_as_a_number(id in 0..=MAX) {
        let raw = id.to_string();
        prop_assert_eq!(number(&raw), Some(id));
        prop_assert_eq!(decimal_string(&raw), None);
        prop_assert_eq!(near_miss(&raw), None);

        let quoted = format!("\"{raw}\"");
        prop_assert_eq!(number(&quoted), None);
        prop_assert_eq!(decimal_string(&quoted), Some(id));
        for spelling in [quoted, format!("{raw}.0"), format!("{raw}e0"), format!("\" 0{raw}\""), format!("\"{raw}.0\"")] {
            prop_assert_eq!(number(&spelling), None);
            prop_assert_eq!(near_miss(&spelling), Some(id));
        }
    }

    #[test]
    fn l07_no_text_breaks_the_readers(text in "[\"0-9.eE+ \\\\u-]{0,80}") {
        let readings = [number(&text), decimal_string(&text), near_miss(&text)];
        prop_assert!(readings.iter().flatten().all(|id| *id <= MAX));
        prop_assert!(number(&text).is_none_or(|id| id.to_string() == text));
    }
}

#[test]
fn l07_only_the_canonical_number_is_an_id() {
    assert_eq!(number("0"), Some(0));
    assert_eq!(number("9007199254740991"), Some(MAX));
    for raw in [
        "",
        "9007199254740992",
        "9999999999999999",
        "10000000000000000",
        "18446744073709551616",
        "-1",
        "-0",
        "+1",
        "00",
        "01",
        "1.0",
        "1e0",
        " 1",
        "1 ",
        "\"1\"",
        "null",
        "true",
        "[1]",
        "\u{664}",
        "1a",
    ] {
        assert_eq!(number(raw), None, "{raw}");
    }
}

#[test]
fn l07_a_decimal_string_is_exact() {
    assert_eq!(decimal_string("\"5\""), Some(5));
    for raw in ["5", "\"05\"", "\" 5\"", "\"5 \"", "\"5.0\"", "\"\"", "\"", "\"\\u0035\"", "\"-5\"", "'5'"] {
        assert_eq!(decimal_string(raw), None, "{raw}");
    }
}

#[test]
fn l07_a_near_miss_means_the_number_but_spells_it_otherwise() {
    for raw in
        ["\"3\"", "3.0", "\"03\"", "\" 3\"", "\"3.0\"", "3e0", "0.3e1", "30E-1", "\"\\u0033\"", "\"3\\n\""]
    {
        assert_eq!(near_miss(raw), Some(3), "{raw}");
    }
    let padded = |length| format!("\"{}3\"", "0".repeat(length - 3));
    assert_eq!(near_miss(&padded(LONGEST_SPELLING)), Some(3));
    let zeros = padded(LONGEST_SPELLING + 1);
    for raw in
        ["3", "3.5", "-3", "\"\"", "\"three\"", "null", "[3]", "\"inf\"", "\"NaN\"", "1e400", "1e16", &zeros]
    {
        assert_eq!(near_miss(raw), None, "{raw}");
    }
}
