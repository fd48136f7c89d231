use super::*;

fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 3] {
    let at = 3 * (y * picture.width + x);
    [picture.rgb[at], picture.rgb[at + 1], picture.rgb[at + 2]]
}

/// The size and the bytes of a PNG file with eight bits of red, green and blue.
pub(crate) fn decoded(png: &[u8]) -> (usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    (info.width as usize, info.height as usize, bytes)
}

#[test]
fn png_gives_the_picture_back() {
    let mut picture = Picture::filled(21, 12, [0; 3]).unwrap();
    for (at, byte) in picture.rgb.iter_mut().enumerate() {
        *byte = (at * at % 251) as u8;
    }
    let (width, height, bytes) = decoded(&picture.to_png().unwrap());
    assert_eq!((width, height), (21, 12));
    assert_eq!(bytes, picture.rgb());
}

#[test]
fn a_zoom_makes_squares() {
    let black = Picture::filled(1, 1, [0; 3]).unwrap();
    let picture = Picture::beside(&[black, Picture::filled(1, 1, [9; 3]).unwrap()], 0).unwrap();
    let large = picture.scaled(3).unwrap();
    assert_eq!((large.width(), large.height()), (6, 3));
    assert_eq!((pixel(&large, 2, 2), pixel(&large, 3, 0)), ([0; 3], [9; 3]));
    assert!(picture.scaled(0).unwrap_err().to_string().contains("zoom"));
    assert!(picture.scaled(usize::MAX).unwrap_err().to_string().contains("smaller zoom"));
}

#[test]
fn rows_and_columns_of_pictures_are_padded_with_white() {
    let black = Picture::filled(2, 3, [0; 3]).unwrap();
    let red = Picture::filled(1, 1, [255, 0, 0]).unwrap();
    let row = Picture::beside(&[black.clone(), red.clone()], 1).unwrap();
    assert_eq!((row.width(), row.height()), (4, 3));
    assert_eq!(pixel(&row, 1, 2), [0; 3]);
    assert_eq!(pixel(&row, 2, 0), [255; 3]);
    assert_eq!(pixel(&row, 3, 0), [255, 0, 0]);
    assert_eq!(pixel(&row, 3, 1), [255; 3]);
    let column = Picture::stack(&[black, red], 2).unwrap();
    assert_eq!((column.width(), column.height()), (2, 6));
    assert_eq!(pixel(&column, 0, 5), [255, 0, 0]);
    assert_eq!(pixel(&column, 1, 5), [255; 3]);
    assert!(Picture::beside(&[], 1).is_err());
    assert!(Picture::stack(&[], 1).is_err());
}
