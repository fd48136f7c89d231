//! Gain, offset and read noise from images.

mod bins;
mod dark;
mod likelihood;
mod samples;

use ndarray::{Array2, ArrayView2, ArrayView4, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::bins::{Bin, Level, Line, fit_line};
use self::likelihood::{Known, fit};
use self::samples::{GROUPS, Sample};
use super::Camera;
use crate::error::{Error, Result};

/// More pixels than these tell nothing new; every n-th is taken.
const MOST_PIXELS: usize = 4_000_000;
/// A largest value that this part of the pixels has, and three times as many as the next, is where the camera saturates.
const SATURATED: f64 = 1e-3;
/// Rounds of choosing pixels by the line and fitting the line to them.
const ROUNDS: usize = 3;

/// Settings for finding the numbers of a camera.
///
/// Of pixels that are equally bright in flat parts of a scene, the mean $\mu$ and the variance lie on the photon-transfer
/// line
/// $$ \mathrm{Var} = g(\mu - o) + r^2 . $$
/// Pixels are grouped by the brightness of a ring around them, and chosen by its flatness; since the noise of the ring is
/// independent of that of the pixel, this does not distort its noise. What the scene adds to the variance of a group is its
/// covariance between neighbouring pixels, extended to distance zero, or that between frames of one scene.
///
/// The line alone does not tell offset and read noise apart. Their values, and the gain, are those that make all groups
/// most likely under the exact distribution of counts behind Gaussian noise, whose skewness is that of the photons. This
/// needs pixels with few photons; the standard errors say how well it worked. They come from leaving out parts of the image.
///
/// ```
/// use efmca::tasks::camera::{Calibration, Camera, Shots};
/// use ndarray::Array4;
///
/// // a ramp from 0 to 8 photons
/// let photons = Array4::from_shape_fn((1, 160, 160, 1), |(_, _, x, _)| x as f64 / 20.0);
/// let image = Camera { gain: 2.0, offset: 50.0, read_noise: 1.0 }.expose(photons.view(), 1)?;
/// let found = Calibration::new().run(&Shots { scenes: vec![image.view()], ..Shots::default() })?;
/// assert!((found.camera.gain - 2.0).abs() < 0.2 && (found.camera.offset - 50.0).abs() < 1.0);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Calibration {
    offset: Option<f64>,
    read_noise: Option<f64>,
}

/// Images to calibrate with, by page, row, column and channel; NaN is missing.
#[derive(Debug, Clone, Default)]
pub struct Shots<'a> {
    /// Images of scenes. Their pages are images of their own, unless [`Shots::one_scene`].
    pub scenes: Vec<ArrayView4<'a, f64>>,
    /// Whether all pages of all scenes are frames of one static scene.
    pub one_scene: bool,
    /// Images of an even surface. The pages of each are frames with the same exposure.
    pub flats: Vec<ArrayView4<'a, f64>>,
    /// Images without light.
    pub darks: Vec<ArrayView4<'a, f64>>,
}

/// A camera with what is known about its numbers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Calibrated {
    /// The camera.
    pub camera: Camera,
    /// Standard errors of its numbers.
    pub errors: StandardErrors,
    /// Groups of equally bright pixels.
    pub points: Vec<LinePoint>,
    /// Number of pixels in these groups.
    pub pixels: usize,
    /// What limits the result, and what to do about it.
    pub remarks: Vec<String>,
}

/// Standard errors of the numbers of a camera; none for those that were given.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StandardErrors {
    /// That of the gain.
    pub gain: Option<f64>,
    /// That of the offset.
    pub offset: Option<f64>,
    /// That of the read noise.
    pub read_noise: Option<f64>,
}

/// Equally bright pixels: a point of the photon-transfer line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinePoint {
    /// Their mean value.
    pub mean: f64,
    /// The variance of their noise.
    pub variance: f64,
    /// How much the point counts: one over its squared error, less where the scene is not flat.
    pub weight: f64,
}

impl Calibration {
    /// All three numbers are looked for.
    pub fn new() -> Calibration {
        Calibration::default()
    }

    /// The offset is known, in camera units.
    #[must_use]
    pub fn offset(mut self, offset: f64) -> Calibration {
        self.offset = Some(offset);
        self
    }

    /// The read noise is known, in camera units.
    #[must_use]
    pub fn read_noise(mut self, read_noise: f64) -> Calibration {
        self.read_noise = Some(read_noise);
        self
    }

    /// Whether the settings can be used; any image may come.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for an offset or read noise that no camera has.
    pub fn check(&self) -> Result<()> {
        let offset = self.offset.unwrap_or(0.0);
        Camera { gain: 1.0, offset, read_noise: self.read_noise.unwrap_or(0.0) }.check()
    }

    /// Finds the camera that took these images.
    ///
    /// # Errors
    ///
    /// All that [`Calibration::check`] finds; [`Error::Shape`] for frames of different sizes; [`Error::Calibration`] if the
    /// images do not tell: too few pixels, no flat parts, or all of the same brightness.
    pub fn run(&self, shots: &Shots<'_>) -> Result<Calibrated> {
        self.check()?;
        let mut remarks = Vec::new();
        let dark = dark::measure(&shots.darks)?;
        let known = Known {
            offset: self.offset.or(dark.map(|dark| dark.offset)),
            read_noise: self.read_noise.or(dark.map(|dark| dark.read_noise)),
        };
        let Pixels { samples, whole, exact_scene } = pixels(shots, &mut remarks)?;
        let (bins, line) = transfer_line(&samples, whole, exact_scene)?;
        let levels = |without| -> Vec<Level> { bins.iter().filter_map(|bin| bin.level(without)).collect() };
        let all = levels(None);
        let camera = fit(&all, &line, known, None);
        let mut errors = jackknife(&camera, known, exact_scene, line.scatter, levels);
        if let (Some(offset), Some(read_noise)) = (&mut errors.offset, &mut errors.read_noise) {
            // Regions agree where nothing but the assumption about read noise speaks; the likelihood then hardly changes.
            let along = likelihood::error_along_the_line(&all, &line, &camera);
            *read_noise = read_noise.max(along * camera.read_noise);
            *offset = offset.max(2.0 * along * camera.read_noise.powi(2) / camera.gain);
        }
        if let Some(dark) = dark {
            errors.offset = self.offset.is_none().then_some(dark.offset_error);
            errors.read_noise = self.read_noise.is_none().then_some(dark.read_noise_error);
        }
        remarks.extend(doubts(&camera, &errors));
        let point = |(level, trust): (&Level, &f64)| LinePoint {
            mean: level.mean,
            variance: level.noise(),
            weight: trust / level.error2(),
        };
        let points = all.iter().zip(&line.trust).map(point).collect();
        let pixels = all.iter().map(|level| level.n).sum::<f64>() as usize;
        camera.check()?;
        Ok(Calibrated { camera, errors, points, pixels, remarks })
    }
}

/// Pixels with their surroundings.
struct Pixels {
    samples: Vec<Sample>,
    /// Whether all values are whole numbers.
    whole: bool,
    /// Whether the variance of the scene is measured by other frames.
    exact_scene: bool,
}

fn pixels(shots: &Shots<'_>, remarks: &mut Vec<String>) -> Result<Pixels> {
    let mut stacks: Vec<Vec<ArrayView2<'_, f64>>> = Vec::new();
    for scene in &shots.scenes {
        stacks.extend(planes(scene).into_iter().map(|plane| vec![plane]));
    }
    if shots.one_scene {
        stacks = vec![stacks.into_iter().flatten().collect()];
        if stacks[0].len() < 2 {
            return Err(Error::Calibration {
                problem: "frames of one scene are 2 or more images or pages; give more, or leave out \
                          --frames-are-one-scene"
                    .into(),
            });
        }
    }
    for flat in &shots.flats {
        let channels = flat.dim().3;
        for channel in 0..channels {
            stacks.push((0..flat.dim().0).map(|page| plane(flat, page, channel)).collect());
        }
    }
    let values = || stacks.iter().flatten().flat_map(|plane| plane.iter().copied());
    let count = values().filter(|value| value.is_finite()).count();
    if count == 0 {
        return Err(Error::Calibration {
            problem:
                "there is no image with light in it, so that the gain cannot be found; give an image of a scene or a \
                      flat frame"
                    .into(),
        });
    }
    let stride = count.div_ceil(MOST_PIXELS);
    let whole = values().filter(|value| value.is_finite()).all(|value| value == value.round());
    let limit = saturation(values(), count, remarks);
    let mut samples = Vec::new();
    for stack in &stacks {
        let stack: Vec<Array2<f64>> =
            stack.iter().map(|plane| plane.mapv(|value| if value < limit { value } else { f64::NAN })).collect();
        let views: Vec<ArrayView2<'_, f64>> = stack.iter().map(|plane| plane.view()).collect();
        if let [alone] = &views[..] {
            samples::of_image(alone, stride, &mut samples);
            continue;
        }
        for view in &views {
            if view.dim() != views[0].dim() {
                let size = |(rows, columns): (usize, usize)| format!("{rows} x {columns} pixels");
                return Err(Error::shape("frames of one scene", size(views[0].dim()), size(view.dim())));
            }
        }
        let sum = views.iter().fold(Array2::zeros(views[0].dim()), |sum: Array2<f64>, view| sum + view);
        samples::of_frames(&views, &(sum / views.len() as f64).view(), stride, &mut samples);
    }
    Ok(Pixels { samples, whole, exact_scene: stacks.iter().all(|stack| stack.len() > 1) })
}

fn plane<'a>(stack: &ArrayView4<'a, f64>, page: usize, channel: usize) -> ArrayView2<'a, f64> {
    (*stack).index_axis_move(Axis(0), page).index_axis_move(Axis(2), channel)
}

fn planes<'a>(stack: &ArrayView4<'a, f64>) -> Vec<ArrayView2<'a, f64>> {
    let (pages, _, _, channels) = stack.dim();
    (0..pages * channels).map(|i| plane(stack, i / channels, i % channels)).collect()
}

/// The value from which on pixels are saturated; infinity if there is none.
fn saturation(values: impl Iterator<Item = f64>, count: usize, remarks: &mut Vec<String>) -> f64 {
    let (mut top, mut at_top, mut next, mut at_next) = (f64::NEG_INFINITY, 0, f64::NEG_INFINITY, 0);
    for value in values.filter(|value| value.is_finite()) {
        if value > top {
            (next, at_next) = (top, at_top);
            (top, at_top) = (value, 1);
        } else if value == top {
            at_top += 1;
        } else if value > next {
            (next, at_next) = (value, 1);
        } else if value == next {
            at_next += 1;
        }
    }
    if at_top > 3 * at_next && at_top as f64 > SATURATED * count as f64 {
        remarks
            .push(format!("{at_top} pixels have the largest value {top}: they are taken for saturated and left out"));
        top
    } else {
        f64::INFINITY
    }
}

/// Groups of pixels, chosen by the line that they give.
fn transfer_line(samples: &[Sample], whole: bool, exact_scene: bool) -> Result<(Vec<Bin>, Line)> {
    let fail = |problem: &str| Error::Calibration { problem: problem.to_owned() };
    let few = "too few pixels lie in flat parts of the images; give larger images, images with smooth parts, or flat \
               frames (--flat)";
    let level = |bins: &[Bin]| -> Vec<Level> { bins.iter().filter_map(|bin| bin.level(None)).collect() };
    let mut bins = bins::first_bins(samples, whole);
    let mut levels = level(&bins);
    if levels.len() < 2 {
        return Err(fail(few));
    }
    let no_line = "the noise does not grow with the brightness of the images, or all pixels are equally bright, so that \
                   there is no gain to find; give images with darker and brighter parts as the camera recorded them";
    let mut line = fit_line(&levels, exact_scene).ok_or_else(|| fail(no_line))?;
    for _ in 0..ROUNDS {
        let least = 0.5 * levels.iter().map(Level::noise).fold(f64::INFINITY, f64::min);
        let most = levels.iter().map(Level::noise).fold(0.0, f64::max);
        let next = bins::bins(samples, &line, least.max(1e-3 * most), whole, exact_scene);
        levels = level(&next);
        if levels.len() < 2 {
            return Err(fail(few));
        }
        line = fit_line(&levels, exact_scene).ok_or_else(|| fail(no_line))?;
        bins = next;
    }
    bins.retain(|bin| bin.level(None).is_some());
    Ok((bins, line))
}

/// Standard errors from leaving out one region of the images after the other.
fn jackknife(
    camera: &Camera,
    known: Known,
    exact_scene: bool,
    scatter: f64,
    levels: impl Fn(Option<usize>) -> Vec<Level> + Sync,
) -> StandardErrors {
    let without = |region: usize| {
        let levels = levels(Some(region));
        let line = fit_line(&levels, exact_scene)?;
        Some(fit(&levels, &line, known, Some(*camera)))
    };
    let cameras: Vec<Camera> = (0..GROUPS).into_par_iter().filter_map(without).collect();
    let count = cameras.len() as f64;
    let error = |read: fn(&Camera) -> f64| {
        let mean = cameras.iter().map(read).sum::<f64>() / count;
        let squares = cameras.iter().map(|camera| (read(camera) - mean).powi(2)).sum::<f64>();
        // points that scatter more about the line than their errors explain: so do its numbers
        ((count - 1.0) / count * squares * scatter.max(1.0)).sqrt()
    };
    StandardErrors {
        gain: (count > 1.0).then(|| error(|camera| camera.gain)),
        offset: (count > 1.0 && known.offset.is_none()).then(|| error(|camera| camera.offset)),
        read_noise: (count > 1.0 && known.read_noise.is_none()).then(|| error(|camera| camera.read_noise)),
    }
}

/// What the errors mean for the user.
fn doubts(camera: &Camera, errors: &StandardErrors) -> Vec<String> {
    let mut doubts = Vec::new();
    if errors.gain.is_some_and(|error| error > 0.05 * camera.gain) {
        doubts.push(
            "the gain is uncertain by more than 5 %: few flat parts, or little difference in brightness; more images, \
             several frames of one scene or flat frames help"
                .to_owned(),
        );
    }
    let offset = errors.offset.is_some_and(|error| error > 0.5 * camera.gain);
    if offset || errors.read_noise.is_some_and(|error| error > 0.1 * camera.read_noise) {
        doubts.push(
            "offset and read noise are told apart by pixels with fewer than about three photons, and there are not enough \
             of them; a dark frame (--dark), --offset or --read-noise helps"
                .to_owned(),
        );
    }
    doubts
}
