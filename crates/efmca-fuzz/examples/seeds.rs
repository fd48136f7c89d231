//! Writes the small real files from which fuzzing starts: `cargo run -p efmca-fuzz --example seeds`.
//!
//! Images of other programs come from `crates/efmca-io/tests/files`; all else is made here, the same at each call.

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use efmca::family::registry::entries;
use efmca::{Em, Fingerprint, Model, SparseRows, Truncation};
use efmca_fuzz::{TARGETS, join_arrays, split_safetensors};
use efmca_io::table_file::write_sparse;
use efmca_io::{ModelFile, encode_model, write_checkpoint};
use ndarray::Array2;
use serde_json::json;

type Done = Result<(), Box<dyn Error>>;

struct Corpus(PathBuf);

impl Corpus {
    fn keep(&self, target: &str, name: &str, bytes: &[u8]) -> Done {
        let folder = self.0.join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(std::fs::write(folder.join(format!("seed-{name}")), bytes)?)
    }
}

fn main() -> Done {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = Corpus(here.join("../../fuzz/corpus"));
    images(&corpus, &here.join("../efmca-io/tests/files"))?;
    sounds(&corpus)?;
    tables(&corpus)?;
    texts(&corpus)?;
    models(&corpus)?;
    numbers(&corpus)
}

/// Files of other programs, each in the corpus of its format.
fn images(corpus: &Corpus, files: &Path) -> Done {
    for entry in std::fs::read_dir(files)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let target = match path.extension().and_then(|extension| extension.to_str()) {
            Some("tif") => "tiff",
            Some("gz") => "gzip",
            Some(format @ ("png" | "npy" | "npz" | "fits")) => format,
            _ => continue,
        };
        let bytes = std::fs::read(&path)?;
        let longest = TARGETS.iter().find(|known| known.name == target).map_or(0, |known| known.longest);
        if bytes.len() <= longest {
            corpus.keep(target, name, &bytes)?;
        }
    }
    for (number, (shape, text)) in
        [([2, 3, 4, 0, 0], "yxc"), ([2, 3, 0, 0, 0], "xy"), ([2, 3, 4, 5, 0], "pcyx"), ([3, 2, 4, 0, 0], "yxa")]
            .iter()
            .enumerate()
    {
        let axes = text.len() as u8;
        let bytes = [&[axes], &shape[..text.len()], &[1, 2, 3], text.as_bytes()].concat();
        corpus.keep("axes", &number.to_string(), &bytes)?;
    }
    Ok(())
}

fn sounds(corpus: &Corpus) -> Done {
    use hound::{SampleFormat, WavSpec, WavWriter};
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sound.wav");
    for (bits, sample_format) in [
        (8, SampleFormat::Int),
        (16, SampleFormat::Int),
        (24, SampleFormat::Int),
        (32, SampleFormat::Int),
        (32, SampleFormat::Float),
    ] {
        for channels in [1, 2] {
            let spec = WavSpec { channels, sample_rate: 8000, bits_per_sample: bits, sample_format };
            let mut writer = WavWriter::create(&path, spec)?;
            for n in 0..40 {
                match sample_format {
                    SampleFormat::Int => writer.write_sample((n * 37) % 120 - 60)?,
                    SampleFormat::Float => writer.write_sample((n as f32 / 7.0).sin())?,
                }
            }
            writer.finalize()?;
            corpus.keep(
                "wav",
                &format!("{sample_format:?}{bits}-{channels}").to_lowercase(),
                &std::fs::read(&path)?,
            )?;
        }
    }
    Ok(())
}

fn tables(corpus: &Corpus) -> Done {
    let texts: [&[u8]; 12] = [
        b"age,smokes\n41,no\n,yes\n23,no\n",
        b"a;b;c\n1,5;2;x\n3,25;4;y\n",
        b"1\t2\t3\n4\t5\t6\n",
        b"\"a b\",\"c\"\"d\"\r\n1e5,-0.0\r\nNA,nan\r\n",
        b"day,value\n2021-01-02,3\n2021-01-03,4\n",
        b"\xef\xbb\xbfx,y\n1,1e308\n2,-5e-324\n",
        b"x\n1\n2\n\n3\n",
        b"a,b\n1,2,3\n",
        b"a,b\n1,inf\n2,3\n",
        b"id,x\nu1,1\nu2,2\nu3,3\nu4,4\n",
        b"1,2\n3,4\n-999,x\n",
        b"a,a,\n1,2,3\n",
    ];
    for (number, text) in texts.iter().enumerate() {
        for options in [0_u8, 0x56] {
            corpus.keep("csv", &format!("{number}-{options:02x}"), &[&[options], *text].concat())?;
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(text)?;
        corpus.keep("gzip", &format!("csv-{number}"), &packed.finish()?)?;
    }
    sparse(corpus)
}

/// Sparse matrices, as SciPy writes them and as their arrays.
fn sparse(corpus: &Corpus) -> Done {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("matrix.npz");
    for (name, rows) in [
        ("some", SparseRows::new(3, vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 3.0, 5.0])?),
        ("none", SparseRows::new(2, vec![0, 0, 0], vec![], vec![])?),
    ] {
        write_sparse(&path, &rows, true)?;
        let file = std::fs::read(&path)?;
        corpus.keep("npz", &format!("csr-{name}"), &file)?;
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file))?;
        let mut array = |name: &str| -> Result<Vec<u8>, Box<dyn Error>> {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut archive.by_name(&format!("{name}.npy"))?, &mut bytes)?;
            Ok(bytes)
        };
        let [shape, starts, indices, data] = ["shape", "indptr", "indices", "data"].map(&mut array);
        let (shape, starts, indices, data) = (shape?, starts?, indices?, data?);
        for form in ["csr", "csc"] {
            let mut format = array("format")?;
            let at = format.len() - 3;
            format[at..].copy_from_slice(form.as_bytes());
            let bytes = join_arrays([&format, &shape, &starts, &indices, &data]);
            corpus.keep("csr", &format!("{name}-{form}"), &bytes)?;
        }
    }
    Ok(())
}

fn texts(corpus: &Corpus) -> Done {
    for (target, texts) in [
        ("signs", &["cause,age,visits\nillness,+,-\nyouth,,0\n", "cause;a b;+\nx;0;\n", "cause\tage\n\"q\"\t+\n"][..]),
        (
            "views",
            &["column,view\nage,person\nvisits,care\n", "column;view\n\"a b\";x\n+;x\n", "\n\ncolumn\tview\nage\ta\n"],
        ),
        (
            "camera",
            &[
                r#"{"format": "efmca camera", "version": 1, "gain": 2.1, "offset": 100, "read_noise": 1.6}"#,
                r#"{"format": "efmca camera", "version": 1, "gain": 1e-3, "offset": -5, "read_noise": 0, "points": [[1, 2]]}"#,
            ],
        ),
        ("family", &["auto", "12", "step=0.5", "Hurdle-Gamma:k=2", "categorical:k=3,scores=1/2/4", "camera"]),
        (
            "arguments",
            &[
                "denoise\nnoisy.tif\n-o\nclean.tif\n--noise\npoisson\n--axes\npyxc\n--mask\nholes.png\n--patch\n8x8x5",
                "inpaint\na.npy\n-o\nb.npy\n--missing\n-1\n--learn-pages\n1,3",
                "learn\na.png\n--patch\n8\n--causes\n24\n--range\n0.1,0.9\n--out-dir\nx",
                "fit\ntable.csv\n-o\nm\n--family\nage=gamma:k=4\n--causes\nauto\n--delimiter\ntab\n--header\nyes",
                "select\nt.csv\n--causes\n1,2,4\n--threads\n2",
                "families\ngamma",
                "bars\n--family\npoisson\n--seed\n3",
                "corrupt\na\n-o\nb\n--noise\ncamera:gain=2,offset=100,read=1\n--peak\n2",
                "--help",
            ],
        ),
    ] {
        for (number, text) in texts.iter().enumerate() {
            corpus.keep(target, &number.to_string(), text.as_bytes())?;
        }
    }
    for spec in entries().iter().flat_map(|entry| entry.examples) {
        corpus.keep("family", &spec.replace([':', '/'], "_"), spec.as_bytes())?;
    }
    Ok(())
}

/// The data that the body of the checkpoints has, too.
fn small_counts() -> Array2<f64> {
    Array2::from_shape_fn((6, 2), |(n, d)| ((3 * n + 5 * d) % 7) as f64)
}

fn models(corpus: &Corpus) -> Done {
    let y = small_counts();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.safetensors");
    let base = Em::new(2).family("poisson").iterations(5).tolerance(0.0);
    for (name, em) in [
        ("exact", base.clone()),
        ("truncated", base.clone().truncated(Truncation::new(3))),
        ("batches", base.clone().truncated(Truncation::new(2)).batches(2)),
        ("many", Em::new(70).family("poisson").iterations(4).truncated(Truncation::new(2))),
    ] {
        let mut written = Ok(());
        em.run_observed(&y, &mut |progress| {
            let Some(training) = progress.training else { return ControlFlow::Continue(()) };
            written =
                write_checkpoint(&path, &training.state, &em.settings(), Fingerprint::of(&y), &json!({ "seed": 7 }));
            if training.iteration < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        corpus.keep("checkpoint", name, &split_safetensors(&std::fs::read(&path)?))?;
    }
    let counts = base.run(&y)?.model;
    let mixed =
        Em::new(2).families(["gaussian", "bernoulli"]).iterations(3).run(&y.mapv(|v| f64::from(v > 2.0)))?.model;
    let names = ["count", "answer"].map(String::from).to_vec();
    let labels = vec![None, Some(["no", "yes"].map(String::from).to_vec())];
    let patch = Some([1, 2, 1]);
    let file = |model: &Model| ModelFile::from(model.clone());
    for (name, file) in [
        ("counts", file(&counts)),
        ("mixed", ModelFile { names, labels, ..file(&mixed) }),
        ("patch", ModelFile { patch, logarithms: true, ..file(&counts) }),
        ("states", file(&base.truncated(Truncation::new(3)).run(&y)?.model)),
    ] {
        corpus.keep("model", name, &split_safetensors(&encode_model(&file)?))?;
    }
    Ok(())
}

/// Choices of families with ordinary numbers.
fn numbers(corpus: &Corpus) -> Done {
    for family in 0..48_u8 {
        corpus.keep("parameters", &family.to_string(), &[family, 48, 3, 48, 2, 112, 128, 1, 48, 1])?;
        let mut bytes = vec![
            1,
            1,
            5,
            family % 2,
            family,
            family.wrapping_mul(7),
            family.wrapping_mul(29),
            family.wrapping_mul(13),
            1,
        ];
        for n in 0..12_u8 {
            bytes.extend([48, n.wrapping_mul(family) % 9]);
        }
        corpus.keep("training", &family.to_string(), &bytes)?;
    }
    Ok(())
}
