use super::*;
use ndarray::{Array2, Array3, arr2};

fn fields(fields: &[Array2<f64>]) -> Vec<Field<'_>> {
    fields.iter().map(|field| field.view().into()).collect()
}

fn texts(drawing: &Drawing) -> Vec<String> {
    let svg = drawing.to_svg().unwrap();
    svg.split("<text").skip(1).map(|rest| rest.split('\n').nth(1).unwrap().to_owned()).collect()
}

fn tiles_of(fields: &[Field], scale: Option<ValueRange>, background: bool) -> (Layout, crate::Picture) {
    let size = fields[0].size();
    let layout = Layout::new(size, fields.len(), None);
    let colours = Colours::of_means(scale.unwrap_or(range_of(fields.iter().copied())));
    let picture = tiles::tiles(fields, &layout, colours, scale, background).unwrap();
    (layout, picture)
}

fn pixel(picture: &crate::Picture, (x, y): (usize, usize)) -> &[u8] {
    &picture.rgb()[3 * (y * picture.width() + x)..][..3]
}

#[test]
fn a_thousand_causes_fit_on_a_page() {
    for side in [5, 8, 10, 12, 16, 20, 24, 32] {
        let size = Field::from(Array2::zeros((side, side)).view()).size();
        let layout = Layout::new(size, 1000, None);
        assert!((1500..=2500).contains(&layout.tiles_width()), "{side}: {layout:?}");
        assert!(layout.columns <= 40 && layout.columns * layout.rows >= 1000, "{layout:?}");
    }
    let with_background = Layout::new(Field::from(Array2::zeros((16, 16)).view()).size(), 1001, None);
    assert_eq!((with_background.columns, with_background.rows), (39, 26));
    let all = vec![arr2(&[[1.0, -1.0], [0.0, 2.0]]); 1000];
    let drawing = Dictionary::means("All", fields(&all)).draw().unwrap();
    assert!((1500..=2600).contains(&drawing.width()), "{}", drawing.width());
    let picture = drawing.to_picture(1).unwrap();
    assert_eq!((picture.width(), picture.height()), (drawing.width() as usize, drawing.height() as usize));
    assert!(texts(&drawing).contains(&"1000 causes of 2 \u{d7} 2 pixels".to_owned()));
}

#[test]
fn one_cause_is_a_page_as_well() {
    let one = [arr2(&[[1.0, 2.0]])];
    let drawing = Dictionary::means("", fields(&one)).priors([0.25]).draw().unwrap();
    let texts = texts(&drawing);
    for text in ["1 cause of 1 \u{d7} 2 pixels", "cause", "\u{3c0}", "1", "0.25", "min", "max"] {
        assert!(texts.iter().any(|found| found == text), "{text}: {texts:?}");
    }
}

#[test]
fn tiles_stand_in_the_columns_that_are_asked_for() {
    let five: Vec<Array2<f64>> = (0..5).map(|h| arr2(&[[0.0, f64::from(h)]])).collect();
    let tiles = |columns: usize| {
        let dictionary = Dictionary::means("not drawn", fields(&five)).scale(Scale::Fixed { lo: 0.0, hi: 4.0 });
        dictionary.columns(columns).tiles().unwrap()
    };
    // A tile of 2 x 1 values is 128 x 64 pixels, with a line of 4 on all sides.
    for (asked, columns) in [(0, 1), (1, 1), (2, 2), (5, 5), (9, 5)] {
        let picture = tiles(asked);
        let rows = 5_usize.div_ceil(columns);
        assert_eq!((picture.width(), picture.height()), (132 * columns + 4, 68 * rows + 4), "{asked}");
    }
    let row = tiles(5);
    assert_eq!(pixel(&row, (0, 0)), [190; 3]);
    assert_eq!(pixel(&row, (4 + 4 * 132 + 127, 4)), [255; 3]);
    assert_eq!(pixel(&row, (4 + 132 + 127, 4)), [64; 3]);
    // The sixth place has no field.
    assert_eq!(pixel(&tiles(2), (4 + 132 + 64, 4 + 2 * 68 + 32)), [255; 3]);
}

#[test]
fn each_field_has_its_own_largest_magnitude() {
    let two = [arr2(&[[0.0, 1.0, -1.0]]), arr2(&[[0.0, -50.0, 25.0]])];
    let (layout, picture) = tiles_of(&fields(&two), None, false);
    let at = |index: usize, column: usize| {
        let (left, top) = layout.place(index);
        pixel(&picture, (left + column * layout.zoom, top))
    };
    assert_eq!((at(0, 0), at(1, 0)), (&[255; 3][..], &[255; 3][..]));
    assert_eq!((at(0, 1), at(0, 2)), (&[178, 24, 43][..], &[33, 82, 163][..]));
    assert_eq!(at(1, 1), [33, 82, 163]);
    let (_, shared) = tiles_of(&fields(&two), Some(range_of(fields(&two))), false);
    let (left, top) = layout.place(0);
    assert_ne!(pixel(&shared, (left + layout.zoom, top)), [178, 24, 43]);
}

#[test]
fn the_background_has_a_frame() {
    let two = [arr2(&[[0.0, -1.0]]), arr2(&[[1.0, 0.0]])];
    let (layout, plain) = tiles_of(&fields(&two), None, false);
    let (_, marked) = tiles_of(&fields(&two), None, true);
    let (left, top) = layout.place(0);
    for corner in [(left - 1, top - 1), (left + layout.tile.0, top), (left, top + layout.tile.1)] {
        assert_eq!(pixel(&marked, corner), MARK.0);
        assert_ne!(pixel(&plain, corner), MARK.0);
    }
    assert_eq!(pixel(&marked, (left, top)), pixel(&plain, (left, top)));
    let drawing = Dictionary::means("", fields(&two)).priors([1.0, 0.5]).background_first().draw().unwrap();
    let texts = texts(&drawing);
    assert!(texts[0].starts_with("1 cause of") && texts[0].ends_with("the background is framed"), "{texts:?}");
    assert!(texts.contains(&"BG".to_owned()));
}

#[test]
fn rows_are_labelled_with_their_first_cause() {
    let many = vec![arr2(&[[1.0, 2.0], [3.0, 4.0]]); 100];
    let columns = Layout::new(fields(&many)[0].size(), 100, None).columns;
    let numbers = |background: bool| {
        let dictionary = Dictionary::means("", fields(&many)).priors((0..100).map(|h| 0.9 - 0.004 * f64::from(h)));
        let dictionary = if background { dictionary.background_first() } else { dictionary };
        texts(&dictionary.draw().unwrap())
    };
    assert!(numbers(false).contains(&(columns + 1).to_string()));
    assert!(numbers(true).contains(&columns.to_string()));
    assert!(numbers(false).contains(&format!("{:.2}", 0.9 - 0.004 * columns as f64)));
    assert!(numbers(false)[0].ends_with("the most active first"));
}

#[test]
fn an_order_that_is_not_there_is_not_claimed() {
    let two = [arr2(&[[1.0]]), arr2(&[[2.0]])];
    let drawing = Dictionary::means("", fields(&two)).priors([0.1, 0.2]).draw().unwrap();
    assert_eq!(texts(&drawing)[0], "2 causes of 1 \u{d7} 1 pixels");
}

#[test]
fn values_that_are_not_numbers_and_constant_fields_are_drawn() {
    let odd = [arr2(&[[f64::NAN, f64::INFINITY]]), arr2(&[[3.0, 3.0]]), arr2(&[[f64::NAN, f64::NAN]])];
    for scale in [Scale::Each, Scale::Shared, Scale::Fixed { lo: -1.0, hi: 1.0 }] {
        let drawing = Dictionary::deviations("", fields(&odd)).scale(scale).priors([f64::NAN; 3]).draw().unwrap();
        assert!(!drawing.to_svg().unwrap().contains("NaN"));
        drawing.to_picture(1).unwrap();
    }
    let (layout, picture) = tiles_of(&fields(&odd), None, false);
    let (left, top) = layout.place(0);
    assert_eq!(pixel(&picture, (left, top)), [148, 87, 200]);
}

#[test]
fn three_channels_are_colours_around_grey() {
    let colour = [Array3::from_shape_fn((2, 2, 3), |(y, _, channel)| (y as f64 - 0.5) * channel as f64)];
    let views: Vec<Field> = colour.iter().map(|field| field.view().into()).collect();
    let (layout, picture) = tiles_of(&views, None, false);
    let (left, top) = layout.place(0);
    assert_eq!(pixel(&picture, (left, top)), [128, 64, 0]);
    assert_eq!(pixel(&picture, (left, top + layout.zoom)), [128, 191, 255]);
    let drawing = Dictionary::means("", views).draw().unwrap();
    assert!(texts(&drawing).iter().any(|text| text.starts_with("red, green and blue")));
}

#[test]
fn the_file_is_valid_with_any_title() {
    let one = [arr2(&[[1.0]])];
    let svg = Dictionary::means("a<b> & \"c\"\u{0}", fields(&one)).draw().unwrap().to_svg().unwrap();
    assert!(svg.contains("a&lt;b&gt; &amp; &quot;c&quot; ") && !svg.contains('\u{0}'));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let message = |dictionary: Dictionary| dictionary.draw().unwrap_err().to_string();
    let two = [Array2::zeros((2, 3)), Array2::zeros((3, 2))];
    assert!(message(Dictionary::means("", fields(&two))).contains("field 2 is 3 x 2 but 2 x 3 is needed"));
    assert!(message(Dictionary::means("", [])).contains("no field"));
    let one = &two[..1];
    assert!(message(Dictionary::means("", fields(one)).priors([0.1, 0.2])).contains("2 for 1 fields"));
    let scale = Scale::Fixed { lo: 1.0, hi: 1.0 };
    assert!(message(Dictionary::means("", fields(one)).scale(scale)).contains("fixed scale"));
    let large = Array2::zeros((2, 20_000));
    let many = vec![Field::from(large.view()); 5000];
    assert!(message(Dictionary::means("", many)).contains("pixels, more than"));
}
