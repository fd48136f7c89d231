//! Columns that behave alike, side by side.

use ndarray::{Array2, ArrayView1};

/// Columns up to which groups of similar ones are joined; more are ordered by the cause that shows most.
const MOST: usize = 400;

/// An order of the columns of `effects`, $H \times D$, in which neighbours are similar: the two most similar groups of columns
/// are joined, end to end where they are most alike, until one is left (average linkage).
pub(super) fn similar_order(effects: &Array2<f64>) -> Vec<usize> {
    let count = effects.ncols();
    if count > MOST {
        return by_strongest(effects);
    }
    let alike = Array2::from_shape_fn((count, count), |(a, b)| cosine(effects.column(a), effects.column(b)));
    let mut groups: Vec<Vec<usize>> = (0..count).map(|d| vec![d]).collect();
    let linkage = |a: &[usize], b: &[usize]| {
        let sum: f64 = a.iter().flat_map(|a| b.iter().map(|b| alike[[*a, *b]])).sum();
        sum / (a.len() * b.len()) as f64
    };
    let mut links = alike.clone();
    while groups.len() > 1 {
        let (mut best, mut pair) = (f64::NEG_INFINITY, (0, 1));
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                if links[[a, b]] > best {
                    (best, pair) = (links[[a, b]], (a, b));
                }
            }
        }
        let (a, b) = pair;
        let other = groups.remove(b);
        let one = std::mem::take(&mut groups[a]);
        groups[a] = joined(one, other, &alike);
        // the last place is free now
        for from in b..groups.len() {
            for other in 0..=groups.len() {
                links[[from, other]] = links[[from + 1, other]];
            }
        }
        for from in b..groups.len() {
            for other in 0..=groups.len() {
                links[[other, from]] = links[[other, from + 1]];
            }
        }
        for other in (0..groups.len()).filter(|other| *other != a) {
            let link = linkage(&groups[a], &groups[other]);
            links[[a, other]] = link;
            links[[other, a]] = link;
        }
    }
    groups.pop().unwrap_or_default()
}

/// Two groups in one, with the ends together that are most alike.
fn joined(mut one: Vec<usize>, mut other: Vec<usize>, alike: &Array2<f64>) -> Vec<usize> {
    let ends = |group: &[usize]| (group[0], group[group.len() - 1]);
    let ((first, last), (start, end)) = (ends(&one), ends(&other));
    let choices = [alike[[last, start]], alike[[last, end]], alike[[first, start]], alike[[first, end]]];
    let best = (1..4).fold(0, |best, choice| if choices[choice] > choices[best] { choice } else { best });
    if best >= 2 {
        one.reverse();
    }
    if best % 2 == 1 {
        other.reverse();
    }
    one.extend(other);
    one
}

fn by_strongest(effects: &Array2<f64>) -> Vec<usize> {
    let strongest = |d: usize| {
        let column = effects.column(d);
        (0..column.len()).fold(0, |best, h| if column[h].abs() > column[best].abs() { h } else { best })
    };
    let mut order: Vec<usize> = (0..effects.ncols()).collect();
    order.sort_by_key(|d| (strongest(*d), *d));
    order
}

/// The cosine between two columns; zero if one of them is zero.
fn cosine(a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> f64 {
    let size = (a.dot(&a) * b.dot(&b)).sqrt();
    if size > 0.0 { a.dot(&b) / size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn similar_columns_are_neighbours() {
        let effects = array![[3.0, 0.0, 2.9, 0.1, 0.0], [0.0, 2.0, 0.1, 2.0, 0.0]];
        let order = similar_order(&effects);
        let place = |d: usize| order.iter().position(|one| *one == d).unwrap();
        assert_eq!(order.len(), 5);
        assert_eq!(place(0).abs_diff(place(2)), 1, "{order:?}");
        assert_eq!(place(1).abs_diff(place(3)), 1, "{order:?}");
        assert_eq!(similar_order(&Array2::zeros((1, 1))), [0]);
        assert!(similar_order(&Array2::zeros((2, 0))).is_empty());
    }

    #[test]
    fn many_columns_are_ordered_by_their_strongest_cause() {
        let effects = Array2::from_shape_fn((3, 500), |(h, d)| f64::from(u8::from(d % 3 == h)));
        let order = similar_order(&effects);
        assert_eq!((order[0], order[166], order[167]), (0, 498, 1));
    }
}
