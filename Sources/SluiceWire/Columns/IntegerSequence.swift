/// A known number of 64-bit integers in the smallest of several forms.
///
/// The forms are those of columnar stores (Lemire and Boytsov, "Decoding billions of integers per second through
/// vectorization", 2015, describe frame of reference and its delta variant), and ``GolombCode``. Differences wrap around.
enum IntegerSequence {
    enum Form: UInt8 {
        /// One zigzag varint for all.
        case constant = 0
        /// A zigzag varint each.
        case plain = 1
        /// A zigzag varint for the first and each difference.
        case delta = 2
        /// The minimum, a width in bits, then the distances from the minimum.
        case packed = 3
        /// The first, the least difference, a width in bits, then the distances of the differences from the least one.
        case deltaPacked = 4
        /// In codes, see ``GolombCode``.
        case coded = 5
        /// The first, then the differences in codes.
        case deltaCoded = 6
        /// A factor, an offset, then integers in another form: values are these by the factor, and the offset.
        case multiples = 7
    }

    /// Appends the values, by a plan made for them. Nothing for none.
    static func encode(_ values: [Int64], plan: IntegerPlan, into writer: inout ByteWriter) {
        guard let first = values.first else { return }
        writer.byte(plan.form.rawValue)
        switch plan.form {
        case .constant: writer.zigzag(first)
        case .plain:
            for value in values { writer.zigzag(value) }
        case .delta:
            var previous: Int64 = 0
            for value in values {
                writer.zigzag(value &- previous)
                previous = value
            }
        case .packed:
            writer.zigzag(plan.minimum)
            writer.byte(UInt8(plan.width))
            values.withUnsafeBufferPointer { values in
                BitPacking.pack(count: values.count, width: plan.width, into: &writer) {
                    UInt64(bitPattern: values[$0] &- plan.minimum)
                }
            }
        case .deltaPacked:
            writer.zigzag(first)
            writer.zigzag(plan.minimum)
            writer.byte(UInt8(plan.width))
            values.withUnsafeBufferPointer { values in
                BitPacking.pack(count: values.count - 1, width: plan.width, into: &writer) {
                    UInt64(bitPattern: values[$0 + 1] &- values[$0] &- plan.minimum)
                }
            }
        case .coded: plan.code?.encode(values, into: &writer)
        case .deltaCoded:
            writer.zigzag(first)
            plan.code?.encode(zip(values.dropFirst(), values).map { $0 &- $1 }, into: &writer)
        case .multiples:
            guard let multiples = plan.multiples else { return }
            writer.varint(multiples.factor)
            writer.zigzag(multiples.offset)
            encode(multiples.quotients, plan: multiples.plan, into: &writer)
        }
    }

    static func encode(_ values: [Int64], into writer: inout ByteWriter) {
        encode(values, plan: IntegerPlan(values), into: &writer)
    }

    /// Reads `count` values, whose elements the caller has taken off the budget.
    static func decode(count: Int, from reader: inout ByteReader) throws(WireError) -> [Int64] {
        guard count > 0 else { return [] }
        let code = try reader.byte()
        guard let form = Form(rawValue: code) else { throw reader.malformed("\(code) is no form of integers") }
        switch form {
        case .constant: return Array(repeating: try reader.zigzag(), count: count)
        case .plain, .delta:
            try reader.require(count)
            var values: [Int64] = []
            values.reserveCapacity(count)
            var previous: Int64 = 0
            for _ in 0..<count {
                let value = try reader.zigzag()
                previous = form == .delta ? previous &+ value : value
                values.append(previous)
            }
            return values
        case .packed:
            let minimum = try reader.zigzag()
            return try unpack(count: count, from: &reader) { minimum &+ $0 }
        case .deltaPacked:
            var last = try reader.zigzag()
            let first = last
            let least = try reader.zigzag()
            return try unpack(count: count, first: first, from: &reader) {
                last = last &+ least &+ $0
                return last
            }
        case .coded: return try GolombCode.decode(count: count, from: &reader)
        case .deltaCoded:
            let first = try reader.zigzag()
            var values = try GolombCode.decode(count: count - 1, after: first, from: &reader)
            for index in values.indices.dropFirst() { values[index] &+= values[index - 1] }
            return values
        case .multiples:
            let factor = Int64(bitPattern: try reader.varint())
            let offset = try reader.zigzag()
            guard try reader.peek() != Form.multiples.rawValue else { throw reader.malformed("multiples of multiples") }
            var values = try decode(count: count, from: &reader)
            for index in values.indices { values[index] = values[index] &* factor &+ offset }
            return values
        }
    }

    @inline(__always)
    private static func unpack(
        count: Int, first: Int64? = nil, from reader: inout ByteReader, _ value: (Int64) -> Int64
    ) throws(WireError) -> [Int64] {
        let width = Int(try reader.byte())
        guard width <= 64 else { throw reader.malformed("integers of \(width) bits") }
        let packed = first == nil ? count : count - 1
        guard let size = BitPacking.size(count: packed, width: width) else {
            throw reader.malformed("\(count) integers of \(width) bits")
        }
        let bytes = try reader.slice(size)
        return [Int64](unsafeUninitializedCapacity: count) { buffer, filled in
            if let first { buffer[0] = first }
            let start = count - packed
            BitPacking.unpack(bytes, count: packed, width: width) { index, number in
                buffer[start + index] = value(Int64(bitPattern: number))
            }
            filled = count
        }
    }

    @inline(__always)
    static func varintSize(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }
}
