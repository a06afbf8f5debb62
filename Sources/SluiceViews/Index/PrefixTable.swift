import SluiceModel

/// Stores numbered prefixes of text or data, and finds those that a value begins with: one lookup for each length that
/// occurs. A reversed table does so with suffixes.
///
/// A value is hashed once for all lengths, and nothing is copied for a lookup: with more prefixes there are also more
/// lengths, so a lookup must be cheap.
struct PrefixTable {
    private let isReversed: Bool
    /// The prefixes of each length that occurs, ascending.
    private var tables: [(length: Int, numbers: HashedNumbers<Int>)] = []

    init(isReversed: Bool = false) { self.isReversed = isReversed }

    var isEmpty: Bool { tables.isEmpty }

    /// How many numbers are filed under a prefix.
    func count(of prefix: Value) -> Int {
        let (length, hash) = key(of: prefix)
        return tables.first { $0.length == length }?.numbers.count(of: hash) ?? 0
    }

    mutating func insert(_ prefix: Value, _ number: UInt64) {
        let (length, hash) = key(of: prefix)
        let place = tables.firstIndex { $0.length >= length } ?? tables.count
        if place == tables.count || tables[place].length != length {
            tables.insert((length, HashedNumbers()), at: place)
        }
        tables[place].numbers.insert(number, for: hash)
    }

    mutating func remove(_ prefix: Value, _ number: UInt64) {
        let (length, hash) = key(of: prefix)
        guard let place = tables.firstIndex(where: { $0.length == length }) else { return }
        tables[place].numbers.remove(number, for: hash)
        if tables[place].numbers.isEmpty { tables.remove(at: place) }
    }

    /// Calls `body` with the number of every prefix of a value, and perhaps with others.
    func forEach(beginning value: Value, _ body: (UInt64) -> Void) {
        let bytes = bytes(of: value)
        var hasher = Hasher()
        var hashed = 0
        for (length, numbers) in tables {
            guard length <= bytes.count else { return }
            while hashed < length {
                hasher.combine(bytes[hashed])
                hashed += 1
            }
            let prefix = hasher
            numbers.forEach(of: prefix.finalize(), body)
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for (_, numbers) in tables { numbers.forEach(body) }
    }

    private func key(of prefix: Value) -> (length: Int, hash: Int) {
        let bytes = bytes(of: prefix)
        var hasher = Hasher()
        for byte in bytes { hasher.combine(byte) }
        return (bytes.count, hasher.finalize())
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
