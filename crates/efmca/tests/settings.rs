//! Settings of all tasks are values: they are compared, written down, and read again.

use std::fmt::Debug;
use std::sync::Arc;

use efmca::em::{Sign, Structure};
use efmca::posterior::truncated::{Evolution, Marginals, Selection, Variation};
use efmca::tasks::camera::{Calibration, Camera};
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::denoise::{Denoiser, PatchDenoiser, Quality};
use efmca::tasks::impute::{CellKind, Fill, Imputer};
use efmca::tasks::learn::FeatureLearner;
use efmca::tasks::noise::{ImageNoise, NoiseType, TableNoise};
use efmca::tasks::overview::{Grouping, Overview};
use efmca::tasks::residual::ResidualCheck;
use efmca::tasks::select::CauseSearch;
use efmca::tasks::table::TableLearner;
use efmca::{Background, Causes, Em, Held, Hold, Init, Schedule, Superposition, Truncation, bars, family::family};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(settings: &T, others: &[T]) {
    let text = serde_json::to_string(settings).unwrap();
    let again: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&again, settings, "{text}");
    for other in others {
        assert_ne!(other, settings, "{text}");
    }
}

#[test]
fn settings_are_written_and_read_again() {
    let em = Em::new(3).family("gamma:k=4").seed(7);
    comes_back(&em, &[em.clone().seed(8), em.clone().family("gamma:k=5"), em.clone().iterations(3)]);
    let model = bars::model(family("poisson").unwrap(), 2, &[8.0], &[1.0], 0.3).unwrap();
    let evolution = Evolution {
        parents: 5,
        children: 4,
        selection: Selection::Uniform,
        variation: Variation::SparseFlip { rate: 0.1 },
    };
    let truncation = Truncation::evolution(9, evolution, 2);
    let other = truncation.clone().proposals(vec![Arc::new(Marginals { draws: 2 })]);
    let em = Em::new(4)
        .families(["poisson", "bernoulli", "exponential", "gaussian:var=1"])
        .init(Init::Model(Box::new(model)))
        .background(Background::fixed(&[0.1, 1.0 / 3.0]))
        .superposition(Superposition::MaxMagnitude)
        .temperature(Schedule::Linear { from: 5.0, to: 1.0, until: 9 })
        .hold(Hold { what: Held::W(1), from: 2, until: usize::MAX });
    comes_back(&em.clone().truncated(truncation.clone()), &[em.clone(), em.truncated(other)]);

    let denoiser = Denoiser::new("poisson").quality(Quality::Best).causes(Causes::Auto).patch(8, 9).learn_from([2, 0]);
    comes_back(&denoiser, &[denoiser.clone().seed(1), Denoiser::new("poisson")]);
    let patch_denoiser = PatchDenoiser::new("gaussian");
    comes_back(&patch_denoiser, &[PatchDenoiser::new("poisson")]);
    let learner = TableLearner::new().column(2, "beta").causes(4);
    comes_back(&learner, &[TableLearner::new(), learner.clone().column(1, "beta")]);
    let imputer = Imputer::new().learner(learner.clone()).kind(2, CellKind::Code).fill(Fill::Mode).draws(3);
    comes_back(&imputer, &[Imputer::new(), imputer.clone().regression(false), imputer.clone().level(0.5)]);
    let overview = Overview::new().groups(Grouping::new(vec!["a".into()], vec![Some(0), None]));
    comes_back(&overview, &[Overview::new(), overview.clone().rows(3)]);
    let known = Structure::new().sign(0, 2, Sign::Plus).sign(1, 0, Sign::Zero);
    comes_back(&learner.clone().structure(known.clone()), std::slice::from_ref(&learner));
    comes_back(&Em::new(3).family("poisson").structure(known), &[Em::new(3).family("poisson")]);
    comes_back(&NoiseType::new().families(["poisson"]).causes(3), &[NoiseType::new()]);
    comes_back(&ImageNoise::new().seed(3), &[ImageNoise::new()]);
    comes_back(&TableNoise::new().fix(1, "gamma:k=?"), &[TableNoise::new()]);
    comes_back(&CauseSearch::new("poisson").causes([2, 4]), &[CauseSearch::new("poisson")]);
    comes_back(&FeatureLearner::new("gaussian", 9).seed(2), &[FeatureLearner::new("gaussian", 9)]);
    comes_back(&ResidualCheck::new("poisson").seed(3), &[ResidualCheck::new("poisson")]);
    comes_back(&Corruption::new("poisson").peak(2.0), &[Corruption::new("poisson")]);
    comes_back(&Calibration::new().offset(9.5), &[Calibration::new(), Calibration::new().read_noise(9.5)]);
    let camera = Camera { gain: 2.1, offset: 100.0, read_noise: 1.6 };
    comes_back(&camera, &[Camera { offset: 99.0, ..camera }]);
}

/// A run can be resumed by a later version only if names in checkpoints stay: this is the list.
#[test]
fn names_of_settings_in_checkpoints_stay() {
    let names: Vec<String> = Em::new(3).family("poisson").settings().keys().cloned().collect();
    let expected = [
        "M-step iterations",
        "background",
        "batches",
        "causes",
        "family",
        "first pi",
        "guard",
        "holds",
        "iterations",
        "posterior",
        "pseudo-count",
        "revive",
        "rho",
        "seed",
        "short iterations",
        "smallest pi",
        "spare causes",
        "start",
        "starts",
        "superposition",
        "temperature",
        "tolerance",
        "warm start",
    ];
    assert_eq!(names, expected);
}
