//! `/metrics` read strictly, line by line, as the text format 0.0.4 is written down: what the loosest collector would forgive is
//! a mistake here.

use super::ring::ODD_NAME;
use super::server::Running;
use std::collections::BTreeSet;

/// A sample: its name, its labels as they were meant, its number.
#[derive(Debug, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_first) && text.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

/// `\\`, `\n` and, in labels, `\"`: nothing else may stand after a backslash.
fn unescaped(text: &str, is_label: bool) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, is_label) {
            ('\\', _) => match (rest.next(), is_label) {
                (Some('\\'), _) => out.push('\\'),
                (Some('n'), _) => out.push('\n'),
                (Some('"'), true) => out.push('"'),
                other => return Err(format!("{other:?} after a backslash")),
            },
            ('"', true) => return Err("a quote within a label".to_owned()),
            _ => out.push(c),
        }
    }
    Ok(out)
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inside.split_once("=\"").ok_or("a label without a value")?;
            if !is_name(label) || labels.iter().any(|(known, _)| known == label) {
                return Err(format!("`{label}` is no name for a label, or is there twice"));
            }
            let mut is_escaped = false;
            let close = after.find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            let close = close.ok_or("a label without an end")?;
            labels.push((label.to_owned(), unescaped(&after[..close], true)?));
            inside = &after[close + 1..];
            if let Some(after) = inside.strip_prefix('}') {
                rest = after;
                break;
            }
            inside = inside.strip_prefix(',').ok_or("no comma between labels")?;
        }
    }
    let value = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    let is_number = |c: char| c.is_ascii_digit() || "+-.e".contains(c);
    if !matches!(value, "NaN" | "+Inf" | "-Inf") && (value.is_empty() || !value.chars().all(is_number)) {
        return Err(format!("`{value}` is no number"));
    }
    let value = value.replace("Inf", "inf").parse().map_err(|error| format!("{value}: {error}"))?;
    Ok(Sample { name: name.to_owned(), labels, value })
}

/// Every sample, or the first line that breaks a rule, and why.
fn parse(text: &str) -> Result<Vec<Sample>, String> {
    if !text.ends_with('\n') || text.contains('\r') {
        return Err("a last line without an end, or an end of another kind".to_owned());
    }
    let (mut samples, mut seen, mut families) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    // The name whose help was told, and the kind it was said to be.
    let (mut helped, mut typed) = (None::<String>, None::<(String, String)>);
    for line in text.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("help without words") };
            if !is_name(name) || !families.insert(name.to_owned()) || help.trim().is_empty() {
                return wrong("no name, no words, or a name for the second time");
            }
            unescaped(help, false).map_err(|why| format!("{why}: {line}"))?;
            (helped, typed) = (Some(name.to_owned()), None);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("a type of what?") };
            if helped.as_deref() != Some(name) || typed.is_some() || !["gauge", "counter"].contains(&kind) {
                return wrong("a type without its help, or for the second time, or of another kind");
            }
            if (kind == "counter") != name.ends_with("_total") {
                return wrong("counters, and only they, end with _total");
            }
            typed = Some((name.to_owned(), kind.to_owned()));
        } else {
            let sample = sample(line).map_err(|why| format!("{why}: {line}"))?;
            let Some((name, kind)) = &typed else { return wrong("a sample before its type") };
            if sample.name != *name || !is_name(name) {
                return wrong("a sample among those of another");
            }
            if kind == "counter" && !(sample.value >= 0.0 && sample.value.is_finite()) {
                return wrong("a counter below nothing, or of nothing");
            }
            let mut labels = sample.labels.clone();
            labels.sort();
            if !seen.insert((name.clone(), labels)) {
                return wrong("the same sample twice");
            }
            samples.push(sample);
        }
    }
    Ok(samples)
}

async fn samples(running: &Running) -> Vec<Sample> {
    let answer = running.get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    parse(&answer.text()).unwrap()
}

fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits =
        |sample: &&Sample| sample.name == name && labels.iter().all(|(name, value)| sample.label(name) == Some(value));
    samples.iter().find(fits).map(|sample| sample.value)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_is_as_the_format_says_and_tells_what_is_so() {
    let running = Running::start(true).await;
    let samples = samples(&running).await;
    for (name, labels, wanted) in [
        ("herodotus_build_info", [("version", env!("CARGO_PKG_VERSION"))].as_slice(), 1.0),
        ("herodotus_archive_captures", &[], 9.0),
        ("herodotus_archive_urls", &[], 6.0),
        ("herodotus_crawls", &[("state", "running")], 1.0),
        ("herodotus_crawls", &[("state", "failed")], 0.0),
        ("herodotus_crawl_pages", &[("outcome", "failed")], 3.0),
        ("herodotus_ring_info", &[("name", ODD_NAME), ("machine", "abcd"), ("owner", "true")], 1.0),
        ("herodotus_ring_nodes", &[], 1.0),
        ("herodotus_ring_standing", &[("node", "0"), ("standing", "member")], 1.0),
        ("herodotus_ring_standing", &[("node", "0"), ("standing", "joining")], 0.0),
        ("herodotus_ring_arc_share", &[("node", "0")], 0.0625),
        ("herodotus_ring_known_nodes", &[("node", "0")], 3.0),
        ("herodotus_ring_dead_nodes", &[("node", "0")], 1.0),
        ("herodotus_ring_lookups_total", &[("result", "done")], 7.0),
        ("herodotus_ring_lookup_hops_total", &[], 9.0),
        ("herodotus_ring_peers", &[("state", "connected")], 1.0),
        ("herodotus_ring_peer_round_trip_seconds", &[], 0.0125),
        ("herodotus_ring_peer_bytes_total", &[("direction", "out")], 2000.0),
        ("herodotus_ring_objects", &[("copies", "6")], 40.0),
        ("herodotus_ring_objects", &[("copies", "2")], 3.0),
        ("herodotus_ring_objects", &[("copies", "1")], 0.0),
        ("herodotus_ring_repair_objects", &[], 3.0),
        ("herodotus_ring_hosts_split", &[], 2.0),
        ("herodotus_ring_set_aside", &[], 5.0),
        ("herodotus_ring_repair_seconds", &[], 7.5),
        ("herodotus_ring_machines", &[("state", "silent")], 1.0),
        ("herodotus_ring_machine_served_bytes_total", &[("machine", "abcd")], 9.0),
        ("herodotus_ring_machine_audit_passed", &[("machine", "3000")], 0.0),
    ] {
        assert_eq!(value(&samples, name, labels), Some(wanted), "{name} {labels:?}");
    }
    if cfg!(target_os = "linux") {
        let resident = value(&samples, "process_resident_memory_bytes", &[]).unwrap();
        assert!((1e6..1e11).contains(&resident), "{resident}");
        let start = value(&samples, "process_start_time_seconds", &[]).unwrap();
        let now = herodotus_base::Timestamp::now().millis() as f64 / 1e3;
        assert!((now - 86_400.0..now + 2.0).contains(&start), "{start}, and now it is {now}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_alone_tells_nothing_of_a_ring_or_of_crawls() {
    let running = Running::start(false).await;
    let samples = samples(&running).await;
    let of = |start: &str| samples.iter().filter(|sample| sample.name.starts_with(start)).count();
    assert_eq!((of("herodotus_ring"), of("herodotus_crawl")), (0, 0));
    assert!(of("herodotus_archive") >= 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_once_each_by_kind_and_class() {
    let running = Running::start(true).await;
    for target in ["/", "/", "/nowhere", "/api/v1/totals", "/api/v1/nothing", "/cdx?url=example.org/*"] {
        running.get(target).await;
    }
    let samples = samples(&running).await;
    let count = |kind, code| {
        value(&samples, "herodotus_http_requests_total", &[("listener", "pages"), ("kind", kind), ("code", code)])
    };
    assert_eq!((count("page", "2xx"), count("page", "4xx")), (Some(2.0), Some(1.0)));
    assert_eq!((count("api", "2xx"), count("api", "4xx")), (Some(1.0), Some(1.0)));
    assert_eq!((count("cdx", "2xx"), count("metrics", "2xx")), (Some(1.0), None));
}

/// The parser is only worth something if it finds what is wrong.
#[test]
fn the_parser_finds_planted_mistakes() {
    let head = "# HELP a_total Things.\n# TYPE a_total counter\n";
    let good = format!("{head}a_total{{x=\"a\\\\\\\"\\n,}}\",y=\"\"}} 1\na_total{{x=\"b\",y=\"\"}} 2.5e3\n");
    let told = parse(&good).unwrap();
    assert_eq!(told[0].label("x"), Some("a\\\"\n,}"));
    for bad in [
        "a_total 1\n",
        "# TYPE a_total counter\na_total 1\n",
        "# HELP a_total Things.\na_total 1\n",
        "# HELP a Things.\n# TYPE a counter\na 1\n",
        "# HELP a_total \n# TYPE a_total counter\na_total 1\n",
        &format!("{head}b_total 1\n"),
        &format!("{head}a_total 1"),
        &format!("{head}a_total 1\na_total 2\n"),
        &format!("{head}a_total 1\n\n"),
        &format!("{head}a_total -1\n"),
        &format!("{head}a_total  1\n"),
        &format!("{head}a_total 1 2 3\n"),
        &format!("{head}a_total inf\n"),
        &format!("{head}a_total{{}} 1\n"),
        &format!("{head}a_total{{x=\"\\t\"}} 1\n"),
        &format!("{head}a_total{{x=\"a\"b\"}} 1\n"),
        &format!("{head}a_total{{x=\"a\",x=\"b\"}} 1\n"),
        &format!("{head}a_total{{x=\"a\",}} 1\n"),
        &format!("{head}a_total{{x-y=\"a\"}} 1\n"),
        &format!("{head}{head}a_total 1\n"),
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
