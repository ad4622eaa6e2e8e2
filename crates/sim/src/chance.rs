//! Randomness that is the same for the same seed, on every machine and in every order of hash maps: xoshiro256++ (Blackman and Vigna,
//! 2018), filled by splitmix64, and a mixing function for what must follow from names rather than from the order of questions.

/// A stream of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub struct Chance {
    state: [u64; 4],
}

/// A number that follows from another and looks nothing like it (splitmix64).
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number between 0 and 1, 1 left out.
pub fn unit_of(value: u64) -> f64 {
    (value >> 11) as f64 / (1u64 << 53) as f64
}

/// A number from the bell curve, of two even ones (Box and Muller, 1958).
pub fn normal_of(one: u64, two: u64) -> f64 {
    let radius = (-2.0 * (1.0 - unit_of(one)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit_of(two)).cos()
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        let mut at = seed;
        let state = std::array::from_fn(|_| {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(at)
        });
        Self { state }
    }

    pub fn draw(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// Evenly below `end`; nothing is below 0 or 1 but 0.
    pub fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.draw()) * (end as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// Evenly in `from..=to`.
    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to.saturating_sub(from) + 1)
    }

    pub fn unit(&mut self) -> f64 {
        unit_of(self.draw())
    }

    pub fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.unit() < share
    }

    /// Waiting time of something that happens once in `mean` on average.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            let other = self.below(at + 1);
            all.swap(at, other);
        }
    }

    pub fn bytes32(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        for part in out.chunks_exact_mut(8) {
            part.copy_from_slice(&self.draw().to_le_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // xoshiro256++ with the state 1, 2, 3, 4: the first numbers of the authors' own code.
        let mut chance = Chance { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| chance.draw()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn shares_are_about_what_was_asked() {
        let mut chance = Chance::new(7);
        let hits = (0..10_000).filter(|_| chance.happens(0.1)).count();
        assert!((900..1100).contains(&hits), "{hits}");
        let mean = (0..10_000).map(|_| chance.exponential(5.0)).sum::<f64>() / 10_000.0;
        assert!((4.7..5.3).contains(&mean), "{mean}");
        assert!((0..1000).all(|_| chance.below(3) < 3) && chance.below(0) == 0);
    }
}
