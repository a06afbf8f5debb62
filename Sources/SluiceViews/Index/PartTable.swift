import SluiceModel

/// Stores numbered texts or data, and finds those that are a part of a value.
///
/// They are filed under their first bytes, up to eight. At each of its bytes a value asks once for each length of such
/// a beginning that occurs, and compares what it finds there.
struct PartTable {
    private static let lengthMax = 8
    /// The most bytes of a value that are looked through. A longer value finds every number.
    static let valueByteCountMax = 16_384

    /// By the length of the beginning, and then by the beginning.
    private var numbers: [[UInt64: [[UInt8]: NumberSet]]] = Array(repeating: [:], count: lengthMax + 1)
    private(set) var isEmpty = true

    func count(of part: Value) -> Int {
        guard let bytes = part.searchedBytes else { return 0 }
        let (length, beginning) = Self.beginning(of: bytes)
        return numbers[length][beginning]?[bytes]?.count ?? 0
    }

    mutating func insert(_ part: Value, _ number: UInt64) {
        guard let bytes = part.searchedBytes, !bytes.isEmpty else { return }
        let (length, beginning) = Self.beginning(of: bytes)
        numbers[length][beginning, default: [:]].insert(number, for: bytes)
        isEmpty = false
    }

    mutating func remove(_ part: Value, _ number: UInt64) {
        guard let bytes = part.searchedBytes, !bytes.isEmpty else { return }
        let (length, beginning) = Self.beginning(of: bytes)
        numbers[length][beginning]?.remove(number, for: bytes)
        if numbers[length][beginning]?.isEmpty == true { numbers[length][beginning] = nil }
        isEmpty = numbers.allSatisfy(\.isEmpty)
    }

    /// Calls `body` with the number of every part of a value, with some of them more than once.
    func forEach(within value: Value, _ body: (UInt64) -> Void) {
        guard let bytes = value.searchedBytes else { return }
        guard bytes.count <= Self.valueByteCountMax else { return forEach(body) }
        for length in 1...Self.lengthMax where !numbers[length].isEmpty && length <= bytes.count {
            let mask = UInt64.max >> UInt64(64 - 8 * length)
            var beginning: UInt64 = 0
            for (position, byte) in bytes.enumerated() {
                beginning = (beginning << 8 | UInt64(byte)) & mask
                let start = position + 1 - length
                guard start >= 0, let found = numbers[length][beginning] else { continue }
                for (part, numbers) in found where bytes[start...].starts(with: part) { numbers.forEach(body) }
            }
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for table in numbers { for found in table.values { for numbers in found.values { numbers.forEach(body) } } }
    }

    private static func beginning(of bytes: [UInt8]) -> (length: Int, beginning: UInt64) {
        let length = min(bytes.count, lengthMax)
        return (length, bytes[..<length].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
