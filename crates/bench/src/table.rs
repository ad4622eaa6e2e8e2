//! Markdown tables, the goals beside their figures, and numbers as people read them.

use std::fmt::Write;
use std::time::Duration;

/// A table; the first column is words, the others are numbers.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.columns.len(), "a row has as many cells as the table has columns");
        self.rows.push(cells.into());
    }

    pub(crate) fn print(&self) {
        println!("{}", self.markdown());
    }

    fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|---|", self.columns.join(" | "));
        out.push_str(&"---:|".repeat(self.columns.len() - 1));
        out.push('\n');
        for row in &self.rows {
            let _ = writeln!(out, "| {} |", row.join(" | "));
        }
        out
    }
}

/// What was promised, and what came out.
#[derive(Debug, Default)]
pub(crate) struct Goals {
    rows: Vec<[String; 4]>,
}

impl Goals {
    pub(crate) fn at_most(&mut self, what: &str, goal: f64, figure: f64, unit: &str) {
        self.push(what, format!("≤ {goal}{unit}"), figure, unit, figure <= goal);
    }

    pub(crate) fn below(&mut self, what: &str, goal: f64, figure: f64, unit: &str) {
        self.push(what, format!("< {goal}{unit}"), figure, unit, figure < goal);
    }

    pub(crate) fn at_least(&mut self, what: &str, goal: f64, figure: f64, unit: &str) {
        self.push(what, format!("≥ {goal}{unit}"), figure, unit, figure >= goal);
    }

    fn push(&mut self, what: &str, goal: String, figure: f64, unit: &str, met: bool) {
        let met = if met { "met" } else { "**missed**" };
        self.rows.push([what.to_owned(), goal, format!("{}{unit}", short(figure)), met.to_owned()]);
    }

    pub(crate) fn print(self) {
        if self.rows.is_empty() {
            return;
        }
        println!("### Goals\n");
        let mut table = Table::new(&["goal", "asked", "measured", "so"]);
        for row in self.rows {
            table.row(row);
        }
        table.print();
    }
}

/// Three figures that matter.
pub(crate) fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => count(x.round() as u64),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

pub(crate) fn mb(bytes: u64) -> String {
    short(bytes as f64 / 1e6)
}

pub(crate) fn ratio(ours: u64, theirs: u64) -> String {
    format!("{:.3}", share(ours, theirs))
}

pub(crate) fn share(ours: u64, theirs: u64) -> f64 {
    ours as f64 / theirs.max(1) as f64
}

pub(crate) fn time(t: Duration) -> String {
    match t.as_secs_f64() {
        s if s >= 1.0 => format!("{} s", short(s)),
        s if s >= 1e-3 => format!("{} ms", short(s * 1e3)),
        s => format!("{} µs", short(s * 1e6)),
    }
}

pub(crate) fn seconds(s: f64) -> String {
    short(s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(&["a", "b"]);
        table.row(["x".into(), count(1_234_567)]);
        assert_eq!(table.markdown(), "| a | b |\n|---|---:|\n| x | 1,234,567 |\n");
    }

    #[test]
    fn numbers_keep_three_figures() {
        assert_eq!([short(0.0714), short(3.146), short(45.67), short(1850.4)], ["0.071", "3.15", "45.7", "1,850"]);
        assert_eq!(time(Duration::from_nanos(1_534_000)), "1.53 ms");
    }
}
