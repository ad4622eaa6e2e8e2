//! The figures of `herodotus sim copies` without the rest of the program: `copies nodes=200 days=360 sessions=720,8640 copies=3,6`; `plot=FILE.svg` draws them.

use herodotus_sim::replica::{Options, run};
use std::str::FromStr;

fn main() {
    let mut options = Options::default();
    let mut plot = None;
    for argument in std::env::args().skip(1) {
        let Some((name, value)) = argument.split_once('=') else { panic!("{argument}: name=value is wanted") };
        match name {
            "nodes" => options.nodes = read(value),
            "seed" => options.seed = read(value),
            "days" => options.days = read(value),
            "sessions" => options.session_median_hours = value.split(',').map(read).collect(),
            "copies" => options.copies = value.split(',').map(read).collect(),
            "gigabytes" => options.gigabytes = read(value),
            "rate" => options.kbit_per_s = read(value),
            "returns" => options.returns = read(value),
            "away" => options.away_median_hours = read(value),
            "plot" => plot = Some(value.to_owned()),
            _ => panic!("{name} is not known"),
        }
    }
    match run(&options) {
        Ok(report) => {
            println!("{report}");
            if let Some(file) = plot {
                std::fs::write(&file, report.svg()).unwrap_or_else(|error| panic!("{file}: {error}"));
            }
        }
        Err(error) => eprintln!("{error}"),
    }
}

fn read<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no value"))
}
