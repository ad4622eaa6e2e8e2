//! Serves a web until its input ends: `cargo run -p herodotus-testweb --example serve -- --hosts 100 --pages 1000`,
//! then for instance `curl --proxy http://127.0.0.1:<port> http://orchard-0.test/`.
//!
//! The first line it prints is its address, the second the URL that leads to everything. Lines that it reads:
//! `round N` shows another round, `requests` prints how many were answered, `quit` ends it.

use herodotus_testweb::{Config, Server, Web};
use std::net::Ipv4Addr;

const USAGE: &str = "serve [--seed N] [--hosts N] [--pages N per host] [--port N] [--round N] [--paragraphs N at most] \
                     [--links N at most] [--pictures N at most] [--gzip PERCENT] [--busy PERCENT] \
                     [--crawl-delay PERCENT] [--forever: go on when the input ends]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut config, mut port, mut round, mut forever) = (Config::default(), 0, 0, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--forever" {
            forever = true;
            continue;
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--seed" => config.seed = value.parse()?,
            "--hosts" => config.hosts = value.parse()?,
            "--pages" => config.pages_per_host = value.parse()?,
            "--port" => port = value.parse()?,
            "--round" => round = value.parse()?,
            "--paragraphs" => config.paragraphs_max = value.parse()?,
            "--links" => config.links_max = value.parse()?,
            "--pictures" => config.pictures_max = value.parse()?,
            "--gzip" => config.gzip_percent = value.parse()?,
            "--busy" => config.busy_percent = value.parse()?,
            "--crawl-delay" => config.crawl_delay_percent = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let server = Server::start_on(Web::new(config), (Ipv4Addr::LOCALHOST, port).into())?;
    server.set_round(round);
    println!("http://{}", server.addr());
    println!("http://{}/", server.web().hosts().next().unwrap_or_default());
    for line in std::io::stdin().lines() {
        let line = line?;
        match (line.trim(), line.trim().strip_prefix("round ").map(str::parse)) {
            (_, Some(Ok(round))) => {
                server.set_round(round);
                println!("round {round}");
            }
            ("requests", _) => println!("{} requests", server.requests()),
            ("quit", _) => return Ok(()),
            _ => println!("? round N, requests, quit"),
        }
    }
    if forever {
        loop {
            std::thread::park();
        }
    }
    Ok(())
}
