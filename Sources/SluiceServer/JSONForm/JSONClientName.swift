internal import FoundationEssentials
package import SluiceModel
package import SluiceWire

/// Who a client is to a database, as one opaque text that it keeps: its identity, and the context that it read in.
package struct JSONClientName: Hashable, Sendable {
    package var identity: ClientIdentity
    /// What the user might read when the name was given; nil where no rules decided.
    package var context: Context?

    package struct Context: Hashable, Sendable {
        package var context: ObjectID
        package var fields: ObjectID
    }

    private static let version: UInt8 = 1

    package init(_ identity: ClientIdentity, _ context: Context?) {
        self.identity = identity
        self.context = context
    }

    /// - Returns: nil for a text that ``text`` has not made.
    package init?(_ text: String) {
        guard text.utf8.count <= 256, let data = Data(base64Encoded: text) else { return nil }
        let name = try? ByteReader.decode(Array(data), limits: .standard) { reader throws(WireError) in
            guard try reader.byte() == Self.version else {
                throw WireError(.malformed, "another version of the name", offset: 0)
            }
            let identity = try ClientIdentity(from: &reader)
            let context = try reader.optional { reader throws(WireError) in
                Context(context: try ObjectID(from: &reader), fields: try ObjectID(from: &reader))
            }
            return JSONClientName(identity, context)
        }
        guard let name else { return nil }
        self = name
    }

    package var text: String {
        var writer = ByteWriter()
        writer.byte(Self.version)
        identity.encode(into: &writer)
        writer.optional(context) { writer, context in
            context.context.encode(into: &writer)
            context.fields.encode(into: &writer)
        }
        return Data(writer.bytes).base64EncodedString()
    }
}
