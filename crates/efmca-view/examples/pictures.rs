//! Draws made-up causes, encodings and a curve into a folder, to look at: `cargo run -p efmca-view --example pictures -- folder`

use std::path::Path;

use efmca_io::write_atomically;
use efmca_view::{
    ActiveCause, CaptionedPicture, Dictionary, Drawing, Encoding, Field, Figure, Line, Points, Reference, Report,
    ReportSection, Scale, ViewError, encodings,
};
use ndarray::{Array2, Array3, Zip};

/// A number from 0 to 1 that looks random.
fn shuffled(seed: usize) -> f64 {
    let mixed = (seed as u64).wrapping_add(0x9e37_79b9).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 40) as f64 / f64::from(1 << 24)
}

/// A wave under a Gaussian window, like the causes of natural images.
fn gabor(number: usize, size: usize) -> Array2<f64> {
    let part = |place: usize| shuffled(10 * number + place);
    let (centre_x, centre_y) = (size as f64 * (0.2 + 0.6 * part(0)), size as f64 * (0.2 + 0.6 * part(1)));
    let (angle, phase) = (std::f64::consts::PI * part(2), std::f64::consts::TAU * part(3));
    let (frequency, width) = (0.3 + 1.2 * part(4), size as f64 * (0.08 + 0.12 * part(5)));
    Array2::from_shape_fn((size, size), |(y, x)| {
        let (x, y) = (x as f64 - centre_x, y as f64 - centre_y);
        let along = x * angle.cos() + y * angle.sin();
        (1.0 + part(6)) * (-(x * x + y * y) / (2.0 * width * width)).exp() * (frequency * along + phase).cos()
    })
}

fn save(folder: &Path, name: &str, drawing: &Drawing, zoom: usize) -> Result<(), ViewError> {
    write_atomically(&folder.join(format!("{name}.png")), &drawing.to_png(zoom)?)?;
    Ok(write_atomically(&folder.join(format!("{name}.svg")), drawing.to_svg()?.as_bytes())?)
}

fn dictionaries(folder: &Path) -> Result<Vec<CaptionedPicture>, ViewError> {
    let mut shown = Vec::new();
    for (count, size) in [(1000, 16), (100, 8), (1, 12)] {
        let mut means: Vec<Array2<f64>> = (1..=count).map(|h| gabor(h, size)).collect();
        means.insert(0, Array2::from_elem((size, size), 0.05));
        let deviations: Vec<_> = means.iter().map(|mean| mean.mapv(|value| 0.3 + 0.5 * value.abs())).collect();
        let priors = || (0..=count).map(|h| if h == 0 { 1.0 } else { 0.2 / (h as f64).powf(0.8) });

        let means = Dictionary::means("Means", means.iter().map(|field| Field::from(field.view())))
            .priors(priors())
            .background_first()
            .draw()?;
        let fields = deviations.iter().map(|field| Field::from(field.view()));
        let deviations =
            Dictionary::deviations("Standard deviations", fields).priors(priors()).background_first().draw()?;
        save(folder, &format!("means-{count}"), &means, 1)?;
        save(folder, &format!("deviations-{count}"), &deviations, 1)?;
        if count == 1000 {
            shown.push(CaptionedPicture::new("means", means.to_picture(1)?));
            shown.push(CaptionedPicture::new("standard deviations", deviations.to_picture(1)?));
        }
    }
    let colour: Vec<Array3<f64>> = (0..200)
        .map(|h| {
            let channels = [0, 1, 2].map(|channel| gabor(h + 200 * (channel / 2), 12));
            Array3::from_shape_fn((12, 12, 3), |(y, x, channel)| channels[channel][[y, x]])
        })
        .collect();
    let colour = Dictionary::means("Means in colour", colour.iter().map(|field| Field::from(field.view())));
    save(folder, "colour", &colour.draw()?, 1)?;
    let positive: Vec<_> = (0..300).map(|h| gabor(h, 10).mapv(f64::abs)).collect();
    let positive = Dictionary::means("Photon counts", positive.iter().map(|field| Field::from(field.view())));
    save(folder, "positive", &positive.scale(Scale::Shared).draw()?, 1)?;
    Ok(shown)
}

fn panels(folder: &Path) -> Result<Drawing, ViewError> {
    const SIZE: usize = 16;
    let background = (Array2::from_elem((SIZE, SIZE), 0.02), Array2::from_elem((SIZE, SIZE), 0.1));
    let mut data = Vec::new();
    for (number, count) in [(0, 3), (1, 5), (2, 0), (3, 15)] {
        let causes: Vec<_> = (0..count)
            .map(|h| gabor(20 * number + h + 1, SIZE))
            .map(|mean| (mean.clone(), mean.mapv(|value| 0.05 + 0.4 * value.abs())))
            .chain([background.clone()])
            .collect();
        let mut combined = causes[0].clone();
        for (mean, deviation) in &causes[1..] {
            Zip::from(&mut combined.0).and(&mut combined.1).and(mean).and(deviation).for_each(
                |m, d, mean, deviation| {
                    if mean.abs() > m.abs() {
                        (*m, *d) = (*mean, *deviation);
                    }
                },
            );
        }
        let patch = Array2::from_shape_fn((SIZE, SIZE), |(y, x)| {
            combined.0[[y, x]] + combined.1[[y, x]] * (shuffled(977 * number + SIZE * y + x) - 0.5)
        });
        data.push((number, patch, causes, combined));
    }
    let encoded: Vec<Encoding> = (data.iter())
        .map(|(number, patch, causes, combined)| Encoding {
            label: format!("patch {}", 1234 * number + 17),
            patch: patch.view().into(),
            causes: (causes.iter().enumerate())
                .map(|(h, (mean, deviation))| ActiveCause {
                    label: if h + 1 == causes.len() { "background".into() } else { format!("cause {}", 37 * h + 5) },
                    prior: (h + 1 < causes.len()).then_some(0.1 / (h + 1) as f64),
                    mean: mean.view().into(),
                    deviation: Some(deviation.view().into()),
                })
                .collect(),
            combined_mean: combined.0.view().into(),
            combined_deviation: Some(combined.1.view().into()),
        })
        .collect();
    let drawing = encodings("How patches are encoded", &encoded[..3])?;
    save(folder, "encodings", &drawing, 1)?;
    save(folder, "encoding-of-many", &encodings("", &encoded[3..])?, 1)?;
    Ok(drawing)
}

fn main() -> Result<(), ViewError> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let mut pictures = dictionaries(folder)?;
    pictures.push(CaptionedPicture::new("patches and their active causes", panels(folder)?.to_picture(1)?));
    let curve = |level: f64| (1..120).map(move |step| (f64::from(step), level - 9e5 / f64::from(step)));
    let noisy = (1..120).step_by(7).map(|step| (f64::from(step), -2.2e5 - 3e5 * shuffled(step as usize)));
    let figure = Figure::new("The bound rises")
        .x_label("iteration")
        .y_label("bound on the log-likelihood")
        .line(Line::new(curve(-1.1e5)).label("run 1"))
        .line(Line::new(curve(-2.3e5)).label("run 2 (\u{3c0} fixed)"))
        .points(Points::new(noisy).label("other starts"))
        .reference(Reference::dashed(-5e4).label("ground truth"));
    save(folder, "figure", &figure.draw(640, 400)?, 2)?;
    let text = "All causes at once.".into();
    let section = ReportSection { heading: "Dictionary".into(), text, pictures, ..ReportSection::default() };
    Report { title: "Learned features".into(), sections: vec![section], ..Report::default() }
        .write(&folder.join("report.html"), true)
}
