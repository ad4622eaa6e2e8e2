//! The text format: a line of help and one of type for every name, then its samples, one a line.
//!
//! Promise: whatever a label holds, the answer stays one that every collector reads. What is not a number is written as the
//! format writes it (`NaN`, `+Inf`), never as something else.

use std::fmt::Write;

/// An answer in the making. Every name is written once, all its samples together: the format demands it.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// Something that goes up and down.
    pub(super) fn gauge<'a>(&'a mut self, name: &'a str, help: &str) -> Family<'a> {
        self.family(name, help, "gauge")
    }

    /// Something that only grows until the program ends. Its name ends with `_total`.
    pub(super) fn counter<'a>(&'a mut self, name: &'a str, help: &str) -> Family<'a> {
        debug_assert!(name.ends_with("_total"), "{name}");
        self.family(name, help, "counter")
    }

    fn family<'a>(&'a mut self, name: &'a str, help: &str, kind: &str) -> Family<'a> {
        self.0.push_str("# HELP ");
        self.0.push_str(name);
        self.0.push(' ');
        escape(&mut self.0, help, false);
        let _ = writeln!(self.0, "\n# TYPE {name} {kind}");
        Family { text: &mut self.0, name }
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

/// The samples of one name.
#[derive(Debug)]
pub(super) struct Family<'a> {
    text: &'a mut String,
    name: &'a str,
}

impl Family<'_> {
    pub(super) fn put(&mut self, labels: &[(&str, &str)], value: f64) -> &mut Self {
        self.text.push_str(self.name);
        for (at, (name, label)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(self.text, label, true);
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.text.push(' ');
        number(self.text, value);
        self.text.push('\n');
        self
    }

    /// A count. Beyond 2^53 the nearest that the format's numbers can say.
    pub(super) fn count(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        self.put(labels, value as f64)
    }
}

fn escape(out: &mut String, text: &str, is_label: bool) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if is_label => out.push_str("\\\""),
            // Collectors differ in what they take for the end of a line.
            '\r' => out.push(' '),
            c => out.push(c),
        }
    }
}

fn number(out: &mut String, value: f64) {
    let _ = match value {
        _ if value.is_nan() => write!(out, "NaN"),
        f64::INFINITY => write!(out, "+Inf"),
        f64::NEG_INFINITY => write!(out, "-Inf"),
        _ => write!(out, "{value}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_as_the_format_says() {
        let mut text = Text::default();
        text.gauge("a_bytes", "Bytes.\nOf \\ \"all\".").put(&[], 1.5);
        text.counter("b_total", "Things.")
            .count(&[("kind", "x"), ("name", "a\"b\\c\nd\re")], 3)
            .put(&[("kind", "y"), ("name", "")], f64::NAN)
            .put(&[("kind", "z"), ("name", "é")], f64::INFINITY);
        let wanted = "# HELP a_bytes Bytes.\\nOf \\\\ \"all\".\n# TYPE a_bytes gauge\na_bytes 1.5\n\
                      # HELP b_total Things.\n# TYPE b_total counter\n\
                      b_total{kind=\"x\",name=\"a\\\"b\\\\c\\nd e\"} 3\n\
                      b_total{kind=\"y\",name=\"\"} NaN\nb_total{kind=\"z\",name=\"é\"} +Inf\n";
        assert_eq!(text.done(), wanted);
    }

    #[test]
    fn large_and_small_numbers_are_numbers() {
        for value in [0.0, 1e-9, 1e300, -4.25, u64::MAX as f64] {
            let mut text = String::new();
            number(&mut text, value);
            assert_eq!(text.parse::<f64>().unwrap(), value);
        }
    }
}
