use efmca::family::family;
use efmca::model::Data;
use efmca::posterior::Precision;
use efmca::posterior::truncated::*;
use efmca::{Em, Patches, Truncation, Superposition};
use ndarray::Array2;
use std::ops::ControlFlow;
use std::sync::Arc;
use rand::SeedableRng;
pub fn main() {
    let args: Vec<String> = std::env::args().skip(2).collect();
    let h: usize = args[1].parse().unwrap();
    let iterations: usize = args[2].parse().unwrap();
    let what = args[3].clone();
    let mut last = cpu_time::ProcessTime::now();
    let mut wall = std::time::Instant::now();
    let evo = |p, c| Arc::new(Evolution { parents: p, children: c, selection: Selection::Fitness, variation: Variation::RandomFlip });
    let t = match what.as_str() {
        "one" => Truncation::new(60),
        "one2" => Truncation::new(60).proposals(vec![Arc::new(OneFlips { parents: 2 })]),
        "evo" => Truncation::evolution(60, *evo(10, 9), 2),
        "mix" => Truncation::new(60).proposals(vec![Arc::new(OneFlips { parents: 1 }), evo(10, 7)]),
        _ => Truncation::new(60).proposals(vec![Arc::new(OneFlips { parents: 1 }), Arc::new(Neighbours { each: 8 }), Arc::new(Marginals { draws: 38 })]),
    };
    let t = t.precision(Precision::Single);
    let mut run = |em: Em, data: &dyn Data| {
        let n = data.n() as f64;
        let mut ev: u64 = 0; let _ = &mut ev;
        let fit = em.fit_observed(data, None, &mut |p| {
            eprintln!("{} bound {:.3} pi {:.2} cpu {:.3} wall {:.3} us/row {:.2}", p.iteration, p.bound / n, p.model.pi().sum(), last.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64(), last.elapsed().as_secs_f64() * 1e6 / n);
            last = cpu_time::ProcessTime::now(); wall = std::time::Instant::now();
            ControlFlow::Continue(())
        }).unwrap();
        for s in &fit.history { eprint!("{:.0}/{:.1} ", s.effort.evaluations as f64 / n, s.effort.replaced as f64 / n); }
        eprintln!("final {:.3}", fit.log_likelihood / n);
    };
    if args[0] == "house" {
        let img = image::open("/work/shared/data/poisson/house.png").unwrap().to_luma8();
        let (w, hh) = img.dimensions();
        let peak = 2.0;
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let max = img.pixels().map(|p| p.0[0]).max().unwrap() as f64;
        let noisy = Array2::from_shape_fn((hh as usize, w as usize), |(y, x)| {
            let m = img.get_pixel(x as u32, y as u32).0[0] as f64 / max * peak;
            let f = family("poisson").unwrap();
            f.sample(&[m.max(1e-9).ln()], &mut rng)
        });
        let p = Patches::new(noisy, (20, 20)).unwrap();
        run(Em::new(h).family(family("poisson").unwrap()).truncated(t).iterations(iterations).seed(1), &p);
    } else {
        let n: usize = args[4].parse().unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        use rand::RngExt;
        let y = Array2::<f32>::from_shape_fn((n, 400), |_| (rng.random::<f32>() + rng.random::<f32>() + rng.random::<f32>() - 1.5) * 2.0);
        run(Em::new(h).family(family("gaussian").unwrap()).superposition(Superposition::MaxMagnitude).pi_init(0.1, 0.5).truncated(t).iterations(iterations).seed(1), &y);
    }
}
