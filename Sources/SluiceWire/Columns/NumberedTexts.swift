/// Byte strings that consist of the same beginning and a number each, as keys do that a program counts up.
struct NumberedTexts {
    /// With more digits, a number may be beyond 64 bits.
    private static let digitCountMax = 18

    private let prefix: ArraySlice<UInt8>
    /// The digits of each number, zeros before it included; 0 if there are none such, and numbers differ in length.
    private let digitCount: Int
    private let numbers: [Int64]
    private let plan: IntegerPlan

    /// - Returns: nil for other byte strings, and for less than two.
    init?(_ bytes: [UInt8], lengths: [Int64]) {
        guard lengths.count > 1, let shared = Self.sharedCount(bytes, lengths) else { return nil }
        let isEven = lengths.allSatisfy { $0 == lengths[0] }
        // Where numbers differ in length, each begins with its first digit.
        let start = isEven ? shared : bytes[..<shared].reversed().drop { $0.isDigit }.count
        guard !isEven || shared < Int(lengths[0]) else { return nil }
        var numbers: [Int64] = []
        numbers.reserveCapacity(lengths.count)
        var offset = 0
        for length in lengths {
            let digits = bytes[offset + start..<offset + Int(length)]
            guard let number = Self.number(digits, hasZeros: isEven) else { return nil }
            numbers.append(number)
            offset += Int(length)
        }
        prefix = bytes[..<start]
        digitCount = isEven ? Int(lengths[0]) - start : 0
        self.numbers = numbers
        plan = IntegerPlan(numbers)
    }

    /// How many bytes all have in common at their beginnings; nil if one does not end with a digit.
    private static func sharedCount(_ bytes: [UInt8], _ lengths: [Int64]) -> Int? {
        var shared = Int(lengths[0])
        var offset = 0
        for length in lengths {
            let end = offset + Int(length)
            guard end > offset, bytes[end - 1].isDigit else { return nil }
            shared = min(shared, Int(length))
            var count = 0
            while count < shared, bytes[offset + count] == bytes[count] { count += 1 }
            shared = count
            offset = end
        }
        return shared
    }

    private static func number(_ digits: ArraySlice<UInt8>, hasZeros: Bool) -> Int64? {
        guard let first = digits.first, digits.count <= digitCountMax else { return nil }
        guard hasZeros || first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard digit.isDigit else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }

    /// Whether each is another one, since the numbers ascend.
    var isAscending: Bool { zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 } }

    /// The size in bytes, with the byte that names the form.
    var size: Int { 2 + IntegerSequence.varintSize(UInt64(prefix.count)) + prefix.count + plan.size }

    func encode(into writer: inout ByteWriter) {
        writer.byte(ByteColumn.Form.numbered.rawValue)
        writer.varint(prefix.count)
        writer.raw(prefix)
        writer.byte(UInt8(digitCount))
        IntegerSequence.encode(numbers, plan: plan, into: &writer)
    }

    /// - Returns: the bytes of all, one after the other, and their lengths.
    static func decode(
        count: Int, from reader: inout ByteReader
    ) throws(WireError) -> (bytes: [UInt8], lengths: [Int64]) {
        let prefix = try reader.slice(try reader.length())
        let digitCount = Int(try reader.byte())
        guard digitCount <= digitCountMax else { throw reader.malformed("numbers of \(digitCount) digits") }
        let bound = powersOfTen[digitCount == 0 ? digitCountMax : digitCount]
        let numbers = try IntegerSequence.decode(count: count, from: &reader)
        var lengths: [Int64] = []
        lengths.reserveCapacity(count)
        var size = 0
        for number in numbers {
            guard number >= 0, number < bound else { throw reader.malformed("\(number) as a number in a text") }
            let length = prefix.count + (digitCount == 0 ? Self.digitCount(of: number) : digitCount)
            lengths.append(Int64(length))
            size += length
        }
        guard size <= reader.budget.expansion else {
            throw WireError(
                .limitExceeded, "numbered texts of \(size) bytes; \(reader.budget.expansion) may still come",
                offset: reader.offset)
        }
        reader.budget.expansion -= size
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            for (number, length) in zip(numbers, lengths) {
                let text = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                text.copyMemory(from: prefix)
                var rest = number
                for position in stride(from: Int(length) - 1, through: prefix.count, by: -1) {
                    text[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                filled += Int(length)
            }
        }
        return (bytes, lengths)
    }

    private static let powersOfTen = (0...digitCountMax).map { (0..<$0).reduce(Int64(1)) { power, _ in power * 10 } }

    private static func digitCount(of number: Int64) -> Int {
        max(1, powersOfTen.firstIndex { $0 > number } ?? digitCountMax)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
}
