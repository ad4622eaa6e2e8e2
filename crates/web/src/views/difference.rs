//! Two versions beside each other, line by line and, within changed lines, word by word.
//!
//! Bounded in bytes, lines and time: what does not fit is left out, and the note says so. When time runs out, the comparison
//! is coarser but still right.

use super::facts::stamp_time;
use super::limits::{
    CONTEXT_LINES, DIFFERENCE_BYTES_MAX, DIFFERENCE_LINE_CHARS_MAX, DIFFERENCE_LINES_MAX, DIFFERENCE_LINES_SHOWN_MAX,
    DIFFERENCE_TIME, LIKENESS_MIN, VERSIONS_COMPARED_MAX, WORDS_TIME,
};
use super::lines::{Reading, read};
use super::versions::seen_version;
use super::walk::version_at;
use super::{Block, Change, Difference};
use crate::answer::Trouble;
use crate::site::Site;
use herodotus_base::Timestamp;
use herodotus_store::Entry;
use similar::{ChangeTag, DiffOp, DiffTag, InlineChangeOptions, TextDiff};
use std::time::Instant;

/// Changes of more lines than this are shown as whole lines: nobody compares words there.
const WORDS_LINES_MAX: usize = 400;

/// And of more bytes.
const WORDS_BYTES_MAX: usize = 128 * 1024;

type Line = Vec<(bool, String)>;

/// `from` and `to` are stamps. Without `to`: the newest. Without `from`: the newest before it that differs.
pub(crate) fn difference(site: &Site, url: &str, from: Option<&str>, to: Option<&str>) -> Result<Difference, Trouble> {
    let (from, to) = (from.map(stamp_time).transpose()?, to.map(stamp_time).transpose()?);
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (Some(from.min(to)), Some(from.max(to))),
        other => other,
    };
    let not_here = || Trouble::NotFound(format!("{url} is not in the archive"));
    let newer = version_at(site, url, to.unwrap_or(Timestamp::MAX))?.ok_or_else(not_here)?;
    let older = match from {
        Some(from) => version_at(site, url, from)?,
        None => before_that_differs(site, &newer)?,
    };
    let only_one = || {
        let when = newer.id.time.rfc3339();
        Trouble::NotFound(format!("{url} has no earlier version that differs from the one of {when}"))
    };
    compare(site, older.ok_or_else(only_one)?, newer)
}

fn before_that_differs(site: &Site, newer: &Entry) -> Result<Option<Entry>, Trouble> {
    let digest = seen_version(site, newer)?.digest;
    for entry in site.archive().versions_until(&newer.id.key, newer.id.time).take(VERSIONS_COMPARED_MAX) {
        let entry = entry?;
        let is_candidate = entry.is_capture() && entry.id != newer.id && entry.sha1 != newer.sha1;
        // The digest of a revisit may be that of an empty answer: only what it stands for counts.
        if is_candidate && seen_version(site, &entry)?.digest != digest {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn compare(site: &Site, older: Entry, newer: Entry) -> Result<Difference, Trouble> {
    let mut difference = Difference {
        url: newer.url.clone(),
        from: seen_version(site, &older)?,
        to: seen_version(site, &newer)?,
        blocks: Vec::new(),
        lines_added: 0,
        lines_removed: 0,
        note: None,
    };
    if difference.from.digest == difference.to.digest {
        difference.to.change = Some(Change::Same);
        difference.note = Some("These are the very same bytes.".to_owned());
        return Ok(difference);
    }
    let bytes = i64::try_from(difference.to.length).unwrap_or(i64::MAX).saturating_sub_unsigned(difference.from.length);
    difference.to.change = Some(Change::Changed { share: None, bytes });
    let mut sides = Vec::with_capacity(2);
    let mut is_cut = false;
    for entry in [&older, &newer] {
        match read(site, entry, DIFFERENCE_BYTES_MAX)?.0 {
            Reading::Lines(mut lines) => {
                is_cut |= lines.len() > DIFFERENCE_LINES_MAX;
                lines.truncate(DIFFERENCE_LINES_MAX);
                sides.push(lines);
            }
            Reading::NotText => {
                let what = if entry.media.is_empty() { "an unknown media type" } else { &entry.media };
                difference.note = Some(format!("There is nothing to read in it: {what}."));
                return Ok(difference);
            }
            Reading::TooLarge => {
                let when = entry.id.time.rfc3339();
                difference.note = Some(format!("The version of {when} is too large to compare."));
                return Ok(difference);
            }
        }
    }
    let refs = |n: usize| -> Vec<&str> { sides.get(n).into_iter().flatten().map(String::as_str).collect() };
    let (old, new) = (refs(0), refs(1));
    let diff = TextDiff::configure().deadline(Instant::now() + DIFFERENCE_TIME).diff_slices(&old, &new);
    for op in diff.ops() {
        if op.tag() != DiffTag::Equal {
            difference.lines_removed += op.old_range().len() as u64;
            difference.lines_added += op.new_range().len() as u64;
        }
    }
    let changed = difference.lines_added + difference.lines_removed;
    let share = changed as f32 / (old.len() + new.len()).max(1) as f32;
    difference.to.change = Some(Change::Changed { share: Some(share), bytes });
    if changed == 0 {
        difference.note = Some("A reader would see no difference: only what is not shown has changed.".to_owned());
        return Ok(difference);
    }
    let is_whole;
    (difference.blocks, is_whole) = blocks(&diff);
    if !is_whole {
        difference.note = Some(format!("Only the first {DIFFERENCE_LINES_SHOWN_MAX} lines are shown."));
    } else if is_cut {
        difference.note = Some(format!("Only the first {DIFFERENCE_LINES_MAX} lines of each were compared."));
    }
    Ok(difference)
}

/// The blocks that fit, and whether these are all.
fn blocks(diff: &TextDiff<'_, '_, str>) -> (Vec<Block>, bool) {
    let words_until = Instant::now() + WORDS_TIME;
    let mut blocks = Vec::new();
    let mut left = DIFFERENCE_LINES_SHOWN_MAX;
    let last = diff.ops().len().saturating_sub(1);
    for (n, op) in diff.ops().iter().enumerate() {
        if left == 0 {
            return (blocks, false);
        }
        if let DiffOp::Equal { old_index, len, .. } = *op {
            let before = if n == 0 { 0 } else { CONTEXT_LINES };
            let after = if n == last { 0 } else { CONTEXT_LINES };
            left = left.saturating_sub(push_same(&mut blocks, diff, old_index, len, (before, after)));
            continue;
        }
        let (mut removed, mut added) = changed_lines(diff, op, words_until, left);
        let is_whole = removed.len() + added.len() <= left;
        removed.truncate(left);
        added.truncate(left - removed.len());
        left -= removed.len() + added.len();
        blocks.push(Block::Changed { removed, added });
        if !is_whole {
            return (blocks, false);
        }
    }
    (blocks, true)
}

/// Unchanged lines: those near a change are shown, the others counted. Answers how many are shown.
fn push_same(
    blocks: &mut Vec<Block>,
    diff: &TextDiff<'_, '_, str>,
    start: usize,
    len: usize,
    (before, after): (usize, usize),
) -> usize {
    let lines =
        |from: usize, to: usize| -> Vec<String> { (from..to).filter_map(|at| diff.old_slice(at)).map(shown).collect() };
    // To say that one line is left out takes a line.
    if len <= before + after + 1 {
        blocks.push(Block::Same { lines: lines(start, start + len) });
        return len;
    }
    if before > 0 {
        blocks.push(Block::Same { lines: lines(start, start + before) });
    }
    blocks.push(Block::Skipped { count: (len - before - after) as u64 });
    if after > 0 {
        blocks.push(Block::Same { lines: lines(start + len - after, start + len) });
    }
    before + after
}

/// Lines gone and come. At least one more than `max` of them, if there are more.
fn changed_lines(diff: &TextDiff<'_, '_, str>, op: &DiffOp, until: Instant, max: usize) -> (Vec<Line>, Vec<Line>) {
    let (old, new) = (op.old_range(), op.new_range());
    let bytes: usize = old.clone().filter_map(|at| diff.old_slice(at)).map(str::len).sum::<usize>()
        + new.clone().filter_map(|at| diff.new_slice(at)).map(str::len).sum::<usize>();
    let is_small = old.len() + new.len() <= WORDS_LINES_MAX && bytes <= WORDS_BYTES_MAX;
    if !old.is_empty() && !new.is_empty() && is_small && Instant::now() < until {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let options = *InlineChangeOptions::new().min_ratio(LIKENESS_MIN);
        for change in diff.iter_inline_changes_with_options_deadline(op, options, Some(until)) {
            let pieces = change.iter_strings_lossy().map(|(is_changed, text)| (is_changed, text.into_owned()));
            let line = joined(pieces);
            match change.tag() {
                ChangeTag::Delete => removed.push(line),
                ChangeTag::Insert => added.push(line),
                ChangeTag::Equal => {}
            }
        }
        // Without a likeness, nothing is marked: then all of it changed.
        let is_marked = |lines: &[Line]| lines.iter().flatten().any(|(is_changed, _)| *is_changed);
        if is_marked(&removed) || is_marked(&added) {
            return (removed, added);
        }
    }
    let whole = |line: &str| vec![(true, shown(line))];
    let removed = old.filter_map(|at| diff.old_slice(at)).take(max + 1).map(whole).collect();
    (removed, new.filter_map(|at| diff.new_slice(at)).take(max + 1).map(whole).collect())
}

/// Pieces in a row of one kind as one, and no more of them than a line may be long. A blank between two changed words has
/// changed with them.
fn joined(pieces: impl Iterator<Item = (bool, String)>) -> Line {
    let mut line: Line = Vec::new();
    let mut left = DIFFERENCE_LINE_CHARS_MAX;
    for (is_changed, text) in pieces {
        if is_changed
            && line.len() >= 2
            && let Some((_, blank)) = line.pop_if(|(_, text)| text.trim().is_empty())
            && let Some((_, changed)) = line.last_mut()
        {
            changed.push_str(&blank);
        }
        let chars = text.chars().count();
        let text = if chars > left { cut(&text, left) } else { text };
        match line.last_mut() {
            Some((last, before)) if *last == is_changed => before.push_str(&text),
            _ => line.push((is_changed, text)),
        }
        if chars > left {
            break;
        }
        left -= chars;
    }
    line
}

fn shown(line: &str) -> String {
    if line.len() <= DIFFERENCE_LINE_CHARS_MAX { line.to_owned() } else { cut(line, DIFFERENCE_LINE_CHARS_MAX) }
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
