//! Who wins a column: the one place where causes are compared.
//!
//! In a state $\vec s$ the observable $d$ belongs to the active cause with the largest dominance,
//! $$ h(d, \vec s, \Theta) = \operatorname{argmax}\_h \lbrace M\_{dh} s\_h\rbrace $$
//! (Eqns. 22 and 45), or with the largest magnitude $|M_{dh}|$ (Eqn. 48). The rule is the same for both, because
//! [`Superposition::strength`](super::Superposition) takes the magnitude first:
//!
//! - only active causes and the background take part (the paper's argmax over $M_{dh}s_h$ would pick an inactive cause where
//!   all $M_{dh}$ of active ones are negative);
//! - of causes with equal strength the first one wins, and any cause wins against a background of the same strength;
//! - $-0$ and $0$ are equal.
//!
//! Exact and truncated posteriors, sampling, images and the M-step all read the order that is made here, once for each set of
//! parameters.

use ndarray::Array2;

/// For each column the order in which the causes, and the background as cause $H$, win it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WinnerOrder {
    /// $H+1$.
    causes: usize,
    /// $D \times (H+1)$: the causes of each column, the strongest first.
    order: Vec<u16>,
    /// $(H+1) \times D$: the place of each cause in the order of each column, counted from the weakest.
    rank: Vec<u16>,
}

impl WinnerOrder {
    /// The order by `strength`, $(H+1) \times D$ with the background as its last row.
    pub(crate) fn new(strength: &Array2<f64>) -> WinnerOrder {
        let (causes, columns) = strength.dim();
        let mut winners = WinnerOrder { causes, order: vec![0; causes * columns], rank: vec![0; causes * columns] };
        let mut order: Vec<u16> = (0..causes as u16).collect();
        for d in 0..columns {
            let strength = strength.column(d);
            // the background is the last row, and so the last of equals
            let of = |h: u16| without_rounding(strength[usize::from(h)]);
            order.sort_unstable_by(|a, b| of(*b).total_cmp(&of(*a)).then(a.cmp(b)));
            for (place, h) in order.iter().enumerate() {
                winners.rank[usize::from(*h) * columns + d] = (causes - 1 - place) as u16;
            }
            winners.order[d * causes..][..causes].copy_from_slice(&order);
        }
        winners
    }

    /// $H$, which stands for the background.
    pub fn background(&self) -> usize {
        self.causes - 1
    }

    /// All causes and the background, from the one that wins column `d` against all others to the one that wins against none.
    pub fn strongest_first(&self, d: usize) -> &[u16] {
        &self.order[d * self.causes..][..self.causes]
    }

    /// The causes that can win column `d`, the strongest first, down to the background, which is always active.
    pub fn down_to_background(&self, d: usize) -> &[u16] {
        let order = self.strongest_first(d);
        let weaker = usize::from(self.ranks(self.background())[d]);
        &order[..order.len() - weaker]
    }

    /// The rank of cause `h` in each column: of the active causes the one with the highest rank wins, and no two are equal.
    pub fn ranks(&self, h: usize) -> &[u16] {
        let columns = self.rank.len() / self.causes;
        &self.rank[h * columns..][..columns]
    }

    /// Whether cause `h` takes column `d` from cause `other`.
    pub fn beats(&self, h: usize, other: usize, d: usize) -> bool {
        self.ranks(h)[d] > self.ranks(other)[d]
    }

    /// The cause that column `d` belongs to when the causes in `active` are on; $H$ if it is the background.
    pub fn winner(&self, active: impl IntoIterator<Item = usize>, d: usize) -> usize {
        active.into_iter().fold(self.background(), |best, h| if self.beats(h, best, d) { h } else { best })
    }
}

/// A strength without its last twenty bits, some ten digits behind the point. A cause that owns all rows has the average of
/// a column, and so has one that owns none if there are pseudo-counts: the same number, but for its rounding, which must not
/// decide who wins.
fn without_rounding(strength: f64) -> f64 {
    const LAST_BITS: u64 = (1 << 20) - 1;
    // adding half of them first rounds to the nearest; a carry into the exponent is the next power of two, as it should be
    let rounded = f64::from_bits((strength.to_bits() + (1 << 19)) & !LAST_BITS);
    // adding zero makes -0 and 0 equal
    if strength.is_finite() { rounded + 0.0 } else { strength }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn rounding_does_not_decide() {
        let (next, other) = (0.1 + 0.2, 0.3 * (1.0 + 1e-9));
        assert!(next > 0.3);
        let order = |a: f64, b: f64| WinnerOrder::new(&array![[a], [b], [-1.0]]).strongest_first(0)[0];
        assert_eq!([order(0.3, next), order(next, 0.3), order(0.3, other), order(other, 0.3)], [0, 0, 1, 0]);
        assert_eq!([order(-next, -0.3), order(0.0, f64::MIN_POSITIVE), order(1e300, f64::INFINITY)], [0, 1, 1]);
        assert_eq!([order(f64::MAX, f64::MAX), order(f64::NEG_INFINITY, f64::MIN)], [0, 2]);
    }

    #[test]
    fn ties_go_to_the_first_cause_and_never_to_the_background() {
        // rows: three causes and the background
        let strength =
            array![[1.0, 2.0, -0.0, -3.0], [1.0, 3.0, 0.0, -2.0], [0.5, 2.0, 0.0, -2.0], [1.0, 9.0, -0.0, -4.0]];
        let winners = WinnerOrder::new(&strength);
        let order = |d: usize| winners.strongest_first(d).to_vec();
        assert_eq!([order(0), order(1)], [[0, 1, 3, 2], [3, 1, 0, 2]]);
        assert_eq!([order(2), order(3)], [[0, 1, 2, 3], [1, 2, 0, 3]]);
        assert_eq!(winners.down_to_background(0), [0, 1, 3]);
        assert_eq!(winners.down_to_background(1), [3]);
        for (active, expected) in [(vec![], [3, 3, 3, 3]), (vec![2, 0], [0, 3, 0, 2]), (vec![2], [3, 3, 2, 2])] {
            for (d, expected) in expected.into_iter().enumerate() {
                assert_eq!(winners.winner(active.iter().copied(), d), expected, "{active:?}, column {d}");
            }
        }
    }
}
