//! Small drawings, each a path of strokes on a field of 24 by 24, in the colour of the text around. Decoration only: what a
//! button does is said in words beside it.

use maud::{Markup, html};

/// A drawing by name. A name that is none: an empty field.
pub(crate) fn icon(name: &str) -> Markup {
    html! {
        svg.icon viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.8"
            stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false" { path d=(strokes(name)) {} }
    }
}

fn strokes(name: &str) -> &'static str {
    match name {
        "search" => "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.3 15.3 20 20",
        "calendar" => {
            "M5 5.5h14a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6.500a1 1 0 0 1 1-1zM4 10h16M8.500 3v4M15.500 3v4"
        }
        "difference" => {
            "M9.500 4H5a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h4.500M14.500 4H19a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1h-4.500M12 2.500v19"
        }
        "download" => "M12 4v11M7.500 11l4.500 4.500 4.500-4.500M4.500 20h15",
        "left" => "M14.500 5.500 8 12l6.500 6.500",
        "right" => "M9.500 5.500 16 12l-6.500 6.500",
        "up" => "M5.500 14.500 12 8l6.500 6.500",
        "down" => "M5.500 9.500 12 16l6.500-6.500",
        "close" => "M6 6l12 12M18 6 6 18",
        "more" => "M5.500 12h.01M12 12h.01M18.500 12h.01",
        "open" => {
            "M13 4.500h6.500V11M19.500 4.500l-9 9M10 5H5.500a1 1 0 0 0-1 1v12.500a1 1 0 0 0 1 1H18a1 1 0 0 0 1-1V14"
        }
        "folder" => "M3.500 18V6.500a1 1 0 0 1 1-1h5l2 2.500h8a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-15a1 1 0 0 1-1-1z",
        "page" => {
            "M13.500 3.500H7a1 1 0 0 0-1 1v15a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V8zM13.500 3.500V8H18M9 12.500h6M9 16h6"
        }
        "host" => {
            "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM3.500 12h17M12 3.500c2.300 2.300 3.500 5.200 3.500 8.500s-1.200 6.200-3.500 8.500c-2.300-2.300-3.500-5.200-3.500-8.500s1.200-6.200 3.500-8.500z"
        }
        "crawl" => {
            "M12 13.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM12 10.500V6M12 18v-4.500M10.600 12.800 6.700 15M13.400 12.800l3.900 2.200M12 6a1.300 1.300 0 1 0 0-2.600A1.300 1.300 0 0 0 12 6zM12 20.600a1.300 1.300 0 1 0 0-2.600 1.300 1.300 0 0 0 0 2.600zM5.600 16.900a1.300 1.300 0 1 0 0-2.600 1.300 1.300 0 0 0 0 2.600zM18.400 16.900a1.300 1.300 0 1 0 0-2.600 1.300 1.300 0 0 0 0 2.600z"
        }
        "ring" => {
            "M13.700 4.300a8 8 0 0 1 6 6M19.700 13.700a8 8 0 0 1-6 6M10.300 19.700a8 8 0 0 1-6-6M4.300 10.300a8 8 0 0 1 6-6M12 5.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM20 13.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM12 21.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM4 13.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z"
        }
        "plus" => "M12 5v14M5 12h14",
        "stop" => "M7 7h10v10H7z",
        "again" => "M19.500 12a7.500 7.500 0 1 1-2.400-5.500M19.500 3.500v4h-4",
        "sun" => {
            "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100"
        }
        "moon" => "M19.500 14.200A8 8 0 0 1 9.800 4.500a8 8 0 1 0 9.700 9.700z",
        "system" => "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 4v16M12 8h5.500M12 12h8M12 16h5.500",
        "warning" => "M12 4 2.800 19.500h18.400zM12 10v4.500M12 17.200h.01",
        _ => "",
    }
}

/// Our mark: a meander, the line that Greek potters drew round what they told, and that turns back on itself as time does here.
pub(crate) fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="currentColor" stroke-width="2.6"
            aria-hidden="true" focusable="false" { path d="M3.300 22V3.300h17.400v14H8.600V8.600h6.800v4.200h-3" {} }
    }
}
