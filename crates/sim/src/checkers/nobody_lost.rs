//! Nobody is lost: whoever runs and wants to be a member is one.

use super::View;
use herodotus_ring::Standing;

pub fn check(view: &View<'_>) -> Vec<String> {
    let lost = view.others().iter().filter(|ring| *ring.standing() != Standing::Left);
    lost.map(|ring| format!("{:?} runs and is no member: {:?}", ring.me(), ring.standing())).collect()
}
