use super::*;

/// A step with noise that looks random, of variance 1.
fn step() -> (Vec<f32>, Vec<f32>) {
    let (rows, columns) = (40, 50);
    let clean: Vec<f32> = (0..rows * columns).map(|at| if at % columns < 25 { 2.0 } else { 8.0 }).collect();
    let noise = |at: usize| {
        let mixed = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 40) as f32 / (1u32 << 24) as f32 - 0.5) * 12f32.sqrt()
    };
    let noisy = clean.iter().enumerate().map(|(at, value)| value + noise(at)).collect();
    (clean, noisy)
}

fn error(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f32>() / one.len() as f32
}

fn filter(weights: Weights, noisy: &[f32], pilot: &[f32]) -> Filtered {
    let variance = vec![1.0; noisy.len()];
    let stack = Stack { rows: 40, columns: 50, noisy, pilot, variance: &variance };
    GroupFilter { side: 8, size: 16, reach: 8, step: 3, weights }.run(&stack)
}

#[test]
fn a_pilot_makes_noise_vanish() {
    let (clean, noisy) = step();
    let filtered = filter(Weights::Wiener, &noisy, &clean);
    assert!(error(&filtered.values, &clean) < 0.02, "{}", error(&filtered.values, &clean));
    assert!(filtered.follows.iter().all(|share| (0.0..=1.0).contains(share)));
    // without a pilot, too
    let first = filter(Weights::Threshold(2.7), &noisy, &noisy);
    assert!(error(&first.values, &clean) < 0.2, "{}", error(&first.values, &clean));
}

#[test]
fn what_a_pilot_missed_comes_back() {
    let (mut clean, _) = step();
    let pilot = clean.clone();
    // a bright spot that the pilot does not know
    for at in [20 * 50 + 10, 20 * 50 + 11, 21 * 50 + 10, 21 * 50 + 11] {
        clean[at] += 12.0;
    }
    let (before, noisy) = step();
    let noisy: Vec<f32> =
        noisy.iter().zip(&clean).zip(&before).map(|((y, clean), before)| y + clean - before).collect();
    let found = filter(Weights::Missed(3.0), &noisy, &pilot);
    assert!(error(&found.values, &clean) < 0.4 * error(&pilot, &clean), "{}", error(&found.values, &clean));
}

#[test]
fn the_same_bits_with_any_number_of_threads() {
    let (clean, noisy) = step();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| filter(Weights::Wiener, &noisy, &clean).values)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn an_image_of_one_patch_is_filtered() {
    let stack = Stack { rows: 8, columns: 8, noisy: &[1.0; 64], pilot: &[1.0; 64], variance: &[1.0; 64] };
    let filter = GroupFilter { side: 8, size: 32, reach: 5, step: 2, weights: Weights::Threshold(1.0) };
    assert!(filter.fits(8, 8) && !filter.fits(8, 7));
    assert!(filter.run(&stack).values.iter().all(|value| (value - 1.0).abs() < 1e-5));
}
