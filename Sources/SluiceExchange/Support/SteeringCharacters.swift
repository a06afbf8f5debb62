extension Unicode.Scalar {
    /// Whether a character controls a terminal or the direction of text, instead of being shown.
    package var steersDisplay: Bool {
        switch value {
        case ..<0x20, 0x7F...0x9F: true
        // Marks, embeddings, overrides and isolates of direction (Unicode UAX #9), and line and paragraph separators.
        case 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
