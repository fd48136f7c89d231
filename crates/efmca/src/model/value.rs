//! Models as values: compared and serialised, as part of settings.
//!
//! Model files are tensors with a line of metadata ([`Model::to_tensors`]); this is for models inside other values, such as
//! [`Init::Model`](crate::Init::Model).

use ndarray::{Array1, Array2};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Background, Columns, Model, Resolution, Superposition, Views};
use crate::family::family;

/// The parts of a model in a form that any format can hold.
#[derive(Serialize, Deserialize)]
struct Parts {
    families: Vec<String>,
    pi: Vec<f64>,
    w: Vec<f64>,
    background: Vec<f64>,
    background_learned: bool,
    superposition: Superposition,
    states: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resolutions: Vec<Resolution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    views: Option<Views>,
}

impl PartialEq for Model {
    fn eq(&self, other: &Model) -> bool {
        self.columns.same_families(&other.columns)
            && (&self.pi, &self.w, &self.background_w) == (&other.pi, &other.w, &other.background_w)
            && (self.background_learned, self.superposition) == (other.background_learned, other.superposition)
            && self.states == other.states
            && self.columns.views() == other.columns.views()
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = Parts {
            families: self.columns.specs(),
            pi: self.pi.to_vec(),
            w: self.w.iter().copied().collect(),
            background: self.background_w.to_vec(),
            background_learned: self.background_learned,
            superposition: self.superposition,
            states: self.states,
            resolutions: self.columns.resolutions().to_vec(),
            views: self.columns.views().cloned(),
        };
        parts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Model, D::Error> {
        let parts = Parts::deserialize(deserializer)?;
        let families = parts.families.iter().map(|spec| family(spec)).collect::<crate::Result<Vec<_>>>();
        let columns = families.and_then(Columns::new);
        let columns =
            columns.and_then(|columns| columns.with_resolutions(&parts.resolutions)?.with_views(parts.views.as_ref()));
        let columns = columns.map_err(D::Error::custom)?;
        let w = Array2::from_shape_vec((parts.pi.len(), columns.k()), parts.w).map_err(D::Error::custom)?;
        let background = Background::Fixed(parts.background);
        let mut model = Model::from_parts(columns, Array1::from(parts.pi), w, background).map_err(D::Error::custom)?;
        model.background_learned = parts.background_learned;
        model.states = parts.states;
        model.with_superposition(parts.superposition).map_err(D::Error::custom)
    }
}
