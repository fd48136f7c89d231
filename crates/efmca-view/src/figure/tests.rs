use super::*;
use crate::Rgb;

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn an_empty_figure_has_axes() {
    let svg = Figure::new("").to_svg(400, 300).unwrap();
    assert!(svg.starts_with("<svg width=\"400\" height=\"300\""));
    assert!(svg.contains("viewBox=\"0 0 1600 1200\""));
    assert!(svg.trim_end().ends_with("</svg>"));
    assert!(count(&svg, "<text") >= 4);
}

#[test]
fn all_texts_are_sans_serif() {
    let svg = Figure::new("a title")
        .x_label("x")
        .y_label("y")
        .line(Line::new([(0.0, 0.0), (1.0, 1.0)]).label("curve"))
        .reference(Reference::dashed(0.5).label("half"))
        .annotation(Annotation::above(0.5, "12"))
        .to_svg(400, 300)
        .unwrap();
    assert_eq!(count(&svg, "<text"), count(&svg, "font-family=\"sans-serif\""));
    for text in ["a title", "curve", "half", "12"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}");
    }
}

#[test]
fn texts_cannot_break_the_file() {
    let svg = Figure::new("a < b & \"c\"\u{0}\n").to_svg(400, 300).unwrap();
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
    assert!(!svg.contains('\u{0}'));
}

#[test]
fn values_that_are_not_finite_are_gaps() {
    let complete = Line::new((0..9).map(|x| (f64::from(x), f64::from(x % 2))));
    let mut broken = complete.clone();
    broken.points[4].1 = f64::NAN;
    broken.points[8].0 = f64::INFINITY;
    let lines_in = |line: &Line| {
        let svg = Figure::new("").x_range(0.0, 8.0).line(line.clone()).to_svg(400, 300).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        count(&svg, "<polyline")
    };
    assert_eq!(lines_in(&broken), lines_in(&complete) + 1);
}

#[test]
fn only_what_is_not_finite_still_draws_axes() {
    let svg = Figure::new("")
        .line(Line::new([(f64::NAN, 1.0), (f64::MAX, f64::INFINITY)]).width(f64::NAN))
        .points(Points::new([(f64::NAN, f64::NAN)]).radius(f64::INFINITY))
        .reference(Reference::dashed(f64::NAN).label("nowhere"))
        .annotation(Annotation::at(f64::INFINITY, 0.0, "nowhere"))
        .to_svg(60, 60)
        .unwrap();
    assert!(!svg.contains("nowhere"));
}

#[test]
fn what_lies_outside_a_given_range_is_cut() {
    let line = Line::new([(0.0, -100.0), (1.0, 0.5), (2.0, 100.0)]).colour(Rgb([1, 2, 3]));
    let points = Points::new([(1.0, 0.5), (1.0, 9.0)]);
    let figure = Figure::new("").y_range(0.0, 1.0).line(line).points(points);
    let svg = figure.to_svg(400, 300).unwrap();
    assert_eq!(count(&svg, "<circle"), 1);
    let path = svg.lines().find(|line| line.contains("stroke=\"#010203\"")).unwrap();
    let points = path.split("points=\"").nth(1).unwrap();
    let points = points.split('"').next().unwrap().split_whitespace();
    for point in points {
        let y: i32 = point.split(',').nth(1).unwrap().parse().unwrap();
        assert!((0..=1200).contains(&y), "{path}");
    }
}

#[test]
fn curves_with_one_label_share_an_entry_and_a_colour() {
    let line = |y: f64| Line::new([(0.0, y), (1.0, y)]).label("same");
    let svg = Figure::new("").lines([line(0.0), line(1.0)]).to_svg(400, 300).unwrap();
    assert_eq!(count(&svg, "\nsame\n"), 1);
    assert_eq!(count(&svg, "#0072B2"), 3);
    let hidden = Figure::new("").line(line(0.0)).legend(LegendPlace::Hidden);
    assert!(!hidden.to_svg(400, 300).unwrap().contains("same"));
}

#[test]
fn panels_stand_side_by_side() {
    let svg = panels(&[Figure::new("left"), Figure::new("right")], 300, 200).unwrap();
    assert!(svg.starts_with("<svg width=\"600\" height=\"200\""));
    assert!(svg.contains("left") && svg.contains("right"));
    assert!(panels(&[], 300, 200).unwrap_err().to_string().contains("no figure"));
}

#[test]
fn sizes_and_ranges_without_meaning_are_errors() {
    let figure = Figure::new("");
    for (width, height) in [(0, 300), (300, 10), (u32::MAX, 300)] {
        assert!(matches!(figure.to_svg(width, height), Err(ViewError::Setting { .. })));
    }
    for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let error = figure.clone().y_range(lo, hi).to_svg(300, 300).unwrap_err();
        assert!(error.to_string().contains("y range"), "{error}");
    }
}

#[test]
fn a_figure_is_a_picture_as_well() {
    let line = Line::new([(0.0, 0.0), (1.0, 1.0)]).colour(Rgb([1, 2, 3])).width(3.0);
    let picture = Figure::new("title").line(line).draw(300, 200).unwrap().to_picture(2).unwrap();
    assert_eq!((picture.width(), picture.height()), (600, 400));
    let of_curve = picture.rgb().chunks_exact(3).filter(|pixel| *pixel == [1, 2, 3]).count();
    // about 600 pixels long and 6 wide
    assert!((2000..5000).contains(&of_curve), "{of_curve}");
    assert!(draw_panels(&[], 300, 200).is_err());
}
