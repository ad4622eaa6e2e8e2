//! wrk, which asks for a list of paths in a round over many connections, and what it found.

use super::servers::Server;
use crate::peers::say;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::process::Command;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) requests_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Of the server, a request.
    pub(crate) cpu_ms: f64,
    pub(crate) errors: u64,
    pub(crate) rss_mb: f64,
}

pub(crate) fn load(server: &Server, paths: &[String], connections: u64, seconds: u64) -> Result<Load> {
    let script = tempfile::Builder::new().suffix(".lua").tempfile()?;
    std::fs::write(script.path(), cycle(paths))?;
    // One second to warm up, which is not counted.
    run(server, script.path(), connections, 1)?;
    let (before, _) = server.usage()?;
    let text = run(server, script.path(), connections, seconds)?;
    let (after, rss) = server.usage()?;
    let mut load = parse(&text).with_context(|| format!("wrk said: {text}"))?;
    load.cpu_ms = (after - before) * 1000.0 / (load.requests_per_s * seconds as f64).max(1.0);
    load.rss_mb = rss as f64 / 1e6;
    say(&format!("{}: {:.0} requests/s", paths.first().map_or("", String::as_str), load.requests_per_s));
    Ok(load)
}

fn run(server: &Server, script: &std::path::Path, connections: u64, seconds: u64) -> Result<String> {
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "--latency", "--timeout", "30s", "-s"])
        .arg(script)
        .arg(format!("http://127.0.0.1:{}", server.port))
        .output()
        .context("starting wrk (install the Debian package wrk)")?;
    ensure!(output.status.success(), "wrk: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cycle(paths: &[String]) -> String {
    let mut lua = String::from("local paths = {\n");
    for path in paths {
        let _ = writeln!(lua, "  {path:?},");
    }
    lua.push_str(
        "}\nlocal n = 0\nrequest = function()\n  n = n % #paths + 1\n  return wrk.format(\"GET\", paths[n])\nend\n",
    );
    lua
}

fn parse(text: &str) -> Option<Load> {
    let after = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let errors = after("Non-2xx or 3xx responses:").and_then(|n| n.parse().ok()).unwrap_or(0);
    Some(Load {
        requests_per_s: after("Requests/sec:")?.parse().ok()?,
        p50_ms: millis(after("50%")?)?,
        p99_ms: millis(after("99%")?)?,
        errors,
        ..Load::default()
    })
}

fn millis(text: &str) -> Option<f64> {
    for (unit, factor) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Some(number.parse::<f64>().ok()? * factor);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrk_prints_is_read() {
        let text = "  Latency Distribution\n     50%  635.00us\n     99%    1.20s \n  10 requests in 1s\n  Non-2xx or 3xx responses: 7\nRequests/sec:  1234.56\n";
        let load = parse(text).unwrap();
        assert_eq!((load.p50_ms, load.p99_ms, load.requests_per_s, load.errors), (0.635, 1200.0, 1234.56, 7));
    }
}
