//! Words of titles and of questions. Both are folded the same way: compatibility forms, case and the accents of Latin,
//! Greek and Cyrillic do not count.
//!
//! Scripts that set no blanks between words are cut into pairs of neighbouring characters, and the last character of a
//! run stands alone as well: so any piece of such a title is found, down to a single character.

use crate::limits::{PAIRS_PER_TITLE_MAX, QUESTION_BYTES_MAX, TERMS_MAX, WORD_CHARS_MAX, WORDS_PER_TITLE_MAX};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// One thing that a title must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) text: String,
    /// The beginning of a word is enough.
    pub(crate) is_prefix: bool,
}

impl Term {
    pub(crate) fn fits(&self, words: &[String]) -> bool {
        words.iter().any(|word| *word == self.text || self.is_prefix && word.starts_with(&self.text))
    }
}

/// A run of characters between blanks, signs, and changes of script.
#[derive(Debug)]
enum Run {
    Word(String),
    /// Of a script without blanks.
    Dense(Vec<char>),
}

/// The words that a title is found by, each once, in their order.
pub(crate) fn of_title(title: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut plain, mut pairs) = (0, 0);
    for run in runs(title) {
        let pieces = match run {
            Run::Word(word) => vec![word],
            Run::Dense(chars) => {
                let last = chars.last().map(|c| c.to_string());
                chars.windows(2).map(|pair| pair.iter().collect()).chain(last).collect()
            }
        };
        let (count, max) =
            if pieces.len() == 1 { (&mut plain, WORDS_PER_TITLE_MAX) } else { (&mut pairs, PAIRS_PER_TITLE_MAX) };
        for piece in pieces {
            if *count < max && !words.contains(&piece) {
                words.push(piece);
                *count += 1;
            }
        }
    }
    words
}

/// What is asked for. The last word may be half typed.
pub(crate) fn of_question(question: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut runs = runs(cut(question, QUESTION_BYTES_MAX)).into_iter().peekable();
    while let Some(run) = runs.next() {
        let is_last = runs.peek().is_none();
        let pieces = match run {
            Run::Word(text) => vec![Term { text, is_prefix: is_last }],
            // Alone, a character is the beginning of a pair.
            Run::Dense(chars) if chars.len() == 1 => {
                vec![Term { text: chars.iter().collect(), is_prefix: true }]
            }
            Run::Dense(chars) => {
                chars.windows(2).map(|pair| Term { text: pair.iter().collect(), is_prefix: false }).collect()
            }
        };
        for piece in pieces {
            if terms.len() < TERMS_MAX && !terms.contains(&piece) {
                terms.push(piece);
            }
        }
    }
    terms
}

/// The longest beginning of a text that has no more bytes than this.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut word = String::new();
    let mut word_chars = 0;
    let mut dense = Vec::new();
    for c in fold(text).chars().chain([' ']) {
        let is_mark = is_combining_mark(c);
        if is_dense(c) && (c.is_alphanumeric() || is_mark) {
            dense.push(c);
        } else if !dense.is_empty() {
            runs.push(Run::Dense(std::mem::take(&mut dense)));
        }
        // A mark alone is no word.
        let is_word = !is_dense(c) && (c.is_alphanumeric() || is_mark && !word.is_empty());
        if is_word {
            word_chars += 1;
            if word_chars <= WORD_CHARS_MAX {
                word.push(c);
            }
        } else if !word.is_empty() {
            runs.push(Run::Word(std::mem::take(&mut word)));
            word_chars = 0;
        }
    }
    runs
}

fn fold(text: &str) -> String {
    let is_accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    let lower = text.nfkd().filter(|c| !is_accent(c)).flat_map(char::to_lowercase).filter(|c| !is_accent(c));
    let mut out = String::with_capacity(text.len());
    for c in lower.nfc() {
        match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            c => out.push(c),
        }
    }
    out
}

/// Scripts without blanks between words.
fn is_dense(c: char) -> bool {
    matches!(c,
        // Thai and Lao, Myanmar, Khmer.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Kana, Bopomofo, Han.
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        // Hangul sets blanks, but words run together with their particles.
        | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_folded_and_told_apart() {
        assert_eq!(of_title("  The Café — THE “café”, 2nd: Straße!"), ["the", "cafe", "2nd", "strasse"]);
        assert_eq!(of_title("ΟΔΥΣΣΕΎΣ İstanbul Йога"), ["οδυσσευσ", "istanbul", "иога"]);
        assert_eq!(of_title("ﬁle ＡＢＣ ①"), ["file", "abc", "1"]);
        assert_eq!(of_title("हिन्दी में"), ["हिन्दी", "में"]);
        assert_eq!(of_title("— · ¡! \u{301}\u{0} 🦀"), Vec::<String>::new());
    }

    #[test]
    fn scripts_without_blanks_are_found_by_any_piece() {
        assert_eq!(of_title("東京タワーtower"), ["東京", "京タ", "タワ", "ワー", "ー", "tower"]);
        let words = of_title("東京タワーの歴史");
        for piece in ["東京", "京タワー", "東", "史", "歴史", "タワー の"] {
            assert!(of_question(piece).iter().all(|term| term.fits(&words)), "{piece}");
        }
        assert!(!of_question("京東").iter().all(|term| term.fits(&words)));
        assert_eq!(of_title("서울"), ["서울", "울"]);
    }

    #[test]
    fn only_the_last_word_of_a_question_may_be_half_typed() {
        let words = of_title("Histories of Herodotus");
        let fits = |question: &str| of_question(question).iter().all(|term| term.fits(&words));
        assert!(fits("histories hero") && fits("herodotus HISTORIES") && fits("hist"));
        assert!(!fits("hist herodotus") && !fits("herodotus x"));
        assert_eq!(of_question(" ?! "), []);
    }

    proptest! {
        #[test]
        fn no_text_makes_more_or_longer_words_than_allowed(text: String, long in "[a-z東京é ]{0,600}") {
            for text in [text, long] {
                let words = of_title(&text);
                prop_assert!(words.len() <= WORDS_PER_TITLE_MAX + PAIRS_PER_TITLE_MAX);
                for word in &words {
                    prop_assert!(!word.is_empty() && word.chars().count() <= WORD_CHARS_MAX + 1 && !word.contains('\0'));
                }
                prop_assert!(of_question(&text).len() <= TERMS_MAX);
            }
        }
    }
}
