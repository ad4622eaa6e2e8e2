//! A URL with its host turned round, `org.example.www/path`, so that what lies together sorts together; the scheme goes to the side.
//!
//! Whatever does not come back as it was travels as it is: any text folds and unfolds.

/// How a URL is written in a batch. Numbers are for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Form {
    Https = 0,
    Http = 1,
    /// As it was given.
    Plain = 2,
}

impl Form {
    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Https, Self::Http, Self::Plain].into_iter().find(|form| *form as u8 == code)
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Https => "https://",
            Self::Http => "http://",
            Self::Plain => "",
        }
    }
}

pub(super) fn fold(url: &str) -> (Form, String) {
    for form in [Form::Https, Form::Http] {
        if let Some(rest) = url.strip_prefix(form.scheme()) {
            let folded = turn(rest);
            if turn(&folded) == rest {
                return (form, folded);
            }
        }
    }
    (Form::Plain, url.to_owned())
}

pub(super) fn unfold(form: Form, folded: &str) -> String {
    match form {
        Form::Plain => folded.to_owned(),
        _ => [form.scheme(), &turn(folded)].concat(),
    }
}

/// Turns the host's labels round; done twice it is what it was, for every URL that a browser writes.
fn turn(text: &str) -> String {
    let authority_end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(authority_end);
    let host_end = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host.len(),
        _ => authority.len(),
    };
    let (host, port) = authority.split_at(host_end);
    let mut out = String::with_capacity(text.len());
    for (nth, label) in host.rsplit('.').enumerate() {
        if nth > 0 {
            out.push('.');
        }
        out.push_str(label);
    }
    out.push_str(port);
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_turned_round_and_back() {
        let cases = [
            ("https://www.example.org/a?b=c.d", Form::Https, "org.example.www/a?b=c.d"),
            ("http://example.org:8080/", Form::Http, "org.example:8080/"),
            ("http://[::1]:80/x", Form::Http, "[::1]:80/x"),
            ("http://192.0.2.1/", Form::Http, "1.2.0.192/"),
            ("https://", Form::Https, ""),
            // Nobody's URL; it would come back as another one.
            ("http://a:5.b/", Form::Plain, "http://a:5.b/"),
            ("mailto:someone@example.org", Form::Plain, "mailto:someone@example.org"),
        ];
        for (url, form, folded) in cases {
            assert_eq!(fold(url), (form, folded.to_owned()));
            assert_eq!(unfold(form, folded), url);
        }
    }
}
