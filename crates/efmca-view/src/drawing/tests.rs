use super::*;

const BLACK: Ink = Ink(Rgb([0; 3]), 1.0);

fn look(size: f64, across: Across, upwards: bool) -> TextLook {
    TextLook { size, colour: Rgb([0; 3]), across, upright: Upright::Centre, upwards }
}

/// The first and the last column and row with a pixel that is not white.
fn extent(picture: &Picture) -> Option<[usize; 4]> {
    let dark = picture.rgb().chunks_exact(3).enumerate().filter(|(_, pixel)| *pixel != [255; 3]);
    let places = dark.map(|(at, _)| (at % picture.width(), at / picture.width()));
    places.fold(None, |found: Option<[usize; 4]>, (x, y)| {
        let [left, right, top, bottom] = found.unwrap_or([x, x, y, y]);
        Some([left.min(x), right.max(x), top.min(y), bottom.max(y)])
    })
}

fn pixel(picture: &Picture, x: usize, y: usize) -> &[u8] {
    &picture.rgb()[3 * (y * picture.width() + x)..][..3]
}

#[test]
fn rectangles_cover_parts_of_pixels() {
    let mut drawing = Drawing::new(10, 10);
    drawing.add(Shape::Rectangle { from: (7.0, 8.0), to: (2.5, 3.0), ink: BLACK });
    let picture = drawing.to_picture(1).unwrap();
    assert_eq!(extent(&picture), Some([2, 6, 3, 7]));
    assert_eq!(pixel(&picture, 2, 5), [128; 3]);
    assert_eq!(pixel(&picture, 3, 5), [0; 3]);
    assert_eq!(extent(&drawing.to_picture(2).unwrap()), Some([5, 13, 6, 15]));
}

#[test]
fn a_path_covers_its_crossings_once() {
    let mut drawing = Drawing::new(40, 40);
    let points = vec![(5.0, 5.0), (35.0, 35.0), (35.0, 5.0), (5.0, 35.0)];
    drawing.add(Shape::Path { points, width: 4.0, ink: Ink(Rgb([0; 3]), 0.5) });
    let picture = drawing.to_picture(1).unwrap();
    assert_eq!(pixel(&picture, 20, 20), [128; 3]);
    assert_eq!(pixel(&picture, 10, 10), [128; 3]);
    assert_eq!(pixel(&picture, 20, 8), [255; 3]);
}

#[test]
fn level_lines_are_sharp() {
    let mut drawing = Drawing::new(9, 9);
    drawing.add(Shape::Path { points: vec![(2.0, 4.2), (6.0, 4.2)], width: 1.0, ink: BLACK });
    let picture = drawing.to_picture(1).unwrap();
    assert_eq!(pixel(&picture, 4, 4), [0; 3]);
    assert_eq!((pixel(&picture, 4, 3), pixel(&picture, 4, 5)), (&[255; 3][..], &[255; 3][..]));
}

#[test]
fn what_is_outside_is_cut() {
    let mut drawing = Drawing::new(8, 8);
    let far = 1e12;
    drawing.add(Shape::Rectangle { from: (-far, -3.0), to: (far, -1.0), ink: BLACK });
    drawing.add(Shape::Path { points: vec![(-50.0, -50.0), (-20.0, 90.0)], width: f64::INFINITY, ink: BLACK });
    drawing.add(Shape::Path { points: Vec::new(), width: 1.0, ink: BLACK });
    drawing.add(Shape::Disc { centre: (100.0, 4.0), radius: f64::NAN, ink: BLACK });
    drawing.text("outside", (-400.0, 900.0), look(12.0, Across::Left, false));
    drawing.text("outside", (900.0, -400.0), look(12.0, Across::Left, true));
    assert_eq!(extent(&drawing.to_picture(3).unwrap()), None);
    drawing.add(Shape::Path { points: vec![(-far, 4.0), (far, 4.0)], width: 2.0, ink: BLACK });
    assert!(drawing.to_svg().unwrap().ends_with("</svg>\n"));
}

#[test]
fn texts_are_where_they_should_be() {
    for upwards in [false, true] {
        for (across, ends) in [(Across::Left, [100, 134]), (Across::Centre, [83, 117]), (Across::Right, [66, 100])] {
            let mut drawing = Drawing::new(200, 200);
            drawing.text("HHHH", (100.0, 100.0), look(12.0, across, upwards));
            let [left, right, top, bottom] = extent(&drawing.to_picture(1).unwrap()).unwrap();
            // Upwards is the same turned by a quarter.
            let (along, over) =
                if upwards { ([199 - bottom, 199 - top], [left, right]) } else { ([left, right], [top, bottom]) };
            for (found, expected) in along.iter().zip(ends) {
                assert!(found.abs_diff(expected) <= 4, "{across:?} {upwards}: {along:?}, not {ends:?}");
            }
            assert!(over[0].abs_diff(95) <= 1 && over[1].abs_diff(104) <= 1, "{over:?}");
        }
    }
}

#[test]
fn texts_need_no_more_room_than_was_kept_for_them() {
    for text in
        ["cause 1234", "\u{3c0} = 0.0012", "the same scale for all fields", "\u{2212}1.75e\u{2212}12", "WWW mmm"]
    {
        let mut drawing = Drawing::new(600, 40);
        drawing.text(text, (10.0, 20.0), look(20.0, Across::Left, false));
        let [left, right, _, _] = extent(&drawing.to_picture(1).unwrap()).unwrap();
        assert!((right - left) as f64 <= text_width(text, 20.0), "{text}");
    }
}

#[test]
fn the_font_has_the_letters_of_labels() {
    let drawn = |text: &str| {
        let mut drawing = Drawing::new(60, 60);
        drawing.text(text, (30.0, 30.0), look(30.0, Across::Centre, false));
        drawing.to_picture(1).unwrap()
    };
    let box_for_unknown = drawn("\u{4e00}");
    for letter in "aZ09\u{3c0}\u{3c3}\u{3bc}\u{2212}\u{d7}\u{2013}\u{e9}\u{df}".chars() {
        let picture = drawn(&letter.to_string());
        assert!(extent(&picture).is_some() && picture != box_for_unknown, "{letter}");
    }
}

#[test]
fn pictures_are_in_both_kinds_of_files() {
    let mut drawing = Drawing::new(6, 6);
    let picture = Picture::filled(2, 3, [10, 20, 30]).unwrap();
    drawing.add(Shape::Image { left: 1, top: 2, picture });
    let drawn = drawing.to_picture(2).unwrap();
    assert_eq!(extent(&drawn), Some([2, 5, 4, 9]));
    assert_eq!(pixel(&drawn, 2, 4), [10, 20, 30]);
    let svg = drawing.to_svg().unwrap();
    assert!(svg.contains("<image x=\"4\" y=\"8\" width=\"8\" height=\"12\""));
    assert!(svg.contains("href=\"data:image/png;base64,iVBOR"));
    assert_eq!(svg.matches("http").count(), svg.matches("xmlns=\"http").count());
}

#[test]
fn a_zoom_has_to_be_possible() {
    let drawing = Drawing::new(100, 100);
    assert!(drawing.to_picture(0).unwrap_err().to_string().contains("zoom"));
    assert!(matches!(drawing.to_picture(usize::MAX), Err(ViewError::PictureTooLarge { .. })));
    let (width, height, bytes) = crate::picture::decoded(&drawing.to_png(3).unwrap());
    assert_eq!((width, height), (300, 300));
    assert!(bytes.iter().all(|byte| *byte == 255));
}
