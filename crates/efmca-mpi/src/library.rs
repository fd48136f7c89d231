//! Finding and loading an MPI library.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::abi::{self, Handles};
use crate::launcher::Kind;
use crate::{Launcher, MpiError};

/// The variable that names a library.
const VARIABLE: &str = "EFMCA_MPI";
/// Programs beside whose folder the library of the same MPI is.
const LAUNCHERS: [&str; 4] = ["mpirun", "mpiexec", "mpiexec.hydra", "prterun"];
/// Names of libraries. Those of Open MPI and of MPICH differ in their numbers.
const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.40.dylib"];
const MPICH: [&str; 4] = ["libmpi.so.12", "libmpich.so.12", "libmpi.12.dylib", "libmpich.12.dylib"];
const EITHER: [&str; 6] =
    ["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so", "libmpi.so", "libmpi_abi.dylib", "libmpi.dylib"];

/// A library that is there, and its handles.
pub(crate) struct Loaded {
    pub(crate) library: Library,
    pub(crate) name: String,
    pub(crate) handles: Handles,
}

/// The library that belongs to a launcher.
pub(crate) fn find(launcher: &Launcher) -> Result<Loaded, MpiError> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let failed = |error: libloading::Error| MpiError::Library {
            library: format!("{VARIABLE}={}", path.display()),
            // what the system says about it is behind the error
            problem: format!("it cannot be loaded ({})", error.source().unwrap_or(&error)),
        };
        return load(&path).map_err(failed);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut tried = Vec::new();
    for candidate in candidates(launcher.kind, &path) {
        match load(&candidate) {
            // one that is not the launcher's would see a single rank
            Ok(loaded) if belongs(launcher.kind, &loaded) => return Ok(loaded),
            _ => tried.push(candidate.to_string_lossy().into_owned()),
        }
    }
    Err(MpiError::NotFound { launcher: launcher.name.clone(), size: launcher.size, tried: tried.join(", ") })
}

fn belongs(kind: Kind, loaded: &Loaded) -> bool {
    match kind {
        Kind::OpenMpi => loaded.handles != abi::MPICH,
        Kind::Mpich => loaded.handles == abi::MPICH || loaded.handles == abi::STANDARD,
        Kind::Any => true,
    }
}

/// Names and places of libraries, the likeliest first: beside the launcher that would be started now, then where the system looks.
fn candidates(kind: Kind, path: &OsStr) -> Vec<OsString> {
    let names: Vec<&str> = match kind {
        Kind::OpenMpi => OPEN_MPI.iter().chain(&EITHER).copied().collect(),
        Kind::Mpich => MPICH.iter().chain(&EITHER).copied().collect(),
        Kind::Any => OPEN_MPI.iter().chain(&MPICH).chain(&EITHER).copied().collect(),
    };
    let mut found: Vec<OsString> = Vec::new();
    let launchers = std::env::split_paths(path).flat_map(|folder| LAUNCHERS.map(|name| folder.join(name)));
    for launcher in launchers.filter(|launcher| launcher.is_file()) {
        let real = launcher.canonicalize().ok();
        let folders = [Some(launcher), real].into_iter().flatten().filter_map(|launcher| beside(&launcher));
        for folder in folders {
            let places = names.iter().map(|name| folder.join(name)).filter(|place| place.exists());
            found.extend(places.map(PathBuf::into_os_string));
        }
    }
    found.extend(names.iter().map(OsString::from));
    let mut seen = std::collections::HashSet::new();
    found.retain(|place| seen.insert(place.clone()));
    found
}

/// The folder of libraries that goes with the folder of a program.
fn beside(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("lib"))
}

fn load(name: &OsStr) -> Result<Loaded, libloading::Error> {
    // SAFETY: loading runs the initialisers of the library. It is one that the user or the system has installed as MPI, and
    // these have no requirements on the state of the process. Open MPI's parts, which it loads later, look for its symbols
    // among global ones.
    #[allow(unsafe_code)]
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL)? };
    let address = |symbol: &[u8]| {
        // SAFETY: only the address of the symbol is taken, and nothing is read or called through it here.
        #[allow(unsafe_code)]
        let found = unsafe { library.get::<*const ()>(symbol) };
        found.ok().map(|symbol| symbol.into_raw() as usize)
    };
    let open_mpi = address(abi::OPEN_MPI_WORLD).zip(address(abi::OPEN_MPI_BYTE));
    let standard = Path::new(name).file_name().is_some_and(|name| name.to_string_lossy().contains("mpi_abi"));
    let handles = match open_mpi {
        _ if standard => abi::STANDARD,
        Some((world, byte)) => Handles { world, byte, one_thread: abi::OPEN_MPI_ONE_THREAD },
        None => abi::MPICH,
    };
    Ok(Loaded { library, name: name.to_string_lossy().into_owned(), handles })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_beside_the_launcher_come_first() {
        let folder = std::env::temp_dir().join(format!("efmca-mpi-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        std::fs::write(folder.join("bin/mpirun"), "").unwrap();
        std::fs::write(folder.join("lib/libmpi.so.12"), "").unwrap();
        let found = candidates(Kind::Mpich, folder.join("bin").as_os_str());
        assert_eq!(found[0], folder.join("lib/libmpi.so.12"));
        assert!(found.contains(&"libmpich.so.12".into()) && !found.contains(&"libmpi.so.40".into()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_no_library_is_said() {
        assert!(load(OsStr::new("/no/such/libmpi.so")).is_err());
    }
}
