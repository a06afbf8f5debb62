import SluiceModel
import Testing

@testable import SluiceWire

@Suite struct ColumnTests {
    private static let mostlySmall = (0..<1000).map { (row: Int64) -> Int64 in
        if row % 100 == 7 { return 1 << 29 }
        return max(0, row * row * 31 % 17 - 9)
    }
    private static let irregularlyRising = (0..<1000).map { (row: Int64) -> Int64 in row / 3 * 10 + row * row % 5 }
    private static let hours = (0..<1000).map { (row: Int64) -> Int64 in row * row * 31 % 17 * 3_600_000_000 + 5 }

    @Test(
        arguments: [
            ([], nil, 0),
            ([5, 5, 5, 5], .constant, 2),
            (Array(repeating: .min, count: 1000), .constant, 11),
            ([1, 1 << 40, 2], .plain, 9),
            (Array(stride(from: 1_000_000, to: 1_000_900, by: 3)), .deltaPacked, 6),
            ((0..<1000).map { Int64($0 * $0 * $0 * 7919 % 256) + 1_000_000_000 }, .packed, 1007),
            (mostlySmall, .coded, 436), (irregularlyRising, .deltaCoded, 620), (hours, .multiples, 510),
        ] as [([Int64], IntegerSequence.Form?, Int)])
    func integersTakeTheSmallestForm(values: [Int64], form: IntegerSequence.Form?, size: Int) throws {
        var writer = ByteWriter()
        IntegerSequence.encode(values, into: &writer)
        #expect(writer.bytes.first == form?.rawValue)
        #expect(writer.count == size)
        #expect(IntegerPlan(values).size == size)
        #expect(try decodeIntegers(writer.bytes, count: values.count) == values)
    }

    @Test(arguments: 0...64)
    func integersOfEveryWidthComeBack(width: Int) throws {
        var samples = SampleGenerator(seed: UInt64(width) + 1)
        let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
        for count in [1, 2, 7, 8, 9, 63, 64, 65, 500] {
            var writer = ByteWriter()
            let numbers = (0..<count).map { _ in samples.next() & mask }
            BitPacking.pack(count: count, width: width, into: &writer) { numbers[$0] }
            #expect(writer.count == BitPacking.size(count: count, width: width))
            var unpacked: [UInt64] = []
            writer.bytes.withUnsafeBytes {
                BitPacking.unpack($0, count: count, width: width) { unpacked.append($1) }
            }
            #expect(unpacked == numbers, "count \(count)")
        }
    }

    @Test(arguments: Array(1...40) as [UInt64])
    func integersOfAnyDistributionComeBackInTheSizePlanned(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        let range = UInt64.max >> UInt64(samples.below(64))
        let step = samples.integer() >> Int64(samples.below(64))
        let values = (0..<samples.below(300)).map { index in
            Int64(bitPattern: samples.next() & range) &+ step &* Int64(index)
        }
        var writer = ByteWriter()
        IntegerSequence.encode(values, into: &writer)
        #expect(writer.count == IntegerPlan(values).size)
        #expect(try decodeIntegers(writer.bytes, count: values.count) == values)
    }

    @Test(arguments: Array(1...60) as [UInt64])
    func integersAroundACentreComeBackInTheSizePlanned(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        let centre = samples.integer()
        let factor = samples.pick([1, 1, 60, 86_400_000_000] as [Int64])
        let isSum = samples.bool()
        var values: [Int64] = []
        for _ in 0..<(16 + samples.below(300)) {
            let distance = Int64(bitPattern: samples.next() >> UInt64(samples.pick([60, 61, 62, 63, 50, 33])))
            let value = (samples.bool() ? distance : 0 &- distance) &* factor
            values.append((isSum ? values.last ?? centre : centre) &+ value)
        }
        var writer = ByteWriter()
        IntegerSequence.encode(values, into: &writer)
        #expect(writer.count == IntegerPlan(values).size)
        #expect(try decodeIntegers(writer.bytes, count: values.count) == values)
    }

    /// The highest bits that a code may have, which no other test is sure to meet.
    @Test(arguments: [Int64.min, -1, 0, 1 << 40]) func numbersAtTheEdgeOfACodeComeBack(centre: Int64) throws {
        let edges: [Int64] = [0, -1, 2, 1 << 30, 1 - 1 << 30, 1 << 20]
        let values = (0..<2000).map { (row: Int) -> Int64 in
            let place = row % 200
            return centre &+ (place < edges.count ? edges[place] : Int64(row % 3))
        }
        let plan = IntegerPlan(values)
        #expect(plan.form == .coded)
        var writer = ByteWriter()
        IntegerSequence.encode(values, plan: plan, into: &writer)
        #expect(try decodeIntegers(writer.bytes, count: values.count) == values)
    }

    @Test func entriesShareTheirBeginnings() throws {
        let pool = (0..<100).map { "https://example.org/cars/\($0 * 7919 % 1000)k" }
        let texts = (0..<1000).map { (row: Int) -> String in pool[row * row % 97] }
        let columns: [[Value]] = [
            texts.map { .string($0) }, texts.map { .link(.string($0)) }, texts.map { .data(Array($0.utf8)) },
            texts.map { $0.hasSuffix("7") ? .null : .string($0 + "é") },
        ]
        for values in columns {
            let bytes = encode(values)
            #expect(bytes.count < 1400, "\(bytes.count) bytes")
            #expect(try decode(bytes, count: values.count) == values)
        }
    }

    @Test(
        arguments: [
            ((0..<1000).map { "JT2" + String(String(1_000_000_000 + $0).dropFirst()) }, 30),
            ((0..<1000).map { "user-\($0)" }, 30), (["Ø 9", "Ø 10", "Ø 0"], 20), (["007", "008", "003"], 20),
            (["x", "y"].map { "\($0 == "x" ? 0 : 1)" + String(repeating: "9", count: 17) }, 30),
            ((0..<1000).map { "N\($0 * $0 * 7919 % 90_000 + 10_000)" }, 2300),
        ] as [([String], Int)])
    func numberedTextsTakeTheBytesOfTheirNumbers(texts: [String], sizeMax: Int) throws {
        let columns: [[Value]] = [
            texts.map { .string($0) }, texts.map { .link(.string($0)) }, texts.map { .data(Array($0.utf8)) },
        ]
        for values in columns {
            let bytes = encode(values)
            #expect(bytes[1] == ByteColumn.Form.numbered.rawValue && bytes.count <= sizeMax, "\(bytes.count) bytes")
            #expect(try decode(bytes, count: values.count) == values)
        }
        let gaps: [Value] = texts.flatMap { [.null, .string($0)] }
        #expect(try decode(encode(gaps), count: gaps.count) == gaps)
    }

    @Test(
        arguments: [
            ["a1", "a01"], ["a1", ""], ["a1", "a1b"], ["1", "-1"], ["a1", "b12"], ["a", "b"], ["a1"], ["é1", "è2"],
            ["a0" + String(repeating: "9", count: 18), "a1" + String(repeating: "9", count: 18)],
            ["a" + String(repeating: "9", count: 19), "a1"],
        ])
    func otherTextsAreNotNumbered(texts: [String]) throws {
        let values = texts.map { Value.string($0) }
        let bytes = encode(values)
        #expect(bytes[1] != ByteColumn.Form.numbered.rawValue)
        #expect(try decode(bytes, count: values.count) == values)
    }

    @Test(
        arguments: [
            ((0..<1000).map { .double(Double($0)) }, 20),
            ((0..<1000).map { .double(Double($0 * 37 % 10_000) / 100) }, 1800),
            ((0..<1000).map { .float(Float($0 * 37 % 1000) / 10) }, 1300),
            ((0..<1000).map { .string(["EWR", "JFK", "LGA"][$0 * $0 % 3]) }, 300),
            ((0..<1000).map { .link(.string(["N1", "N2"][$0 / 7 % 2])) }, 150),
            ((0..<1000).map { .objectID(ObjectID(high: 0xDEAD_BEEF, low: UInt64($0))) }, 40),
            ((0..<1000).map { .link(.id(ObjectID(high: [1 << 60, 2 << 60][$0 % 2], low: UInt64($0 / 2)))) }, 400),
            ((0..<1000).map { .bool($0 % 5 == 0) }, 140),
            ((0..<1000).map { $0 % 3 == 0 ? .null : .int(Int64($0)) }, 400),
            (Array(repeating: .null, count: 1000), 1),
            (Array(repeating: .string("the same long text for everyone"), count: 1000), 45),
            ((0..<1000).map { .list([.link(.int(Int64($0))), .link(.int(Int64($0 + 1)))]) }, 300),
        ] as [([Value], Int)])
    func regularColumnsTakeFewBytes(values: [Value], sizeMax: Int) throws {
        let bytes = encode(values)
        #expect(bytes.count <= sizeMax, "\(bytes.count) bytes")
        let decoded = try decode(bytes, count: values.count)
        #expect(decoded == values)
    }

    @Test func floatingNumbersComeBackBitForBit() throws {
        let numbers: [Double] = [0, -0.0, 0.1, 1e300, .infinity, 1 / 3, .leastNonzeroMagnitude, 9_007_199_254_740_994]
        for tail in numbers {
            let values = [1.5, 2.25, tail]
            let decoded = try decode(encode(values.map { .double($0) }), count: 3)
            let bits = decoded.map { value -> UInt64? in
                guard case .double(let number) = value else { return nil }
                return number.bitPattern
            }
            #expect(bits == values.map { $0.bitPattern })
        }
    }

    @Test func columnThatRepeatsTheKeyTakesOneByte() throws {
        var with = ObjectGroup(classIndex: 0, role: .root, properties: [0])
        var without = ObjectGroup(classIndex: 0, role: .root, properties: [])
        for index in 0..<100 {
            let key = ObjectKey.string("key \(index * 7919 % 1000)")
            with.append(key: key, version: 1, values: [key.value])
            without.append(key: key, version: 1, values: [])
        }
        #expect(with.wireBytes().count == without.wireBytes().count + 2)
        #expect(try ObjectGroup(wireBytes: with.wireBytes()) == with)
    }

    @Test(arguments: 0..<200) func theTargetsOfADecodedColumnAreThoseOfItsValues(seed: UInt64) throws {
        var random = SampleGenerator(seed: seed)
        let values = random.column(count: 1 + random.below(40))
        let column = try ByteReader.decode(encode(values)) { reader throws(WireError) in
            try WireColumn.decode(count: values.count, from: &reader)
        }
        var expected: Set<ObjectKey> = []
        for value in values { value.forEachLink { expected.insert($0) } }
        var targets: Set<ObjectKey> = []
        column.forEachTarget { targets.insert($0) }
        #expect(targets == expected)
    }

    @Test func columnWithoutRoomForABitmapMustNotMarkNulls() throws {
        #expect(try decode([0], count: 2) == [.null, .null])
        #expect(try decode([31, 0, 1], count: 2) == [.null, .bool(false)])
        for bytes in [[0x80], [0x80, 3], [0x9F, 0, 1], [0x9F, 3, 0, 1]] as [[UInt8]] {
            let error = #expect(throws: WireError.self) { try decode(bytes, count: 2) }
            #expect(error?.code == .malformed)
        }
        // One row with the key 1, whose only property repeats it.
        let group: [UInt8] = [0, 0, 1, 1, 1, 2, 0, 2, 0, 2]
        #expect(try ObjectGroup(wireBytes: group + [30]).row(at: 0).values == [.int(1)])
        #expect(throws: WireError.self) { try ObjectGroup(wireBytes: group + [0x80 | 30]) }
    }

    @Test func valuesThatCollideInTheTableAreKeptApart() {
        var table = DistinctTable(capacity: 1000)
        let indexes = (0..<1000).map { value in table.index(hash: 42) { $0 == value }.index }
        #expect(indexes == Array(0..<1000))
    }

    private func encode(_ values: [Value]) -> [UInt8] {
        var writer = ByteWriter()
        values.withUnsafeBufferPointer {
            WireColumn.encode(ColumnCells($0, first: 0, stride: 1, count: $0.count), into: &writer)
        }
        return writer.bytes
    }

    private func decode(_ bytes: [UInt8], count: Int) throws -> [Value] {
        try ByteReader.decode(bytes) { reader throws(WireError) in
            try WireColumn.decode(count: count, from: &reader).values(keys: [])
        }
    }

    private func decodeIntegers(_ bytes: [UInt8], count: Int) throws -> [Int64] {
        try ByteReader.decode(bytes) { reader throws(WireError) in
            try IntegerSequence.decode(count: count, from: &reader)
        }
    }
}
