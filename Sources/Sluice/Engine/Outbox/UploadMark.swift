internal import SluiceStorage

/// How much of its outbox this store may have uploaded. The mark is kept on disk.
///
/// A server that has a record of the client knows what it has accepted from it. A server that has forgotten the client
/// would accept the same upload twice. So what may have been sent already is not sent to such a server again.
enum UploadMark: Equatable {
    /// No changeset after this one was sent.
    case through(UInt64)
    /// A session is open, so everything in the outbox may have been sent.
    case open

    private static let name = "uploads"

    static func stored(in storage: SQLiteClientStorage) throws -> UploadMark {
        guard let bytes = try storage.metadata(name), bytes.count == 8 else { return .through(0) }
        let number = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return number == .max ? .open : .through(number)
    }

    /// Stores the mark, inside a transaction.
    func store(in storage: SQLiteClientStorage) throws {
        guard try Self.stored(in: storage) != self else { return }
        let number: UInt64 = if case .through(let sequence) = self { sequence } else { .max }
        try storage.setMetadata(Self.name, withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }
}
