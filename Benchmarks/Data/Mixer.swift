/// Makes numbers that look random and are the same in every run.
enum Mixer {
    /// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    static func mix(_ number: Int) -> UInt64 {
        var mixed = UInt64(bitPattern: Int64(number)) &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
