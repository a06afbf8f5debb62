/// The distinct byte strings of a column, and which of them each row has.
struct ByteDictionary {
    /// Byte strings, one after the other.
    struct Entries {
        private(set) var bytes: [UInt8] = []
        private(set) var lengths: [Int64] = []
        private var offsets: [Int] = []

        var count: Int { lengths.count }

        mutating func append(_ value: UnsafeRawBufferPointer) {
            offsets.append(bytes.count)
            lengths.append(Int64(value.count))
            bytes.append(contentsOf: value)
        }

        @inline(__always)
        func has(_ value: UnsafeRawBufferPointer, at index: Int) -> Bool {
            guard lengths[index] == Int64(value.count) else { return false }
            return bytes.withUnsafeBytes { $0[offsets[index]..<offsets[index] + value.count].elementsEqual(value) }
        }

        func withEach<Result>(_ body: ([UnsafeRawBufferPointer]) -> Result) -> Result {
            bytes.withUnsafeBytes { source in
                body(
                    zip(offsets, lengths).map { offset, length in
                        UnsafeRawBufferPointer(rebasing: source[offset..<offset + Int(length)])
                    })
            }
        }
    }

    /// The lengths of what entries share, and what it takes; nil where entries are in full.
    private let shared: (lengths: [Int64], plan: IntegerPlan)?
    /// The lengths of the entries, less what they share, and what they take.
    private let lengths: (values: [Int64], plan: IntegerPlan)
    private let bytes: [UInt8]
    private let indexes: (values: [Int64], plan: IntegerPlan)

    private init(shared: [Int64]?, lengths: [Int64], bytes: [UInt8], indexes: [Int64]) {
        self.shared = shared.map { ($0, IntegerPlan($0)) }
        self.lengths = (lengths, IntegerPlan(lengths))
        self.bytes = bytes
        self.indexes = (indexes, IntegerPlan(indexes))
    }

    /// Entries in full, in the order in which they came.
    init(_ entries: Entries, indexes: [Int64]) {
        self.init(shared: nil, lengths: entries.lengths, bytes: entries.bytes, indexes: indexes)
    }

    /// Entries in the order of their bytes, each without what it shares with the one before.
    init(sorting entries: Entries, indexes: [Int64]) {
        var shared: [Int64] = []
        var lengths: [Int64] = []
        var bytes: [UInt8] = []
        var ranks = [Int64](repeating: 0, count: entries.count)
        entries.withEach { entries in
            var previous = UnsafeRawBufferPointer(start: nil, count: 0)
            for (rank, index) in Self.order(of: entries).enumerated() {
                let entry = entries[index]
                var start = 0
                while start < min(previous.count, entry.count), previous[start] == entry[start] { start += 1 }
                shared.append(Int64(start))
                lengths.append(Int64(entry.count - start))
                bytes.append(contentsOf: entry[start...])
                ranks[index] = Int64(rank)
                previous = entry
            }
        }
        self.init(shared: shared, lengths: lengths, bytes: bytes, indexes: indexes.map { ranks[Int($0)] })
    }

    /// The positions of entries in the order of their bytes.
    private static func order(of entries: [UnsafeRawBufferPointer]) -> [Int] {
        // The first eight bytes as a number decide most comparisons.
        let beginnings = entries.enumerated().map { index, entry in
            (number: (0..<8).reduce(UInt64(0)) { $0 << 8 | ($1 < entry.count ? UInt64(entry[$1]) : 0) }, index: index)
        }
        let sorted = beginnings.sorted { left, right in
            left.number == right.number
                ? entries[left.index].lexicographicallyPrecedes(entries[right.index]) : left.number < right.number
        }
        return sorted.map(\.index)
    }

    /// The size in bytes, with the byte that names the form.
    var size: Int {
        1 + IntegerSequence.varintSize(UInt64(lengths.values.count)) + (shared?.plan.size ?? 0) + lengths.plan.size
            + bytes.count + indexes.plan.size
    }

    func encode(into writer: inout ByteWriter) {
        writer.byte((shared == nil ? ByteColumn.Form.dictionary : .sharedPrefixes).rawValue)
        writer.varint(lengths.values.count)
        if let shared { IntegerSequence.encode(shared.lengths, plan: shared.plan, into: &writer) }
        IntegerSequence.encode(lengths.values, plan: lengths.plan, into: &writer)
        writer.raw(bytes)
        IntegerSequence.encode(indexes.values, plan: indexes.plan, into: &writer)
    }
}
