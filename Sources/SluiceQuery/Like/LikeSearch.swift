internal import SluiceModel

/// Decides what stands behind a `*` of a pattern without ever going back.
///
/// The pattern falls into segments between its `*`. Each is looked for behind the one before, where it comes first: a later
/// place could not leave more room. The last must end where the text ends.
struct LikeSearch {
    private static let many = Unicode.Scalar("*").value
    private static let one = Unicode.Scalar("?").value

    private let pattern: [UInt32]
    private let text: [UInt32]
    private(set) var stepCount = 0

    /// - Parameters:
    ///   - pattern: the scalars behind a `*`.
    ///   - text: the scalars that the `*` and what follows it are to fit.
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

    /// Where a segment ends that begins at `start` or, as early as possible, behind it; nil if it is nowhere.
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

    /// Where a segment that neither begins nor ends with `?` begins first.
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
            // The search computes with remainders.
            if fits(core, at: start) { return start }
            from = start + 1
        }
        return nil
    }

    /// The method of Baeza-Yates and Gonnet (1992): a bit for each beginning of the segment that fits up to here.
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
