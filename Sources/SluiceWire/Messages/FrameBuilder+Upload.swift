extension FrameBuilder {
    /// Adds an upload of changesets that were encoded before.
    package mutating func appendUpload(session: UInt64, _ changesets: [[UInt8]]) {
        append(EmptyCollection<SharedBlock>()) { writer in
            writer.byte(ClientMessage.Code.upload.rawValue)
            writer.varint(session)
            writer.varint(changesets.count)
            for changeset in changesets { writer.raw(changeset) }
        }
    }
}
