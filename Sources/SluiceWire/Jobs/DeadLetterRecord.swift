package import SluiceModel

/// An object that a job has given up, as a database keeps it.
package struct DeadLetterRecord: Sendable, Hashable {
    package var error: String
    package var attemptCount: UInt64
    package var time: Timestamp
    /// The version of the object that failed.
    package var version: UInt64

    /// The most bytes of an error's text that are kept.
    private static let textByteCountMax = 2_000
    private static let format: UInt8 = 1

    /// What names an object among the dead letters.
    package static func name(of className: String, _ key: ObjectKey) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(className)
        key.encode(into: &writer)
        return writer.bytes
    }

    /// The key of an object's record in a space of dead letters.
    package static func key(_ object: Identity, in space: String) -> JobRecord.Key {
        .init(space: space, name: name(of: object.className, object.key))
    }

    /// The object that a name is of.
    package static func identity(of name: [UInt8]) throws(WireError) -> Identity {
        try ByteReader.decode(name, limits: .standard) { reader throws(WireError) in
            Identity(className: try reader.string(), key: try ObjectKey(from: &reader))
        }
    }

    package init(_ error: any Error, attemptCount: Int, time: Timestamp, version: UInt64) {
        self.error = String(decoding: "\(error)".utf8.prefix(Self.textByteCountMax), as: UTF8.self)
        self.attemptCount = UInt64(attemptCount)
        self.time = time
        self.version = version
    }
}

extension DeadLetterRecord: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        writer.string(error)
        writer.varint(attemptCount)
        writer.zigzag(time.microseconds)
        writer.varint(version)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        try reader.expectFormat(Self.format, of: "a dead letter")
        error = try reader.string()
        attemptCount = try reader.varint()
        time = Timestamp(microseconds: try reader.zigzag())
        version = try reader.varint()
    }
}
