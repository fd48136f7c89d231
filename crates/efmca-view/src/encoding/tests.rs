use super::*;
use ndarray::{Array2, arr2};

fn encoding<'a>(patch: &'a Array2<f64>, cause: &'a Array2<f64>, count: usize) -> Encoding<'a> {
    let active = |h: usize| ActiveCause {
        label: format!("cause {h}"),
        prior: Some(0.25),
        mean: cause.view().into(),
        deviation: Some(patch.view().into()),
    };
    Encoding {
        label: "a patch".into(),
        patch: patch.view().into(),
        causes: (1..=count).map(active).collect(),
        combined_mean: cause.view().into(),
        combined_deviation: Some(cause.view().into()),
    }
}

fn count(drawing: &Drawing, what: &str) -> usize {
    drawing.to_svg().unwrap().matches(what).count()
}

#[test]
fn all_parts_are_there() {
    let (patch, cause) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[-1.0, 0.0], [0.0, 1.0]]));
    let drawing = encodings("Title", &[encoding(&patch, &cause, 3), encoding(&patch, &cause, 1)]).unwrap();
    // patch, combined mean and deviation, two bars, and two fields for every cause
    assert_eq!(count(&drawing, "<image "), 2 * 5 + 2 * 3 + 2);
    for (text, times) in [("a patch", 2), ("cause 1\n", 2), ("cause 3\n", 1), ("\u{3c0} = 0.25", 4), ("Title", 1)] {
        assert_eq!(count(&drawing, text), times, "{text}");
    }
    assert_eq!(count(&drawing, "std. dev."), 2);
}

#[test]
fn the_patch_and_all_means_share_their_colours() {
    let (patch, cause) = (arr2(&[[4.0, -4.0]]), arr2(&[[2.0, 0.0]]));
    let mut encoding = encoding(&patch, &cause, 1);
    encoding.causes[0].deviation = None;
    encoding.combined_deviation = None;
    let drawing = encodings("", &[encoding]).unwrap();
    let picture = drawing.to_picture(1).unwrap();
    let with = |colour: [u8; 3]| picture.rgb().chunks_exact(3).filter(|pixel| *pixel == colour).count();
    let tile = 64 * 64;
    // The ends of the scale are reached by the patch only; half of it is in the mean and the combined mean.
    assert!((tile - 300..tile + 100).contains(&with([178, 24, 43])), "{}", with([178, 24, 43]));
    assert!((tile - 300..tile + 100).contains(&with([33, 82, 163])), "{}", with([33, 82, 163]));
    assert!((2 * tile - 600..2 * tile + 100).contains(&with([217, 140, 149])), "{}", with([217, 140, 149]));
    assert_eq!(count(&drawing, "std. dev."), 0);
}

#[test]
fn many_causes_go_on_in_further_rows() {
    let field = arr2(&[[1.0, 2.0]]);
    let size = |causes: usize| {
        let drawing = encodings("", &[encoding(&field, &field, causes)]).unwrap();
        drawing.to_picture(1).unwrap();
        (drawing.width(), drawing.height())
    };
    let (twelve, thirteen) = (size(12), size(13));
    assert_eq!(twelve.0, thirteen.0);
    assert!(thirteen.1 > twelve.1 + 100);
    assert_eq!(size(24), thirteen);
}

#[test]
fn a_state_without_causes_says_so() {
    let field = arr2(&[[f64::NAN, 0.0]]);
    let drawing = encodings("", &[encoding(&field, &field, 0)]).unwrap();
    assert_eq!(count(&drawing, "\nnone\n"), 1);
    assert_eq!(count(&drawing, "NaN"), 0);
    drawing.to_picture(1).unwrap();
}

#[test]
fn other_sizes_are_refused_with_their_place() {
    let (field, other) = (Array2::zeros((2, 3)), Array2::zeros((3, 3)));
    let mut second = encoding(&field, &field, 2);
    second.causes[1].mean = other.view().into();
    let message = encodings("", &[encoding(&field, &field, 1), second]).unwrap_err().to_string();
    assert!(message.contains("the mean of \"cause 2\" in encoding 2 is 3 x 3 but 2 x 3"), "{message}");
    assert!(encodings("", &[]).unwrap_err().to_string().contains("no encoding"));
}

#[test]
fn texts_are_only_texts() {
    let field = arr2(&[[1.0]]);
    let mut nasty = encoding(&field, &field, 1);
    nasty.label = "<b>&".into();
    nasty.causes[0].label = "\"'\u{1}<".into();
    let svg = encodings("</svg>", &[nasty]).unwrap().to_svg().unwrap();
    assert_eq!(svg.matches("</svg>").count(), 1);
    assert!(svg.contains("&lt;b&gt;&amp;") && !svg.contains('\u{1}'));
}
