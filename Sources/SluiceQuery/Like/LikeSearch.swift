internal import SluiceModel

/// Decides whether a text fits the rest of a pattern after a `*`, without ever going back.
///
/// Each `*` ends a segment of the pattern. A segment is searched after the one before it, and its first place is
/// taken, since a later place could not leave more room. The last segment must end where the text ends.
struct LikeSearch {
    private static let many = Unicode.Scalar("*").value
    private static let one = Unicode.Scalar("?").value

    private let pattern: [UInt32]
    private let text: [UInt32]
    private(set) var stepCount = 0

    /// - Parameters:
    ///   - pattern: the scalars after a `*`.
    ///   - text: the scalars that the `*` and the pattern after it have to fit.
    init(_ pattern: [UInt32], _ text: [UInt32]) {
        self.pattern = pattern
        self.text = text
    }

    mutating func matches() -> Bool {
        var position = 0
        let segments = pattern.split(separator: Self.many, omittingEmptySubsequences: false)
        for segment in segments.dropLast() {
            guard let end = find(segment, from: position) else { return false }
            position = end
        }
        guard let last = segments.last, text.count - position >= last.count else { return false }
        return fits(last, at: text.count - last.count)
    }

    private mutating func fits(_ segment: ArraySlice<UInt32>, at start: Int) -> Bool {
        stepCount += segment.count
        return zip(segment, text[start...]).allSatisfy { $0 == Self.one || $0 == $1 }
    }

    /// The end of the first place of a segment at or after `start`; nil if there is none.
    private mutating func find(_ segment: ArraySlice<UInt32>, from start: Int) -> Int? {
        guard let first = segment.firstIndex(where: { $0 != Self.one }),
            let last = segment.lastIndex(where: { $0 != Self.one })
        else { return start + segment.count <= text.count ? start + segment.count : nil }
        let lead = first - segment.startIndex
        let trail = segment.endIndex - 1 - last
        let core = segment[first...last]
        guard start + segment.count <= text.count else { return nil }
        let range = text[start + lead..<text.count - trail]
        return place(of: core, in: range).map { $0 + core.count + trail }
    }

    /// The first place of a segment that neither begins nor ends with `?`.
    private mutating func place(of core: ArraySlice<UInt32>, in range: ArraySlice<UInt32>) -> Int? {
        if !core.contains(Self.one) {
            var search = LinearSearch(for: core)
            defer { stepCount += search.stepCount }
            return search.find(in: range).map { range.startIndex + $0 }
        }
        if core.count <= UInt64.bitWidth { return shortPlace(of: core, in: range) }
        var search = WildcardSearch(for: core, wildcard: Self.one)
        defer { stepCount += search.stepCount }
        var from = range.startIndex
        while let start = search.firstIndex(in: range[from...]) {
            // The search computes modulo a prime, so the place must be checked.
            if fits(core, at: start) { return start }
            from = start + 1
        }
        return nil
    }

    /// Searches by the method of Baeza-Yates and Gonnet (1992): one bit for each beginning of the segment that fits up
    /// to the current scalar.
    private mutating func shortPlace(of core: ArraySlice<UInt32>, in range: ArraySlice<UInt32>) -> Int? {
        var anywhere: UInt64 = 0
        var places: [UInt32: UInt64] = [:]
        for (index, scalar) in core.enumerated() {
            if scalar == Self.one {
                anywhere |= 1 << UInt64(index)
            } else {
                places[scalar, default: 0] |= 1 << UInt64(index)
            }
        }
        let whole: UInt64 = 1 << UInt64(core.count - 1)
        var fitting: UInt64 = 0
        for (index, scalar) in zip(range.indices, range) {
            stepCount += 1
            fitting = (fitting << 1 | 1) & (anywhere | places[scalar, default: 0])
            if fitting & whole != 0 { return index - core.count + 1 }
        }
        return nil
    }
}
