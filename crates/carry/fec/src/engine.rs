//! Arithmetic on whole symbols, by the fastest kernel that the processor supports: detected at run time, or chosen. It
//! must not know what the symbols are.

// Each kernel has the same three functions. What differs between them stays in their modules.
#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// A way to do the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Shifts and masks that compilers vectorise; runs everywhere.
    Portable,
    /// Shuffles of 16 bytes that look up nibbles' products, on x86-64.
    Ssse3,
    /// The same with 32 bytes.
    Avx2,
    /// Products of 64 bytes with a matrix of bits, on x86-64 with GFNI and AVX-512.
    Gfni,
    /// Shuffles of 16 bytes, on 64-bit Arm.
    Neon,
}

impl Kernel {
    /// All of them, the slowest first.
    pub const ALL: [Kernel; 5] = [
        Kernel::Portable,
        Kernel::Ssse3,
        Kernel::Avx2,
        Kernel::Gfni,
        Kernel::Neon,
    ];

    /// Whether this processor supports it.
    pub fn is_available(self) -> bool {
        match self {
            Kernel::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Kernel::Ssse3 => std::arch::is_x86_feature_detected!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Kernel::Gfni => {
                std::arch::is_x86_feature_detected!("gfni")
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Portable => "portable",
            Kernel::Ssse3 => "ssse3",
            Kernel::Avx2 => "avx2",
            Kernel::Gfni => "gfni",
            Kernel::Neon => "neon",
        }
    }
}

/// A kernel that this processor supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Private: an engine exists only after [`Kernel::is_available`], on which the calls below rely.
    kernel: Kernel,
}

impl Default for Engine {
    fn default() -> Self {
        Self::detect()
    }
}

// The functions of x86, gfni and neon may only be called on processors that have the instructions.
#[allow(unsafe_code)]
impl Engine {
    /// The fastest one that this processor supports.
    pub fn detect() -> Self {
        let best = Kernel::ALL.into_iter().rev().find(|kernel| kernel.is_available());
        Self {
            kernel: best.unwrap_or(Kernel::Portable),
        }
    }

    /// One kernel, for comparisons; none if the processor does not support it.
    pub fn with(kernel: Kernel) -> Option<Self> {
        kernel.is_available().then_some(Self { kernel })
    }

    /// Its kernel.
    pub fn kernel(self) -> Kernel {
        self.kernel
    }

    /// Adds `source` to `destination`, byte by byte.
    ///
    /// # Panics
    ///
    /// If they differ in length.
    pub fn xor_into(self, destination: &mut [u8], source: &[u8]) {
        assert_eq!(destination.len(), source.len(), "both symbols have one length");
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX-512F and AVX-512BW, see `kernel`.
            Kernel::Gfni => unsafe { gfni::xor_into(destination, source) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2, see `kernel`.
            Kernel::Avx2 => unsafe { x86::xor_into(destination, source) },
            // The compiler vectorises it with 16 bytes on x86-64 and Arm.
            _ => portable::xor_into(destination, source),
        }
    }

    /// Adds `coefficient` times `source` to `destination`, byte by byte.
    ///
    /// # Panics
    ///
    /// If they differ in length.
    pub fn multiply_add_into(self, destination: &mut [u8], source: &[u8], coefficient: u8) {
        assert_eq!(destination.len(), source.len(), "both symbols have one length");
        match (coefficient, self.kernel) {
            (0, _) => {}
            (1, _) => self.xor_into(destination, source),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has GFNI, AVX-512F and AVX-512BW, see `kernel`.
            (_, Kernel::Gfni) => unsafe { gfni::multiply_add(destination, source, coefficient) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2, see `kernel`.
            (_, Kernel::Avx2) => unsafe { x86::multiply_add_avx2(destination, source, coefficient) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has SSSE3, see `kernel`.
            (_, Kernel::Ssse3) => unsafe { x86::multiply_add_ssse3(destination, source, coefficient) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the processor has NEON, see `kernel`.
            (_, Kernel::Neon) => unsafe { neon::multiply_add(destination, source, coefficient) },
            _ => portable::multiply_add(destination, source, coefficient),
        }
    }

    /// Multiplies `symbol` by `coefficient`, byte by byte.
    pub fn multiply_in_place(self, symbol: &mut [u8], coefficient: u8) {
        match (coefficient, self.kernel) {
            (0, _) => symbol.fill(0),
            (1, _) => {}
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has GFNI, AVX-512F and AVX-512BW, see `kernel`.
            (_, Kernel::Gfni) => unsafe { gfni::multiply(symbol, coefficient) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2, see `kernel`.
            (_, Kernel::Avx2) => unsafe { x86::multiply_avx2(symbol, coefficient) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has SSSE3, see `kernel`.
            (_, Kernel::Ssse3) => unsafe { x86::multiply_ssse3(symbol, coefficient) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the processor has NEON, see `kernel`.
            (_, Kernel::Neon) => unsafe { neon::multiply(symbol, coefficient) },
            _ => portable::multiply(symbol, coefficient),
        }
    }
}

#[cfg(test)]
mod tests;
