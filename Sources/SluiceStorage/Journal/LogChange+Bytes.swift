internal import SluiceModel
internal import SluiceWire

extension LogChange {
    /// Reads a change of the log of file format 1: what was done, and in the middle of it what there was before.
    init(fromFormat1 reader: inout ByteReader) throws(WireError) {
        let object = try ObjectRef(from: &reader)
        let flags = try reader.byte()
        guard let kind = WriteKind(rawValue: flags & 3), flags & ~(3 | [FieldOperation].journalFlags) == 0 else {
            throw WireError(.malformed, "a change of kind \(flags)", offset: reader.offset)
        }
        let oldVersion = try reader.varint()
        let written = try PropertySet(from: &reader)
        let oldValues = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        let partial = try [FieldOperation](flags: flags, fromJournal: &reader)
        if kind == .update, oldValues.count != written.count {
            throw WireError(.malformed, "\(oldValues.count) values of \(written.count)", offset: reader.offset)
        }
        self.init(
            object, WriteNote(kind, written: written, partial: partial), oldVersion: oldVersion, oldValues: oldValues)
    }
}
