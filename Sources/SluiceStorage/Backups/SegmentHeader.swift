package import SluiceModel

/// A group of a journal as an archive knows it before it reads it.
package struct ArchivedHead: Hashable, Sendable {
    package var head: JournalHead
    /// The version of the database after the group.
    package var version: UInt64
    /// When the group was accepted; of the state before the first group, the earliest time there is.
    package var acceptedAt: Timestamp

    package init(head: JournalHead, version: UInt64, acceptedAt: Timestamp) {
        self.head = head
        self.version = version
        self.acceptedAt = acceptedAt
    }

    /// The state before the first group.
    package init(of databaseID: ObjectID) {
        self.init(
            head: JournalHead(of: databaseID), version: 0, acceptedAt: Timestamp(microseconds: .min))
    }
}

/// What a segment of an archive begins with: 144 bytes.
package struct SegmentHeader: Hashable, Sendable {
    /// The format that this library writes, and the highest that it reads.
    static let format: UInt32 = 1
    static let byteCount = 144
    private static let mark = Array("SluiceJA".utf8)

    /// Ascends with each segment of a database.
    package var number: UInt64
    package var databaseID: ObjectID
    /// The group after which the segment begins.
    package var base: ArchivedHead
    /// How the segment belongs to those before it.
    package var kind: Kind
    /// When the segment was begun.
    package var begunAt: Timestamp
    /// Up to when the segments before are known to be complete, if a line begins.
    package var completeUntil: Timestamp

    package enum Kind: UInt32, Sendable {
        /// A line of history begins: it is the first segment, or the database was changed without the archive.
        case line = 0
        /// It goes on where the one before it ends.
        case continuation = 1
        /// A line begins at an earlier state than the archive has, which was put back.
        case fork = 2
    }

    package init(
        number: UInt64, databaseID: ObjectID, base: ArchivedHead, kind: Kind, begunAt: Timestamp,
        completeUntil: Timestamp
    ) {
        self.number = number
        self.databaseID = databaseID
        self.base = base
        self.kind = kind
        self.begunAt = begunAt
        self.completeUntil = completeUntil
    }

    package var bytes: [UInt8] {
        var bytes = Self.mark
        bytes.append(little: Self.format)
        bytes.append(little: kind.rawValue)
        bytes.append(little: number)
        bytes.append(little: databaseID.high)
        bytes.append(little: databaseID.low)
        bytes.append(little: base.head.position)
        bytes.append(little: base.version)
        bytes.append(little: UInt64(bitPattern: base.acceptedAt.microseconds))
        bytes += base.head.chain
        bytes.append(little: UInt64(bitPattern: begunAt.microseconds))
        bytes.append(little: UInt64(bitPattern: completeUntil.microseconds))
        return bytes + SHA256.digest(bytes)
    }

    /// Reads a header.
    ///
    /// - Parameter file: the segment, as messages name it.
    /// - Throws: ``StorageError/Code/newerFormat``; ``StorageError/Code/damaged`` if it is none.
    package init(_ bytes: [UInt8], file: String) throws(StorageError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark) else {
            throw StorageError(.damaged, "\(file) does not begin as a segment of an archive")
        }
        let format = bytes.word32(8)
        guard format <= Self.format else {
            throw StorageError(
                .newerFormat,
                "\(file) has format \(format), and this version reads up to \(Self.format); update this program")
        }
        self.init(
            number: bytes.word(16), databaseID: ObjectID(high: bytes.word(24), low: bytes.word(32)),
            base: ArchivedHead(
                head: JournalHead(position: bytes.word(40), chain: Array(bytes[64..<96])), version: bytes.word(48),
                acceptedAt: Timestamp(microseconds: Int64(bitPattern: bytes.word(56)))),
            kind: Kind(rawValue: bytes.word32(12)) ?? .line,
            begunAt: Timestamp(microseconds: Int64(bitPattern: bytes.word(96))),
            completeUntil: Timestamp(microseconds: Int64(bitPattern: bytes.word(104))))
        guard self.bytes == bytes else {
            throw StorageError(.damaged, "\(file) does not begin as it was written")
        }
    }
}

/// What stands before the bytes of a group in a segment: 72 bytes.
struct SegmentFrame: Hashable {
    static let byteCount = 72
    static let mark = Array("SluG".utf8)

    var group: ArchivedHead
    /// The length of the group.
    var byteCount: Int

    var bytes: [UInt8] {
        var bytes = Self.mark
        bytes.append(little: UInt32(byteCount))
        bytes.append(little: group.head.position)
        bytes.append(little: group.version)
        bytes.append(little: UInt64(bitPattern: group.acceptedAt.microseconds))
        bytes += group.head.chain
        return bytes + SHA256.digest(bytes)[..<8]
    }

    init(_ group: ArchivedHead, byteCount: Int) {
        self.group = group
        self.byteCount = byteCount
    }

    /// Nil unless the bytes are a frame as it was written.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark) else { return nil }
        byteCount = Int(bytes.word32(4))
        group = ArchivedHead(
            head: JournalHead(position: bytes.word(8), chain: Array(bytes[32..<64])), version: bytes.word(16),
            acceptedAt: Timestamp(microseconds: Int64(bitPattern: bytes.word(24))))
        guard byteCount <= JournalGroup.byteCountMax, self.bytes == bytes else { return nil }
    }
}

extension [UInt8] {
    fileprivate mutating func append(little word: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate func word(_ place: Int) -> UInt64 {
        self[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate func word32(_ place: Int) -> UInt32 {
        self[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
