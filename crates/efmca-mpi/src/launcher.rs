//! What started the program.

/// A launcher that started this process as one of several ranks, as its environment says. No library is needed to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// What it is, for people.
    pub name: String,
    /// How many ranks it started.
    pub size: usize,
    /// The number of this one, if it says so.
    pub rank: Option<usize>,
    pub(crate) kind: Kind,
}

/// The MPI that a launcher belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenMpi,
    /// MPICH and what descends from it.
    Mpich,
    /// A workload manager, which starts ranks of any MPI.
    Any,
}

/// The variables in which launchers say how many ranks there are and which one this is. Open MPI's come first: where its ranks are
/// started by a workload manager, those of that are there as well.
const VARIABLES: [(&str, &str, &str, Kind); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "the launcher of Open MPI", Kind::OpenMpi),
    ("PMI_SIZE", "PMI_RANK", "the launcher of MPICH or Intel MPI", Kind::Mpich),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun of Slurm", Kind::Any),
];

impl Launcher {
    /// The launcher that started this process, if it started others as well.
    pub fn of_environment() -> Option<Launcher> {
        Launcher::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        // srun with PMI sets the variables of MPICH's launcher for any MPI
        let by_slurm = number("SLURM_STEP_NUM_TASKS").is_some();
        VARIABLES.into_iter().find_map(|(size, rank, name, kind)| {
            let (size, rank) = (number(size)?, number(rank));
            let (name, kind) = if by_slurm && kind == Kind::Mpich { (VARIABLES[2].2, Kind::Any) } else { (name, kind) };
            (size > 1).then(|| Launcher { name: name.to_owned(), size, rank, kind })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<(usize, Option<usize>, Kind)> {
        let find =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        Launcher::of(find).map(|launcher| (launcher.size, launcher.rank, launcher.kind))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(of(&[]), None);
        let open = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(of(&open), Some((4, Some(3), Kind::OpenMpi)));
        assert_eq!(of(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some((2, Some(0), Kind::Mpich)));
        let srun = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "5")];
        assert_eq!(of(&srun), Some((8, Some(5), Kind::Any)));
        let pmi = [("PMI_SIZE", "8"), ("PMI_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "1")];
        assert_eq!(of(&pmi), Some((8, Some(1), Kind::Any)));
        // a script of sbatch is one process, and so is one rank
        assert_eq!(of(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(of(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")]), None);
        assert_eq!(of(&[("PMI_SIZE", "many")]), None);
    }
}
