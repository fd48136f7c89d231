//! Whether the residual looks like the noise that was assumed: in a line, for programs, and on the page.

use std::path::Path;

use efmca::family::SharedFamily;
use efmca::tasks::denoise::Estimate;
use efmca::tasks::residual::{Direction, Finding, FindingKind, Offsets, Residual, ResidualCheck};
use efmca_view::{
    CaptionedPicture, Figure, LegendPlace, Line, Picture, Points, Reference, ReportSection, most_changed, panels,
};
use ndarray::{Array2, Axis};
use serde_json::Value;

use super::noisy::Noisy;
use crate::failure::Failure;

/// Residuals that have the strongest colours, in standard deviations of the noise.
const MOST: f64 = 3.0;
/// Side and number of the regions that are shown larger. Images with sides below the last number are shown large enough
/// as a whole, and lines of pixels have no regions.
const SIDE: usize = 48;
const REGIONS: usize = 4;
const LARGE: usize = 192;
const LEAST_SIDE: usize = 16;
/// What a squared residual, or a missing pixel, counts at most where the most changed regions are looked for.
const MOST_CHANGE: f64 = 25.0;

/// The check of a result.
pub(super) struct Check(Residual);

impl Check {
    /// Compares the image with its estimate.
    pub(super) fn new(family: &SharedFamily, noisy: &Noisy<'_>, estimate: &Estimate) -> Result<Self, Failure> {
        let check = ResidualCheck::new(family).run(noisy.values.view(), estimate.mean.view());
        check.map(Self).map_err(Failure::work)
    }

    /// The verdict: one line, or one for each thing that was found.
    pub(super) fn lines(&self, input: &Path) -> Vec<String> {
        let Self(residual) = self;
        if !residual.is_judged() {
            return vec![format!(
                "the image is too small to say whether the residual looks like {} noise",
                residual.family
            )];
        }
        if residual.findings.is_empty() {
            return vec![format!("the residual looks like {} noise", residual.family)];
        }
        residual.findings.iter().map(|finding| warning(finding, input)).collect()
    }

    /// The check for programs.
    pub(super) fn fields(&self) -> Vec<(&'static str, Value)> {
        let Self(residual) = self;
        let near = |rows, columns| residual.correlations.at(rows, columns).map(|lag| lag.flat);
        let offsets = |direction| residual.offsets.iter().find(|of| of.direction == direction).map(Offsets::deviation);
        let dispersion = residual.dispersion;
        let judged = residual.is_judged().then_some(residual.findings.is_empty());
        let findings = residual
            .findings
            .iter()
            .map(|finding| serde_json::json!({ "kind": finding.kind, "text": finding.text, "advice": finding.advice }));
        let mut fields = vec![
            ("noise", residual.family.clone().into()),
            ("looks_like_noise", judged.into()),
            ("dispersion", dispersion.map(|of| of.all.value).into()),
            ("dispersion_error", dispersion.map(|of| of.all.error).into()),
            ("dispersion_flat", dispersion.and_then(|of| of.flat).map(|of| of.value).into()),
            ("dispersion_busy", dispersion.and_then(|of| of.busy).map(|of| of.value).into()),
            ("quantile_distance", residual.quantiles.as_ref().map(|of| of.distance).into()),
            ("correlation_along_rows", near(0, 1).into()),
            ("correlation_along_columns", near(1, 0).into()),
            ("row_offsets", offsets(Direction::Rows).into()),
            ("column_offsets", offsets(Direction::Columns).into()),
        ];
        if let Some(ratio) = residual.ratio {
            fields.extend([
                ("ratio_mean", ratio.mean.into()),
                ("ratio_variance", ratio.variance.into()),
                ("looks", ratio.looks.into()),
                ("looks_before", ratio.looks_before.into()),
                ("looks_after", ratio.looks_after.into()),
            ]);
        }
        fields.push(("findings", findings.collect::<Vec<Value>>().into()));
        fields
    }

    /// The regions that changed most, in all pictures, larger.
    pub(super) fn details(&self, pictures: &[CaptionedPicture]) -> Result<ReportSection, Failure> {
        let change = self.page().mapv(|r| if r.is_nan() { MOST_CHANGE } else { (r * r).min(MOST_CHANGE) });
        let (rows, columns) = change.dim();
        let side = SIDE.min(rows).min(columns);
        let large = rows.max(columns) >= LARGE && side >= LEAST_SIDE;
        let corners = if large { most_changed(change.view(), side, REGIONS) } else { Vec::new() };
        let mut parts = Vec::new();
        for (row, column) in corners {
            for CaptionedPicture { caption, picture } in pictures {
                let part = picture.part((row, column), (side, side)).map_err(Failure::work)?;
                let place = format!("rows {} to {}, columns {} to {}", row + 1, row + side, column + 1, column + side);
                parts.push(CaptionedPicture::new(format!("{caption}: {place}"), part));
            }
        }
        Ok(ReportSection {
            heading: "Most changed regions".into(),
            text: "Where the residual is largest for its noise.".into(),
            // a region of two pictures is half a row, one of three a row
            across: if pictures.len() == 2 { 4 } else { 3 },
            pictures: parts,
            ..ReportSection::default()
        })
    }

    /// What the residual looks like, beside another picture of the same size.
    pub(super) fn section(&self, other: CaptionedPicture) -> Result<ReportSection, Failure> {
        let page = self.page();
        let picture = Picture::signed(page.view(), MOST).map_err(Failure::work)?;
        let caption = format!("residual over the standard deviation of the noise (blue: -{MOST}, red: {MOST})");
        let across = if page.ncols() > 3 * page.nrows() { 1 } else { 2 };
        Ok(ReportSection {
            heading: "Residual and uncertainty".into(),
            text: self.numbers(),
            figures: self.figures()?,
            across,
            pictures: vec![CaptionedPicture::new(caption, picture), other],
            ..ReportSection::default()
        })
    }

    /// The standardised residual of the first page; channels together.
    fn page(&self) -> Array2<f64> {
        let page = self.0.standardised.index_axis(Axis(0), 0);
        page.sum_axis(Axis(2)) / (page.len_of(Axis(2)) as f64).sqrt()
    }

    /// The numbers behind the verdict.
    fn numbers(&self) -> String {
        let Self(residual) = self;
        let mut lines = Vec::new();
        if let Some(of) = residual.dispersion {
            let part = |name: &str, share: Option<efmca::tasks::residual::Share>| {
                share.map_or(String::new(), |share| format!(", {:.2} where the image is {name}", share.value))
            };
            let whose = if residual.variance_known { "the noise" } else { "itself where the image is flat" };
            lines.push(format!(
                "Variance over that of {whose}: {:.2} ± {:.2}{}{}.",
                of.all.value,
                of.all.error,
                part("flat", of.flat.filter(|_| residual.variance_known)),
                part("busy", of.busy)
            ));
        }
        if let Some(of) = &residual.quantiles {
            lines.push(format!("Distance of its distribution (Kolmogorov-Smirnov): {:.3}.", of.distance));
        }
        for of in &residual.offsets {
            let (name, share) = (if of.direction == Direction::Rows { "rows" } else { "columns" }, of.deviation());
            lines.push(format!("Offsets of {name}: {share:.3} of its standard deviation."));
        }
        if let Some(ratio) = residual.ratio {
            lines.push(format!(
                "Ratio of before and after: mean {:.3}, variance {:.3} (the noise has {:.3}), {:.2} looks; looks in flat \
                 regions: {:.1} before, {:.1} after.",
                ratio.mean, ratio.variance, ratio.expected_variance, ratio.looks, ratio.looks_before, ratio.looks_after
            ));
        }
        lines.join("\n")
    }

    /// The distribution and the correlations.
    fn figures(&self) -> Result<Vec<String>, Failure> {
        let Self(residual) = self;
        let mut figures = Vec::new();
        if let Some(of) = &residual.quantiles {
            let count = of.histogram.len() as f64;
            let steps = of.histogram.iter().enumerate().flat_map(|(bar, share)| {
                let (from, height) = (bar as f64, share * count);
                [(from / count, height), ((from + 1.0) / count, height)]
            });
            let highest = of.histogram.iter().fold(2.0, |most: f64, share| most.max(1.1 * share * count));
            figures.push(
                Figure::new("Quantiles of the residual")
                    .x_label(format!("quantile of {} noise", residual.family))
                    .y_label("density")
                    .y_range(0.0, highest)
                    .line(Line::new(steps).width(2.0))
                    .reference(Reference::dashed(1.0)),
            );
        }
        let along = |rows: isize, columns: isize| {
            let lags = residual.correlations.lags.iter();
            let lags = lags.filter(move |lag| if rows > 0 { lag.columns == 0 } else { lag.rows == 0 && columns > 0 });
            lags.map(|lag| ((lag.rows + lag.columns) as f64, lag.flat)).collect::<Vec<_>>()
        };
        let (in_rows, in_columns) = (along(0, 1), along(1, 0));
        if !in_rows.is_empty() || !in_columns.is_empty() {
            let lags = residual.correlations.lags.iter().filter(|lag| !lag.flat.is_nan());
            let band = 2.0 * lags.clone().map(|lag| lag.flat_error).fold(0.0, f64::max);
            let most = lags.map(|lag| 1.2 * lag.flat.abs()).fold(0.2_f64.max(1.2 * band), f64::max);
            figures.push(
                Figure::new("Correlation of near pixels")
                    .x_label("distance in pixels")
                    .y_label("correlation where the image is flat")
                    .x_range(0.5, 4.5)
                    .y_range(-most, most)
                    .points(Points::new(in_rows).radius(5.0).label("along rows"))
                    .points(Points::new(in_columns).radius(5.0).label("along columns"))
                    .reference(Reference::dashed(band))
                    .reference(Reference::dashed(-band))
                    .legend(LegendPlace::UpperRight),
            );
        }
        if figures.is_empty() { Ok(Vec::new()) } else { Ok(vec![panels(&figures, 480, 320).map_err(Failure::work)?]) }
    }
}

/// A finding with what to do, in the words of the command line.
fn warning(finding: &Finding, input: &Path) -> String {
    let how = match finding.kind {
        FindingKind::VariesTooMuch | FindingKind::VariesTooLittle if finding.advice.contains("gain") => {
            " (--gain, --offset)".to_owned()
        }
        FindingKind::VariesTooMuch | FindingKind::VariesTooLittle | FindingKind::OtherDistribution => {
            format!(" (efmca noise-type {})", input.display())
        }
        FindingKind::SceneLeft => " (--quality best, --causes, --patch)".to_owned(),
        _ => String::new(),
    };
    format!("warning: {}: {}{how}", finding.text, finding.advice)
}
