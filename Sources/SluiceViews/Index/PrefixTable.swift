import SluiceModel

/// Stores numbered prefixes of text or data, and finds those that a value begins with: one lookup for each length that
/// occurs. A reversed table does so with suffixes.
struct PrefixTable {
    private let isReversed: Bool
    private var numbers: [Int: HashedNumbers<[UInt8]>] = [:]

    init(isReversed: Bool = false) { self.isReversed = isReversed }

    var isEmpty: Bool { numbers.isEmpty }

    /// How many numbers are filed under a prefix.
    func count(of prefix: Value) -> Int {
        let bytes = bytes(of: prefix)
        return numbers[bytes.count]?.count(of: bytes) ?? 0
    }

    mutating func insert(_ prefix: Value, _ number: UInt64) {
        let bytes = bytes(of: prefix)
        numbers[bytes.count, default: HashedNumbers()].insert(number, for: bytes)
    }

    mutating func remove(_ prefix: Value, _ number: UInt64) {
        let bytes = bytes(of: prefix)
        numbers[bytes.count]?.remove(number, for: bytes)
        if numbers[bytes.count]?.isEmpty == true { numbers[bytes.count] = nil }
    }

    /// Calls `body` with the number of every prefix of a value.
    func forEach(beginning value: Value, _ body: (UInt64) -> Void) {
        let bytes = bytes(of: value)
        for (length, table) in numbers where length <= bytes.count {
            table.forEach(of: Array(bytes.prefix(length)), body)
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for table in numbers.values { table.forEach(body) }
    }

    private func bytes(of value: Value) -> [UInt8] {
        let bytes = value.searchedBytes ?? []
        return isReversed ? bytes.reversed() : bytes
    }
}

extension Value {
    /// The bytes of text or data; nil for any other value.
    var searchedBytes: [UInt8]? {
        switch self {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        default: nil
        }
    }
}
