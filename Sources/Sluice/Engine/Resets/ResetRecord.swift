internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// A reset after which the store has not caught up yet, as it is kept on disk.
struct ResetRecord: Equatable, WireCodable {
    private static let name = "reset"

    /// The server's epoch that the store started over in. If it must start over again in the same one, what it uploads
    /// may be the cause.
    var epoch: UInt64
    var recoversWrites: Bool
    var unsentCount: UInt64
    /// The last transaction that was unsent then.
    var sequence: UInt64
    var startedAt: Timestamp
    var reason: String
    var backupPath: String

    /// The reset after which the store has not caught up; nil if there is none.
    static func stored(in storage: SQLiteClientStorage) throws -> ResetRecord? {
        guard let bytes = try storage.metadata(name) else { return nil }
        // What cannot be read was written by another version of this library.
        return try? ResetRecord(wireBytes: bytes)
    }

    /// Stores the record, inside a transaction.
    func store(in storage: SQLiteClientStorage) throws { try storage.setMetadata(Self.name, wireBytes()) }

    /// Removes the record, inside a transaction.
    static func remove(from storage: SQLiteClientStorage) throws { try storage.setMetadata(name, nil) }

    var report: ClientReset {
        ClientReset(
            reason: reason, recoversWrites: recoversWrites, unsentCount: Int(clamping: unsentCount),
            backupPath: backupPath.isEmpty ? nil : backupPath, date: startedAt.date)
    }
}

extension ResetRecord {
    func encode(into writer: inout ByteWriter) {
        writer.varint(epoch)
        writer.bool(recoversWrites)
        writer.varint(unsentCount)
        writer.varint(sequence)
        writer.varint(UInt64(bitPattern: startedAt.microseconds))
        writer.string(reason)
        writer.string(backupPath)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        epoch = try reader.varint()
        recoversWrites = try reader.bool()
        unsentCount = try reader.varint()
        sequence = try reader.varint()
        startedAt = Timestamp(microseconds: Int64(bitPattern: try reader.varint()))
        reason = try reader.string()
        backupPath = try reader.string()
    }
}
