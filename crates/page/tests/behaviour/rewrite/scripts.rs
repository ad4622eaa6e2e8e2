//! Scripts: only specifiers that name addresses are changed.

use super::{PAGE, STAMP, check, script, url};
use herodotus_page::rewrite::{Mode, Setting, rewrite_script};
use std::borrow::Cow;

#[test]
fn specifiers_that_name_addresses_lead_into_the_archive() {
    check(
        script,
        &[
            ("import x from 'https://b.test/x.js'", "import x from '@js_/https://b.test/x.js'"),
            (
                "import{a}from\"/x.js\";export*from\"//b.test/y.js\"",
                "import{a}from\"@js_/http://a.test/x.js\";export*from\"@js_/http://b.test/y.js\"",
            ),
            ("const m = await import('/x.js?v=1')", "const m = await import('@js_/http://a.test/x.js?v=1')"),
            ("import('https://b.test/' + name)", "import('@js_/https://b.test/' + name)"),
            ("import '/a/../x.js'", "import '@js_/http://a.test/x.js'"),
            // These find their way from where the script is.
            ("import './x.js';import '../y.js';import 'react';import('./z.js')", ""),
            ("import 'data:text/javascript,1';import 'node:fs'", ""),
            ("fetch('/x');location='http://b.test/';s=\"import '/x'\"", ""),
            ("import('\\x2fx')", ""),
            ("obj.import('/x'); import.meta.resolve('/x')", ""),
        ],
    );
}

#[test]
fn a_script_without_imports_is_not_copied() {
    let page = url(PAGE);
    let setting = Setting { stamp: STAMP, url: &page, mode: Mode::Names };
    for plain in ["fetch('/x')", "import './x.js'", "// import '/x'"] {
        assert!(matches!(rewrite_script(&setting, plain.as_bytes()), Cow::Borrowed(_)), "{plain}");
    }
    let changed = rewrite_script(&setting, b"import '/x'");
    assert_eq!(&*changed, b"import '/web/20260102030405js_/http://a.test/x'");
}
