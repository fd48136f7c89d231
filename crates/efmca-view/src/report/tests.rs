use super::*;
use crate::picture::decoded;
use crate::{Dictionary, Field};
use efmca_io::IoError;
use ndarray::{Array2, Array3};

/// The width, height and bytes of the pictures in a page.
fn pictures_in(html: &str) -> Vec<(usize, usize, Vec<u8>)> {
    let packed = html.split("data:image/png;base64,").skip(1).map(|rest| rest.split('"').next().unwrap());
    packed.map(|text| decoded(&unpacked(text))).collect()
}

fn unpacked(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is not a letter of base64"),
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::from(value(letter));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn waves(size: usize) -> Array2<f64> {
    Array2::from_shape_fn((size, size), |(y, x)| (0.2 * y as f64).sin() * (0.13 * x as f64).cos())
}

fn example() -> Report {
    let clean = waves(90);
    let noisy =
        Array2::from_shape_fn(clean.dim(), |(y, x)| clean[[y, x]] + ((7 * y + 13 * x) % 17) as f64 / 17.0 - 0.5);
    let colour = Array3::from_shape_fn((90, 90, 3), |(y, x, channel)| clean[[y, x]] * (channel as f64 - 1.0));
    let causes: Vec<Array2<f64>> = (0..50)
        .map(|h| Array2::from_shape_fn((8, 8), |(y, x)| ((h + 1) as f64 * 0.1 * (x + y) as f64).sin()))
        .collect();
    let causes = Dictionary::means("", causes.iter().map(|cause| Field::from(cause.view()))).draw().unwrap();
    Report {
        title: "cells & <nuclei>.tif, denoised".into(),
        summary: vec![
            ("noise".into(), "poisson".into()),
            ("causes".into(), "50 of 8 x 8 pixels".into()),
            ("PSNR".into(), "noisy 7.2 dB, estimate 21.4 dB (peak 2)".into()),
        ],
        pictures: vec![
            CaptionedPicture::new("noisy", Picture::grey(noisy.view(), -1.0, 1.0).unwrap()),
            CaptionedPicture::new("estimate \"after\"", Picture::grey(clean.view(), -1.0, 1.0).unwrap()),
            CaptionedPicture::new("in colour", Picture::colour(colour.view(), -1.0, 1.0).unwrap()),
        ],
        causes: Some(CaptionedPicture::new("the most active first", causes.to_picture(1).unwrap())),
        curve: (1..60).map(|i| -1e5 - 4e5 / f64::from(i)).collect(),
        tables: vec![ReportTable {
            title: "families".into(),
            head: vec!["family".into(), "held-out value".into()],
            rows: vec![vec!["poisson".into(), "-1.2".into()]],
        }],
        figures: vec![("a curve".into(), "<svg></svg>".into())],
        ..Report::default()
    }
}

#[test]
fn all_pieces_are_on_the_page() {
    let html = example().to_html().unwrap();
    for piece in ["<td>50 of 8 x 8 pixels</td>", "<figcaption>noisy</figcaption>", "the most active first", "<svg"] {
        assert!(html.contains(piece), "{piece}");
    }
    for (tag, count) in [("figure", 6), ("table", 2), ("tr", 5), ("h1", 1), ("h2", 5), ("svg", 2), ("html", 1)] {
        let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!((opened, html.matches(&format!("</{tag}>")).count()), (count, count), "{tag}");
    }
}

#[test]
fn pictures_come_back_as_they_were() {
    let report = example();
    let found = pictures_in(&report.to_html().unwrap());
    let given = report.pictures.iter().chain(&report.causes);
    assert_eq!(found.len(), 4);
    for (found, given) in found.iter().zip(given) {
        assert_eq!((found.0, found.1), (given.picture.width(), given.picture.height()));
        assert_eq!(found.2, given.picture.rgb());
    }
}

#[test]
fn texts_are_shown_as_they_are() {
    let html = example().to_html().unwrap();
    assert!(html.contains("<h1>cells &amp; &lt;nuclei&gt;.tif, denoised</h1>"));
    assert!(html.contains("alt=\"estimate &quot;after&quot;\""));
    assert!(html.contains("<th>held-out value</th>") && html.contains("<td>poisson</td>") && html.contains("a curve"));
    let nasty = "<script>alert('1')</script>\u{0}";
    let picture = CaptionedPicture::new(nasty, Picture::filled(1, 1, [0; 3]).unwrap());
    let report = Report {
        title: nasty.into(),
        summary: vec![(nasty.into(), nasty.into())],
        pictures: vec![picture.clone()],
        causes: Some(picture),
        curve: vec![],
        tables: vec![ReportTable { title: nasty.into(), head: vec![nasty.into()], rows: vec![vec![nasty.into()]] }],
        ..Report::default()
    };
    let html = report.to_html().unwrap();
    assert!(!html.contains("<script") && !html.contains('\u{0}') && !html.contains("'1'"));
    assert_eq!(html.matches("&lt;script&gt;").count(), 11);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = example().to_html().unwrap();
    let html = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http://", "https://", "url(", "@import", "<link", "<script", "src=\"/", "//cdn"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("src=").count(), html.matches("src=\"data:image/png;base64,").count());
}

#[test]
fn small_pictures_are_shown_larger_and_large_ones_as_they_are() {
    let html = |sizes: &[usize]| {
        let square = |size: usize| CaptionedPicture::new("", Picture::filled(size, size, [0; 3]).unwrap());
        let pictures = sizes.iter().map(|size| square(*size)).collect();
        Report { pictures, ..Report::default() }.to_html().unwrap()
    };
    assert!(html(&[1]).contains("width=\"16\" height=\"16\""));
    let two = html(&[100, 50]);
    assert!(two.contains("width=\"500\"") && two.contains("width=\"250\"") && two.contains("--across: 2"));
    assert!(html(&[600, 600, 600]).contains("<img width=\"600\""));
    let high = CaptionedPicture::new("", Picture::filled(70, 300, [0; 3]).unwrap());
    let high = Report { pictures: vec![high], ..Report::default() }.to_html().unwrap();
    assert!(high.contains("width=\"140\" height=\"600\""));
}

#[test]
fn parts_that_are_not_there_are_left_out() {
    let html = Report { title: "empty".into(), curve: vec![f64::NAN], ..Report::default() }.to_html().unwrap();
    for part in ["<table", "<figure", "<h2", "<img", "<svg"] {
        assert!(!html.contains(part), "{part}");
    }
    let one = Report { curve: vec![f64::NEG_INFINITY, -3.0, f64::NAN], ..Report::default() }.to_html().unwrap();
    assert!(one.contains("<svg") && !one.contains("NaN"));
}

#[test]
fn a_page_is_not_overwritten_unless_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/report.html");
    let report = example();
    report.write(&path, false).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), report.to_html().unwrap());
    let error = Report::default().write(&path, false).unwrap_err();
    assert!(matches!(error, ViewError::File(IoError::Exists { .. })), "{error}");
    Report::default().write(&path, true).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), Report::default().to_html().unwrap());
}

#[test]
fn sections_hold_large_pictures_under_each_other() {
    let picture = |width| CaptionedPicture::new("<wide>", Picture::filled(width, 30, [9; 3]).unwrap());
    let section = ReportSection {
        heading: "Means & more".into(),
        text: "one <b>".into(),
        pictures: vec![picture(2000), picture(100)],
        ..ReportSection::default()
    };
    let empty = ReportSection { heading: "nothing".into(), ..ReportSection::default() };
    let html = Report { sections: vec![section, empty], ..Report::default() }.to_html().unwrap();
    assert!(html.contains("<h2>Means &amp; more</h2>\n<p>one &lt;b&gt;</p>\n<div class=\"column\">"));
    assert!(html.contains("width=\"2000\" height=\"30\"") && html.contains("width=\"700\" height=\"210\""));
    assert_eq!(html.matches("<figcaption>&lt;wide&gt;</figcaption>").count(), 2);
    assert_eq!((html.matches("<div").count(), html.matches("</div>").count()), (2, 2));
    assert_eq!(html.matches("<p>").count(), 1);
}

fn compared(names: &[&str], width: usize, height: usize) -> String {
    let picture = |(index, name): (usize, &&str)| {
        CaptionedPicture::new(*name, Picture::filled(width, height, [index as u8; 3]).unwrap())
    };
    let comparison = names.iter().enumerate().map(picture).collect();
    Report { comparison, ..Report::default() }.to_html().unwrap()
}

#[test]
fn pictures_to_compare_stand_side_by_side_without_scripts() {
    let html = compared(&["before", "after", "reference"], 64, 48);
    // everything that a reader without scripts sees is there before the script
    let (markup, script) = html.split_once("<script>").unwrap();
    assert!(markup.contains("<div class=\"row compare\" data-width=\"704\" style=\"--across: 3\">"), "{markup}");
    for name in ["before", "after", "reference"] {
        assert!(markup.contains(&format!("<figcaption>{name}</figcaption>")));
    }
    assert!(!markup.contains("hidden") || markup.split_once("</style>").unwrap().1.find("hidden").is_none());
    assert_eq!(pictures_in(markup).len(), 3);
    // the script is the same in every page: nothing that comes from outside is in it
    let nasty = compared(&["</script><script>alert(1)</script>", "${alert(1)}`"], 64, 48);
    assert_eq!(script.split("</script>").next(), nasty.split_once("<script>").unwrap().1.split("</script>").next());
    assert_eq!((nasty.matches("<script>").count(), nasty.matches("</script>").count()), (1, 1));
    for outside in ["http:", "https:", "fetch(", "import", "eval(", "innerHTML", "src=\"/"] {
        assert!(!script.contains(outside), "{outside}");
    }
}

#[test]
fn one_picture_needs_no_script_and_wide_ones_the_whole_page() {
    assert!(!compared(&["alone"], 10, 10).contains("<script"));
    assert!(!compared(&[], 10, 10).contains("<h2"));
    assert!(compared(&["before", "after"], 1000, 50).contains("--across: 1"));
    // high pictures are not made higher
    assert!(compared(&["before", "after"], 20, 700).contains("data-width=\"20\""));
}

#[test]
fn sections_have_figures_and_rows_of_pictures() {
    let picture = |width| CaptionedPicture::new("part", Picture::filled(width, 48, [9; 3]).unwrap());
    let section = ReportSection {
        heading: "Details".into(),
        figures: vec!["<svg>one</svg>".into(), "<svg>two</svg>".into()],
        across: 3,
        pictures: vec![picture(48), picture(48), picture(48)],
        ..ReportSection::default()
    };
    let html = Report { sections: vec![section], ..Report::default() }.to_html().unwrap();
    assert!(html.contains("<div class=\"row\" style=\"--across: 3\">") && html.contains("width=\"336\""));
    assert!(html.find("<svg>one").unwrap() < html.find("<svg>two").unwrap());
}
