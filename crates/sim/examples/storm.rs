//! One storm, or several, by seed: what is wrong after it, if anything. For looking into a seed that failed.

use herodotus_sim::ring::Storm;

fn main() {
    for seed in std::env::args().skip(1).filter_map(|text| text.parse().ok()) {
        let storm = Storm::new(seed);
        println!("seed {seed}: {} machines, {:?}", storm.nodes, storm.setting);
        let end = storm.run();
        println!("{} members, trace {:x}, stormy {:?}", end.members, end.trace, end.stormy.ended());
        end.wrong.iter().for_each(|sentence| println!("  {sentence}"));
    }
}
