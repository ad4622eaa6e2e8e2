//! Session ids in paths and queries: two visits of one page must share a key although a server of the 2000s wrote a
//! fresh number into every link. Which ids count is the Internet Archive's choice, its regular expressions done by
//! hand: one id of each kind goes, the last one, with no boundary asked in front. Input is canonical already, so lower
//! case.

use memchr::{memchr, memmem};

/// `/(S(24 letters))/page.aspx` and `/(24 letters)/page.aspx` lose the bracket, in `key[start..]`.
pub(super) fn cut_from_path(key: &mut Vec<u8>, start: usize) {
    if memchr(b'(', &key[start..]).is_none() || memmem::find(&key[start..], b".aspx").is_none() {
        return;
    }
    for bracket_len in [lettered_brackets_len, plain_bracket_len] {
        if let Some((from, to)) = find_bracket(&key[start..], bracket_len) {
            key.drain(start + from..start + to);
        }
    }
}

/// The last bracket of its kind that stands between slashes and before a non-empty name with `.aspx`, no `?` between.
fn find_bracket(path: &[u8], bracket_len: fn(&[u8]) -> Option<usize>) -> Option<(usize, usize)> {
    let mut searched_from = path.len();
    let (mut next_page, mut next_question) = (None, None);
    for slash in memchr::memrchr_iter(b'/', path) {
        let from = slash + 1;
        let Some(len) = bracket_len(&path[from..]) else { continue };
        let to = from + len;
        // Only what lies before the last candidate is searched anew, so many candidates cost no more than one.
        let page_end = (searched_from + 1 + b".aspx".len()).min(path.len());
        let page = path.get(to + 1..page_end).and_then(|text| memmem::find(text, b".aspx"));
        next_page = page.map(|at| to + 1 + at).or(next_page);
        next_question = memchr(b'?', &path[to..searched_from.max(to)]).map(|at| to + at).or(next_question);
        searched_from = to;
        match (next_page, next_question) {
            (Some(page), Some(question)) if question > page => return Some((from, to)),
            (Some(_), None) => return Some((from, to)),
            _ => {}
        }
    }
    None
}

/// `((a(24))+)/`
fn lettered_brackets_len(text: &[u8]) -> Option<usize> {
    let mut len = 1;
    text.strip_prefix(b"(")?;
    while text.get(len).is_some_and(u8::is_ascii_lowercase) && text.get(len + 1) == Some(&b'(') {
        if !is_id(text.get(len + 2..len + 26)?) || text.get(len + 26) != Some(&b')') {
            return None;
        }
        len += 27;
    }
    (len > 1 && text[len..].starts_with(b")/")).then_some(len + 2)
}

/// `(24)/`
fn plain_bracket_len(text: &[u8]) -> Option<usize> {
    (text.first() == Some(&b'(') && is_id(text.get(1..25)?) && text[25..].starts_with(b")/")).then_some(27)
}

fn is_id(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// `jsessionid=`, `phpsessid=`, `sid=`, `aspsessionid…=` and `cfid=…&cftoken=…` lose name, value and following `&`.
pub(super) fn cut_from_query(query: &mut Vec<u8>, start: usize) {
    let has_id = memchr::memchr_iter(b'd', &query[start..]).any(|at| at > 0 && query[start + at - 1] == b'i');
    if !has_id {
        return;
    }
    for name in [&b"jsessionid="[..], b"phpsessid=", b"sid="] {
        cut_last(query, start, name, |rest| (rest.len() >= 32 && is_id(&rest[..32])).then_some(32));
    }
    cut_last(query, start, b"aspsessionid", |rest| {
        let letters = |text: &[u8]| text.iter().all(u8::is_ascii_lowercase);
        (rest.len() >= 33 && letters(&rest[..8]) && rest[8] == b'=' && letters(&rest[9..33])).then_some(33)
    });
    cut_cold_fusion(query, start);
}

/// Cuts the last `name` whose value ends where the argument does.
fn cut_last(query: &mut Vec<u8>, start: usize, name: &[u8], value_len: fn(&[u8]) -> Option<usize>) {
    let text = &query[start..];
    let found = memmem::rfind_iter(text, name).find_map(|at| {
        let value = at + name.len();
        let end = value + value_len(&text[value..])?;
        match text.get(end) {
            None => Some((at, end)),
            Some(b'&') => Some((at, end + 1)),
            Some(_) => None,
        }
    });
    if let Some((from, to)) = found {
        query.drain(start + from..start + to);
    }
}

fn cut_cold_fusion(query: &mut Vec<u8>, start: usize) {
    let text = &query[start..];
    let mut next_end = text.len();
    for amp in memchr::memrchr_iter(b'&', text) {
        let argument = &text[amp + 1..next_end];
        let argument_start = memchr::memrchr(b'&', &text[..amp]).map_or(0, |at| at + 1);
        if argument.len() > b"cftoken=".len() && argument.starts_with(b"cftoken=") && amp > argument_start {
            // At least one byte of value: the name must end before the last byte.
            if let Some(at) = memmem::rfind(&text[argument_start..amp - 1], b"cfid=") {
                let to = if next_end < text.len() { next_end + 1 } else { next_end };
                query.drain(start + argument_start + at..start + to);
                return;
            }
        }
        next_end = amp;
    }
}
