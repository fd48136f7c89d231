//! Results as JSON, with names that programs rely on.

use efmca::tasks::noise::{Ranking, TableFamilies};
use serde_json::{Value, json};

pub(super) fn ranking_json(ranking: &Ranking) -> Value {
    let ranked: Vec<Value> = ranking
        .ranked
        .iter()
        .map(|one| {
            json!({
                "family": one.family.spec(),
                "held_out": one.held_out,
                "behind": one.behind.mean,
                "standard_error": one.behind.error,
                "tied": one.tied,
                "spread_over_starts": one.spread,
                "trainings": one.trainings,
                "bound_per_row": one.bound,
                "bic_per_row": one.bic,
                "parameters": one.parameters,
            })
        })
        .collect();
    let refused: Vec<Value> =
        ranking.refused.iter().map(|one| json!({"family": one.family, "reason": one.reason})).collect();
    json!({
        "best": ranking.best().family.spec(),
        "sentence": ranking.sentence(),
        "values": ranking.kind.words(),
        "components": ranking.causes,
        "hidden_entries": ranking.entries,
        "ranking": ranked,
        "not_possible": refused,
    })
}

pub(super) fn columns_json(found: &TableFamilies, names: &[String]) -> Value {
    let columns: Vec<Value> = found
        .columns
        .iter()
        .zip(names)
        .map(|(column, name)| {
            let tried: Vec<Value> = column
                .trials
                .iter()
                .map(|one| {
                    json!({
                        "family": one.family.spec(),
                        "held_out": one.held_out,
                        "behind": one.behind.mean,
                        "standard_error": one.behind.error,
                        "tied": one.tied,
                    })
                })
                .collect();
            json!({
                "name": name,
                "family": column.family.spec(),
                "fixed": column.fixed,
                "values": column.kind.words(),
                "ranking": tried,
            })
        })
        .collect();
    json!({
        "columns": columns,
        "components": found.fit.model.h(),
        "held_out": found.held_out,
        "log_likelihood_per_row": found.fit.bound / found.fit.weight,
        "bic": found.fit.bic(),
        "sweeps": found.sweeps,
    })
}
