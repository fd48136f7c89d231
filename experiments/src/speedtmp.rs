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
        use rand::RngExt;
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut normal = || (0..6).map(|_| rng.random::<f64>() - 0.5).sum::<f64>() * 1.41;
        let mu = Array2::from_shape_fn((h, 400), |_| normal());
        let var = Array2::from_shape_fn((h, 400), |(i, j)| 0.05 + 0.1 * mu[[i, j]].abs());
        let w2 = &mu * &mu + &var;
        let pi = ndarray::Array1::from_shape_fn(h, |i| 0.1 + 0.4 * ((i * 7919) % 1000) as f64 / 1000.0);
        let model = efmca::Model::new(family("gaussian").unwrap(), pi, vec![mu, w2], efmca::Background::fixed(&[0.0, 0.5])).unwrap().with_superposition(Superposition::MaxMagnitude).unwrap();
        let t0 = std::time::Instant::now();
        let _ = &model; let y = ndarray::Array2::<f32>::from_shape_fn((n, 400), |(i, j)| { let f = 0.05 + 0.3 * (i % 17) as f32 / 17.0; ((j as f32 * f + i as f32).sin() * ((j / 20) as f32 * f * 1.3 + (i % 29) as f32).cos()) + 0.3 * (((i * 31 + j) * 7919 % 1000) as f32 / 1000.0 - 0.5) });
        eprintln!("sampled in {:.1}", t0.elapsed().as_secs_f64());
        run(Em::new(h).family(family("gaussian").unwrap()).superposition(Superposition::MaxMagnitude).pi_init(0.1, 0.5).revive(false).truncated(t).iterations(iterations).seed(1), &y);
    }
}
