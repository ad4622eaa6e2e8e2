//! One storm over copies, or several, by seed: what is wrong after it, if anything. For looking into a seed that failed. Of a range of seeds, as in
//! `1000..3000`, only those are told after which something is wrong or lost.

use herodotus_sim::replica::Storm;

fn main() {
    for text in std::env::args().skip(1) {
        let (first, end) = text.split_once("..").unwrap_or((&text, ""));
        let Ok(first) = first.parse::<u64>() else { panic!("{text}: a seed, or seeds as in 10..20, are wanted") };
        let seeds = first..end.parse().unwrap_or(first + 1);
        seeds.clone().for_each(|seed| run(seed, end.is_empty()));
        println!("{} storms", seeds.count());
    }
}

fn run(seed: u64, is_told: bool) {
    let end = Storm::new(seed).run();
    if is_told || !end.wrong.is_empty() || !end.is_wild && !end.excused.is_empty() || end.past_wakes > 0 {
        println!(
            "seed {seed}: {} machines, {} copies, {} faults, wild {}, acknowledged {}, lost {}, past wakes {}, trace {:x}\n  {:?}",
            end.machines,
            end.copies,
            end.faults,
            end.is_wild,
            end.acknowledged,
            end.lost,
            end.past_wakes,
            end.trace,
            end.tally
        );
        end.excused.iter().for_each(|sentence| println!("  not promised: {sentence}"));
        end.wrong.iter().for_each(|sentence| println!("  WRONG {sentence}"));
    }
}
