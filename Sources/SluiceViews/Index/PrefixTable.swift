import SluiceModel

/// Stores numbered prefixes of text or data, and finds those that a value begins with: one lookup for each length that
/// occurs.
struct PrefixTable {
    private var numbers: [Int: [[UInt8]: Set<UInt64>]] = [:]

    var isEmpty: Bool { numbers.isEmpty }

    mutating func insert(_ prefix: Value, _ number: UInt64) {
        let bytes = Self.bytes(of: prefix)
        numbers[bytes.count, default: [:]][bytes, default: []].insert(number)
    }

    mutating func remove(_ prefix: Value, _ number: UInt64) {
        let bytes = Self.bytes(of: prefix)
        numbers[bytes.count]?[bytes]?.remove(number)
        if numbers[bytes.count]?[bytes]?.isEmpty == true { numbers[bytes.count]?[bytes] = nil }
        if numbers[bytes.count]?.isEmpty == true { numbers[bytes.count] = nil }
    }

    /// Calls `body` with the number of every prefix of a value.
    func forEach(beginning value: Value, _ body: (UInt64) -> Void) {
        let bytes = Self.bytes(of: value)
        for (length, table) in numbers where length <= bytes.count {
            for number in table[Array(bytes.prefix(length))] ?? [] { body(number) }
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for table in numbers.values { for set in table.values { for number in set { body(number) } } }
    }

    private static func bytes(of value: Value) -> [UInt8] {
        switch value {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        default: []
        }
    }
}
