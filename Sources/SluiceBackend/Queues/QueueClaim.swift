internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What a database keeps of a row of a queue that somebody works at, or that is to be tried again. Its record is due when
/// the lease ends, or when the row may be tried again.
struct QueueClaim: Sendable, Hashable {
    /// Who works at the row; 0 for nobody.
    var holder: UInt64
    /// How often the row was claimed.
    var attemptCount: UInt64
    /// Rows with the same are worked at one after the other; nil for any.
    var partition: String?

    private static let format: UInt8 = 1
    static let prefix = "queue/"
    static let deadPrefix = "queue-dead/"

    static func space(_ queue: String) -> String { prefix + queue }
    static func deadSpace(_ queue: String) -> String { deadPrefix + queue }
}

extension QueueClaim: WireCodable {
    func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        writer.fixed64(holder)
        writer.varint(attemptCount)
        writer.optional(partition) { $0.string($1) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        try reader.expectFormat(Self.format, of: "a claim")
        holder = try reader.fixed64()
        attemptCount = try reader.varint()
        partition = try reader.optional { reader throws(WireError) in try reader.string() }
    }
}
