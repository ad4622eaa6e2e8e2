//! The figures of `herodotus sim crawl` without the rest of the program: `crawl workload=sites strategy=all nodes=1,5,80 paper=true plot=FILE.svg`.
//! `nearness=FILE.svg` draws the paper's figure 12 instead.

use herodotus_sim::crawl::{Options, Report, Strategy, Workload, draw, draw_nearness, run};
use std::collections::BTreeMap;
use std::str::FromStr;

fn main() {
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for argument in std::env::args().skip(1) {
        let Some((name, value)) = argument.split_once('=') else { panic!("{argument}: name=value is wanted") };
        given.insert(name.to_owned(), value.to_owned());
    }
    let mut take = |name: &str| given.remove(name);
    if let Some(file) = take("nearness") {
        return nearness(&file);
    }
    let workload = read(&take("workload").unwrap_or("exhaustive".into()));
    let strategies = match take("strategy").as_deref() {
        None | Some("all") => Strategy::ALL.to_vec(),
        Some(names) => names.split(',').map(read).collect(),
    };
    let nodes: Vec<usize> = take("nodes").unwrap_or("80".into()).split(',').map(read).collect();
    let make = if take("paper").is_some_and(|is| read(&is)) { Options::paper } else { Options::new };
    let is_detailed = take("detail").is_some_and(|is| read(&is));
    let plot = take("plot");
    println!("{}", Report::COLUMNS);
    let mut reports = Vec::new();
    for strategy in strategies {
        for nodes in &nodes {
            let mut options = make(workload, strategy, *nodes);
            given.iter().for_each(|(name, value)| set(&mut options, name, value));
            let report = run(&options).unwrap_or_else(|error| panic!("{error}"));
            println!("{report}");
            if is_detailed {
                let (more, detail) =
                    (&report, (report.duplicates, report.passed_on, report.redirected, report.queued_max));
                println!(
                    "  {:?}, duplicates, passed on, redirected, queue: {detail:?}, gap {:?}, trace {}",
                    more.traffic, more.gap_ms_min, more.trace
                );
            }
            reports.push(report);
        }
    }
    plot.inspect(|file| std::fs::write(file, draw(&reports)).unwrap_or_else(|error| panic!("{file}: {error}")));
}

fn set(options: &mut Options, name: &str, value: &str) {
    match name {
        "seed" => options.seed = read(value),
        "minutes" => options.minutes = Some(read(value)).filter(|minutes| *minutes > 0.0),
        "pages" => options.pages = read(value),
        "hosts" => options.hosts = read(value),
        "bytes_per_link" => options.bytes_per_link = read(value),
        "host_rate" => options.host_rate = read(value),
        "threads" => options.threads = read(value),
        "kilobytes_per_second" => options.kilobytes_per_second = read(value),
        "handling_ms" => options.handling_ms = read(value),
        "redirect_over" => options.redirect_over = read(value),
        "redirects_max" => options.redirects_max = read(value),
        "candidates" => options.candidates = read(value),
        "host_nodes" => options.host_nodes = read(value),
        _ => panic!("{name} is not known"),
    }
}

/// With 70 machines, as in the paper. The nearest of the 64 that may be asked stands for the nearest of all.
fn nearness(file: &str) {
    let of = |strategy, candidates| {
        let options = Options { candidates, ..Options::paper(Workload::Exhaustive, strategy, 70) };
        run(&options).unwrap_or_else(|error| panic!("{error}"))
    };
    let names = ["nearest of 64", "near, of 5", "near, of 3", "host"];
    let reports = [of(Strategy::Near, 64), of(Strategy::Near, 5), of(Strategy::Near, 3), of(Strategy::Host, 3)];
    for (name, report) in names.iter().zip(&reports) {
        println!("{name}: {:.1} ms at the median", report.round_trip_ms[report.round_trip_ms.len() / 2]);
    }
    let named: Vec<(&str, &Report)> = names.into_iter().zip(&reports).collect();
    std::fs::write(file, draw_nearness(&named)).unwrap_or_else(|error| panic!("{file}: {error}"));
}

fn read<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no value"))
}
