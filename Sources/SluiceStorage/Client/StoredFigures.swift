internal import SluiceModel
internal import SluiceWire

/// What a subscription's query computes over everything that it matches, as it is stored: in the table of names and
/// values, under the subscription's id.
struct StoredFigures: WireCodable {
    /// The name of every subscription's figures begins with it.
    static let prefix = "engine.figures."

    let values: [Value]

    static func name(ofSubscription id: UInt64) -> String { "\(prefix)\(id)" }

    init(values: [Value]) { self.values = values }

    func encode(into writer: inout ByteWriter) { writer.array(values) { $1.encode(into: &$0) } }

    init(from reader: inout ByteReader) throws(WireError) {
        values = try reader.array { reader throws(WireError) in try Value(from: &reader) }
    }
}
