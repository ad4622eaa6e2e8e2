//! Turns the patterns of `words` into sentences, and titles into the pieces of a path.

use crate::dice::Dice;
use crate::words;
use std::borrow::Cow;

/// Fills a pattern. A name it does not know is left as it stands, which a test forbids.
pub(crate) fn fill(pattern: &str, dice: &mut Dice) -> String {
    let mut text = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((name, behind)) = after.split_once('}') else { break };
        let word = word(name, dice);
        if (text.ends_with(" a ") || text == "A ") && word.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O']) {
            text.insert(text.len() - 1, 'n');
        }
        text.push_str(&word);
        rest = behind;
    }
    text.push_str(rest);
    capitalised(text)
}

/// A sentence that belongs in the running text of any page.
pub(crate) fn sentence(dice: &mut Dice) -> String {
    fill(dice.pick(words::SENTENCES), dice)
}

/// The piece of a path that names a title: lower case, hyphens, and `%` escapes for what is not ASCII.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in title.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            c if c.is_ascii() => {
                if !slug.is_empty() && !slug.ends_with('-') {
                    slug.push('-');
                }
            }
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| slug.push_str(&format!("%{byte:02X}"))),
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

fn word(name: &str, dice: &mut Dice) -> Cow<'static, str> {
    let list = match name {
        "place" => words::PLACES,
        "river" => words::RIVERS,
        "person" => words::PEOPLE,
        "peoples" => words::PEOPLES,
        "thing" => words::THINGS,
        "fruit" => words::FRUITS,
        "fruits" => return plural(dice.pick(words::FRUITS)).into(),
        "trade" => words::TRADES,
        "trades" => return plural(dice.pick(words::TRADES)).into(),
        "beast" => words::BEASTS,
        "building" => words::BUILDINGS,
        "Adjective" => return capitalised(dice.pick(words::ADJECTIVES).to_owned()).into(),
        "adjective" => words::ADJECTIVES,
        "month" => words::MONTHS,
        "weather" => words::WEATHERS,
        "year" => return dice.within(1487, 1968).to_string().into(),
        "day" => return dice.within(1, 28).to_string().into(),
        "count" => return dice.within(11, 480).to_string().into(),
        "few" => return dice.pick(&["two", "three", "four", "five", "six", "seven", "nine", "twelve"]).into(),
        unknown => return format!("{{{unknown}}}").into(),
    };
    dice.pick(list).into()
}

fn plural(word: &str) -> String {
    for (one, many) in [("man", "men"), ("wife", "wives"), ("rry", "rries")] {
        if let Some(stem) = word.strip_suffix(one) {
            return format!("{stem}{many}");
        }
    }
    format!("{word}s")
}

fn capitalised(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Topic;

    #[test]
    fn every_pattern_can_be_filled() {
        let sites = words::SITES.iter().flat_map(|(_, name, motto, _)| [*name, *motto]);
        let lists = [words::SENTENCES, words::NEWS, words::SUBJECTS, words::HEADINGS].concat();
        for pattern in sites.chain(lists) {
            let text = fill(pattern, &mut Dice::new(1, Topic::Sentence, &[]));
            assert!(!text.contains(['{', '}']) && text.len() > 5, "{pattern} became {text}");
            assert!(!text.starts_with(char::is_lowercase), "{text}");
        }
    }

    #[test]
    fn no_word_bends_a_line() {
        let lists = [words::PLACES, words::PEOPLE, words::THINGS, words::TRADES, words::BUILDINGS, words::SENTENCES];
        let more = [words::RIVERS, words::PEOPLES, words::FRUITS, words::BEASTS, words::WEATHERS, words::HOSTS];
        for word in lists.concat().into_iter().chain(more.concat()) {
            assert!(!word.contains(char::is_control) && !word.contains("  ") && word.trim() == word, "{word:?}");
        }
    }

    #[test]
    fn words_agree_with_their_neighbours() {
        assert_eq!(["ferryman", "midwife", "cherry", "fig"].map(plural), ["ferrymen", "midwives", "cherries", "figs"]);
        for throw in 0..200 {
            let text = fill("Here is a {beast}.", &mut Dice::new(throw, Topic::Sentence, &[]));
            assert!(!["a ibis", "a otter", "a ox", "an heron"].iter().any(|slip| text.contains(slip)), "{text}");
        }
    }

    #[test]
    fn slugs_are_plain_paths() {
        assert_eq!(slug("The ship's bell of Çeşme"), "the-ship-s-bell-of-%C3%87e%C5%9Fme");
        assert_eq!(slug("Vale & Daughters (1487)"), "vale-daughters-1487");
        assert_eq!((slug(""), slug("?!")), (String::new(), String::new()));
    }
}
