import SluiceModel

/// Stores numbered prefixes of text or data, and finds those that a value begins with: one lookup for each length that
/// occurs.
struct PrefixTable {
    private var numbers: [Int: [[UInt8]: NumberSet]] = [:]

    var isEmpty: Bool { numbers.isEmpty }

    /// How many numbers are filed under a prefix.
    func count(of prefix: Value) -> Int {
        let bytes = Self.bytes(of: prefix)
        return numbers[bytes.count]?[bytes]?.count ?? 0
    }

    mutating func insert(_ prefix: Value, _ number: UInt64) {
        let bytes = Self.bytes(of: prefix)
        numbers[bytes.count, default: [:]].insert(number, for: bytes)
    }

    mutating func remove(_ prefix: Value, _ number: UInt64) {
        let bytes = Self.bytes(of: prefix)
        numbers[bytes.count]?.remove(number, for: bytes)
        if numbers[bytes.count]?.isEmpty == true { numbers[bytes.count] = nil }
    }

    /// Calls `body` with the number of every prefix of a value.
    func forEach(beginning value: Value, _ body: (UInt64) -> Void) {
        let bytes = Self.bytes(of: value)
        for (length, table) in numbers where length <= bytes.count {
            table[Array(bytes.prefix(length))]?.forEach(body)
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for table in numbers.values { for set in table.values { set.forEach(body) } }
    }

    private static func bytes(of value: Value) -> [UInt8] {
        switch value {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        default: []
        }
    }
}
