/// The header of a member of a POSIX tar file (ustar, IEEE Std 1003.1): 512 bytes before its content, which is padded with
/// zeros to a multiple of 512. Only regular files for their owner alone, and one form for each.
struct TarHeader: Hashable {
    static let blockByteCount = 512
    /// A member is at most as large as eleven octal digits say.
    static let memberByteCountMax = 1 << 33 - 1

    /// At most 99 bytes.
    var name: String
    /// The length of the content, in bytes.
    var byteCount: Int
    /// When it was made, in seconds since 1970.
    var time: Int

    /// The content and the zeros behind it.
    var paddedByteCount: Int { (byteCount + Self.blockByteCount - 1) / Self.blockByteCount * Self.blockByteCount }

    var bytes: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockByteCount)
        func put(_ text: String, at place: Int) {
            for (index, byte) in text.utf8.enumerated() { block[place + index] = byte }
        }
        func octal(_ number: Int, _ width: Int) -> String {
            let digits = String(number, radix: 8)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(Self.size(byteCount), at: 124)
        if byteCount > Self.memberByteCountMax { Self.putBinary(byteCount, in: &block) }
        put(octal(time, 11), at: 136)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = block.reduce(0) { $0 + Int($1) }
        put(octal(sum, 6), at: 148)
        block[154] = 0
        return block
    }

    private static func size(_ byteCount: Int) -> String {
        guard byteCount <= memberByteCountMax else { return "" }
        let digits = String(byteCount, radix: 8)
        return String(repeating: "0", count: 11 - digits.count) + digits
    }

    /// Larger sizes are binary, with the first bit set, as GNU tar and the others have them.
    private static func putBinary(_ byteCount: Int, in block: inout [UInt8]) {
        for index in 0..<8 { block[124 + 11 - index] = UInt8(truncatingIfNeeded: byteCount >> (8 * index)) }
        block[124] = 0x80
    }

    init(name: String, byteCount: Int, time: Int) {
        self.name = name
        self.byteCount = byteCount
        self.time = time
    }

    /// Reads a header; nil unless it has the form that ``bytes`` has.
    init?(_ block: [UInt8]) {
        guard block.count == Self.blockByteCount else { return nil }
        let nameBytes = block.prefix(100).prefix { $0 != 0 }
        guard (1...99).contains(nameBytes.count), let name = String(validating: nameBytes, as: UTF8.self),
            let byteCount = Self.size(block), let time = Self.octal(block[136..<147])
        else { return nil }
        self.init(name: name, byteCount: byteCount, time: time)
        guard bytes == block else { return nil }
    }

    private static func size(_ block: [UInt8]) -> Int? {
        guard block[124] == 0x80 else { return octal(block[124..<135]) }
        guard block[125..<128].allSatisfy({ $0 == 0 }), block[128] < 0x40 else { return nil }
        return block[128..<136].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard (0x30...0x37).contains(digit) else { return nil }
            number = number << 3 | Int(digit - 0x30)
        }
        return number
    }
}
