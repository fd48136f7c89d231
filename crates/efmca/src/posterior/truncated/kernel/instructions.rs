//! Which instructions the kernel may use, as a value that only a check of the processor can make.

#[cfg(target_arch = "x86_64")]
use crate::posterior::truncated::avx2::Avx2;

/// The instructions of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// Those that every processor has: the safe twins.
    Portable,
    /// Vectors of 32 bytes, with the proof that this processor has them.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

impl Instructions {
    /// The best that this processor has, or the portable ones if that is asked for.
    pub(crate) fn new(portable: bool) -> Instructions {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Avx2::detect()
            && !portable
        {
            return Instructions::Avx2(proof);
        }
        Instructions::Portable
    }
}
