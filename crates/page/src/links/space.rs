//! Whether we are in HTML, in a drawing or in a formula: in the latter two other rules hold for tags (`/>` closes, CDATA
//! counts, scripts and titles are ordinary). Of the tree only this much is kept, by the standard's rules for entering and
//! leaving, which do not need the rest.

use super::element::{Element, leaves_foreign};
use super::tag::Tag;
use crate::limits::SPACES_DEPTH_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Html,
    Svg,
    Math,
}

/// Drawings, formulas, and HTML within them, from the outside in.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    stack: Vec<Space>,
}

impl Spaces {
    #[inline]
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.stack.last(), Some(Space::Svg | Space::Math))
    }

    /// Answers whether the tag itself is of a drawing or formula.
    #[inline]
    pub(crate) fn start(&mut self, element: Element, tag: &Tag<'_>) -> bool {
        if self.stack.is_empty() && !matches!(element, Element::Svg | Element::Math) {
            return false;
        }
        if self.is_foreign() && leaves_foreign(tag.name) {
            self.leave();
            return false;
        }
        let is_foreign = self.is_foreign();
        let entered = match (self.stack.last().copied().unwrap_or(Space::Html), element) {
            (Space::Html | Space::Svg, Element::Svg) => Space::Svg,
            (Space::Html | Space::Math, Element::Math) => Space::Math,
            (Space::Svg, Element::SvgIsland | Element::Title) => Space::Html,
            (Space::Math, Element::MathIsland) => Space::Html,
            _ => return is_foreign,
        };
        if !tag.is_closed && self.stack.len() < SPACES_DEPTH_MAX {
            self.stack.push(entered);
        }
        is_foreign
    }

    #[inline]
    pub(crate) fn end(&mut self, name: &[u8]) {
        let Some(&space) = self.stack.last() else { return };
        let outer = self.stack.iter().rev().nth(1).copied();
        match (space, Element::of(name)) {
            (Space::Svg, Element::Svg) | (Space::Math, Element::Math) => {
                self.stack.pop();
            }
            (Space::Html, Element::SvgIsland | Element::Title) if outer == Some(Space::Svg) => {
                self.stack.pop();
            }
            (Space::Html, Element::MathIsland) if outer == Some(Space::Math) => {
                self.stack.pop();
            }
            (Space::Svg | Space::Math, Element::Plain)
                if name.eq_ignore_ascii_case(b"p") || name.eq_ignore_ascii_case(b"br") =>
            {
                self.leave();
            }
            _ => {}
        }
    }

    /// Such a tag cannot be within a drawing: its end was forgotten.
    fn leave(&mut self) {
        while self.is_foreign() {
            self.stack.pop();
        }
    }
}
