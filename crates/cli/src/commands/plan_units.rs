//! Numbers as people write them, for `plan`: `2B`, `12kB`, `10Mbit`, `5%`. What they may be is decided by `herodotus-plan`.

use super::plan::{Grace, Nodes};

/// `2e9`, `2,000,000`, `300M`, `2B`.
pub(super) fn count(text: &str) -> Result<f64, String> {
    scaled(text, "a count such as 2B, 300M or 2e9", |unit| match unit {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" | "million" => Some(1e6),
        "B" | "G" | "billion" => Some(1e9),
        "T" | "trillion" => Some(1e12),
        _ => None,
    })
}

/// `12kB`, `100GB`, `4TB`, decimal as disks are sold; `4TiB` where that is meant.
pub(super) fn bytes(text: &str) -> Result<f64, String> {
    scaled(text, "a size such as 12kB, 100GB or 4TB", |unit| {
        let unit = unit.strip_suffix('B').unwrap_or(unit);
        let (letter, base) = unit.strip_suffix('i').map_or((unit, 1000f64), |letter| (letter, 1024.0));
        let power = match letter {
            "" if base == 1000.0 => 0,
            "k" | "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            "P" => 5,
            _ => return None,
        };
        Some(base.powi(power))
    })
}

/// `128kbit`, `10Mbit/s`, `1G`: bits a second.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    scaled(text, "a rate such as 128kbit, 10Mbit/s or 1G", |unit| {
        let unit = unit.strip_suffix("/s").unwrap_or(unit);
        let unit = unit.strip_suffix("bit").or_else(|| unit.strip_suffix("bps")).unwrap_or(unit);
        match unit {
            "" => Some(1.0),
            "k" | "K" => Some(1e3),
            "M" => Some(1e6),
            "G" => Some(1e9),
            "T" => Some(1e12),
            _ => None,
        }
    })
}

/// `5%`, `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    scaled(text, "a share such as 5% or 0.05", |unit| match unit {
        "" => Some(1.0),
        "%" => Some(0.01),
        _ => None,
    })
}

pub(super) fn hours_or_never(text: &str) -> Result<Grace, String> {
    if text == "never" {
        return Ok(Grace(None));
    }
    text.parse().map(|hours| Grace(Some(hours))).map_err(|_| "hours, or `never`".to_owned())
}

pub(super) fn nodes_or_any(text: &str) -> Result<Nodes, String> {
    if text == "any" {
        return Ok(Nodes(None));
    }
    let nodes = count(text).ok().filter(|count| *count >= 0.0 && *count <= 1e15 && count.fract() == 0.0);
    nodes.map(|count| Nodes(Some(count as u64))).ok_or_else(|| "a whole number of machines, or `any`".to_owned())
}

fn scaled(text: &str, wanted: &str, unit: impl Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let plain = text.replace([',', '_'], "");
    // The longest beginning that is a number, so that `1e9` is one and `1eB` is none.
    let ends = plain.char_indices().map(|(at, _)| at).chain([plain.len()]);
    let read = ends.filter_map(|end| Some((plain[..end].parse::<f64>().ok()?, plain[end..].trim()))).next_back();
    read.and_then(|(number, name)| Some(number * unit(name)?)).ok_or_else(|| format!("write {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, number) in
            [("2e9", 2e9), ("2B", 2e9), ("2.5 billion", 2.5e9), ("1,000", 1e3), ("300M", 3e8), ("-1", -1.0)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for (text, number) in
            [("12kB", 12e3), ("4TB", 4e12), ("4T", 4e12), ("1KiB", 1024.0), ("100", 100.0), ("59B", 59.0)]
        {
            assert_eq!(bytes(text), Ok(number), "{text}");
        }
        for (text, number) in [("128kbit", 128e3), ("10Mbit/s", 10e6), ("1G", 1e9), ("56kbps", 56e3)] {
            assert_eq!(rate(text), Ok(number), "{text}");
        }
        assert_eq!((share("5%"), share("0.05")), (Ok(0.05), Ok(0.05)));
        assert_eq!((hours_or_never("never"), hours_or_never("12")), (Ok(Grace(None)), Ok(Grace(Some(12.0)))));
        assert_eq!((nodes_or_any("any"), nodes_or_any("20k")), (Ok(Nodes(None)), Ok(Nodes(Some(20_000)))));
    }

    #[test]
    fn what_is_not_a_number_is_refused_with_an_example() {
        for text in ["", "many", "1 apple", "1eB", "kB", "%", "é", "1iB"] {
            let error = bytes(text).unwrap_err();
            assert!(error.contains("4TB"), "{text}: {error}");
        }
        assert!(nodes_or_any("-1").is_err() && nodes_or_any("1.5").is_err() && nodes_or_any("nan").is_err());
    }
}
