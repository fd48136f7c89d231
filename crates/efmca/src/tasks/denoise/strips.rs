//! Parts of a stack that are cleaned one after the other, so that the memory for the states of their patches is bounded.

use std::ops::Range;

use crate::model::Geometry;

/// Patches that are looked at together where a model is applied, to bound the memory that their states take.
const MOST_AT_ONCE: usize = 200_000;
/// Pixels that are looked at together where patches go over several pages, to bound the memory that copies of them take.
const MOST_PIXELS: usize = 1 << 22;

/// Pages and rows of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strip {
    pub(super) pages: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// Strips that have each patch once; they overlap by what patches have in common.
pub(super) fn strips(geometry: &Geometry) -> Vec<Strip> {
    small_strips(geometry, MOST_AT_ONCE, MOST_PIXELS)
}

/// Strips with no more patches and, where patches have several pages, with no more pixels than that, if they have several lines.
pub(super) fn small_strips(geometry: &Geometry, patches: usize, pixels: usize) -> Vec<Strip> {
    let (positions, lines) = together(geometry, patches, pixels);
    let ((pages, _), (rows, _)) = (geometry.pages_and_channels(), geometry.image());
    let (stride, page_stride) = geometry.strides();
    let along = parts(geometry.along(), positions, page_stride, geometry.depth(), pages);
    let down = parts(geometry.down(), lines, stride, geometry.patch().0, rows);
    let strip = |pages: &Range<usize>, rows: &Range<usize>| Strip { pages: pages.clone(), rows: rows.clone() };
    along.iter().flat_map(|pages| down.iter().map(move |rows| strip(pages, rows))).collect()
}

/// Positions along the pages and lines of patches that are looked at together.
fn together(geometry: &Geometry, patches: usize, pixels: usize) -> (usize, usize) {
    let ((_, channels), (rows, columns)) = (geometry.pages_and_channels(), geometry.image());
    let lines = (patches / geometry.across()).max(1);
    if geometry.depth() == 1 {
        // pages in colour are cleaned at once: their neighbouring lines lend each other states
        return (1, if channels == 1 { lines } else { geometry.down() });
    }
    let (stride, page_stride) = geometry.strides();
    // how many positions have so many pixels between the first and the last one
    let fitting = |pixels: usize, patch: usize, stride: usize| pixels.saturating_sub(patch) / stride + 1;
    let high = pixels / (geometry.depth() * channels * columns);
    let lines = lines.min(fitting(high, geometry.patch().0, stride));
    if lines < geometry.down() {
        return (1, lines);
    }
    let deep = pixels / (channels * rows * columns);
    let positions = (patches / (geometry.down() * geometry.across())).max(1);
    (positions.min(fitting(deep, geometry.depth(), page_stride)), geometry.down())
}

/// The pixels of every `count` positions along an axis of `size` pixels.
fn parts(positions: usize, count: usize, stride: usize, patch: usize, size: usize) -> Vec<Range<usize>> {
    let part = |from: usize| {
        let last = from.saturating_add(count).min(positions) - 1;
        // the last position is nearer than the others where the stride does not fit
        (from * stride).min(size - patch)..(last * stride).min(size - patch) + patch
    };
    (0..positions).step_by(count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size: (usize, usize, usize, usize), patch: (usize, usize), depth: usize, stride: usize) -> Geometry {
        Geometry::of_volume(size, patch, depth).unwrap().with_stride(stride)
    }

    #[test]
    fn strips_have_every_patch_once_and_are_small() {
        for (size, patch, depth, stride) in [
            ((256, 256, 256, 1), (16, 16), 16, 4),
            ((256, 256, 256, 1), (8, 8), 5, 2),
            ((256, 256, 256, 1), (8, 8), 256, 2),
            ((9, 2048, 2048, 3), (12, 12), 3, 2),
            ((7, 3000, 100, 1), (12, 12), 1, 1),
            ((5, 40, 30, 1), (7, 6), 2, 3),
        ] {
            let all = geometry(size, patch, depth, stride);
            let mut patches = 0;
            for Strip { pages, rows } in strips(&all) {
                let part = geometry((pages.len(), rows.len(), size.2, size.3), patch, depth, stride);
                patches += part.n();
                assert!(part.n() <= MOST_AT_ONCE, "{size:?} {}", part.n());
                // two lines at the least
                let least = 2 * depth * size.3 * patch.0 * size.2;
                assert!(depth == 1 || part.pixels() <= MOST_PIXELS.max(least), "{size:?} {}", part.pixels());
            }
            assert_eq!(patches, all.n(), "{size:?}");
        }
    }

    #[test]
    fn pages_by_themselves_are_cleaned_one_by_one() {
        let rows = |strips: Vec<Strip>| strips.into_iter().map(|strip| (strip.pages, strip.rows)).collect::<Vec<_>>();
        assert_eq!(rows(strips(&geometry((2, 30, 20, 3), (5, 4), 1, 2))), [(0..1, 0..30), (1..2, 0..30)]);
        let lines = rows(strips(&geometry((1, 1000, 1000, 1), (10, 10), 1, 1)));
        assert_eq!(lines[..2], [(0..1, 0..210), (0..1, 201..411)]);
        assert_eq!(lines.last(), Some(&(0..1, 804..1000)));
    }
}
