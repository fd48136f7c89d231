//! The settings that data points depend on beside the files: they are kept in checkpoints, so that a run is only
//! resumed with the same ones.

use efmca::tasks::learn::{Drawing, Preparation, Transform};
use serde::{Deserialize, Serialize};

/// How data points were made. Rows have no settings of images; the names of fields are those in checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataSettings {
    /// Whether they are the rows of a file.
    pub(crate) rows: bool,
    /// Rows, columns and channels of a patch, if they are patches.
    pub(crate) patch: Option<[usize; 3]>,
    /// The number of patches that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patches: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transform: Option<Transform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) normalise: Option<bool>,
    /// The share of the variance that was whitened.
    pub(crate) whiten: Option<f64>,
    /// The seed that patches were drawn with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
}

impl DataSettings {
    pub(crate) fn of_rows(patch: Option<[usize; 3]>, preparation: Preparation) -> Self {
        let whiten = preparation.whiten;
        Self { rows: true, patch, patches: None, transform: None, normalise: None, whiten, seed: None }
    }

    pub(crate) fn of_patches(drawing: Drawing, channels: usize, preparation: Preparation) -> Self {
        Self {
            rows: false,
            patch: Some([drawing.patch.0, drawing.patch.1, channels]),
            patches: Some(drawing.count),
            transform: Some(preparation.transform),
            normalise: Some(preparation.normalise),
            whiten: preparation.whiten,
            seed: Some(drawing.seed),
        }
    }

    /// Whether values are logarithms.
    pub(crate) fn has_logarithms(&self) -> bool {
        self.transform == Some(Transform::Log)
    }

    /// The first difference to the settings that a run was started with, in terms of the options that were typed.
    pub(crate) fn difference(&self, then: &Self) -> Option<String> {
        let flag = |option: &str, then: bool, now: bool| {
            let given = |given: bool| if given { "with" } else { "without" };
            (then != now).then(|| format!("started {} {option}, and now it is {} it", given(then), given(now)))
        };
        let value = |option: &str, then: Option<String>, now: Option<String>| {
            let shown = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
            (then != now).then(|| format!("started with {option} {}, and now it is {}", shown(then), shown(now)))
        };
        let size = |settings: &Self| settings.patch.map(|[rows, columns, _]| format!("{rows}x{columns}"));
        let channels = |settings: &Self| settings.patch.map_or(1, |[_, _, channels]| channels);
        let (channels_then, channels_now) = (channels(then), channels(self));
        // whether they are rows comes first, since all the others depend on it
        flag("--rows", then.rows, self.rows)
            .or_else(|| value("--patch", size(then), size(self)))
            .or_else(|| {
                (channels_then != channels_now)
                    .then(|| format!("started with data of {channels_then} channels, and now there are {channels_now}"))
            })
            .or_else(|| value("--patches", text(then.patches), text(self.patches)))
            .or_else(|| value("--transform", name(then.transform), name(self.transform)))
            .or_else(|| flag("--normalise", then.normalise == Some(true), self.normalise == Some(true)))
            .or_else(|| value("--whiten", text(then.whiten), text(self.whiten)))
            .or_else(|| value("--seed", text(then.seed), text(self.seed)))
    }
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn name(transform: Option<Transform>) -> Option<String> {
    transform.filter(|transform| *transform == Transform::Log).map(|_| "log".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WHITENED: Preparation = Preparation { transform: Transform::Log, normalise: true, whiten: Some(0.95) };

    fn patches() -> DataSettings {
        DataSettings::of_patches(Drawing { patch: (6, 5), count: 200, seed: 7 }, 3, WHITENED)
    }

    fn rows() -> DataSettings {
        DataSettings::of_rows(None, Preparation { whiten: None, ..WHITENED })
    }

    #[test]
    fn checkpoints_have_the_names_and_values_that_they_always_had() {
        let expected = json!({
            "rows": false, "patch": [6, 5, 3], "patches": 200, "transform": "log", "normalise": true, "whiten": 0.95,
            "seed": 7,
        });
        assert_eq!(serde_json::to_value(patches()).unwrap(), expected);
        assert_eq!(serde_json::from_value::<DataSettings>(expected).unwrap(), patches());
        let expected = json!({ "rows": true, "patch": null, "whiten": null });
        assert_eq!(serde_json::to_value(rows()).unwrap(), expected);
        assert_eq!(serde_json::from_value::<DataSettings>(expected).unwrap(), rows());
        let plain = DataSettings { transform: Some(Transform::None), ..patches() };
        assert_eq!(serde_json::to_value(plain).unwrap()["transform"], "none");
    }

    #[test]
    fn differences_are_named_by_their_options() {
        assert_eq!(patches().difference(&patches()), None);
        assert_eq!(rows().difference(&rows()), None);
        let changed = [
            (DataSettings { patch: Some([6, 6, 3]), ..patches() }, "--patch 6x5, and now it is 6x6"),
            (DataSettings { patch: Some([6, 5, 1]), ..patches() }, "3 channels, and now there are 1"),
            (DataSettings { patches: Some(9), ..patches() }, "--patches 200, and now it is 9"),
            (DataSettings { transform: Some(Transform::None), ..patches() }, "--transform log, and now it is none"),
            (DataSettings { normalise: Some(false), ..patches() }, "with --normalise, and now it is without"),
            (DataSettings { whiten: None, ..patches() }, "--whiten 0.95, and now it is none"),
            (DataSettings { seed: Some(1), ..patches() }, "--seed 7, and now it is 1"),
            (rows(), "without --rows, and now it is with it"),
        ];
        for (now, expected) in changed {
            let found = now.difference(&patches()).unwrap();
            assert!(found.contains(expected), "{found}");
        }
    }
}
