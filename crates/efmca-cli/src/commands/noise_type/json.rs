//! Results as JSON, with names that programs rely on.

use efmca::tasks::noise::{Ranking, TableFamilies, Verdict};
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
        "values": ranking.values(),
        "step": ranking.resolution.to_string(),
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
                "values": column.values(),
                "step": column.resolution.to_string(),
                "remark": column.remark(),
                "verdict": column.verdict.as_ref().map(verdict_json),
                "alone": column.alone.as_ref().map(verdict_json),
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
        "verdict": found.verdict.as_ref().map(|verdict| json!({
            "fits": verdict.fits(),
            "p_value": verdict.p_value,
            "ill_fitting": verdict.ill_fitting.iter().map(|d| &names[*d]).collect::<Vec<_>>(),
        })),
    })
}

/// Whether a family fits a column.
fn verdict_json(verdict: &Verdict) -> Value {
    json!({
        "family": verdict.family,
        "fits": verdict.fits(),
        "p_value": verdict.p_value,
        "sentence": verdict.sentence(),
        "held_out_entries": verdict.entries,
        "histogram": verdict.histogram,
        "distance": verdict.distance,
    })
}
