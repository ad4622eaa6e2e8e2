//! What it costs to bring links to the machines that own them.

use super::text::Text;
use crate::crawls::LinksView;

pub(super) fn write(text: &mut Text, links: &LinksView) {
    text.gauge("herodotus_links_waiting", "Links that no other machine has acknowledged yet.")
        .count(&[], links.waiting);
    text.counter("herodotus_links_total", "Links for or from other machines, by what became of them.")
        .count(&[("what", "found")], links.found)
        .count(&[("what", "lately_sent")], links.known)
        .count(&[("what", "sent")], links.sent)
        .count(&[("what", "taken")], links.taken)
        .count(&[("what", "passed_on")], links.passed_on);
    text.counter("herodotus_link_batches_total", "Batches of links sent to other machines.").count(&[], links.batches);
    text.counter("herodotus_link_batches_returned_total", "Batches that were not taken, by why.")
        .count(&[("why", "failed")], links.batches_failed)
        .count(&[("why", "refused")], links.batches_refused);
    text.counter("herodotus_link_walks_total", "Batches sent to somebody nearer than we, instead of the owner.")
        .count(&[], links.walks);
    text.counter("herodotus_link_lookups_total", "Owners that were looked up for links.").count(&[], links.lookups);
    text.counter(
        "herodotus_link_bytes_total",
        "Bytes of batches sent: packed; with the words of calls and answers; with packets and acknowledgements.",
    )
    .count(&[("counted", "packed")], links.bytes_packed)
    .count(&[("counted", "called")], links.bytes_called)
    .count(&[("counted", "wire")], links.bytes_wire);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_its_line() {
        let mut text = Text::default();
        write(&mut text, &LinksView { sent: 7, bytes_wire: 91, waiting: 3, ..LinksView::default() });
        let text = text.done();
        for line in [
            "herodotus_links_total{what=\"sent\"} 7",
            "herodotus_link_bytes_total{counted=\"wire\"} 91",
            "herodotus_links_waiting 3",
        ] {
            assert!(text.lines().any(|said| said == line), "{line}: {text}");
        }
    }
}
