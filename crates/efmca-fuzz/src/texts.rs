//! Small texts: constraints, views, cameras, families, and what is typed.

use efmca::Causes;
use efmca::family::Family;
use efmca::model::Resolution;
use efmca_io::{decode_camera, decode_signs, decode_views};

use crate::said;

/// The columns of the table that constraints and views are about.
fn names() -> Vec<String> {
    ["age", "visits", "a b", "", "ä", "+"].map(str::to_owned).to_vec()
}

pub(crate) fn signs(bytes: &[u8]) {
    let names = names();
    if let Some(signs) = said(decode_signs(bytes, &names)) {
        for (cause, column, sign) in &signs.cells {
            assert!(*cause < signs.causes.len() && *column < names.len() && ['+', '-', '0'].contains(sign));
        }
    }
}

pub(crate) fn views(bytes: &[u8]) {
    let names = names();
    if let Some(views) = said(decode_views(bytes, &names)) {
        let mut seen = vec![false; names.len()];
        for column in views.iter().flat_map(|(_, columns)| columns) {
            assert!(!std::mem::replace(&mut seen[*column], true), "a column has two views");
        }
    }
}

pub(crate) fn camera(bytes: &[u8]) {
    if let Some(camera) = said(decode_camera(bytes))
        && let Some(family) = said(camera.family())
    {
        assert!(efmca::family::family(&family.spec()).is_ok(), "{}", family.spec());
    }
}

/// A specification of a family, and the same text as a number of causes and as a step of rounding.
pub(crate) fn family(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    said(text.parse::<Causes>());
    if let Ok(step) = text.parse::<Resolution>() {
        assert_eq!(step.to_string().parse::<Resolution>().ok().map(|step| step.to_string()), Some(step.to_string()));
    }
    let Some(family) = said(efmca::family::family(text)) else { return };
    let spec = family.spec();
    let again = efmca::family::family(&spec).unwrap_or_else(|error| panic!("`{spec}` of {text:?}: {error}"));
    assert_eq!((again.spec(), again.l()), (spec, family.l()));
    assert_eq!(family.parameters().len(), family.conventional(&vec![-0.5; family.l()]).len());
}

/// Lines of a text as what was typed after the name of the program. Nothing is done with it.
pub(crate) fn arguments(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let typed = std::iter::once("efmca").chain(text.split('\n'));
    said(efmca_cli::understand(typed));
}
