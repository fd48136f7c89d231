//! Naming noise, finding the families of columns, and choosing the number of causes.

use std::ops::ControlFlow;

use efmca::em::{Init, StopReason};
use efmca::family::{SharedFamily, family, from_conventional};
use efmca::tasks::noise::{Kind, NoiseType, Source, TableFamilies, TableNoise};
use efmca::tasks::select::CauseSearch;
use efmca::{Background, Causes, Em, Model};
use ndarray::{Array2, Array4, array};

/// A model of two causes over eight columns; `strong` and `weak` are conventional parameters.
fn model(spec: &str, strong: &[f64], weak: &[f64]) -> Model {
    let family = family(spec).unwrap();
    let entry = |values: &[f64]| {
        let eta = from_conventional(&*family, values).unwrap();
        let mut w = vec![0.0; family.l()];
        family.grad_a(&eta, &mut w);
        w
    };
    let (strong, weak) = (entry(strong), entry(weak));
    let dictionary =
        |l: usize| Array2::from_shape_fn((2, 8), |(h, d)| if (d < 4) == (h == 0) { strong[l] } else { weak[l] });
    let w = (0..family.l()).map(dictionary).collect();
    Model::new(family.clone(), array![0.4, 0.3], w, Background::fixed(&weak)).unwrap()
}

fn best(y: &Array2<f64>, families: &[&str]) -> String {
    let noise = NoiseType::new().causes(2).families(families.iter().copied()).restarts(1).iterations(40);
    noise.run(Source::Table(y.view())).unwrap().best().family.spec()
}

#[test]
fn the_noise_that_made_the_data_is_named() {
    let positive = ["exponential", "gamma", "log-normal", "weibull", "rayleigh", "gaussian", "inverse-gaussian"];
    let counts = ["poisson", "geometric", "negative-binomial", "gaussian", "hurdle-poisson"];
    for (spec, strong, weak, others) in [
        ("exponential", vec![0.2], vec![2.0], &positive[..]),
        ("gamma", vec![9.0, 2.0], vec![2.0, 3.0], &positive[..]),
        ("log-normal", vec![2.0, 0.4], vec![0.0, 0.6], &positive[..]),
        ("rayleigh", vec![4.0], vec![1.0], &positive[..]),
        ("poisson", vec![9.0], vec![1.0], &counts[..]),
        ("geometric", vec![0.1], vec![0.6], &counts[..]),
        ("gaussian", vec![4.0, 1.0], vec![-1.0, 2.0], &["gaussian", "laplace"]),
        ("beta", vec![6.0, 2.0], vec![1.5, 4.0], &["beta", "gaussian", "gamma", "continuous-bernoulli"]),
    ] {
        let y = model(spec, &strong, &weak).sample(600, 2).y;
        assert_eq!(best(&y, others), spec);
    }
}

#[test]
fn a_fixed_parameter_is_found() {
    let y = model("weibull:k=2.5", &[8.0], &[2.0]).sample(800, 3).y;
    let found = best(&y, &["weibull", "gamma", "log-normal", "exponential"]);
    let k: f64 = found.strip_prefix("weibull:k=").and_then(|k| k.parse().ok()).unwrap_or(f64::NAN);
    assert!((k - 2.5).abs() < 0.2, "{found}");
}

#[test]
fn rankings_say_what_they_compare() {
    let y = model("poisson", &[9.0], &[1.0]).sample(500, 4).y;
    let noise = NoiseType::new().causes(2).restarts(1).iterations(30);
    let ranking = noise.run(Source::Table(y.view())).unwrap();
    assert_eq!(ranking.kind, Kind::Integer);
    assert_eq!(ranking.best().family.spec(), "poisson", "{}", ranking.sentence());
    assert!(ranking.sentence().starts_with("The noise looks like poisson"));
    // densities were integrated, in training too: no probability is above one, and BIC is comparable
    let gaussian = ranking.ranked.iter().find(|one| one.family.spec() == "gaussian").unwrap();
    assert!(gaussian.held_out < 0.0 && gaussian.bic.is_some() && gaussian.behind.mean > 0.0);
    assert!(
        ranking.refused.iter().any(|refusal| refusal.family == "beta" && refusal.reason.contains("there is the value"))
    );
    // what is right after the first is behind it, and nothing is ranked before what predicts better, ties aside
    for pair in ranking.ranked.windows(2) {
        assert!(pair[1].tied || pair[0].held_out >= pair[1].held_out);
    }
    let again = noise.run(Source::Table(y.view())).unwrap();
    assert_eq!(ranking.ranked.len(), again.ranked.len());
    assert!(ranking.ranked.iter().zip(&again.ranked).all(|(a, b)| a.held_out.to_bits() == b.held_out.to_bits()));
}

#[test]
fn a_rescaling_costs_a_density_its_logarithm() {
    let y = model("gamma", &[9.0, 2.0], &[2.0, 3.0]).sample(400, 5).y;
    let scaled = y.mapv(|value| 8.0 * value);
    let score = |y: &Array2<f64>| {
        let noise = NoiseType::new().causes(2).families(["gamma"]).restarts(1).iterations(30);
        noise.run(Source::Table(y.view())).unwrap().best().held_out
    };
    assert!((score(&y) - score(&scaled) - 8f64.ln()).abs() < 0.02, "{} {}", score(&y), score(&scaled));
}

#[test]
fn images_are_looked_at_in_patches() {
    let clean = |row: usize, column: usize| if (row / 8 + column / 8).is_multiple_of(2) { 12.0 } else { 2.0 };
    let image = Array4::from_shape_fn((1, 48, 48, 1), |(_, row, column, _)| clean(row, column));
    let noisy = efmca::tasks::corrupt::Corruption::new("exponential").run(image.view()).unwrap().noisy;
    let source = Source::Images { pixels: noisy.view(), patch: (6, 6), depth: 1, stride: 1 };
    let noise = NoiseType::new()
        .causes(20)
        .families(["exponential", "gaussian", "rayleigh", "gamma"])
        .restarts(1)
        .iterations(30);
    let ranking = noise.run(source).unwrap();
    let specs: Vec<String> = ranking.ranked.iter().map(|one| one.family.spec()).collect();
    assert!(specs[0] == "exponential" || (specs[0] == "gamma" && specs[1] == "exponential"), "{specs:?}");
}

#[test]
fn of_families_of_an_image_that_tie_the_simplest_is_named() {
    let clean = |row: usize, column: usize| if (row / 8 + column / 8).is_multiple_of(2) { 3.0 } else { 0.5 };
    let image = Array4::from_shape_fn((1, 48, 48, 1), |(_, row, column, _)| clean(row, column));
    // binomial counts of many trials are Poisson counts, and the number of trials is one parameter more
    let mut ties = 0;
    for seed in 0..4 {
        let noisy = efmca::tasks::corrupt::Corruption::new("poisson").seed(seed).run(image.view()).unwrap().noisy;
        let source = Source::Images { pixels: noisy.view(), patch: (6, 6), depth: 1, stride: 1 };
        let noise = NoiseType::new().causes(12).families(["binomial:n=?", "poisson"]).restarts(1).iterations(20);
        let ranking = noise.run(source).unwrap();
        let (best, sentence) = (ranking.best(), ranking.sentence());
        assert!(best.tied && !ranking.by_bic);
        if ranking.ranked[1].tied {
            ties += 1;
            assert_eq!(best.family.spec(), "poisson", "{seed}: {sentence}");
            assert!(sentence.contains("poisson has the fewest parameters"), "{sentence}");
        }
    }
    assert!(ties > 0);
}

/// Columns with four families, driven by the same two causes.
fn mixed_table(rows: usize) -> (Array2<f64>, Vec<&'static str>) {
    let specs = ["poisson", "bernoulli", "exponential", "beta", "poisson", "gaussian"];
    let families: Vec<SharedFamily> = specs.iter().map(|spec| family(spec).unwrap()).collect();
    let values: [[&[f64]; 3]; 6] = [
        [&[12.0], &[2.0], &[1.0]],
        [&[0.9], &[0.1], &[0.05]],
        [&[1.0], &[0.05], &[2.0]],
        [&[3.0, 9.0], &[9.0, 2.0], &[2.0, 9.0]],
        [&[2.0], &[15.0], &[1.0]],
        [&[0.0, 1.0], &[6.0, 1.0], &[-2.0, 1.0]],
    ];
    let mut rows_of_w = vec![Vec::new(); 3];
    for (family, values) in families.iter().zip(values) {
        for (w, value) in rows_of_w.iter_mut().zip(values) {
            let eta = from_conventional(&**family, value).unwrap();
            let mut entry = vec![0.0; family.l()];
            family.grad_a(&eta, &mut entry);
            w.extend(entry);
        }
    }
    let columns = efmca::model::Columns::new(families).unwrap();
    let w = Array2::from_shape_fn((2, columns.k()), |(h, k)| rows_of_w[h][k]);
    let model = Model::from_parts(columns, array![0.4, 0.4], w, Background::Fixed(rows_of_w[2].clone())).unwrap();
    let mut y = model.sample(rows, 6).y;
    y[[3, 2]] = f64::NAN;
    (y, specs.to_vec())
}

#[test]
fn every_column_gets_its_family() {
    let (y, specs) = mixed_table(1500);
    let noise = TableNoise::new().causes(3).iterations(40);
    let mut steps = 0;
    let found = noise
        .run_observed(y.view(), &mut |_| {
            steps += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    let names: Vec<String> = found.columns.iter().map(|column| column.family.spec()).collect();
    let base = |spec: &str| spec.split(':').next().unwrap_or_default().to_owned();
    assert_eq!(names.iter().map(|name| base(name)).collect::<Vec<_>>(), specs, "{names:?}");
    assert!(steps >= 2);
    assert_eq!(found.fit.model.d(), 6);
    // a family that is given stays, and what it cannot have is an error that names the place
    let fixed = noise.clone().fix(0, "negative-binomial").run(y.view());
    assert!(fixed.unwrap().columns[0].family.spec().starts_with("negative-binomial:r="));
    let wrong = noise.fix(5, "poisson").run(y.view());
    assert!(wrong.unwrap_err().to_string().contains("column 6"));
}

#[test]
fn columns_beside_counts_keep_their_densities() {
    let (y, specs) = mixed_table(600);
    let held_out = |y: &Array2<f64>| {
        let all = TableNoise::new().causes(2).iterations(10);
        let fixed = specs.iter().enumerate().fold(all, |noise, (d, spec)| noise.fix(d, *spec));
        fixed.run(y.view()).unwrap().held_out
    };
    // one column of six in a unit that is a thousand times larger
    let mut small = y.clone();
    small.column_mut(2).mapv_inplace(|value| value / 1000.0);
    let gained = held_out(&small) - held_out(&y);
    assert!((gained - 1000f64.ln() / 6.0).abs() < 0.2, "{gained}");
}

#[test]
fn odd_columns_are_no_trouble() {
    let (mut y, _) = mixed_table(200);
    y.column_mut(0).fill(0.0);
    y.column_mut(4).fill(3.0);
    y.column_mut(5).fill(-2.5);
    let found = TableNoise::new().causes(2).iterations(10).run(y.view());
    assert_eq!(found.unwrap().columns.len(), 6);
    y.column_mut(1).fill(f64::NAN);
    let empty = TableNoise::new().causes(2).run(y.view());
    assert!(empty.unwrap_err().to_string().contains("column 2"));
    let constant = Array2::from_elem((20, 3), 4.0);
    let equal = NoiseType::new().causes(2).run(Source::Table(constant.view()));
    assert!(equal.unwrap_err().to_string().contains("equal"));
}

#[test]
fn the_number_of_causes_is_found() {
    let truth = efmca::bars::model(family("poisson").unwrap(), 3, &[20.0], &[1.0], 0.2).unwrap();
    let y = truth.sample(600, 7).y;
    let select = CauseSearch::new("poisson").causes([12, 3, 6]).restarts(2);
    let choice = select.run(Source::Table(y.view())).unwrap();
    assert_eq!(choice.trials.iter().map(|one| one.h).collect::<Vec<_>>(), [3, 6, 12]);
    assert_eq!((choice.best().h, choice.best_by_bic()), (6, 6));
    assert!(CauseSearch::new("poisson").causes([0]).run(Source::Table(y.view())).is_err());
}

#[test]
fn families_are_ranked_with_as_many_causes_as_the_data_say() {
    let truth = efmca::bars::model(family("poisson").unwrap(), 3, &[20.0], &[1.0], 0.2).unwrap();
    let y = truth.sample(600, 7).y;
    let source = Source::Table(y.view());
    let noise = NoiseType::new().families(["poisson", "geometric"]).restarts(1).iterations(30);
    let auto = noise.clone().causes(Causes::Auto).run(source).unwrap();
    // 600 rows are enough for the 8 causes of a table; 6 bars need 8 of 2, 4, 8 and 16
    let choice = auto.choice.as_ref().unwrap();
    assert_eq!((auto.causes, choice.best().h), (choice.best().h, 8));
    let suitable = noise.clone().run(source).unwrap();
    assert_eq!((suitable.causes, suitable.choice.is_none()), (8, true));
    // the number that is chosen is the one to begin with, so that the ranking is the same
    assert_eq!(auto.best().held_out.to_bits(), suitable.best().held_out.to_bits());
    // 100 rows begin with 5 causes; what is chosen is ranked again as if it had been given
    let few = y.slice(ndarray::s![..100, ..]);
    let auto = noise.clone().causes(Causes::Auto).run(Source::Table(few)).unwrap();
    assert_ne!(auto.causes, 5);
    let given = noise.causes(auto.causes).run(Source::Table(few)).unwrap();
    assert_eq!(auto.best().held_out.to_bits(), given.best().held_out.to_bits());
    // the same for a family for each column
    let columns = TableNoise::new().iterations(20);
    let auto = columns.clone().causes(Causes::Auto).run(few).unwrap();
    let given = columns.causes(auto.choice.as_ref().unwrap().best().h).run(few).unwrap();
    assert_eq!(auto.held_out.to_bits(), given.held_out.to_bits());
}

#[test]
fn a_search_for_causes_that_is_stopped_leaves_the_first_ranking() {
    let y = model("exponential", &[0.2], &[2.0]).sample(300, 8).y;
    let noise = NoiseType::new().families(["exponential", "rayleigh"]).restarts(1).iterations(10).causes(Causes::Auto);
    let mut stage = String::new();
    let ranking = noise.run_observed(Source::Table(y.view()), &mut |progress| {
        stage = progress.stage.to_owned();
        if stage.ends_with("causes") { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(stage, "2 causes");
    let ranking = ranking.unwrap();
    assert!(ranking.choice.is_none() && ranking.causes == 8 && ranking.ranked.len() == 2);
}

#[test]
fn wrong_settings_are_found_without_data() {
    assert!(NoiseType::new().check().is_ok() && TableNoise::new().check().is_ok());
    assert!(NoiseType::new().held_out(0.9).check().unwrap_err().to_string().contains("held-out share"));
    assert!(NoiseType::new().restarts(0).check().is_err() && NoiseType::new().causes(0).check().is_err());
    assert!(NoiseType::new().families(["gama"]).check().unwrap_err().to_string().contains("did you mean `gamma`"));
    assert!(NoiseType::new().families(["gamma:k=?", "weibull"]).check().is_ok());
    assert!(TableNoise::new().fix(0, "gama").check().is_err());
    assert!(CauseSearch::new("gama").check().is_err() && CauseSearch::new("gamma").causes([2, 0]).check().is_err());
}

#[test]
fn posteriors_of_one_family_start_another() {
    let y = model("exponential", &[0.2], &[2.0]).sample(500, 8).y;
    let gaussian = Em::new(2).family("gaussian").seed(1).starts(5).run(&y).unwrap();
    let plain = Em::new(2).family("exponential").seed(1).starts(5).run(&y).unwrap();
    for em in [Em::new(2).family("exponential"), Em::new(2).family("exponential").truncated(efmca::Truncation::new(4))]
    {
        let warm = em.init(Init::Posteriors(Box::new(gaussian.model.clone()))).run(&y).unwrap();
        assert!(warm.bound > plain.bound - 1.0, "{} {}", warm.bound, plain.bound);
    }
    let wrong = Em::new(3).family("exponential").init(Init::Posteriors(Box::new(gaussian.model)));
    assert!(wrong.run(&y).unwrap_err().to_string().contains("3 causes"));
}

/// The result of `TableNoise` if its observer asks to stop at its `calls`-th call, and how often it was called.
fn stopped_after(y: &Array2<f64>, calls: usize) -> (efmca::Result<TableFamilies>, usize) {
    let mut seen = 0;
    let found = TableNoise::new().causes(3).iterations(40).run_observed(y.view(), &mut |_| {
        seen += 1;
        if seen >= calls { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (found, seen)
}

#[test]
fn columns_can_be_left_early() {
    // with one thread there is a call after every column
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| {
        let (y, _) = mixed_table(400);
        let (whole, all) = stopped_after(&y, usize::MAX);
        let families = |found: &TableFamilies| -> Vec<String> {
            found.columns.iter().map(|column| column.family.spec()).collect()
        };
        let whole = whole.unwrap();
        for at in [1, 5] {
            let (nothing, calls) = stopped_after(&y, at);
            assert!(nothing.unwrap_err().to_string().contains("before every column had a family"));
            assert_eq!(calls, at);
        }
        // the last columns, short runs, iterations, columns given the others: it is asked no more, and there is a result
        for at in [6, 7, 15, 23, all / 2, all - 1] {
            let (found, calls) = stopped_after(&y, at);
            let found = found.unwrap_or_else(|error| panic!("call {at} of {all}: {error}"));
            assert_eq!((calls, found.columns.len(), found.fit.stop), (at, 6, StopReason::Interrupted), "of {all}");
            assert!(found.fit.bound.is_finite() && found.held_out.is_finite(), "call {at} of {all}");
            let trained: Vec<String> = (0..6).map(|d| found.fit.model.columns().family(d).spec()).collect();
            assert_eq!(trained, families(&found), "call {at} of {all}");
        }
        // the last calls are those of the last training, when all families are found
        assert_eq!(families(&stopped_after(&y, all - 1).0.unwrap()), families(&whole));
    });
}

#[test]
fn ranking_and_choosing_end_between_iterations() {
    let y = model("exponential", &[0.2], &[2.0]).sample(300, 8).y;
    // what comes of it if the observer says no at its `last`-th call, and how often it was asked
    let ranked = |last: usize| {
        let mut calls = 0;
        let noise = NoiseType::new().causes(2).families(["exponential", "gamma", "weibull"]).restarts(2);
        let found = noise.run_observed(Source::Table(y.view()), &mut |_| {
            calls += 1;
            if calls >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (found.map(|ranking| ranking.ranked.len()), calls)
    };
    let chosen = |last: usize| {
        let mut calls = 0;
        let select = CauseSearch::new("exponential").causes([1, 2, 3]).restarts(2);
        let found = select.run_observed(Source::Table(y.view()), &mut |_| {
            calls += 1;
            if calls >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (found.map(|choice| choice.trials.len()), calls)
    };
    let (all, calls) = ranked(usize::MAX);
    assert_eq!(all.unwrap(), 3);
    assert!(calls > 100, "asked {calls} times only");
    let (all, many) = chosen(usize::MAX);
    assert_eq!(all.unwrap(), 3);
    for last in [1, 2, calls / 4, calls / 2, calls - 1] {
        let (found, asked) = ranked(last);
        assert_eq!(asked, last, "asked again after the answer was no");
        match found {
            Ok(families) => assert!((1..=3).contains(&families)),
            Err(error) => assert!(last < calls / 4 && error.to_string().contains("stopped before"), "{last}: {error}"),
        }
    }
    for last in [1, many / 2, many - 1] {
        let (found, asked) = chosen(last);
        assert_eq!(asked, last, "asked again after the answer was no");
        match found {
            Ok(numbers) => assert!((1..=3).contains(&numbers) && last > 1),
            Err(error) => assert!(last == 1 && error.to_string().contains("stopped before"), "{last}: {error}"),
        }
    }
}
