/// A message of one direction: its type, its session and its fields.
package protocol WireMessage: Sendable {
    /// The code of the message's type.
    var type: UInt8 { get }
    /// The session that the message concerns; 0 for the connection.
    var session: UInt64 { get }

    /// Appends the fields.
    func encodeFields(into writer: inout ByteWriter)

    /// Reads the fields of a message; nil when this version does not know the type.
    static func decode(
        type: UInt8, session: UInt64, from reader: inout ByteReader
    ) throws(WireError) -> Self?
}

extension WireMessage {
    /// Appends length, type, session and fields.
    func encode(into writer: inout ByteWriter) {
        writer.lengthPrefixed {
            $0.byte(type)
            $0.varint(session)
            encodeFields(into: &$0)
        }
    }
}
