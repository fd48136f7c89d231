use std::ops::ControlFlow;

use efmca::family::family;
use efmca::{Em, Truncation, bars};

use super::*;

/// Writes a checkpoint in the third iteration of a small run, and gives what was written.
fn written(path: &Path, em: &Em, y: &Array2<f64>) -> Checkpoint {
    let data = Fingerprint::of(y);
    let mut left = None;
    em.run_observed(y, &mut |progress| {
        if progress.done < 3 {
            return ControlFlow::Continue(());
        }
        write_checkpoint(path, &progress.training.unwrap().state, &em.settings(), data, &json!({ "seed": 7 })).unwrap();
        left = Some(progress.training.unwrap().state.to_checkpoint(em.settings(), data));
        ControlFlow::Break(())
    })
    .unwrap();
    left.unwrap()
}

fn pictures() -> Array2<f64> {
    bars::model(family("poisson").unwrap(), 5, &[20.0], &[1.0], 0.2).unwrap().sample(600, 1).y
}

fn settings() -> [Em; 4] {
    let base = Em::new(10).family("poisson").iterations(6);
    [
        base.clone(),
        base.clone().truncated(Truncation::new(8)),
        base.clone().truncated(Truncation::new(8)).batches(2),
        // many causes, few of them active: sets as lists
        Em::new(300).family("poisson").iterations(6).truncated(Truncation::new(4)),
    ]
}

#[test]
fn what_is_read_is_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/run.safetensors");
    let y = pictures();
    for em in settings() {
        let left = written(&path, &em, &y);
        let (found, note) = read_checkpoint(&path).unwrap();
        assert_eq!(note["seed"], 7);
        assert_eq!(found.model.w_flat(), left.model.w_flat());
        assert_eq!((found.model.pi(), found.model.background()), (left.model.pi(), left.model.background()));
        assert_eq!((&found.history, &found.sets, &found.parts), (&left.history, &left.sets, &left.parts));
        assert_eq!((&found.settings, found.data, found.e_steps), (&left.settings, left.data, left.e_steps));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file");
        let whole = em.run(&y).unwrap();
        let resumed = em.resume(&y, found, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(resumed.model.w_flat(), whole.model.w_flat());
        assert_eq!(resumed.bound, whole.bound);
    }
}

#[test]
fn lists_are_shorter_where_few_causes_are_active() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let [.., many] = settings();
    written(&path, &many, &pictures());
    let bytes = std::fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert!(file.tensor("sets").is_err() && file.tensor("sets_causes").is_ok());
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let [_, em, ..] = settings();
    written(&path, &em, &pictures());
    let bytes = std::fs::read(&path).unwrap();
    for cut in (0..bytes.len()).step_by(997) {
        assert!(decode_checkpoint(&bytes[..cut]).is_err(), "{cut}");
    }
    let data = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for at in (data..bytes.len()).step_by(501) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(decode_checkpoint(&damaged).unwrap_err().contains("not those"), "{at}");
    }
    // the header is part of the run, too
    for at in 0..data {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(decode_checkpoint(&damaged).is_err(), "{at}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let [em, ..] = settings();
    let y = pictures();
    written(&path, &em, &y);
    let before = std::fs::read(&path).unwrap();
    // a folder where the temporary file should go
    std::fs::create_dir(part_of(&path)).unwrap();
    let left = read_checkpoint(&path).unwrap().0;
    let state =
        Snapshot { model: &left.model, history: &left.history, sets: None, parts: &left.parts, e_steps: left.e_steps };
    let error = write_checkpoint(&path, &state, &left.settings, left.data, &Value::Null).unwrap_err();
    assert!(error.to_string().contains("run"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_model_is_no_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let model = bars::model(family("poisson").unwrap(), 2, &[10.0], &[1.0], 0.2).unwrap();
    crate::write_model(&path, &model).unwrap();
    assert!(read_checkpoint(&path).unwrap_err().to_string().contains("no checkpoint"));
}

/// States are as long as the file says they are: one of 10^17 causes would take all memory there is.
#[test]
fn sets_have_the_causes_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let [.., em] = settings();
    written(&path, &em, &pictures());
    let bytes = std::fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let other = header.replace(r#"\"h\":300"#, r#"\"h\":99999999999999999"#);
    assert_ne!(other, header);
    let mut file = [&(other.len() as u64).to_le_bytes(), other.as_bytes(), &bytes[8 + length..]].concat();
    let (content, sum) = file.split_last_chunk_mut::<8>().unwrap();
    *sum = checksum(content).to_le_bytes();
    assert!(decode_checkpoint(&file).unwrap_err().contains("causes, and its model has 300"));
}
