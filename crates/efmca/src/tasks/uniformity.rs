//! Whether places between 0 and 1 are uniform, as randomised quantile residuals are if a family is right.

/// Bars of a histogram.
pub(crate) const BARS: usize = 20;

/// The histogram of places and their largest distance to the uniform distribution.
pub(crate) struct Uniformity {
    /// The share of places in each twentieth of $\lbrack 0, 1\rbrack$.
    pub(crate) histogram: Vec<f64>,
    /// The largest difference between their distribution function and that of the uniform one (Kolmogorov and Smirnov).
    pub(crate) distance: f64,
}

impl Uniformity {
    /// `None` if there are no places.
    pub(crate) fn of(places: &[f64]) -> Option<Uniformity> {
        if places.is_empty() {
            return None;
        }
        let mut sorted = places.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let mut histogram = vec![0.0; BARS];
        let mut distance: f64 = 0.0;
        for (index, place) in sorted.iter().enumerate() {
            histogram[((place * BARS as f64) as usize).min(BARS - 1)] += 1.0 / count;
            distance = distance.max((index as f64 + 1.0) / count - place).max(place - index as f64 / count);
        }
        Some(Uniformity { histogram, distance })
    }
}

/// The components of Neyman's smooth test (1937): averages of the first four Legendre polynomials over the places, in standard
/// errors. The first is a shift, the second a width, the third a skew, and the fourth humps or tails.
pub(crate) fn smooth_components(places: &[f64]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for u in places {
        let x = 2.0 * u - 1.0;
        let polynomials = [
            3f64.sqrt() * x,
            5f64.sqrt() * 0.5 * (3.0 * x * x - 1.0),
            7f64.sqrt() * 0.5 * x * (5.0 * x * x - 3.0),
            3.0 / 8.0 * (35.0 * x.powi(4) - 30.0 * x * x + 3.0),
        ];
        sums.iter_mut().zip(polynomials).for_each(|(sum, value)| *sum += value);
    }
    sums.map(|sum| sum / (places.len().max(1) as f64).sqrt())
}

/// The probability that a chi-squared variable of four degrees of freedom is larger.
pub(crate) fn chi_squared_4(x: f64) -> f64 {
    (-0.5 * x).exp() * (1.0 + 0.5 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_kolmogorov_and_smirnov() {
        // scipy.stats.kstest([0.1, 0.2, 0.9], "uniform").statistic
        assert!((Uniformity::of(&[0.9, 0.1, 0.2]).unwrap().distance - 0.466_666_666_666_666_7).abs() < 1e-12);
        let even = Uniformity::of(&(0..2000).map(|i| (f64::from(i) + 0.5) / 2000.0).collect::<Vec<_>>()).unwrap();
        assert!(even.distance < 0.001 && even.histogram.iter().all(|share| (share - 0.05).abs() < 1e-9));
        assert!(Uniformity::of(&[]).is_none());
    }

    #[test]
    fn components_are_standard_for_uniform_places_and_tell_what_is_wrong() {
        let even: Vec<f64> = (0..4000).map(|i| (f64::from(i) + 0.5) / 4000.0).collect();
        assert!(smooth_components(&even).iter().all(|z| z.abs() < 1e-3));
        // the polynomials have variance one
        let squares = even.iter().fold([0.0; 4], |mut sums, u| {
            sums.iter_mut().zip(smooth_components(&[*u])).for_each(|(sum, z)| *sum += z * z / 4000.0);
            sums
        });
        assert!(squares.iter().all(|square| (square - 1.0).abs() < 1e-3), "{squares:?}");
        let high: Vec<f64> = even.iter().map(|u| u.sqrt()).collect();
        assert!(smooth_components(&high)[0] > 10.0);
        let humps: Vec<f64> = even.iter().map(|u| if *u < 0.5 { 0.1 + 0.2 * u } else { 0.7 + 0.2 * u }).collect();
        assert!(smooth_components(&humps)[3] < -10.0);
        // scipy.stats.chi2(4).sf(9.487729)
        assert!((chi_squared_4(9.487_729_036_781_154) - 0.05).abs() < 1e-9);
    }
}
