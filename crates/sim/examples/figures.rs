//! The figures of `herodotus sim ring` without the rest of the program: `figures nodes=20000 minutes=2 fingers_only=true`; `plot=FILE.svg` draws them.

use herodotus_sim::ring::{Options, run};
use std::str::FromStr;

fn main() {
    let mut options = Options::default();
    let mut plot = None;
    for argument in std::env::args().skip(1) {
        let Some((name, value)) = argument.split_once('=') else { panic!("{argument}: name=value is wanted") };
        match name {
            "nodes" => options.nodes = read(value),
            "seed" => options.seed = read(value),
            "minutes" => options.minutes = read(value),
            "churn" => options.churn_median_minutes = Some(read(value)),
            "kill" => options.kill = Some(read(value)),
            "fingers_only" => options.fingers_only = read(value),
            "no_mending" => options.no_mending = read(value),
            "loss" => options.loss = read(value),
            "depth" => options.depth = read(value),
            "virtuals" => options.virtuals = read(value),
            "known_max" => options.known_max = read(value),
            "lookups" => options.lookups = read(value),
            "warming" => options.warming = read(value),
            "plot" => plot = Some(value.to_owned()),
            _ => panic!("{name} is not known"),
        }
    }
    match run(&options) {
        Ok(report) => {
            println!("{report}");
            if let Some(file) = plot {
                std::fs::write(&file, herodotus_sim::plot::of_report(&report))
                    .unwrap_or_else(|error| panic!("{file}: {error}"));
            }
        }
        Err(error) => eprintln!("{error}"),
    }
}

fn read<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no value"))
}
