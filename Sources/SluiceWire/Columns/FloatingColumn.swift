/// A column of floating-point numbers: as they are or, where every one is a short decimal, as integers over a power of
/// ten.
///
/// After "ALP: Adaptive Lossless floating-Point Compression" (Afroozeh, Kuffo, Boncz, 2023), without its exceptions:
/// one number that does not come back bit for bit leaves the whole column as it is.
enum FloatingColumn {
    enum Form: UInt8 {
        /// 8 bytes each, 4 for single precision.
        case raw = 0
        /// The exponent of ten, then integers; a value is its integer over ten to the exponent.
        case scaled = 1
    }

    /// Ten to the exponents that can be used; all exact.
    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
    /// Beyond it doubles do not hold every integer.
    private static let integerMax = 9_007_199_254_740_992.0

    static func encode(_ values: [Double], isSingle: Bool, into writer: inout ByteWriter) {
        if let (exponent, integers) = scaled(values, isSingle: isSingle) {
            let plan = IntegerPlan(integers)
            if plan.size + 1 < values.count * (isSingle ? 4 : 8) {
                writer.byte(Form.scaled.rawValue)
                writer.byte(UInt8(exponent))
                IntegerSequence.encode(integers, plan: plan, into: &writer)
                return
            }
        }
        writer.byte(Form.raw.rawValue)
        for value in values {
            if isSingle { writer.fixed32(Float(value).bitPattern) } else { writer.double(value) }
        }
    }

    static func decode(count: Int, isSingle: Bool, from reader: inout ByteReader) throws(WireError) -> [Double] {
        let code = try reader.byte()
        switch Form(rawValue: code) {
        case .raw:
            let size = isSingle ? 4 : 8
            guard count <= reader.remaining / size else { throw reader.truncated(by: count * size - reader.remaining) }
            var values: [Double] = []
            values.reserveCapacity(count)
            for _ in 0..<count {
                values.append(isSingle ? Double(Float(bitPattern: try reader.fixed32())) : try reader.double())
            }
            return values
        case .scaled:
            let exponent = Int(try reader.byte())
            guard exponent < powers.count else { throw reader.malformed("a scale of 10^\(exponent)") }
            let power = powers[exponent]
            return try IntegerSequence.decode(count: count, from: &reader).map { Double($0) / power }
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    /// The values as integers over a common power of ten; nil unless every one comes back bit for bit.
    private static func scaled(_ values: [Double], isSingle: Bool) -> (exponent: Int, integers: [Int64])? {
        var exponent = 0
        for value in values {
            while integer(value, powers[exponent], isSingle) == nil {
                exponent += 1
                if exponent == powers.count { return nil }
            }
        }
        var integers: [Int64] = []
        integers.reserveCapacity(values.count)
        for value in values {
            guard let integer = integer(value, powers[exponent], isSingle) else { return nil }
            integers.append(integer)
        }
        return (exponent, integers)
    }

    @inline(__always)
    private static func integer(_ value: Double, _ power: Double, _ isSingle: Bool) -> Int64? {
        let scaled = (value * power).rounded()
        guard abs(scaled) <= integerMax else { return nil }
        let integer = Int64(scaled)
        let back = Double(integer) / power
        let isSame =
            isSingle ? Float(back).bitPattern == Float(value).bitPattern : back.bitPattern == value.bitPattern
        return isSame ? integer : nil
    }
}
