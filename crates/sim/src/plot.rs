//! Small pictures of figures, as SVG written by hand: axes with round numbers, lines, points and steps, on a light ground, readable
//! in a browser and in print. No crate draws this little for as little.

use crate::ring::Report;
use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
/// Room for numbers and names beside a plot.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
/// Room for the name of a series.
const NAME_WIDTH: f64 = 150.0;
const NAME_HEIGHT: f64 = 16.0;
/// So many names find room beside the curves.
const NAMES_INSIDE_MAX: usize = 4;
/// Told apart by most eyes that see colours otherwise (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Line,
    Points,
    /// A value holds until the next, as in distributions.
    Steps,
}

#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub mark: Mark,
    pub points: Vec<(f64, f64)>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub struct Plot {
    pub title: String,
    pub across: String,
    pub up: String,
    pub series: Vec<Series>,
    /// Where the upright axis ends, if not at the largest value.
    pub up_max: Option<f64>,
}

impl Series {
    /// The share of all that is at most so much, from how many there are of each number.
    pub fn distribution(name: &str, counts: &[u64]) -> Self {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        let mut sum = 0;
        let points = counts.iter().enumerate().map(|(at, count)| {
            sum += count;
            (at as f64, sum as f64 / all)
        });
        Self { name: name.to_owned(), mark: Mark::Steps, points: points.collect() }
    }
}

/// Plots one below the other.
pub fn svg(plots: &[Plot]) -> String {
    let height = HEIGHT * plots.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fdfdfb\"/>\n"
    );
    for (at, plot) in plots.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * at as f64);
        plot.draw(&mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// What `herodotus sim ring --plot` draws.
pub fn of_report(report: &Report) -> String {
    let asked = report.phases.iter().filter(|phase| phase.lookups > 0);
    let hops = asked.map(|phase| Series::distribution(&phase.name, &phase.hops)).collect();
    let line = |name: &str, points: Vec<(f64, f64)>| Series { name: name.to_owned(), mark: Mark::Line, points };
    let right = report.samples.iter().filter(|sample| sample.lookups > 0);
    let right = right.map(|sample| (sample.minute, sample.right as f64 / sample.lookups as f64)).collect();
    let bytes = report.samples.iter().map(|sample| (sample.minute, sample.bytes_per_machine_minute / 1000.0)).collect();
    svg(&[
        Plot {
            title: format!("Lookups by hops, {} machines", report.options.nodes),
            across: "hops".to_owned(),
            up: "share of lookups".to_owned(),
            series: hops,
            up_max: Some(1.0),
        },
        Plot {
            title: "Lookups that found the right node".to_owned(),
            across: "minutes".to_owned(),
            up: "share".to_owned(),
            series: vec![Series { mark: Mark::Points, ..line("right", right) }],
            up_max: Some(1.0),
        },
        Plot {
            title: "Sent by a machine".to_owned(),
            across: "minutes".to_owned(),
            up: "kB a minute".to_owned(),
            series: vec![line("kB a minute", bytes)],
            up_max: None,
        },
    ])
}

impl Plot {
    fn draw(&self, out: &mut String) {
        let all =
            || self.series.iter().flat_map(|series| &series.points).filter(|(x, y)| x.is_finite() && y.is_finite());
        let x_step = round_step(all().map(|(x, _)| *x).fold(0.0, f64::max));
        let y_step = round_step(self.up_max.unwrap_or_else(|| all().map(|(_, y)| *y).fold(0.0, f64::max)));
        let x_end = (all().map(|(x, _)| *x).fold(0.0, f64::max) / x_step).ceil().max(1.0) * x_step;
        let y_top = self.up_max.unwrap_or_else(|| all().map(|(_, y)| *y).fold(0.0, f64::max));
        let y_end = (y_top / y_step).ceil().max(1.0) * y_step;
        let across = |x: f64| LEFT + x / x_end * (WIDTH - LEFT - RIGHT);
        let up = |y: f64| HEIGHT - BOTTOM - y / y_end * (HEIGHT - TOP - BOTTOM);
        let (x0, x1, y0, y1) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP);
        let _ = writeln!(
            out,
            "<text x=\"{x0}\" y=\"20\" font-size=\"14\" font-weight=\"600\">{}</text>",
            escape(&self.title)
        );
        for at in 0..=(x_end / x_step).round() as u32 {
            let value = f64::from(at) * x_step;
            let x = across(value);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {y0}V{y1}\" stroke=\"#e6e6e0\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                y0 + 17.0,
                number(value)
            );
        }
        for at in 0..=(y_end / y_step).round() as u32 {
            let value = f64::from(at) * y_step;
            let y = up(value);
            let _ = writeln!(
                out,
                "<path d=\"M{x0} {y:.1}H{x1}\" stroke=\"#e6e6e0\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x0 - 8.0,
                y + 4.0,
                number(value)
            );
        }
        let _ = writeln!(out, "<path d=\"M{x0} {y1}V{y0}H{x1}\" fill=\"none\" stroke=\"#555\"/>");
        let middle = (x0 + x1) / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            y0 + 38.0,
            escape(&self.across)
        );
        let _ = writeln!(
            out,
            "<text x=\"16\" y=\"{0}\" text-anchor=\"middle\" fill=\"#555\" transform=\"rotate(-90 16 {0})\">{1}</text>",
            (y0 + y1) / 2.0,
            escape(&self.up)
        );
        let names = Corner::emptiest(&self.series, &across, &up);
        for (at, series) in self.series.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            series.draw(out, colour, &across, &up);
            if self.series.len() > NAMES_INSIDE_MAX {
                // Many names stand in a row above, where no curve can cross them.
                let x = x0 + at as f64 * (x1 - x0) / self.series.len() as f64;
                let name = escape(&series.name);
                let _ =
                    writeln!(out, "<text x=\"{x:.1}\" y=\"35\" fill=\"{colour}\" font-weight=\"600\">{name}</text>");
            } else if self.series.len() > 1 {
                let y = names.baseline(at, self.series.len());
                let (x, anchor) = if names == Corner::UpperLeft { (x0 + 8.0, "start") } else { (x1 - 8.0, "end") };
                let _ = writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>",
                    escape(&series.name)
                );
            }
        }
    }
}

/// Where names stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Corner {
    LowerRight,
    UpperRight,
    UpperLeft,
}

impl Corner {
    /// The one that least is drawn in; the lower right, where distributions leave room, if there is a choice.
    fn emptiest(series: &[Series], across: &dyn Fn(f64) -> f64, up: &dyn Fn(f64) -> f64) -> Self {
        let drawn: Vec<(f64, f64)> = series.iter().flat_map(|series| series.way(across, up)).collect();
        let in_the_way = |corner: &Self| drawn.iter().filter(|point| corner.holds(**point, series.len())).count();
        let corners = [Self::LowerRight, Self::UpperRight, Self::UpperLeft];
        corners.into_iter().min_by_key(in_the_way).unwrap_or(Self::LowerRight)
    }

    fn holds(self, (x, y): (f64, f64), names: usize) -> bool {
        let (width, height) = (NAME_WIDTH, NAME_HEIGHT * names as f64 + 8.0);
        let is_right = x > WIDTH - RIGHT - width;
        match self {
            Self::LowerRight => is_right && y > HEIGHT - BOTTOM - height,
            Self::UpperRight => is_right && y < TOP + height,
            Self::UpperLeft => x < LEFT + width && y < TOP + height,
        }
    }

    fn baseline(self, at: usize, names: usize) -> f64 {
        match self {
            Self::LowerRight => HEIGHT - BOTTOM - 12.0 - NAME_HEIGHT * (names - 1 - at) as f64,
            Self::UpperRight | Self::UpperLeft => TOP + 16.0 + NAME_HEIGHT * at as f64,
        }
    }
}

impl Series {
    /// Places on paper that it goes through, close enough to each other to tell where it is.
    fn way(&self, across: &dyn Fn(f64) -> f64, up: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let points = self.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let points: Vec<(f64, f64)> = points.map(|(x, y)| (across(*x), up(*y))).collect();
        let between = points.windows(2).flat_map(|pair| {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            (1..8).map(f64::from).map(move |eighth| (x0 + (x1 - x0) * eighth / 8.0, y0 + (y1 - y0) * eighth / 8.0))
        });
        between.chain(points.iter().copied()).collect()
    }

    fn draw(&self, out: &mut String, colour: &str, across: &dyn Fn(f64) -> f64, up: &dyn Fn(f64) -> f64) {
        let points = self.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        if self.mark == Mark::Points {
            for (x, y) in points {
                let _ =
                    write!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"{colour}\"/>", across(*x), up(*y));
            }
            out.push('\n');
            return;
        }
        let mut way = String::new();
        for (at, (x, y)) in points.enumerate() {
            let _ = match (at, self.mark) {
                (0, _) => write!(way, "M{:.1} {:.1}", across(*x), up(*y)),
                (_, Mark::Steps) => write!(way, "H{:.1}V{:.1}", across(*x), up(*y)),
                _ => write!(way, "L{:.1} {:.1}", across(*x), up(*y)),
            };
        }
        let _ = writeln!(out, "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>");
    }
}

/// A step of 1, 2 or 5 times a power of ten, so that some six of them reach the end.
fn round_step(end: f64) -> f64 {
    if !(end.is_finite() && end > 0.0) {
        return 1.0;
    }
    let rough = end / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(power * 10.0)
}

fn number(value: f64) -> String {
    let text =
        if value.abs() >= 100.0 || value == value.round() { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for end in [0.3, 1.0, 7.0, 16.0, 99.0, 12_345.0] {
            let count = end / round_step(end);
            assert!((2.0..=6.1).contains(&count), "{end}: {count}");
        }
        assert_eq!((round_step(1.0), round_step(f64::NAN), round_step(0.0)), (0.2, 1.0, 1.0));
        assert_eq!(
            (number(0.2), number(150.0), number(0.0), number(2.5)),
            ("0.2".into(), "150".into(), "0".into(), "2.5".into())
        );
    }

    #[test]
    fn names_stand_where_nothing_is_drawn() {
        let (across, up) =
            (|x: f64| LEFT + x * (WIDTH - LEFT - RIGHT), |y: f64| TOP + (1.0 - y) * (HEIGHT - TOP - BOTTOM));
        let corner = |points: &[(f64, f64)]| {
            let series = Series { name: "s".into(), mark: Mark::Line, points: points.to_vec() };
            Corner::emptiest(&[series.clone(), series], &across, &up)
        };
        assert_eq!(corner(&[(0.0, 0.0), (0.1, 1.0), (1.0, 1.0)]), Corner::LowerRight);
        assert_eq!(corner(&[(0.0, 1.0), (0.1, 0.0), (1.0, 0.0)]), Corner::UpperRight);
        assert_eq!(corner(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]), Corner::UpperLeft);
        assert_eq!(corner(&[]), Corner::LowerRight);
    }

    #[test]
    fn a_plot_is_well_formed_and_names_are_escaped() {
        let series = vec![Series::distribution("a < b & c", &[0, 3, 1]), Series::distribution("other", &[])];
        let plot = Plot { title: "T".into(), across: "x".into(), up: "y".into(), series, up_max: Some(1.0) };
        let text = svg(&[plot.clone(), plot]);
        assert!(text.contains("a &lt; b &amp; c") && !text.contains("NaN") && !text.contains("inf"));
        let opened = text.matches("<g ").count() + text.matches("<svg ").count() + text.matches("<text ").count();
        let closed = text.matches("</g>").count() + text.matches("</svg>").count() + text.matches("</text>").count();
        assert_eq!(opened, closed);
    }
}
