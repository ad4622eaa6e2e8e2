//! What a machine that is filled spends on it, and the machine that fills it: shipments made of one archive and taken in by another, one after the other in one
//! thread, with no line between them. Beside it the digests of all bodies, one by one.

use super::{Args, temporary};
use crate::cpu::{Cost, Stopwatch};
use crate::peers::say;
use crate::store::pages::Pages;
use crate::table::{Table, mb, seconds};
use anyhow::{Result, ensure};
use herodotus_ring::placement::Placement;
use herodotus_store::parcel::Outcome;
use herodotus_store::parcel::shipment::limits::BLOCK_BYTES_MIN;
use herodotus_store::{Body, EntryKey, Store};

/// Captures of the archive, if no fewer are asked for.
const CAPTURES_MAX: u64 = 50_000;
/// Names that one machine asks another for at once.
const PAGE: usize = 20_000;

pub(super) fn run(args: &Args) -> Result<()> {
    let work = temporary(args)?;
    let pages = Pages::for_captures(args.captures.min(CAPTURES_MAX));
    let [(from, _), (to, _)] = [Store::open(&work.path().join("from"))?, Store::open(&work.path().join("to"))?];
    from.set_placement(Placement::ByHost)?;
    to.set_placement(Placement::ByHost)?;
    let (mut ids, mut raw, mut hashing_s) = (Vec::<EntryKey>::new(), 0, 0.0);
    for (url, version) in pages.visits() {
        let capture = pages.capture(url, version)?;
        ids.push(capture.id());
        raw += capture.main.body.len();
        from.append(capture)?;
    }
    from.seal()?;
    ids.sort_unstable();
    let bytes = from.bytes_on_disk()?;
    say(&format!("{} captures ({} MB of pages, {} MB in packs)", ids.len(), mb(raw), mb(bytes)));
    let (mut making, mut taking, mut shipped, mut left) = (Cost::default(), Cost::default(), 0, 0);
    for page in ids.chunks(PAGE) {
        let watch = Stopwatch::start();
        let mut shipper = from.shipper(page.to_vec(), BLOCK_BYTES_MIN)?;
        add(&mut making, watch.stop());
        loop {
            let watch = Stopwatch::start();
            let shipment = shipper.next_shipment()?;
            add(&mut making, watch.stop());
            let Some(shipment) = shipment else { break };
            shipped += shipment.len() as u64;
            let watch = Stopwatch::start();
            let taken = to.take_shipment(&shipment)?;
            add(&mut taking, watch.stop());
            ensure!(taken.entries.iter().all(|(_, outcome)| *outcome == Outcome::Stored), "not all was kept");
        }
        left += shipper.left().len();
    }
    for (url, version) in pages.visits() {
        let body = pages.body(url, version);
        let watch = Stopwatch::start();
        std::hint::black_box(Body::new(body));
        hashing_s += watch.stop().cpu_s;
    }
    println!("\n### {} captures in shipments ({} MB; {left} captures are left for parcels)\n", ids.len(), mb(shipped));
    let mut table = Table::new(&["", "s", "CPU s", "CPU µs a capture"]);
    let each = |cpu_s: f64| format!("{:.1}", cpu_s * 1e6 / ids.len() as f64);
    for (what, cost) in [("made", making), ("taken in", taking)] {
        table.row([what.to_owned(), seconds(cost.wall_s), seconds(cost.cpu_s), each(cost.cpu_s)]);
    }
    table.row(["digests of all bodies, one by one".to_owned(), String::new(), seconds(hashing_s), each(hashing_s)]);
    table.print();
    Ok(())
}

fn add(to: &mut Cost, cost: Cost) {
    to.wall_s += cost.wall_s;
    to.cpu_s += cost.cpu_s;
}
