use super::*;
use ndarray::{Array2, arr2};

fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 3] {
    let at = 3 * (y * picture.width + x);
    [picture.rgb[at], picture.rgb[at + 1], picture.rgb[at + 2]]
}

#[test]
fn png_gives_the_picture_back() {
    let fields = [arr2(&[[0.0, 1.0], [2.0, f64::NAN]]), arr2(&[[4.0, 0.0], [0.0, 0.0]])];
    let views = fields.each_ref().map(|field| field.view());
    let picture = mosaic(&views, 0, Colours::Grey, Scale::Shared, 3).unwrap();
    let png = picture.to_png().unwrap();
    let back = image::load_from_memory(&png).unwrap().into_rgb8();
    assert_eq!((back.width() as usize, back.height() as usize), (21, 12));
    assert_eq!(back.as_raw(), picture.rgb());
}

#[test]
fn a_mosaic_has_separators_and_values_in_place() {
    let fields = [arr2(&[[0.0, 1.0]]), arr2(&[[1.0, 0.0]]), arr2(&[[1.0, 1.0]])];
    let views = fields.each_ref().map(|field| field.view());
    let picture = mosaic(&views, 2, Colours::Grey, Scale::Shared, 2).unwrap();
    assert_eq!((picture.width(), picture.height()), (14, 10));
    let separator = Colours::Grey.separator();
    assert_eq!(pixel(&picture, 0, 0), separator);
    assert_eq!(pixel(&picture, 2, 2), [0; 3]);
    assert_eq!(pixel(&picture, 5, 3), [255; 3]);
    assert_eq!(pixel(&picture, 6, 3), separator);
    assert_eq!(pixel(&picture, 8, 2), [255; 3]);
    assert_eq!(pixel(&picture, 2, 6), [255; 3]);
    // The fourth tile does not exist.
    assert_eq!(pixel(&picture, 8, 6), separator);
}

#[test]
fn each_field_can_have_its_own_scale() {
    let fields = [arr2(&[[0.0, 1.0]]), arr2(&[[0.0, 100.0]])];
    let views = fields.each_ref().map(|field| field.view());
    let each = mosaic(&views, 2, Colours::Grey, Scale::Each, 1).unwrap();
    let shared = mosaic(&views, 2, Colours::Grey, Scale::Shared, 1).unwrap();
    let fixed = Scale::Fixed { lo: 0.0, hi: 2.0 };
    let fixed = mosaic(&views, 2, Colours::Grey, fixed, 1).unwrap();
    assert_eq!(pixel(&each, 2, 1), [255; 3]);
    assert_eq!(pixel(&shared, 2, 1), [3; 3]);
    assert_eq!(pixel(&fixed, 2, 1), [128; 3]);
    assert_eq!(pixel(&fixed, 5, 1), [255; 3]);
}

#[test]
fn columns_make_a_picture_near_a_square() {
    assert_eq!(columns_near_square(16, 5, 5), 4);
    assert_eq!(columns_near_square(10, 5, 5), 4);
    assert_eq!(columns_near_square(10, 1, 1000), 1);
    assert_eq!(columns_near_square(10, 1000, 1), 10);
}

#[test]
fn what_cannot_be_a_mosaic_is_an_error() {
    let draw =
        |views: &[ArrayView2<f64>], zoom| mosaic(views, 0, Colours::Grey, Scale::Shared, zoom).unwrap_err().to_string();
    let small = Array2::zeros((2, 3));
    let other = Array2::zeros((3, 2));
    let empty = Array2::zeros((0, 3));
    assert!(draw(&[], 1).contains("no field"));
    assert!(draw(&[small.view(), other.view()], 1).contains("field 1 is 3 x 2"));
    assert!(draw(&[empty.view()], 1).contains("no pixel"));
    assert!(draw(&[small.view()], 0).contains("zoom"));
    assert!(draw(&[small.view()], usize::MAX).contains("smaller zoom"));
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
