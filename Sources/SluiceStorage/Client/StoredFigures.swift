internal import SluiceModel
internal import SluiceWire

/// A part of what a subscription's query computes over everything that it matches, as it is stored: in the table of names
/// and values, under the subscription's id and the number of the part. A commit that changes one of thousands of groups
/// writes one part.
struct StoredFigures: WireCodable, Hashable {
    /// How many values a part has; the last one may have fewer.
    static let countMax = 64
    /// The name of every part begins with it.
    static let prefix = "engine.groups."

    let values: [Value]

    /// How the names of a subscription's parts begin.
    static func prefix(ofSubscription id: UInt64) -> String { "\(prefix)\(id)." }

    static func name(ofSubscription id: UInt64, part: Int) -> String { "\(prefix(ofSubscription: id))\(part)" }

    /// The subscription and the number of a part that is stored under a name.
    static func place(_ name: String) -> (subscription: UInt64, part: Int)? {
        let numbers = name.dropFirst(prefix.count).split(separator: ".")
        guard name.hasPrefix(prefix), numbers.count == 2, let id = UInt64(numbers[0]), let part = Int(numbers[1]) else {
            return nil
        }
        return (id, part)
    }

    init(values: [Value]) { self.values = values }

    /// The parts of what a subscription has: none if it has nothing, and one if it has no values.
    static func parts(of values: [Value]?) -> [StoredFigures] {
        guard let values else { return [] }
        return stride(from: 0, to: max(values.count, 1), by: countMax).map { start in
            StoredFigures(values: Array(values[start..<min(start + countMax, values.count)]))
        }
    }

    func encode(into writer: inout ByteWriter) { writer.array(values) { $1.encode(into: &$0) } }

    init(from reader: inout ByteReader) throws(WireError) {
        values = try reader.array { reader throws(WireError) in try Value(from: &reader) }
    }
}
