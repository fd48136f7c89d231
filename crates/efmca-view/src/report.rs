//! A page of HTML with settings, results and pictures, in a single file.

mod compare;

use std::fmt::Write;
use std::path::Path;

use efmca_io::{check_place, write_atomically};

use crate::markup::{address_of, escaped};
use crate::{Figure, Line, Picture, ViewError};

/// The style of the page. It is a part of the page: nothing is loaded from elsewhere.
const STYLE: &str = include_str!("report/page.css");

/// Pictures that are alone, or 2 to 4 in a row, are shown larger by an integer factor as long as they are not wider than this.
const WIDTHS: [usize; 4] = [720, 540, 350, 260];
/// They are not made higher than this, either.
const HIGHEST: usize = 800;

/// A picture and the text under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptionedPicture {
    /// The text under the picture.
    pub caption: String,
    /// The picture.
    pub picture: Picture,
}

impl CaptionedPicture {
    /// A picture with a caption.
    pub fn new(caption: impl Into<String>, picture: Picture) -> Self {
        Self { caption: caption.into(), picture }
    }
}

/// A table with a heading and a line of column names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportTable {
    /// The heading.
    pub title: String,
    /// The names of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// A part of the page with a heading of its own: figures, and pictures one under another or several in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSection {
    /// The heading.
    pub heading: String,
    /// The text before the pictures; it may be empty.
    pub text: String,
    /// Tables, each with a heading of its own unless that is empty.
    pub tables: Vec<ReportTable>,
    /// Figures, as SVG.
    pub figures: Vec<String>,
    /// How many pictures stand in a row; 0 and 1 put each on its own, as wide as the page allows.
    pub across: usize,
    /// The pictures.
    pub pictures: Vec<CaptionedPicture>,
}

/// A page of HTML with everything in it: settings and results, pictures side by side, the learned causes, and how the
/// bound rose.
///
/// It follows the light or dark colours of the reader's system, prints well, and needs no other file and no network.
/// Scripts are needed for nothing: where they run, pictures that are compared share one place under a line to drag.
/// Parts that are empty are left out. All texts are shown as they are: nothing in them is read as HTML.
///
/// ```
/// use efmca_view::{CaptionedPicture, Picture, Report};
/// use ndarray::arr2;
///
/// let noisy = arr2(&[[0.0, 9.0], [1.0, 0.0]]);
/// let estimate = arr2(&[[1.0, 6.0], [1.0, 1.0]]);
/// // one range for both, so that they can be compared
/// let report = Report {
///     title: "cells.tif, denoised".into(),
///     summary: vec![("noise".into(), "poisson".into()), ("causes".into(), "100".into())],
///     pictures: vec![
///         CaptionedPicture::new("noisy", Picture::grey(noisy.view(), 0.0, 6.0)?),
///         CaptionedPicture::new("estimate", Picture::grey(estimate.view(), 0.0, 6.0)?),
///     ],
///     curve: vec![-120.0, -80.0, -75.0],
///     ..Report::default()
/// };
/// assert!(report.to_html()?.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), efmca_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The heading, and the title of the browser's window.
    pub title: String,
    /// Settings and results: their names and values.
    pub summary: Vec<(String, String)>,
    /// Tables of results.
    pub tables: Vec<ReportTable>,
    /// Figures with their headings, as SVG.
    pub figures: Vec<(String, String)>,
    /// Pictures of one scene in the same size, such as before, after and a reference. They stand side by side; where scripts
    /// run, two of them share one place, with a line between them that can be dragged.
    pub comparison: Vec<CaptionedPicture>,
    /// Pictures side by side.
    pub pictures: Vec<CaptionedPicture>,
    /// The learned causes, as a [`Dictionary`](crate::Dictionary) draws them.
    pub causes: Option<CaptionedPicture>,
    /// Parts with headings of their own, such as the means of all causes, their deviations, and how data are encoded.
    pub sections: Vec<ReportSection>,
    /// The bound on the log-likelihood by iteration, from iteration 1; values that are not finite are gaps.
    pub curve: Vec<f64>,
}

impl Report {
    /// The text of the page.
    ///
    /// # Errors
    ///
    /// [`ViewError::Png`] or [`ViewError::PictureTooLarge`] if a picture cannot be encoded.
    pub fn to_html(&self) -> Result<String, ViewError> {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        if !self.summary.is_empty() {
            html.push_str("<table>\n");
            for (what, value) in &self.summary {
                // Writing to a string cannot fail, here and below.
                let _ = writeln!(html, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escaped(what), escaped(value));
            }
            html.push_str("</table>\n");
        }
        for table in &self.tables {
            push_table(&mut html, table);
        }
        for (title, svg) in &self.figures {
            let _ = writeln!(html, "<h2>{}</h2>\n<figure>\n{}\n</figure>", escaped(title), svg.trim());
        }
        compare::push_comparison(&mut html, &self.comparison)?;
        if !self.pictures.is_empty() {
            let across = match self.pictures.len() {
                1 => 1,
                2 | 4 => 2,
                _ => 3,
            };
            let _ = writeln!(html, "<h2>Pictures</h2>\n<div class=\"row\" style=\"--across: {across}\">");
            // One zoom for all, so that they keep their proportions to each other.
            let zoom = zoom_for(largest(&self.pictures).unwrap_or((1, 1)), across);
            for picture in &self.pictures {
                push_picture(&mut html, picture, zoom)?;
            }
            html.push_str("</div>\n");
        }
        if let Some(causes) = &self.causes {
            html.push_str("<h2>Learned causes</h2>\n");
            push_picture(&mut html, causes, zoom_for(size_of(causes), 1))?;
        }
        for section in &self.sections {
            push_section(&mut html, section)?;
        }
        if self.curve.iter().any(|value| value.is_finite()) {
            let _ = writeln!(html, "<h2>Learning</h2>\n<figure>\n{}\n</figure>", self.curve_svg()?.trim());
        }
        html.push_str("</body>\n</html>\n");
        Ok(html)
    }

    /// Writes the page to `path`, completely or not at all; an existing file is replaced with `force` only.
    ///
    /// # Errors
    ///
    /// [`ViewError::File`] if the file exists already or cannot be written, and those of [`Report::to_html`].
    pub fn write(&self, path: &Path, force: bool) -> Result<(), ViewError> {
        check_place(path, force)?;
        Ok(write_atomically(path, self.to_html()?.as_bytes())?)
    }

    fn curve_svg(&self) -> Result<String, ViewError> {
        let points = self.curve.iter().enumerate().map(|(index, value)| ((index + 1) as f64, *value));
        Figure::new("")
            .x_label("iteration")
            .y_label("bound on the log-likelihood")
            .line(Line::new(points))
            .to_svg(720, 380)
    }
}

/// How much larger pictures of this width and height are shown, `across` of them in a row.
fn zoom_for((width, height): (usize, usize), across: usize) -> usize {
    let room = WIDTHS.get(across.saturating_sub(1)).copied().unwrap_or(1);
    (room / width.max(1)).min(HIGHEST / height.max(1)).clamp(1, 16)
}

/// The width and height of a picture.
fn size_of(captioned: &CaptionedPicture) -> (usize, usize) {
    (captioned.picture.width(), captioned.picture.height())
}

/// The largest width and the largest height of pictures; none without any.
fn largest(pictures: &[CaptionedPicture]) -> Option<(usize, usize)> {
    pictures.iter().map(size_of).reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
}

fn push_table(html: &mut String, table: &ReportTable) {
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    if !table.title.is_empty() {
        let _ = writeln!(html, "<h2>{}</h2>", escaped(&table.title));
    }
    html.push_str("<table>\n");
    if !table.head.is_empty() {
        let _ = writeln!(html, "<tr>{}</tr>", cells(&table.head, "th"));
    }
    for row in &table.rows {
        let _ = writeln!(html, "<tr>{}</tr>", cells(row, "td"));
    }
    html.push_str("</table>\n");
}

fn push_section(html: &mut String, section: &ReportSection) -> Result<(), ViewError> {
    let _ = writeln!(html, "<h2>{}</h2>", escaped(&section.heading));
    if !section.text.trim().is_empty() {
        let _ = writeln!(html, "<p>{}</p>", escaped(&section.text));
    }
    for svg in &section.figures {
        let _ = writeln!(html, "<figure>\n{}\n</figure>", svg.trim());
    }
    for table in &section.tables {
        push_table(html, table);
    }
    let across = section.across.max(1);
    if across == 1 {
        html.push_str("<div class=\"column\">\n");
    } else {
        let _ = writeln!(html, "<div class=\"row\" style=\"--across: {across}\">");
    }
    for picture in &section.pictures {
        push_picture(html, picture, zoom_for(size_of(picture), across))?;
    }
    html.push_str("</div>\n");
    Ok(())
}

fn push_picture(html: &mut String, captioned: &CaptionedPicture, zoom: usize) -> Result<(), ViewError> {
    let CaptionedPicture { caption, picture } = captioned;
    let caption = escaped(caption);
    let (width, height) = (picture.width().saturating_mul(zoom), picture.height().saturating_mul(zoom));
    let class = if zoom > 1 { " class=\"zoomed\"" } else { "" };
    let _ = writeln!(
        html,
        "<figure>\n<img{class} width=\"{width}\" height=\"{height}\" alt=\"{caption}\" \
         src=\"{}\">\n<figcaption>{caption}</figcaption>\n</figure>",
        address_of(picture)?
    );
    Ok(())
}

#[cfg(test)]
mod tests;
