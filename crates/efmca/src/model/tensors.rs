//! A model as named tensors and one line of text, and back.

use ndarray::{Array1, Array2};
use serde_json::{Value, json};

use super::{Background, Columns, Model, Resolution, Superposition, Views};
use crate::error::{Error, Result};
use crate::family::{SharedFamily, family};

/// More states of a row than any training has; each takes memory when the model is applied.
const MOST_STATES: usize = 1 << 24;

/// A named array of numbers, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// `pi`, `w1` … `wL`, or `background1` … `backgroundL`.
    pub name: String,
    /// Its extent in each direction.
    pub shape: Vec<usize>,
    /// Its values, row by row.
    pub values: Vec<f64>,
}

impl Model {
    /// The parameters: `pi` ($H$), `w1` … `wL` ($H \times D$ each, NaN where a column has fewer parameters), and
    /// `background1` … `backgroundL` ($D$ each).
    pub fn to_tensors(&self) -> Vec<Tensor> {
        let (h, d) = (self.h(), self.d());
        let mut tensors = vec![Tensor { name: "pi".into(), shape: vec![h], values: self.pi.to_vec() }];
        for l in 0..self.columns.l_max() {
            let values = self.w(l).iter().copied().collect();
            tensors.push(Tensor { name: format!("w{}", l + 1), shape: vec![h, d], values });
        }
        for l in 0..self.columns.l_max() {
            let value = |span: std::ops::Range<usize>| span.clone().nth(l).map_or(f64::NAN, |k| self.background_w[k]);
            let values = (0..d).map(|d| value(self.columns.span(d))).collect();
            tensors.push(Tensor { name: format!("background{}", l + 1), shape: vec![d], values });
        }
        tensors
    }

    /// Everything that is not a number, as one line of JSON with sorted keys.
    pub fn to_metadata(&self) -> String {
        let specs: Vec<String> = self.columns.iter().map(|(_, family, _)| family.spec()).collect();
        let families = if specs.iter().all(|spec| *spec == specs[0]) { json!(specs[0]) } else { json!(specs) };
        let mut metadata = json!({
            "format": "efmca-model",
            "version": 1,
            "family": families,
            "background": if self.background_learned { "learned" } else { "fixed" },
            "superposition": self.superposition.name(),
        });
        // how it was trained, if not exactly: it is applied in the same way
        if let Some(states) = self.states {
            metadata["states"] = states.into();
        }
        // how finely values were written down, where they are rounded
        if !self.columns.resolutions().is_empty() {
            let steps: Vec<String> = self.columns.resolutions().iter().map(Resolution::to_string).collect();
            metadata["steps"] = json!(steps);
        }
        // groups of columns that count alike: posteriors depend on them
        if let Some(views) = self.columns.views() {
            metadata["views"] = json!(views);
        }
        metadata.to_string()
    }

    /// Puts a model together again. Families are found by name; see [`Model::from_tensors_with`] for your own.
    ///
    /// # Errors
    ///
    /// [`Error::NotAModel`] that says what is missing or contradictory.
    pub fn from_tensors(tensors: &[Tensor], metadata: &str) -> Result<Model> {
        Model::from_tensors_with(tensors, metadata, family)
    }

    /// The same with `find` in place of the registry.
    ///
    /// # Errors
    ///
    /// As [`Model::from_tensors`], and the errors of `find`.
    pub fn from_tensors_with(
        tensors: &[Tensor],
        metadata: &str,
        find: impl Fn(&str) -> Result<SharedFamily>,
    ) -> Result<Model> {
        let fail = |problem: String| Error::NotAModel { problem };
        let tensor = |name: String| {
            let found = tensors.iter().find(|tensor| tensor.name == name);
            found.ok_or_else(|| fail(format!("there is no tensor `{name}`")))
        };
        let metadata: Value =
            serde_json::from_str(metadata).map_err(|error| fail(format!("its metadata cannot be read: {error}")))?;
        if metadata["format"] != "efmca-model" {
            return Err(fail("its metadata does not say that it is an efmca model".into()));
        }
        if metadata["version"] != 1 {
            return Err(fail(format!(
                "its version is {}, and only 1 is known; use a newer efmca",
                metadata["version"]
            )));
        }
        let [h, d] = tensor("w1".into())?.shape[..] else {
            return Err(fail("tensor `w1` should have two directions".into()));
        };
        if h == 0 || d == 0 {
            return Err(fail(format!("tensor `w1` has shape [{h}, {d}], and a model has causes and columns")));
        }
        let values = |name: String, shape: &[usize]| {
            let tensor = tensor(name)?;
            let size = shape.iter().try_fold(1usize, |size, side| size.checked_mul(*side));
            if tensor.shape == shape && Some(tensor.values.len()) == size {
                return Ok(&tensor.values);
            }
            Err(fail(format!("tensor `{}` has shape {:?} and should have {shape:?}", tensor.name, tensor.shape)))
        };
        let families = match &metadata["family"] {
            Value::String(spec) => {
                values("w1".into(), &[h, d])?;
                vec![find(spec)?; d]
            }
            Value::Array(specs) => specs
                .iter()
                .map(|spec| spec.as_str().ok_or_else(|| fail("a family is not a string".into())).and_then(&find))
                .collect::<Result<Vec<_>>>()?,
            _ => return Err(fail("its metadata names no family".into())),
        };
        let columns = Columns::new(families)?;
        if columns.d() != d {
            return Err(fail(format!("it has {} families for {d} columns", columns.d())));
        }
        let steps = match &metadata["steps"] {
            Value::Null => Vec::new(),
            Value::Array(steps) => steps
                .iter()
                .map(|step| step.as_str().and_then(|step| step.parse::<Resolution>().ok()))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| fail("the steps of its columns are no steps".into()))?,
            _ => return Err(fail("the steps of its columns are no list".into())),
        };
        let views = match &metadata["views"] {
            Value::Null => None,
            views => Some(
                serde_json::from_value::<Views>(views.clone())
                    .map_err(|error| fail(format!("its views cannot be read: {error}")))?,
            ),
        };
        let columns =
            columns.with_resolutions(&steps)?.with_views(views.as_ref()).map_err(|error| fail(error.to_string()))?;
        let pi = Array1::from(values("pi".into(), &[h])?.clone());
        // every tensor is looked at before anything of the model's size is made
        for l in 1..=columns.l_max() {
            values(format!("w{l}"), &[h, d])?;
            values(format!("background{l}"), &[d])?;
        }
        let mut w = Array2::zeros((h, columns.k()));
        let mut background = vec![0.0; columns.k()];
        for l in 0..columns.l_max() {
            let dictionary = values(format!("w{}", l + 1), &[h, d])?;
            let profile = values(format!("background{}", l + 1), &[d])?;
            for (column, _, span) in columns.iter() {
                let Some(k) = span.clone().nth(l) else { continue };
                for cause in 0..h {
                    w[[cause, k]] = dictionary[cause * d + column];
                }
                background[k] = profile[column];
            }
        }
        let mut model = Model::from_parts(columns, pi, w, Background::Fixed(background))?;
        model.background_learned = match metadata["background"].as_str() {
            Some("learned") => true,
            Some("fixed") => false,
            _ => return Err(fail("its metadata does not say what its background is".into())),
        };
        model.states = match &metadata["states"] {
            Value::Null => None,
            states => Some(
                states
                    .as_u64()
                    .and_then(|states| usize::try_from(states).ok())
                    .filter(|states| (1..=MOST_STATES).contains(states))
                    .ok_or_else(|| fail(format!("its number of states is {states}")))?,
            ),
        };
        let rule = metadata["superposition"].as_str().and_then(Superposition::from_name);
        model.superposition = rule.ok_or_else(|| fail("its metadata names no superposition rule".into()))?;
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;

    #[test]
    fn more_states_than_memory_holds_are_no_model() {
        let model = bars::model("poisson", 2, &[10.0], &[1.0], 0.2).unwrap();
        let with = |states: &str| {
            let metadata = model.to_metadata().replacen('{', &format!("{{\"states\":{states},"), 1);
            Model::from_tensors(&model.to_tensors(), &metadata)
        };
        assert_eq!(with("64").unwrap().states, Some(64));
        for states in ["0", "-1", "999999999999999999", "1e3"] {
            assert!(with(states).unwrap_err().to_string().contains("its number of states is"), "{states}");
        }
    }
}
