//! One ring, in order: whoever follows first live successors from any member comes to the same circle, which goes round once.

use super::View;
use herodotus_ring::Ring;

pub fn check(view: &View<'_>) -> Vec<String> {
    let members = view.members();
    let place = |ring: &Ring| members.binary_search_by_key(&ring.me().id, |other| other.me().id).unwrap_or(0);
    let next: Vec<usize> = members.iter().map(|ring| place(first_live(view, ring))).collect();
    let mut wrong = Vec::new();
    let rings = circles(&next);
    if rings.len() > 1 {
        let sizes: Vec<_> = rings.iter().map(Vec::len).collect();
        wrong.push(format!("{} rings, of {sizes:?} nodes", rings.len()));
    }
    for circle in &rings {
        // Members are numbered by their places. Going round once, the numbers fall exactly once, where the circle closes.
        let falls = (0..circle.len()).filter(|at| circle[*at] >= circle[(at + 1) % circle.len()]).count();
        if falls > 1 {
            wrong.push(format!("a ring of {} nodes goes round {falls} times", circle.len()));
        }
    }
    wrong
}

/// All circles that one can end up in, going from each to its next.
fn circles(next: &[usize]) -> Vec<Vec<usize>> {
    // By which walk a place was first come upon.
    let mut walks = vec![usize::MAX; next.len()];
    let mut circles = Vec::new();
    for start in 0..next.len() {
        let mut at = start;
        while walks[at] == usize::MAX {
            walks[at] = start;
            at = next[at];
        }
        if walks[at] == start {
            let mut circle = vec![at];
            let mut on = next[at];
            while on != at {
                circle.push(on);
                on = next[on];
            }
            circles.push(circle);
        }
    }
    circles
}

/// Where a lookup goes from a member: the first of its list that lives, or nowhere.
fn first_live<'a>(view: &View<'a>, ring: &'a Ring) -> &'a Ring {
    let live = ring.core().successors().iter().find_map(|contact| view.member(contact.id));
    live.unwrap_or(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_that_end_in_the_same_circle_are_one() {
        assert_eq!(circles(&[1, 2, 0, 0, 3]), [[0, 1, 2]]);
        assert_eq!(circles(&[0, 2, 1]), [vec![0], vec![1, 2]]);
        assert!(circles(&[]).is_empty());
    }
}
