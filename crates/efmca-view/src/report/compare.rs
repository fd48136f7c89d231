//! Pictures of one scene that are to be compared, under a line that can be dragged.

use std::fmt::Write;

use super::{CaptionedPicture, largest, push_picture, zoom_for};
use crate::ViewError;

/// What makes a slider of pictures that stand side by side. It is a part of the page, and the page is complete without it.
const SCRIPT: &str = include_str!("compare.js");

/// Adds pictures side by side. Where scripts run, two of them become one with a line to drag, and can be made to blink.
pub(super) fn push_comparison(html: &mut String, pictures: &[CaptionedPicture]) -> Result<(), ViewError> {
    let Some(size @ (width, height)) = largest(pictures) else { return Ok(()) };
    let across = pictures.len().min(3);
    // wide pictures need the room of the page each
    let across = if width > 3 * height { 1 } else { across };
    let _ = writeln!(
        html,
        "<h2>Before and after</h2>\n<div class=\"row compare\" data-width=\"{}\" style=\"--across: {across}\">",
        width.saturating_mul(zoom_for(size, 1))
    );
    let zoom = zoom_for(size, across);
    for picture in pictures {
        push_picture(html, picture, zoom)?;
    }
    html.push_str("</div>\n");
    if pictures.len() > 1 {
        let _ = writeln!(html, "<script>\n{SCRIPT}</script>");
    }
    Ok(())
}
