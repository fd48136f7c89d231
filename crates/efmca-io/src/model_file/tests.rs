use super::*;
use efmca::family::family;
use efmca::model::Columns;
use efmca::{Background, Superposition, bars};
use ndarray::{Array1, Array2, array};

fn one_family() -> Model {
    bars::model(family("gamma").unwrap(), 3, &[2.0, 0.2], &[2.0, 2.0], 0.2).unwrap()
}

/// Columns with one and two parameters, so that some entries of `w2` do not exist.
fn mixed() -> Model {
    let families = ["poisson", "gaussian", "gamma:k=4", "categorical:k=3"].map(|spec| family(spec).unwrap());
    let columns = Columns::new(families.to_vec()).unwrap();
    let w: Array2<f64> = array![[1.5, 0.1 + 0.2, 2.0, 7.0, 0.3, 0.3], [1e-300, -1.0, 1e10, 1.0 / 3.0, 0.1, 0.2]];
    let pi: Array1<f64> = array![0.1, 0.7];
    Model::from_parts(columns, pi, w, Background::Learned)
        .unwrap()
        .with_superposition(Superposition::Smooth { rho: 21.5 })
        .unwrap()
}

fn bits(model: &Model) -> Vec<(String, Vec<usize>, Vec<u64>)> {
    let tensors = model.to_tensors().into_iter();
    tensors.map(|t| (t.name, t.shape, t.values.iter().map(|value| value.to_bits()).collect())).collect()
}

fn bytes_of(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model(&path, model).unwrap();
    std::fs::read(&path).unwrap()
}

/// A file with one tensor, to make what `write_model` never does.
fn file_with(dtype: Dtype, shape: &[usize], bytes: &[u8], metadata: Option<&str>) -> Vec<u8> {
    let view = TensorView::new(dtype, shape.to_vec(), bytes).unwrap();
    let metadata = metadata.map(|text| HashMap::from([(METADATA_KEY.to_owned(), text.to_owned())]));
    safetensors::serialize([("w1", view)], metadata).unwrap()
}

#[test]
fn a_model_comes_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for model in [one_family(), mixed()] {
        let path = folder.path().join("model.safetensors");
        write_model(&path, &model).unwrap();
        let back = read_model(&path).unwrap();
        assert_eq!(bits(&back), bits(&model));
        assert_eq!(back.to_metadata(), model.to_metadata());
    }
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    for model in [one_family(), mixed()] {
        let first = bytes_of(&model);
        for _ in 0..10 {
            assert_eq!(bytes_of(&model), first);
        }
        // ... also after it was read
        assert_eq!(bytes_of(&decode(&first, family).unwrap().0), first);
    }
}

#[test]
fn files_that_are_cut_short_or_go_on_are_refused() {
    for model in [one_family(), mixed()] {
        let mut bytes = bytes_of(&model);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], family).is_err(), "{length} of {} bytes", bytes.len());
        }
        bytes.push(0);
        assert!(decode(&bytes, family).unwrap_err().contains("cut short, damaged, or no safetensors file"));
    }
}

#[test]
fn damaged_files_never_panic() {
    let bytes = bytes_of(&mixed());
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            // A flip in a number can give another valid model; anything but a panic is right.
            let _ = decode(&damaged, family);
        }
    }
}

#[test]
fn garbage_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("garbage.safetensors");
    let noise: Vec<u8> = (0..1000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for garbage in [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n", &[0; 64], &[255; 64], &noise] {
        std::fs::write(&path, garbage).unwrap();
        let message = read_model(&path).unwrap_err().to_string();
        assert!(message.contains("garbage.safetensors") && message.contains("no safetensors file"), "{message}");
    }
    let message = read_model(&folder.path().join("absent")).unwrap_err().to_string();
    assert!(message.contains("absent") && message.contains("check that the path is right"), "{message}");
    let message = read_model(folder.path()).unwrap_err().to_string();
    assert!(message.contains("is a folder"), "{message}");
}

#[test]
fn foreign_files_say_what_is_missing() {
    let problem = |bytes: &[u8]| decode(bytes, family).unwrap_err();
    let metadata = one_family().to_metadata();
    let zeros = [0_u8; 32];
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, None)).contains("no entry `efmca`"));
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, Some("{}"))).contains("not say that it is an efmca model"));
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, Some("{"))).contains("metadata cannot be read"));
    assert!(problem(&file_with(Dtype::F32, &[2, 4], &zeros, Some(&metadata))).contains("type F32"));
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, Some(&metadata))).contains("no tensor `pi`"));
    assert!(problem(&file_with(Dtype::F64, &[4], &zeros, Some(&metadata))).contains("two directions"));
    // no numbers, and an extent that no memory could hold
    assert!(problem(&file_with(Dtype::F64, &[0, 1 << 50], &[], Some(&metadata))).contains("empty"));
    let newer = metadata.replace("\"version\":1", "\"version\":2");
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, Some(&newer))).contains("version is 2"));
    let unknown = metadata.replace("gamma", "gama");
    assert!(problem(&file_with(Dtype::F64, &[2, 2], &zeros, Some(&unknown))).contains("did you mean `gamma`?"));
}

#[test]
fn names_and_labels_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let names: Vec<String> = ["visits", "a \"b\"\n", "größe", "city"].map(str::to_owned).to_vec();
    let labels = vec![None, None, None, Some(["Oslo", "Rome", ""].map(str::to_owned).to_vec())];
    let file = ModelFile { names, labels, ..mixed().into() };
    write_model_file(&path, &file).unwrap();
    let first = std::fs::read(&path).unwrap();
    let back = read_model_file(&path).unwrap();
    assert_eq!((&back.names, &back.labels), (&file.names, &file.labels));
    assert_eq!(back.labels_of(3).unwrap()[1], "Rome");
    assert!(back.labels_of(0).is_none() && back.labels_of(9).is_none());
    assert_eq!(bits(&back.model), bits(&file.model));
    assert_eq!(bits(&read_model(&path).unwrap()), bits(&file.model));
    write_model_file(&path, &back).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first);
}

#[test]
fn a_model_without_names_has_the_same_bytes_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model_file(&path, &ModelFile::from(mixed())).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes_of(&mixed()));
    let back = read_model_file(&path).unwrap();
    assert!(back.names.is_empty() && back.labels.is_empty());
}

#[test]
fn names_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let refused = |file: ModelFile| write_model_file(&path, &file).unwrap_err().to_string();
    assert!(refused(ModelFile { names: names(&["a"]), ..mixed().into() }).contains("1 names for 4 columns"));
    assert!(refused(ModelFile { names: names(&["a", "b", "a", "c"]), ..mixed().into() }).contains("called `a`"));
    assert!(refused(ModelFile { labels: vec![None], ..mixed().into() }).contains("labels of 1 columns"));
    let problem = |key: &str, value: Value| {
        let mut metadata: Value = serde_json::from_str(&mixed().to_metadata()).unwrap();
        metadata[key] = value;
        with_columns(mixed(), &metadata.to_string(), &[]).map(|_| ()).unwrap_err()
    };
    assert!(problem(NAMES_KEY, json!("a")).contains("no list of texts"));
    assert!(problem(NAMES_KEY, json!(["a", 1, "b", "c"])).contains("no list of texts"));
    assert!(problem(NAMES_KEY, json!(["a"])).contains("1 names for 4 columns"));
    assert!(problem(LABELS_KEY, json!([null, null, null, ["x", 2]])).contains("list of lists"));
    assert!(problem(LABELS_KEY, json!([null])).contains("labels of 1"));
    assert!(problem(PATCH_KEY, json!([2, 3, 1])).contains("size [2, 3, 1]"));
    assert!(problem(PATCH_KEY, json!("large")).contains("no size"));
    assert!(problem(PAGES_KEY, json!("many")).contains("no number"));
    assert!(problem(PAGES_KEY, json!(-2)).contains("no number"));
}

#[test]
fn patches_of_several_pages_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let file = ModelFile { patch: Some([2, 1, 1]), pages: 2, ..mixed().into() };
    write_model_file(&path, &file).unwrap();
    let back = read_model_file(&path).unwrap();
    assert_eq!((back.patch, back.pages), (Some([2, 1, 1]), 2));
    for pages in [0, 1, 3, usize::MAX] {
        let error = write_model_file(&path, &ModelFile { pages, ..file.clone() }).unwrap_err().to_string();
        assert!(error.contains("size [2, 1, 1]") && error.contains("4 columns"), "{error}");
    }
}

#[test]
fn patches_and_whitening_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let rows = ndarray::Array2::from_shape_fn((50, 4), |(n, d)| ((n * 7 + d * d * 3 + n * d) % 11) as f64);
    let whitening = Whitening::fit(&rows, 1.0).unwrap();
    let file = ModelFile { patch: Some([2, 2, 1]), logarithms: true, whitening: Some(whitening), ..mixed().into() };
    write_model_file(&path, &file).unwrap();
    let back = read_model_file(&path).unwrap();
    assert_eq!((back.patch, back.logarithms, &back.whitening), (file.patch, true, &file.whitening));
    let values = rows.mapv(|value| value + 1.0);
    let restored = back.restored(back.prepared(values.clone()).unwrap());
    assert!((&restored - &values).iter().all(|gap| gap.abs() < 1e-9));
    assert!(back.prepared(rows).unwrap_err().contains("row 1, column 1"));
    let mut missing = values;
    missing[[4, 2]] = f64::NAN;
    assert!(back.prepared(missing).unwrap_err().contains("row 5, column 3"));
    assert_eq!(bits(&read_model(&path).unwrap()), bits(&file.model));
}

#[test]
fn bytes_are_those_of_the_file_and_families_are_found_by_whoever_asks() {
    let file = ModelFile { names: ["a", "b", "c", "d"].map(String::from).to_vec(), ..ModelFile::from(mixed()) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model_file(&path, &file).unwrap();
    let bytes = encode_model(&file).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let read = decode_model(&bytes, family).unwrap();
    assert_eq!((bits(&read.model), &read.names), (bits(&file.model), &file.names));
    // nobody knows these families
    let nothing = |spec: &str| family(&format!("own-{spec}"));
    assert!(decode_model(&bytes, nothing).unwrap_err().contains("own-poisson"));
    assert!(read_model_file_with(&path, nothing).is_err());
    let wrong = ModelFile { names: vec!["a".into()], ..file };
    assert_eq!(encode_model(&wrong).unwrap_err(), "it has 1 names for 4 columns");
}
