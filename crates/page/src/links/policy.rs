//! What a page asks of robots: `<meta name=robots>` and `X-Robots-Tag`, as Google describes them.

/// The name by which robots.txt, `meta` and `X-Robots-Tag` speak to us.
pub const AGENT_TOKEN: &str = "herodotus";

/// What was asked. The strictest word counts, whoever said it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub nofollow: bool,
    pub noarchive: bool,
    pub noindex: bool,
}

impl Policy {
    /// From the values of all `X-Robots-Tag` headers. `agent: noindex, nofollow` speaks to that agent only.
    pub fn of_header<V: AsRef<str>>(values: impl IntoIterator<Item = V>, agent_token: &str) -> Self {
        let mut policy = Self::default();
        for value in values {
            let mut is_for_us = true;
            for word in value.as_ref().split(',') {
                let word = match word.split_once(':') {
                    Some((name, _)) if has_argument(name.trim()) => continue,
                    Some((agent, word)) => {
                        let agent = agent.trim();
                        is_for_us = agent == "*" || agent.eq_ignore_ascii_case(agent_token);
                        word
                    }
                    None => word,
                };
                if is_for_us {
                    policy.note(word);
                }
            }
        }
        policy
    }

    /// From the content of a `meta` element that speaks to us.
    pub(super) fn of_meta(content: &str) -> Self {
        let mut policy = Self::default();
        content.split([',', ' ', '\t', '\n', '\r', ';']).for_each(|word| policy.note(word));
        policy
    }

    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            noindex: self.noindex || other.noindex,
        }
    }

    fn note(&mut self, word: &str) {
        let is = |name: &str| word.trim().eq_ignore_ascii_case(name);
        let is_none = is("none");
        self.nofollow |= is_none || is("nofollow");
        self.noindex |= is_none || is("noindex");
        self.noarchive |= is("noarchive");
    }
}

/// Directives with a value of their own, whose name before the colon is no agent.
fn has_argument(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(policy: Policy) -> String {
        [(policy.nofollow, "nofollow"), (policy.noarchive, "noarchive"), (policy.noindex, "noindex")]
            .into_iter()
            .filter_map(|(is, name)| is.then_some(name))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn headers_speak_to_all_or_to_the_agent_they_name() {
        for (values, expected) in [
            (&["noindex"][..], "noindex"),
            (&["NoArchive , NOFOLLOW"], "nofollow noarchive"),
            (&["none"], "nofollow noindex"),
            (&["otherbot: noindex, nofollow"], ""),
            (&["otherbot: noindex, Herodotus: noarchive"], "noarchive"),
            (&["otherbot: noindex", "nofollow"], "nofollow"),
            (&["*: noindex"], "noindex"),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive"], "noarchive"),
            (&["max-snippet: 5, nofollow"], "nofollow"),
            (&["all", ""], ""),
        ] {
            assert_eq!(said(Policy::of_header(values, AGENT_TOKEN)), expected, "{values:?}");
        }
    }

    #[test]
    fn the_strictest_word_counts() {
        let one = Policy::of_meta("noindex,follow");
        let other = Policy::of_meta("NOARCHIVE; index");
        assert_eq!(said(one.merge(other)), "noarchive noindex");
        assert_eq!(said(Policy::of_meta("none noarchive")), "nofollow noarchive noindex");
    }
}
