//! The compiled part of the Python package `efmca`: what the library and the program do, with arrays of numpy.
//!
//! It has no policy of its own. `python/efmca` turns tables and images of any kind into arrays of numbers; here they are
//! given to the library, on threads of their own and without the interpreter's lock.
//!
//! | file | subject |
//! | --- | --- |
//! | `work` | threads, Ctrl-C, callbacks |
//! | `errors` | errors of the library as exceptions of Python |
//! | `arrays` | arrays of numpy as data, and results as arrays |
//! | `families` | families by name, and those that are Python functions |
//! | `model`, `model_file` | a model, applied to rows; tensors and files |
//! | `fit` | learning a table |
//! | `impute` | filling in the missing cells of tables |
//! | `images` | denoising, test images, and how near an image is to another |
//! | `noise` | noise types and the number of causes |
//! | `features`, `camera` | features of images; cameras |
//! | `report` | the report about a table |
//! | `program` | the program `efmca` |

mod arrays;
mod camera;
mod errors;
mod families;
mod features;
mod fit;
mod images;
mod impute;
mod model;
mod model_file;
mod noise;
mod own_family;
mod program;
mod report;
mod work;

use pyo3::prelude::*;

/// The compiled part of `efmca`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::camera::calibrate;
    #[pymodule_export]
    use crate::errors::Stopped;
    #[pymodule_export]
    use crate::families::{families, family_info};
    #[pymodule_export]
    use crate::features::learn_features;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::images::{corrupt, denoise, psnr, residual, ssim};
    #[pymodule_export]
    use crate::impute::{TableImputer, model_imputer, train_imputer};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::model_file::{load_model, model_from_bytes, model_to_bytes, save_model};
    #[pymodule_export]
    use crate::noise::{families_of_columns, image_noise, rank_families, select};
    #[pymodule_export]
    use crate::own_family::OwnFamily;
    #[pymodule_export]
    use crate::program::main;
    #[pymodule_export]
    use crate::report::report;
    #[pymodule_export]
    use crate::work::Progress;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
