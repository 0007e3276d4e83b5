//! Plots: lines over a common axis, as SVG.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;

/// Some lines, and what their axes mean.
#[derive(Debug)]
pub struct Plot {
    /// The end of its file's name.
    pub name: &'static str,
    pub title: String,
    pub across: Axis,
    pub up: Axis,
    pub lines: Vec<Line>,
}

/// What is read off in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub scale: Scale,
}

/// How numbers become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From zero on.
    Even,
    /// Equal factors are equal lengths.
    Factors,
}

/// One line: its name, and its points from left to right.
pub type Line = (String, Vec<(f64, f64)>);

const SIZE: (u32, u32) = (960, 460);

/// What of the width the names of the lines have, beside the plot: within it they would cover some.
const NAMES: u32 = 230;

/// Colours that those who see few of them can tell apart (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];

impl Plot {
    /// The name of its file beside the page of this name.
    pub fn file(&self, page: &str) -> String {
        format!("{page}-{}.svg", self.name)
    }

    /// Draws it into a file.
    pub fn draw(&self, file: &Path) -> Result<()> {
        self.try_draw(file).with_context(|| format!("cannot draw {}", file.display()))
    }

    fn try_draw(&self, file: &Path) -> Result<()> {
        let area = SVGBackend::new(file, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(told)?;
        let (across, up) = (self.across, self.up);
        let (plot, names) = area.split_horizontally(SIZE.0 - NAMES);
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(58)
            .build_cartesian_2d(self.range(across, |point| point.0), self.range(up, |point| point.1))
            .map_err(told)?;
        let mesh = |axis: Axis| move |&at: &f64| axis.scale.label(at);
        chart
            .configure_mesh()
            .max_light_lines(1)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc(across.label)
            .y_desc(up.label)
            .x_label_formatter(&mesh(across))
            .y_label_formatter(&mesh(up))
            .draw()
            .map_err(told)?;
        for (number, (name, points)) in self.lines.iter().enumerate() {
            let points = points.iter().map(|point| (across.scale.place(point.0), up.scale.place(point.1)));
            let style = style(number);
            chart.draw_series(LineSeries::new(points, style).point_size(2)).map_err(told)?;
            let height = 44 + 17 * number as i32;
            names.draw(&PathElement::new([(0, height), (18, height)], style)).map_err(told)?;
            let text = Text::new(name.as_str(), (24, height - 6), ("sans-serif", 12));
            names.draw(&text).map_err(told)?;
        }
        area.present().map_err(told)
    }

    /// All points, and zero on an even scale.
    fn range(&self, axis: Axis, part: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let places =
            self.lines.iter().flat_map(|(_, points)| points).map(|point| axis.scale.place(part(point)));
        let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        let low = if axis.scale == Scale::Even { low.min(0.0) } else { low };
        low..high + (high - low).max(0.01) * 0.05
    }
}

impl Scale {
    fn place(self, number: f64) -> f64 {
        match self {
            Self::Even => number,
            Self::Factors => number.max(f64::MIN_POSITIVE).log10(),
        }
    }

    fn label(self, place: f64) -> String {
        match self {
            Self::Even => format!("{}", (place * 100.0).round() / 100.0),
            Self::Factors => factor(10_f64.powf(place)),
        }
    }
}

/// Colours come again in a thinner line.
fn style(number: usize) -> ShapeStyle {
    let width = if number < COLOURS.len() { 2 } else { 1 };
    COLOURS[number % COLOURS.len()].stroke_width(width)
}

/// As people write it, as long as that is short.
fn factor(number: f64) -> String {
    match number {
        1.0..10.0 => format!("{number:.1}"),
        10.0..1e4 => format!("{number:.0}"),
        _ => format!("{number:.0e}"),
    }
}

fn told(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
