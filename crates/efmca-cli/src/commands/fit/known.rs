//! What is known of the causes: signs and zeros, or causes of another model; and of the columns: which of them belong together.

use std::path::Path;

use efmca::em::{Sign, Structure};
use efmca::model::Views;
use efmca::tasks::table::TableLearner;
use efmca_io::table_file::{Table, listed};
use efmca_io::{read_model_file, read_signs, read_views};

use super::FitArgs;
use crate::errors::refused;
use crate::failure::Failure;

/// The settings with what is known, and the names of the causes of which something is.
pub(super) fn with_known(
    args: &FitArgs,
    learner: TableLearner,
    table: &Table,
) -> Result<(TableLearner, Vec<String>), Failure> {
    let learner = match &args.views {
        Some(path) => {
            let views = read_views(path, &table.names).map_err(Failure::input)?;
            learner.views(Views::new(views).map_err(|error| refused(&error))?)
        }
        None => learner,
    };
    if let Some(path) = &args.signs {
        let signs = read_signs(path, &table.names).map_err(Failure::input)?;
        let sign = |sign: char| match sign {
            '+' => Sign::Plus,
            '-' => Sign::Minus,
            _ => Sign::Zero,
        };
        let known = signs.cells.iter().fold(Structure::new(), |known, (h, d, cell)| known.sign(*h, *d, sign(*cell)));
        return Ok((learner.structure(known), signs.causes));
    }
    match &args.hold {
        Some(path) => held(path, learner, table),
        None => Ok((learner, Vec::new())),
    }
}

fn held(path: &Path, learner: TableLearner, table: &Table) -> Result<(TableLearner, Vec<String>), Failure> {
    let file = read_model_file(path).map_err(Failure::input)?;
    let names = file.column_names();
    if names != table.names {
        return Err(Failure::input(format!(
            "--hold {}: its columns are {}, and those of the table are {}; give a model of the same columns in the same order",
            path.display(),
            listed(&names),
            listed(&table.names)
        )));
    }
    let same = (0..names.len()).all(|d| file.labels_of(d) == table.kinds[d].labels());
    if !same {
        let problem = "its labels are not those of the table; give a model of the same words";
        return Err(Failure::input(format!("--hold {}: {problem}", path.display())));
    }
    let causes = (1..=file.model.h()).map(|cause| format!("cause {cause} of {}", path.display())).collect();
    Ok((learner.structure(Structure::new().hold(file.model)), causes))
}
