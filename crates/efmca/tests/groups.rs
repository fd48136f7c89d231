//! Causes that start from groups of rows, for every family of the registry.

mod common;

use common::{all_families, close, random_w};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

#[test]
fn a_member_moves_to_the_mean_of_a_group_and_keeps_a_share_of_its_spread() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for family in all_families() {
        for _ in 0..50 {
            let (group, all) = (random_w(&*family, &mut rng), random_w(&*family, &mut rng));
            let mut w = all.clone();
            family.move_to(&group, 0.5, &mut w);
            family.project(&mut w);
            assert!(family.inside(&w), "{}: {w:?}", family.spec());
            let (mean, wanted) = (family.f(&w), family.f(&group));
            assert!(mean == wanted || close(mean, wanted, 1e-9), "{}: {mean} {wanted}", family.spec());
            match (family.spread(&all), family.spread(&w)) {
                (Some(before), Some(after)) => assert!(close(after, 0.5 * before, 1e-6), "{}", family.spec()),
                (None, None) => assert_eq!(w, group, "{}", family.spec()),
                _ => panic!("{} has a spread in one place and none in another", family.spec()),
            }
        }
    }
}
