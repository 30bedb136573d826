//! Curves as a picture. Along the bottom each measured place has the same width, as each is about ten times the one before.

use std::fmt::{self, Write as _};

use crate::Chart;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#555555"];

pub(crate) fn draw(chart: &Chart) -> Result<String, fmt::Error> {
    let places = chart.places();
    let most = if chart.most() > 0.0 { chart.most() * 1.1 } else { 1.0 };
    let steps = places.len().saturating_sub(1).max(1) as f64;
    let x = |place: usize| {
        let index = places.iter().position(|known| *known == place).unwrap_or_default();
        LEFT + (WIDTH - LEFT - RIGHT) * index as f64 / steps
    };
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{}</text>\n",
        chart.title
    );
    for line in 0..=4 {
        let value = most * f64::from(line) / 4.0;
        let (end, at, digits) = (WIDTH - RIGHT, y(value), chart.digits);
        writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.digits$}</text>",
            LEFT - 8.0,
            at + 4.0
        )?;
    }
    for place in &places {
        let (at, below, name) = (x(*place), HEIGHT - BOTTOM + 18.0, chart.name(*place));
        writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>")?;
    }
    let (middle, below) = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0);
    writeln!(svg, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", chart.along)?;
    for (row, (curve, colour)) in chart.curves.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> =
            curve.points.iter().map(|(place, value)| format!("{:.1},{:.1}", x(*place), y(*value))).collect();
        let points = points.join(" ");
        writeln!(
            svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        )?;
        let (left, at) = (WIDTH - RIGHT + 12.0, TOP + 8.0 + 20.0 * row as f64);
        writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"{at}\">{}</text>",
            at - 6.0,
            left + 18.0,
            curve.name
        )?;
    }
    Ok(svg + "</svg>\n")
}
