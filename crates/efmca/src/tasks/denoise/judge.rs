//! What becomes of the estimates, decided by how a second run on thinned data changes them.

use ndarray::{Array4, ArrayView4, s};

use super::blend::smallest_variance;
use super::blur::Blur;
use super::merge::Estimate;
use super::noise_curve::NoiseCurve;
use super::plane::Plane;
use super::texture::Texture;
use super::thinning::{Thinned, of_the_whole};
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

/// One channel of one page with everything that decisions need.
struct Judge {
    noisy: Plane,
    contrast: Plane,
    /// The variance of the noise of each pixel.
    variance: Vec<f64>,
}

/// Puts together what causes and groups of similar patches give for an image and for a part of its data: each is taken, in all of the
/// image and then in each region of it, by the share with the least risk; flat places are made flat by the share with the least risk;
/// and what is still missed of textures comes in.
pub(super) fn judged(
    noisy: ArrayView4<'_, f64>,
    (causes, groups): (&Estimate, &Estimate),
    thinned: &Thinned,
    (part_causes, part_groups): (&Estimate, &Estimate),
    (curve, support): (&NoiseCurve, Support),
) -> Estimate {
    let (pages, _, _, channels) = noisy.dim();
    let mut estimate = causes.clone();
    let smallest = smallest_variance(causes, curve);
    let (part_causes, part_groups) = (of_the_whole(part_causes), of_the_whole(part_groups));
    let (causes_of, groups_of) = ([causes, &part_causes], [groups, &part_groups]);
    for (page, channel) in (0..pages).flat_map(|page| (0..channels).map(move |channel| (page, channel))) {
        let at = s![page, .., .., channel];
        let plane = |image: &Array4<f64>| Plane::of(image.slice(at));
        let pair = |of: [&Estimate; 2]| Pair { whole: plane(&of[0].mean), part: plane(&of[1].mean) };
        let (a, b) = (pair(causes_of), pair(groups_of));
        let variance = a.whole.values.iter().zip(&b.whole.values);
        let judge = Judge {
            noisy: Plane::of(noisy.slice(at)),
            contrast: plane(&thinned.contrast),
            variance: variance.map(|(a, b)| curve.at(0.5 * (a + b)).max(smallest)).collect(),
        };
        let shares = judge.shares(&a, &b);
        let blend = a.mixed_with(&b, &shares);
        // pixels are equally bright within what the estimates are uncertain about, each by its own data
        let squares =
            |of: [&Estimate; 2]| of.map(|estimate| plane(&estimate.deviation).map(|deviation| deviation * deviation));
        let [own, part_own] = squares(causes_of);
        let [other, part_other] = squares(groups_of);
        let own = Pair { whole: own, part: part_own };
        let uncertain = own.mixed_with(&Pair { whole: other, part: part_other }, &shares);
        let flat = Pair { whole: blend.whole.smoothed(&uncertain.whole), part: blend.part.smoothed(&uncertain.part) };
        // the difference between the two is uncertain, too
        let deviation = uncertain.whole.values.iter().zip(&shares).zip(a.whole.values.iter().zip(&b.whole.values));
        let deviation =
            deviation.map(|((square, share), (a, b))| (square + share * (1.0 - share) * (a - b).powi(2)).sqrt());
        let deviation = blend.whole.with(deviation.collect());
        let shares = judge.shares(&flat, &blend);
        let mean = judge.with_texture(flat.mixed_with(&blend, &shares), curve);
        let mean = mean.map(|mean| mean.clamp(support.low, support.high));
        mean.copy_to(estimate.mean.slice_mut(at));
        deviation.copy_to(estimate.deviation.slice_mut(at));
    }
    estimate
}

impl Judge {
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
        let estimate = judged(noisy.view(), (&a, &b), &thinned, (&part_a, &part_b), (&curve, poisson.support()));
        let error = |estimate: &Estimate, columns: std::ops::Range<usize>| {
            let part = s![.., 20..180, columns, ..];
            (&estimate.mean.slice(part) - &clean.slice(part)).mapv(|e| e * e).mean().unwrap()
        };
        let (left, right) = (error(&estimate, 10..60), error(&estimate, 140..190));
        assert!(left < 1.3 * error(&a, 10..60), "{left} instead of {}", error(&a, 10..60));
        assert!(right < 0.5 * error(&a, 140..190), "{right} of {}", error(&a, 140..190));
        assert!(estimate.deviation.iter().all(|deviation| deviation.is_finite() && *deviation >= 0.1));
        // missing pixels change little around them
        let mut missing = noisy.clone();
        missing.slice_mut(s![.., ..;5, ..;3, ..]).fill(f64::NAN);
        let thinned = Thinned::of(&*poisson, missing.view(), &first, &curve, 1).unwrap();
        let estimate = judged(missing.view(), (&a, &b), &thinned, (&part_a, &part_b), (&curve, poisson.support()));
        assert!(estimate.mean.iter().all(|mean| mean.is_finite()));
        assert!(error(&estimate, 10..60) < 2.0 * left && error(&estimate, 140..190) < 0.7 * error(&a, 140..190));
    }
}
