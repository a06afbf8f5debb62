/// Gathers messages into one frame.
package struct FrameBuilder: Sendable {
    /// The first byte is left for the envelope's flags.
    private var writer = ByteWriter()
    /// How much of the content came compressed, or as small as it gets.
    private var incompressibleSize = 0

    package init() { writer.byte(0) }

    /// The size of what was appended, before compression, in bytes.
    package var size: Int { writer.count - 1 }

    package var isEmpty: Bool { size == 0 }

    package mutating func append(_ message: some WireMessage) { message.encode(into: &writer) }

    /// Adds a commit whose blocks were encoded before. Without blocks it only moves the version or acknowledges.
    package mutating func appendCommit(
        _ header: CommitHeader, blocks: [(subscriptions: [UInt64], block: SharedBlock)] = []
    ) {
        writer.lengthPrefixed {
            $0.byte(ServerMessage.Code.commit)
            $0.varint(header.session)
            header.encodeFields(into: &$0)
            $0.array(blocks) {
                $0.array($1.subscriptions) { $0.varint($1) }
                $1.block.encode(into: &$0)
            }
        }
        for block in blocks { incompressibleSize += block.block.incompressibleSize }
    }

    /// Adds a page whose content was encoded before.
    package mutating func appendPage(
        session: UInt64, subscriptions: [UInt64], version: UInt64, progress: Double,
        kind: ServerMessage.Complete.Kind = .bootstrap, content: SharedBlock
    ) {
        writer.lengthPrefixed {
            $0.byte(ServerMessage.Code.page)
            $0.varint(session)
            $0.array(subscriptions) { $0.varint($1) }
            $0.varint(version)
            $0.progress(progress)
            $0.byte(kind.rawValue)
            content.encode(into: &$0)
        }
        incompressibleSize += content.incompressibleSize
    }

    /// The frame's bytes.
    package consuming func finish() -> [UInt8] { Envelope.seal(writer.bytes, incompressible: incompressibleSize) }
}

extension ByteWriter {
    /// A share of one, in parts of a thousand.
    mutating func progress(_ value: Double) {
        varint(UInt64((min(max(value, 0), 1) * 1000).rounded()))
    }
}
