internal import SluiceModel
internal import SluiceWire

/// The bytes of what was done to one object, without the values: flags, the properties, and then what the flags say.
extension WriteNote {
    /// The flags beside the kind: that some properties were changed in part, that some got a default, that a creation met
    /// the object, that a deletion came before, and that its lineage follows.
    private static let hasPartial: UInt8 = 8
    private static let hasDefaults: UInt8 = 16
    private static let hasCreation: UInt8 = 32
    private static let hasDeletion: UInt8 = 64
    private static let hasLineage: UInt8 = 128
    /// The fewest bytes that a note takes.
    static let byteCountMin = 2

    func encode(into writer: inout ByteWriter) {
        let flags =
            (partial.isEmpty ? 0 : Self.hasPartial) | (defaulted.isEmpty ? 0 : Self.hasDefaults)
            | (creates ? Self.hasCreation : 0)
            | (deletes ? Self.hasDeletion : 0) | (lineage == nil ? 0 : Self.hasLineage)
        writer.byte(kind.rawValue | flags)
        written.encode(into: &writer)
        if !partial.isEmpty { writer.array(partial) { $1.encode(into: &$0) } }
        if !defaulted.isEmpty { defaulted.encode(into: &writer) }
        lineage?.encode(into: &writer)
    }

    /// - Parameter isPart: whether it is in the rest that a deletion has left, and so cannot have one itself.
    init(from reader: inout ByteReader, isPart: Bool = false) throws(WireError) {
        let flags = try reader.byte()
        guard let kind = WriteKind(rawValue: flags & 7) else {
            throw WireError(.malformed, "a change of kind \(flags)", offset: reader.offset)
        }
        let written = try PropertySet(from: &reader)
        guard kind != .delete || written.isEmpty else {
            throw WireError(.malformed, "a delete that writes", offset: reader.offset)
        }
        let partial =
            flags & Self.hasPartial != 0
            ? try reader.array(minimumSize: 2) { reader throws(WireError) in try FieldOperation(from: &reader) } : []
        let defaulted = flags & Self.hasDefaults != 0 ? try PropertySet(from: &reader) : []
        guard defaulted.allSatisfy(written.contains) else {
            throw WireError(.malformed, "defaults of properties that are not written", offset: reader.offset)
        }
        self.init(
            kind, written: written, defaulted: defaulted, partial: partial, creates: flags & Self.hasCreation != 0,
            deletes: flags & Self.hasDeletion != 0,
            lineage: flags & Self.hasLineage != 0 ? try WriteLineage(from: &reader, isPart: isPart) : nil)
    }
}

extension WriteLineage {
    private static let hasOrigin: UInt8 = 1
    private static let hasFormer: UInt8 = 2
    private static let hasRest: UInt8 = 4
    private static let leavesFormer: UInt8 = 8

    fileprivate func encode(into writer: inout ByteWriter) {
        writer.byte(
            (origin == nil ? 0 : Self.hasOrigin) | (former == nil ? 0 : Self.hasFormer)
                | (rest == nil ? 0 : Self.hasRest) | (rest?.keepsFormer ?? false ? Self.leavesFormer : 0))
        if let origin {
            writer.varint(origin.base)
            writer.array(origin.fields) { $1.encode(into: &$0) }
        }
        if let former {
            former.key.encode(into: &writer)
            writer.array(former.values) { $1.encode(into: &$0) }
            writer.array(former.identities.sorted { $0.key < $1.key }) { writer, entry in
                writer.varint(entry.key)
                entry.value.encode(into: &writer)
            }
        }
        if let rest {
            writer.array(rest.writes) { writer, write in
                writer.varint(write.stamp.clientID)
                writer.zigzag(write.stamp.timestamp.microseconds)
                writer.varint(write.stamp.version)
                write.note.encode(into: &writer)
            }
        }
    }

    fileprivate convenience init(from reader: inout ByteReader, isPart: Bool) throws(WireError) {
        let flags = try reader.byte()
        guard flags & ~15 == 0, !isPart || flags & Self.hasRest == 0 else {
            throw WireError(.malformed, "a lineage of kind \(flags)", offset: reader.offset)
        }
        var origin: Origin?
        if flags & Self.hasOrigin != 0 {
            let base: UInt64 = try reader.varint()
            let fields = try reader.array(minimumSize: 2) { reader throws(WireError) in
                try FieldOperation(from: &reader)
            }
            origin = Origin(base: base, fields: fields)
        }
        let former = flags & Self.hasFormer != 0 ? try Self.former(from: &reader) : nil
        var rest: Rest?
        if flags & Self.hasRest != 0 {
            let writes = try reader.array(minimumSize: 3 + WriteNote.byteCountMin) { reader throws(WireError) in
                let client: UInt64 = try reader.varint()
                let time = HybridTimestamp(microseconds: try reader.zigzag())
                let version: UInt64 = try reader.varint()
                return StampedWrite(
                    try WriteNote(from: &reader, isPart: true),
                    WriteStamp(timestamp: time, clientID: client, version: version))
            }
            rest = Rest(keepsFormer: flags & Self.leavesFormer != 0, writes: writes)
        }
        self.init(origin: origin, former: former, rest: rest)
    }

    private static func former(from reader: inout ByteReader) throws(WireError) -> Row {
        let key = try ObjectKey(from: &reader)
        let values = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        var row = Row(key: key, values: values)
        let identities = try reader.array(minimumSize: 3) { reader throws(WireError) in
            (try reader.position(), try ListIdentity(from: &reader))
        }
        for (property, identity) in identities where property < values.count {
            row.setIdentity(identity, of: property)
        }
        return row
    }
}
