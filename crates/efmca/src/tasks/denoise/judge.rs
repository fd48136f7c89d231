//! What becomes of the estimates, decided by how a second run on thinned data changes them.

use ndarray::{Array4, ArrayView4, s};

use super::blend::smallest_variance;
use super::blur::Blur;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use super::texture::Texture;
use super::thinning::{SHARE, Thinned};
use super::weighting::LeftOut;
use crate::family::Support;

/// Standard deviation of the window in which shares are estimated, in pixels.
const AROUND: f64 = 24.0;
/// How much the data must say before the share of all of the image leaves one half, and before that of a place leaves the one of the
/// image: the squared difference of the estimates, in units of the noise. 16 to 200 and 16 to 64 are equal to 0.01 dB on photographs
/// that are not in the table of results.
const EVEN: f64 = 64.0;
const ALIKE: f64 = 32.0;

/// An estimate of a plane, by the whole data and by a part of them.
struct Pair {
    whole: Plane,
    part: Plane,
}

/// One of several estimates of a plane.
struct Candidate {
    mean: Pair,
    /// Its squared deviation.
    square: Pair,
}

/// One channel of one page with everything that decisions need.
struct Judge {
    noisy: Plane,
    contrast: Plane,
    /// The variance of the noise of each pixel.
    variance: Vec<f64>,
}

/// The estimates of a pass: of causes, one at least, and of groups of similar patches from coarse to fine.
pub(super) struct Estimates<'a> {
    pub(super) by_causes: Vec<&'a Estimate>,
    pub(super) by_groups: Vec<&'a Estimate>,
}

/// Puts together several estimates of an image, given estimates of a part of its data in the same order: they are mixed by how well they
/// predict the rest of the data; flat places are made flat by the share with the least risk; and what is still missed of textures
/// comes in.
///
/// Estimates of groups are mixed with each other first. Where a picture is smooth and the noise strong the coarse ones are the best of
/// all; but the data that were left out are noisy, too, and with fewer weights at once less of them is taken for a difference.
pub(super) fn judged(
    noisy: ArrayView4<'_, f64>,
    whole: &Estimates<'_>,
    thinned: &Thinned,
    part: &Estimates<'_>,
    (curve, support): (&NoiseCurve, Support),
) -> Estimate {
    let (pages, _, _, channels) = noisy.dim();
    let mut result = whole.by_causes[0].clone();
    let smallest = smallest_variance(whole.by_causes[0], curve);
    for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
        let at = s![page, .., .., channel];
        let plane = |image: &Array4<f64>| Plane::of(image.slice(at));
        let candidates = |whole: &[&Estimate], part: &[&Estimate]| -> Vec<Candidate> {
            let pairs = whole.iter().zip(part);
            let candidate = |(whole, part): (&&Estimate, &&Estimate)| Candidate {
                mean: Pair { whole: plane(&whole.mean), part: plane(&part.mean).map(|mean| mean / SHARE) },
                square: Pair {
                    whole: plane(&whole.deviation).map(|deviation| deviation.powi(2)),
                    part: plane(&part.deviation).map(|deviation| (deviation / SHARE).powi(2)),
                },
            };
            pairs.map(candidate).collect()
        };
        let by_groups = candidates(&whole.by_groups, &part.by_groups);
        let mut candidates = candidates(&whole.by_causes, &part.by_causes);
        let average = |pixel: usize| {
            let all = || candidates.iter().chain(by_groups.last());
            all().map(|one| one.mean.whole.values[pixel]).sum::<f64>() / all().count() as f64
        };
        let noisy = Plane::of(noisy.slice(at));
        let judge = Judge {
            contrast: plane(&thinned.contrast),
            variance: (0..noisy.values.len()).map(|pixel| curve.at(average(pixel)).max(smallest)).collect(),
            noisy,
        };
        let seen = plane(&thinned.seen);
        if !by_groups.is_empty() {
            let weights = judge.weights(&seen, &by_groups);
            let mean = Pair::mixture(&by_groups, |one| &one.mean, &weights);
            candidates.push(Candidate { mean, square: Pair::mixture(&by_groups, |one| &one.square, &weights) });
        }
        let weights = judge.weights(&seen, &candidates);
        let blend = Pair::mixture(&candidates, |one| &one.mean, &weights);
        // pixels are equally bright within what the estimates are uncertain about, each by its own data
        let uncertain = Pair::mixture(&candidates, |one| &one.square, &weights);
        let flat = Pair { whole: blend.whole.smoothed(&uncertain.whole), part: blend.part.smoothed(&uncertain.part) };
        // the differences between the estimates are uncertain, too
        let mut deviation = uncertain.whole.clone();
        for (candidate, weights) in candidates.iter().zip(&weights) {
            let means = candidate.mean.whole.values.iter().zip(&blend.whole.values);
            let squares = means.zip(&weights.values).map(|((own, mean), weight)| weight * (own - mean).powi(2));
            deviation.values.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
        let shares = judge.shares(&flat, &blend);
        let mean = judge.with_texture(flat.mixed_with(&blend, &shares), curve);
        let mean = mean.map(|mean| mean.clamp(support.low, support.high));
        mean.copy_to(result.mean.slice_mut(at));
        deviation.map(f64::sqrt).copy_to(result.deviation.slice_mut(at));
    }
    result
}

impl Judge {
    /// The weights of the candidates at all pixels: those that predict best what is not in the part that was `seen`.
    fn weights(&self, seen: &Plane, candidates: &[Candidate]) -> Vec<Plane> {
        let rest = 1.0 - SHARE;
        let values = self.noisy.values.iter().zip(&seen.values).map(|(y, seen)| (y - seen) / rest);
        let variance: Vec<f64> = self.variance.iter().map(|variance| variance / rest).collect();
        let estimates: Vec<&Plane> = candidates.iter().map(|one| &one.mean.part).collect();
        LeftOut { values: &seen.with(values.collect()), variance: &variance, estimates: &estimates }.weights()
    }

    /// The share of `a` in $\alpha a + (1 - \alpha) b$ at each pixel: the one with the least risk by Stein's estimate,
    /// $$ \sum \frac{(y - b - \alpha (a - b))^2 + 2 \alpha\, (\mathrm{Cov}(a, y) - \mathrm{Cov}(b, y))}{v} , $$
    /// summed over the image and then around each pixel, with the share of the image as the one to expect.
    fn shares(&self, a: &Pair, b: &Pair) -> Vec<f64> {
        let pixels = self.noisy.values.len();
        let (mut squares, mut gains) = (vec![0.0; pixels], vec![0.0; pixels]);
        for (pixel, (square, gain)) in squares.iter_mut().zip(&mut gains).enumerate() {
            let difference = a.whole.values[pixel] - b.whole.values[pixel];
            let follows = (a.part.values[pixel] - b.part.values[pixel] - difference) * self.contrast.values[pixel];
            let v = self.variance[pixel];
            let here = (
                difference * difference / v,
                ((self.noisy.values[pixel] - b.whole.values[pixel]) * difference - follows) / v,
            );
            // where a pixel is missing there is nothing to compare with
            if here.0.is_finite() && here.1.is_finite() {
                (*square, *gain) = here;
            }
        }
        let (all, gained): (f64, f64) = (squares.iter().sum(), gains.iter().sum());
        let everywhere = ((gained + 0.5 * EVEN) / (all + EVEN)).clamp(0.0, 1.0);
        let blur = Blur::new(AROUND);
        blur.page(&mut squares, self.noisy.columns);
        blur.page(&mut gains, self.noisy.columns);
        let share = |(square, gain): (&f64, &f64)| ((gain + everywhere * ALIKE) / (square + ALIKE)).clamp(0.0, 1.0);
        squares.iter().zip(&gains).map(share).collect()
    }

    /// The estimate with what it has missed of textures.
    fn with_texture(&self, estimate: Pair, curve: &NoiseCurve) -> Plane {
        let Pair { whole, part } = estimate;
        let present = |pixel: usize| self.noisy.values[pixel].is_finite();
        let each = |of: &dyn Fn(usize) -> f64| -> Vec<f32> {
            (0..whole.values.len()).map(|pixel| if present(pixel) { of(pixel) as f32 } else { 0.0 }).collect()
        };
        let texture = Texture {
            rows: whole.rows,
            columns: whole.columns,
            curve,
            estimate: whole.values.iter().map(|value| *value as f32).collect(),
            residual: each(&|pixel| self.noisy.values[pixel] - whole.values[pixel]),
            change: each(&|pixel| part.values[pixel] - whole.values[pixel]),
            contrast: each(&|pixel| self.contrast.values[pixel]),
            variance: each(&|pixel| curve.at(whole.values[pixel])),
        };
        let missed = texture.missed();
        whole.with(whole.values.iter().zip(&missed).map(|(mean, missed)| mean + f64::from(*missed)).collect())
    }
}

impl Pair {
    /// The weighted sum of something of all candidates.
    fn mixture(candidates: &[Candidate], of: impl Fn(&Candidate) -> &Pair, weights: &[Plane]) -> Pair {
        let sum = |plane: &dyn Fn(&Candidate) -> &Plane| {
            let mut sum = weights[0].map(|_| 0.0);
            for (candidate, weights) in candidates.iter().zip(weights) {
                let products =
                    plane(candidate).values.iter().zip(&weights.values).map(|(value, weight)| value * weight);
                sum.values.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
            }
            sum
        };
        Pair { whole: sum(&|one| &of(one).whole), part: sum(&|one| &of(one).part) }
    }

    /// `share` of this one and the rest of another one, for both data.
    fn mixed_with(&self, other: &Pair, shares: &[f64]) -> Pair {
        let mixed = |a: &Plane, b: &Plane| {
            let values = a.values.iter().zip(&b.values).zip(shares);
            a.with(values.map(|((a, b), share)| share * a + (1.0 - share) * b).collect())
        };
        Pair { whole: mixed(&self.whole, &other.whole), part: mixed(&self.part, &other.part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::tasks::corrupt::Corruption;

    /// A flat image, its noise, and estimates of it and of its part that are blurred by so many pixels and wrong by so much in the left
    /// half.
    fn estimates(noisy: &Array4<f64>, seen: &Array4<f64>, blur: f64, wrong: f64) -> (Estimate, Estimate) {
        let one = |image: &Array4<f64>, share: f64| {
            let mut mean = image.clone();
            let plane = Plane::of(image.slice(s![0, .., .., 0])).blurred(blur);
            plane.copy_to(mean.slice_mut(s![0, .., .., 0]));
            mean.slice_mut(s![.., .., ..100, ..]).mapv_inplace(|mean| mean + share * wrong);
            Estimate { deviation: mean.mapv(|_| 0.1), mean }
        };
        (one(noisy, 1.0), one(seen, super::super::thinning::SHARE))
    }

    fn of<'a>(by_causes: &'a Estimate, by_groups: &[&'a Estimate]) -> Estimates<'a> {
        Estimates { by_causes: vec![by_causes], by_groups: by_groups.to_vec() }
    }

    #[test]
    fn estimates_are_judged_by_their_risk_and_not_by_how_close_they_are_to_the_noise() {
        let poisson = family("poisson").unwrap();
        let clean = Array4::from_elem((1, 200, 200, 1), 4.0);
        let noisy = Corruption::new(&poisson).seed(1).run(clean.view()).unwrap().noisy;
        let curve = NoiseCurve::known(&*poisson, 0.0, 20.0).unwrap();
        let first = Estimate { mean: clean.clone(), deviation: clean.mapv(|_| 0.1) };
        let thinned = Thinned::of(&*poisson, noisy.view(), &first, &curve, 1).unwrap();
        // the first follows the noise everywhere, the second is wrong on the left
        let (a, part_a) = estimates(&noisy, &thinned.seen, 2.0, 0.0);
        let (b, part_b) = estimates(&noisy, &thinned.seen, 12.0, 1.5);
        let estimate =
            judged(noisy.view(), &of(&a, &[&b]), &thinned, &of(&part_a, &[&part_b]), (&curve, poisson.support()));
        let error = |estimate: &Estimate, columns: std::ops::Range<usize>| {
            let part = s![.., 20..180, columns, ..];
            (&estimate.mean.slice(part) - &clean.slice(part)).mapv(|e| e * e).mean().unwrap()
        };
        let (left, right) = (error(&estimate, 10..60), error(&estimate, 140..190));
        assert!(left < 1.3 * error(&a, 10..60), "{left} instead of {}", error(&a, 10..60));
        assert!(right < 0.5 * error(&a, 140..190), "{right} of {}", error(&a, 140..190));
        // but for the rounding of weights
        assert!(estimate.deviation.iter().all(|deviation| deviation.is_finite() && *deviation >= 0.1 - 1e-9));
        // of the groups' estimates the one that is right counts, wherever it stands
        for (groups, of_part) in [([&b, &a], [&part_b, &part_a]), ([&a, &b], [&part_a, &part_b])] {
            let (whole, part) = (of(&b, &groups), of(&part_b, &of_part));
            let estimate = judged(noisy.view(), &whole, &thinned, &part, (&curve, poisson.support()));
            assert!(error(&estimate, 10..60) < 1.3 * error(&a, 10..60), "{}", error(&estimate, 10..60));
            assert!(error(&estimate, 140..190) < 0.5 * error(&a, 140..190), "{}", error(&estimate, 140..190));
        }
        // missing pixels change little around them
        let mut missing = noisy.clone();
        missing.slice_mut(s![.., ..;5, ..;3, ..]).fill(f64::NAN);
        let thinned = Thinned::of(&*poisson, missing.view(), &first, &curve, 1).unwrap();
        let estimate =
            judged(missing.view(), &of(&a, &[&b]), &thinned, &of(&part_a, &[&part_b]), (&curve, poisson.support()));
        assert!(estimate.mean.iter().all(|mean| mean.is_finite()));
        assert!(error(&estimate, 10..60) < 2.0 * left && error(&estimate, 140..190) < 0.7 * error(&a, 140..190));
    }
}
