extension FrameBuilder {
    /// Adds a commit whose blocks were encoded before. Without blocks it only moves the version or acknowledges.
    package mutating func appendCommit(
        _ header: CommitHeader, blocks: [(subscriptions: [UInt64], block: SharedBlock)] = [],
        figures: [ServerMessage.SubscriptionFigures] = []
    ) {
        append(blocks.lazy.map { $0.block }) {
            $0.byte(ServerMessage.Code.commit.rawValue)
            $0.varint(header.session)
            header.encodeFields(into: &$0, withFigures: !figures.isEmpty)
            $0.array(blocks) {
                $0.array($1.subscriptions) { $0.varint($1) }
                $1.block.encode(into: &$0)
            }
            if !figures.isEmpty { $0.array(figures) { $1.encode(into: &$0) } }
        }
    }

    /// Adds a page whose content was encoded before.
    package mutating func appendPage(
        session: UInt64, subscriptions: [UInt64], version: UInt64, progress: Double,
        kind: ServerMessage.Complete.Kind = .bootstrap, content: SharedBlock
    ) {
        append(CollectionOfOne(content)) {
            $0.byte(ServerMessage.Code.page.rawValue)
            $0.varint(session)
            $0.array(subscriptions) { $0.varint($1) }
            $0.varint(version)
            $0.progress(progress)
            $0.byte(kind.rawValue)
            content.encode(into: &$0)
        }
    }
}

extension ByteWriter {
    /// A share of one, in parts of a thousand.
    mutating func progress(_ value: Double) {
        varint(UInt64((min(max(value, 0), 1) * 1000).rounded()))
    }
}
