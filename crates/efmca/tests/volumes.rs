//! Patches over the pages of volumes and movies.

use efmca::tasks::corrupt::Corruption;
use efmca::tasks::denoise::Denoiser;
use efmca::{Data, Patches};
use ndarray::{Array4, s};

/// Every pixel has a value of its own.
fn numbered(pages: usize, rows: usize, columns: usize, channels: usize) -> Array4<f64> {
    let mut count = 0.0;
    Array4::from_shape_simple_fn((pages, rows, columns, channels), || {
        count += 1.0;
        count
    })
}

#[test]
fn columns_are_page_by_page_channel_by_channel_row_by_row() {
    let stack = numbered(5, 6, 7, 2);
    let patches = Patches::of_volume(stack.view(), (3, 2), 4).unwrap();
    assert_eq!((patches.n(), patches.d()), (2 * 4 * 6, 4 * 2 * 3 * 2));
    let mut row = vec![0.0; patches.d()];
    for n in 0..patches.n() {
        patches.read_row(n, &mut row);
        let (page, y, x) = (n / 24, n / 6 % 4, n % 6);
        let cut = stack.slice(s![page..page + 4, y..y + 3, x..x + 2, ..]);
        let expected: Vec<f64> = cut.permuted_axes([0, 3, 1, 2]).iter().copied().collect();
        assert_eq!(row, expected, "{n}");
        let geometry = patches.geometry().unwrap();
        assert!((0..patches.d()).all(|d| patches.pixels()[geometry.pixel(n, d)] == row[d]), "{n}");
    }
}

#[test]
fn patches_on_a_lattice_have_every_voxel() {
    let stack = numbered(11, 13, 12, 1);
    for depth in [1, 2, 3, 5, 11] {
        for stride in 1..=4 {
            let patches = Patches::of_volume(stack.view(), (4, 5), depth).unwrap().stride(stride);
            let mut seen = vec![false; stack.len()];
            let mut row = vec![0.0; patches.d()];
            for n in 0..patches.n() {
                patches.read_row(n, &mut row);
                row.iter().for_each(|value| seen[*value as usize - 1] = true);
            }
            assert!(seen.iter().all(|seen| *seen), "{depth} {stride}");
            assert_eq!(patches.geometry().unwrap().n(), patches.n());
        }
    }
    // patches of one page are the usual ones, on every page
    let (usual, one) = (Patches::of_stack(stack.view(), (4, 5)), Patches::of_volume(stack.view(), (4, 5), 1));
    assert_eq!(usual.unwrap().stride(3).geometry(), one.unwrap().stride(3).geometry());
}

#[test]
fn a_depth_has_the_pages_of_the_stack_at_the_most() {
    let stack = numbered(3, 4, 4, 1);
    let refused = |depth: usize| Patches::of_volume(stack.view(), (2, 2), depth).unwrap_err().to_string();
    assert!(refused(4).contains("1 to 3 pages") && refused(4).contains("4 pages"), "{}", refused(4));
    assert!(refused(0).contains("0 pages"), "{}", refused(0));
    assert!(refused(usize::MAX).contains("1 to 3 pages"));
    let one = stack.slice(s![..1, .., .., ..]);
    assert!(Patches::of_volume(one, (2, 2), 2).unwrap_err().to_string().contains("1 page, all that the image has"));
}

#[test]
fn frames_of_a_movie_help_each_other() {
    // a bright square that moves by a pixel from frame to frame, seen with few photons
    let clean = Array4::from_shape_fn((12, 32, 32, 1), |(page, y, x, _)| {
        let (top, left) = (5 + page, 3 + page);
        if (top..top + 9).contains(&y) && (left..left + 9).contains(&x) { 1.5 } else { 0.2 }
    });
    let error = |depth: usize, seed: u64| {
        let noisy = Corruption::new("poisson").seed(seed).run(clean.view()).unwrap().noisy;
        let denoiser = Denoiser::new("poisson").patch(8, 8).depth(depth).causes(20).iterations(10).blur(1.5);
        // causes alone in both, because groups of similar patches are for single pages
        let denoiser = denoiser.similar_patches(false);
        let cleaned = denoiser.run(noisy.view()).unwrap().estimate.mean;
        (&cleaned - &clean).mapv(|e| e * e).mean().unwrap()
    };
    for seed in [1, 2] {
        let (single, over_frames) = (error(1, seed), error(3, seed));
        // 0.92 with the second seed
        assert!(over_frames < 0.95 * single, "{seed}: {over_frames} with three frames, {single} with one");
    }
}
