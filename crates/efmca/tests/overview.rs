//! The overview of a table: effects, what causes explain, unlikely rows, and groups.

use efmca::tasks::overview::{Grouping, Overview};
use efmca::{Error, bars};
use ndarray::Array2;

#[test]
fn effects_and_what_is_explained_follow_the_bars() {
    let model = bars::model("poisson", 3, &[20.0], &[1.0], 0.2).unwrap();
    let drawn = model.sample(800, 1);
    let overview = Overview::new().run(&model, drawn.y.view()).unwrap();
    for (h, cause) in overview.causes.iter().enumerate() {
        let shows: Vec<usize> =
            cause.effects.iter().filter(|effect| effect.far > 1.0).map(|effect| effect.column).collect();
        assert_eq!(shows.len(), 3, "{shows:?}");
        assert!((cause.share - 0.2).abs() < 0.06 && cause.rows.iter().all(|(n, _)| drawn.s[[*n, h]] == 1.0));
        for d in 0..9 {
            let explained = overview.explained.by_cause[[h, d]];
            // a bar explains its own pixels, and nothing else
            assert!(if shows.contains(&d) { explained > 0.02 } else { explained.abs() < 0.05 }, "{h} {d} {explained}");
        }
    }
    // two pixels of a bar are left to say that it is on
    assert!(overview.explained.total().iter().all(|nats| *nats > 0.3), "{}", overview.explained.total());
    // a tenth of 7,200 cells
    assert!((600..840).contains(&overview.explained.entries.iter().sum::<usize>()));
    let mut order = overview.order.clone();
    order.sort_unstable();
    assert_eq!(order, (0..9).collect::<Vec<usize>>());
}

#[test]
fn a_wrong_cell_is_found() {
    let model = bars::model("poisson", 3, &[20.0], &[1.0], 0.2).unwrap();
    let mut y = model.sample(300, 2).y;
    y[[123, 4]] = 70.0;
    let overview = Overview::new().rows(3).run(&model, y.view()).unwrap();
    assert_eq!(overview.unlikely.len(), 3);
    let first = &overview.unlikely[0];
    assert_eq!((first.row, first.cells[0].column, first.cells[0].value), (123, 4, 70.0));
    assert!(first.cells[0].nats > 20.0 && first.cells[0].expected < 25.0);
}

#[test]
fn groups_in_which_a_cause_is_more_frequent_are_told_apart() {
    let model = bars::model("poisson", 3, &[20.0], &[1.0], 0.3).unwrap();
    let drawn = model.sample(600, 3);
    // the first cause names the group in two of three rows
    let group = |n: usize| Some(if n.is_multiple_of(3) { n % 2 } else { drawn.s[[n, 0]] as usize });
    let groups = Grouping::new(vec!["no".into(), "yes".into()], (0..600).map(group).collect());
    let overview = Overview::new().groups(groups).run(&model, drawn.y.view()).unwrap();
    assert_eq!(overview.groups.iter().map(|group| group.rows).sum::<usize>(), 600);
    assert!(overview.groups[1].shares[0] > overview.groups[0].shares[0] + 0.4);
    assert!(overview.tests[0].corrected < 1e-9);
    assert!(overview.tests[1..].iter().all(|test| test.corrected > 0.001), "{:?}", overview.tests);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let model = bars::model("poisson", 2, &[20.0], &[1.0], 0.2).unwrap();
    let y = model.sample(20, 1).y;
    let refused = |overview: Overview, y: &Array2<f64>| overview.run(&model, y.view()).unwrap_err();
    assert!(matches!(refused(Overview::new(), &Array2::zeros((5, 3))), Error::Shape { .. }));
    assert!(matches!(refused(Overview::new().held_out(0.0), &y), Error::Setting { .. }));
    let groups = |count: usize, rows: usize| Grouping::new(vec!["a".into()], vec![Some(count); rows]);
    assert!(matches!(refused(Overview::new().groups(groups(0, 19)), &y), Error::Shape { .. }));
    assert!(matches!(refused(Overview::new().groups(groups(1, 20)), &y), Error::Setting { .. }));
}
