//! TIFF, BigTIFF included.
//!
//! Numbers are given as they are stored: white-is-zero is not inverted, and extra samples are
//! channels.

mod compression;
mod directory;
mod page;
mod pixels;
mod predictor;
mod write;

use ndarray::{ArrayD, IxDyn};

use super::axes::Axes;
use super::content::Decoded;
use super::fault::{CONVERT, Fault};
use super::format::Format;
use super::metadata::{Colour, Metadata, Resolution, ResolutionUnit};
use super::notes;
use super::npy::digits_lost;
use directory::{Directory, File, tag};
use page::Page;
pub(crate) use write::write;

/// The stack of pages in the bytes of a TIFF file.
pub(crate) fn read(bytes: &[u8], limit: u64) -> Result<Decoded, Fault> {
    let file = File::of(bytes)?;
    let directories = file.directories()?;
    let mut remarks = Vec::new();
    let mut chosen: Vec<(usize, &Directory<'_>)> = Vec::new();
    for (number, directory) in directories.iter().enumerate() {
        // Previews, reduced copies and masks are not pages of the stack.
        match directory.number(tag::NEW_SUBFILE_TYPE).unwrap_or(0) & 0b101 {
            0 => chosen.push((number, directory)),
            _ => remarks.push(format!("page {} is a reduced copy or a mask and was left out", number + 1)),
        }
    }
    let Some(((_, first_directory), others)) = chosen.split_first() else {
        return Err(Fault::new("it has no page but reduced copies and masks", CONVERT));
    };
    let first = Page::of(&file, first_directory).map_err(|fault| fault.at("page 1"))?;
    first.check_size(1, limit)?;
    let mut pages = vec![first];
    for (number, directory) in others {
        let page = Page::of(&file, directory).map_err(|fault| fault.at(format!("page {}", number + 1)))?;
        pages[0].check_same(&page, *number)?;
        // Before the next page is looked at: a small file can have many pages that all share their
        // pixels.
        page.check_size(pages.len() + 1, limit)?;
        pages.push(page);
    }
    add_imagej_pages(&file, first_directory, &mut pages, limit)?;

    let first = &pages[0];
    let channels = first.channels();
    let mut values = Vec::new();
    let mut inexact = 0;
    for (index, page) in pages.iter().enumerate() {
        let number = chosen.get(index).map_or(index, |(number, _)| *number) + 1;
        inexact += pixels::read(&file, page, limit, &mut values).map_err(|fault| fault.at(format!("page {number}")))?;
    }
    if inexact > 0 {
        remarks.push(digits_lost(inexact));
    }
    let mut metadata = Metadata::new(Format::Tiff, first.sample());
    describe(first_directory, &mut metadata);
    metadata.white_is_zero = first.white_is_zero;

    let mut shape = vec![first.height, first.width];
    if pages.len() > 1 {
        shape.insert(0, pages.len());
    }
    let inner = match (channels, first.alpha) {
        (1, _) => "yx",
        (_, true) => "yxa",
        (_, false) => "yxc",
    };
    if channels > 1 {
        shape.push(channels);
    }
    let coloured = channels - usize::from(first.alpha);
    let colour = match coloured {
        1 => Colour::Grey,
        3 if first.is_rgb => Colour::Rgb,
        _ => Colour::Channels,
    };
    let array = ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|error| Fault::damaged(error.to_string()))?;
    let axes = Axes::with_pages(usize::from(pages.len() > 1), inner);
    Ok(Decoded { array, axes: Some(axes), colour: Some(colour), metadata, remarks })
}

/// ImageJ writes stacks of more than 4 GB with one directory: it says the number of pages in the
/// description, and they follow each other without gaps.
fn add_imagej_pages(
    file: &File<'_>,
    directory: &Directory<'_>,
    pages: &mut Vec<Page>,
    limit: u64,
) -> Result<(), Fault> {
    let description = directory.text(tag::IMAGE_DESCRIPTION).unwrap_or_default();
    let said = description.lines().find_map(|line| line.strip_prefix("images=")?.trim().parse::<usize>().ok());
    let said = said.filter(|said| description.starts_with("ImageJ=") && *said > pages.len());
    let Some(said) = said else {
        return Ok(());
    };
    pages[0].check_size(said, limit)?;
    let following = (1..said).map(|number| pages[0].following(file, number as u64)).collect::<Option<Vec<Page>>>();
    let Some(following) = following.filter(|_| pages.len() == 1) else {
        return Err(Fault::new(
            format!("its description says {said} images, and there are {} only", pages.len()),
            "save it again in ImageJ, or leave the description out",
        ));
    };
    pages.extend(following);
    Ok(())
}

/// The metadata of the first page.
fn describe(directory: &Directory<'_>, metadata: &mut Metadata) {
    let mut lines = Vec::new();
    if let Some(description) = directory.text(tag::IMAGE_DESCRIPTION) {
        for line in description.split('\n') {
            match notes::from_line(line.trim_end_matches('\r')) {
                Some(note) => metadata.notes.push(note),
                None => lines.push(line),
            }
        }
        let kept = lines.join("\n");
        let kept = kept.trim_end_matches('\n');
        if !kept.is_empty() {
            metadata.text.push(("Description".to_owned(), kept.to_owned()));
        }
    }
    if let Some(text) = directory.text(tag::EFMCA_NOTES) {
        metadata.notes.extend(text.lines().filter_map(notes::from_line));
    }
    if let Some(software) = directory.text(tag::SOFTWARE) {
        metadata.text.push(("Software".to_owned(), software));
    }
    metadata.icc_profile = directory.bytes(tag::ICC_PROFILE).map(<[u8]>::to_vec);
    let unit = match directory.number(tag::RESOLUTION_UNIT) {
        Some(1) => ResolutionUnit::Unknown,
        Some(3) => ResolutionUnit::Centimetre,
        _ => ResolutionUnit::Inch,
    };
    let (x, y) = (directory.rational(tag::X_RESOLUTION), directory.rational(tag::Y_RESOLUTION));
    metadata.resolution = x.zip(y).map(|(x, y)| Resolution { x, y, unit });
}
