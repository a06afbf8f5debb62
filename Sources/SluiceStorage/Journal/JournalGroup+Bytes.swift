internal import Glibc
internal import SluiceModel
internal import SluiceWire

/// The bytes of a group: a format byte, what was done without the values, then all values in order. Who wants to know
/// only who wrote what need not decode the values. A transaction that is a run of creations is written as it came, values
/// included.
extension JournalGroup {
    /// The formats that this version reads and writes. A group is written in the oldest one that has all of it: those
    /// with ``JournalStep/rules(_:from:)`` of a known origin need format 2.
    ///
    /// With the environment variable SLUICE_JOURNAL_FORMAT a program behaves like one that knows no newer format than the
    /// variable names, so that tests can run old nodes beside new ones.
    package static let formats = UInt8(1)...(pinnedFormat ?? 2)

    private static var pinnedFormat: UInt8? {
        getenv("SLUICE_JOURNAL_FORMAT").flatMap { UInt8(String(cString: $0)) }.map { min(max($0, 1), 2) }
    }

    /// The most bytes of one group, above what the limits of uploads allow.
    package static let byteCountMax = 1 << 29

    private static let limits = WireLimits(
        frameLengthMax: byteCountMax, expandedLengthMax: byteCountMax, elementCountMax: 1 << 30, nestingDepthMax: 64)

    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(steps.lazy.map(\.format).max() ?? Self.formats.lowerBound)
        writer.varint(baseVersion)
        writer.zigzag(acceptedAt.microseconds)
        writer.optional(workerID) { $0.string($1) }
        writer.array(steps) { $1.encode(into: &$0) }
        for transaction in transactions where transaction.creations == nil {
            for change in transaction.changes {
                for value in change.values { value.encode(into: &writer) }
            }
        }
        return writer.bytes
    }

    /// Decodes a group from bytes that anyone may have written: memory is bounded by a multiple of their number.
    ///
    /// - Parameter wantsValues: whether to decode the values; if false, every change has none, except creations that
    ///   stay columns.
    /// - Throws: ``StorageError/Code/journal`` if the bytes are no group that this version can read.
    package static func decode(_ bytes: [UInt8], wantsValues: Bool = true) throws(StorageError) -> JournalGroup {
        guard bytes.count <= byteCountMax else {
            throw StorageError(.journal, "a group of the journal has \(bytes.count) bytes; at most \(byteCountMax)")
        }
        try checkFormat(of: bytes)
        do throws(WireError) {
            return try bytes.withUnsafeBufferPointer { buffer throws(WireError) in
                var reader = ByteReader(UnsafeRawBufferPointer(buffer), limits: limits)
                _ = try reader.byte()
                var group = try JournalGroup(from: &reader)
                guard wantsValues else { return group }
                for index in group.steps.indices { try group.steps[index].readValues(&reader) }
                try reader.expectEnd()
                return group
            }
        } catch {
            throw StorageError(.journal, "a group of the journal cannot be read: \(error)")
        }
    }

    /// Checks that this version reads the format of a group. O(1).
    ///
    /// - Throws: ``StorageError/Code/journal`` if it does not.
    package static func checkFormat(of bytes: [UInt8]) throws(StorageError) {
        guard let format = bytes.first else { throw StorageError(.journal, "a group of the journal has no bytes") }
        guard formats.contains(format) else {
            throw StorageError(
                .journal,
                "a group of the journal has format \(format); this version reads formats up to \(formats.upperBound). "
                    + "Update it")
        }
    }

    private init(from reader: inout ByteReader) throws(WireError) {
        let baseVersion = try reader.varint()
        // The versions that the group makes are numbers too.
        guard baseVersion <= UInt64(StoredNumber.counts.upperBound) else {
            throw WireError(.malformed, "the version \(baseVersion)", offset: reader.offset)
        }
        self.init(
            baseVersion: baseVersion, acceptedAt: Timestamp(microseconds: try reader.zigzag()),
            workerID: try reader.optional { reader throws(WireError) in try reader.string() },
            steps: try reader.array { reader throws(WireError) in try JournalStep(from: &reader) })
    }
}

extension JournalStep {
    /// The oldest format of groups that has the step.
    fileprivate var format: UInt8 { if case .rules(_, from: .some) = self { 2 } else { 1 } }

    /// The step without what groups of a format cannot have.
    package func limited(to format: UInt8) -> JournalStep {
        guard format < self.format, case .rules(let bytes, _) = self else { return self }
        return .rules(bytes)
    }

    fileprivate enum Tag {
        static let transaction: UInt8 = 0
        static let rejection: UInt8 = 1
        static let confirmation: UInt8 = 2
        static let progress: UInt8 = 3
        static let forgetting: UInt8 = 4
        static let epoch: UInt8 = 5
        static let schema: UInt8 = 6
        static let removal: UInt8 = 7
        static let trim: UInt8 = 8
        static let rules: UInt8 = 9
        static let creations: UInt8 = 10
        static let visit: UInt8 = 11
        static let nonce: UInt8 = 12
        static let seen: UInt8 = 13
        static let mark: UInt8 = 14
        static let comparison: UInt8 = 15
        static let job: UInt8 = 16
        static let jobRemoval: UInt8 = 17
        static let rulesWithOrigin: UInt8 = 18
    }

    fileprivate func encode(into writer: inout ByteWriter) {
        switch self {
        case .transaction(let transaction):
            writer.byte(transaction.creations == nil ? Tag.transaction : Tag.creations)
            transaction.encode(into: &writer)
        case .rejection(let client, let sequence, let notice):
            writer.byte(Tag.rejection)
            writer.varint(client)
            writer.varint(sequence)
            writer.data(notice)
        case .confirmation(let client, let sequence):
            writer.byte(Tag.confirmation)
            writer.varint(client)
            writer.varint(sequence)
        case .progress(let client, let sequence):
            writer.byte(Tag.progress)
            writer.varint(client)
            writer.varint(sequence)
        case .visit(let visit):
            writer.byte(Tag.visit)
            visit.encode(into: &writer)
        case .nonce(let client, let nonce):
            writer.byte(Tag.nonce)
            writer.varint(client)
            nonce.encode(into: &writer)
        case .seen(let clients, let time):
            writer.byte(Tag.seen)
            writer.array(clients) { $0.varint($1) }
            writer.zigzag(time.microseconds)
        case .forgetting(let clients):
            writer.byte(Tag.forgetting)
            writer.array(clients) { $0.varint($1) }
        case .epoch(let id):
            writer.byte(Tag.epoch)
            writer.fixed64(id)
        case .schema(let schema):
            writer.byte(Tag.schema)
            schema.encode(into: &writer)
        case .removal(let classIndex, let property):
            writer.byte(Tag.removal)
            writer.varint(classIndex)
            writer.optional(property) { $0.varint($1) }
        case .trim(let version):
            writer.byte(Tag.trim)
            writer.varint(version)
        case .mark(let number):
            writer.byte(Tag.mark)
            writer.fixed64(number)
        case .comparison: writer.byte(Tag.comparison)
        case .job(let record):
            writer.byte(Tag.job)
            record.encode(into: &writer)
        case .jobRemoval(let key):
            writer.byte(Tag.jobRemoval)
            key.encode(into: &writer)
        case .rules(let bytes, nil):
            writer.byte(Tag.rules)
            writer.data(bytes)
        case .rules(let bytes, let origin?):
            writer.byte(Tag.rulesWithOrigin)
            writer.data(bytes)
            origin.encode(into: &writer)
        }
    }

    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.byte() {
        case Tag.transaction:
            var transaction = try JournalTransaction(headerFrom: &reader)
            transaction.changes = try reader.array(minimumSize: JournalChange.byteCountMin) {
                reader throws(WireError) in try JournalChange(from: &reader)
            }
            self = .transaction(transaction)
        case Tag.creations:
            var transaction = try JournalTransaction(headerFrom: &reader)
            transaction.creations = try Creations(from: &reader)
            self = .transaction(transaction)
        case Tag.rejection:
            self = .rejection(
                client: try reader.varint(), sequence: try reader.varint(), notice: try reader.data())
        case Tag.confirmation: self = .confirmation(client: try reader.varint(), sequence: try reader.varint())
        case Tag.progress: self = .progress(client: try reader.varint(), sequence: try reader.varint())
        case Tag.visit: self = .visit(try ClientVisit(from: &reader))
        case Tag.nonce: self = .nonce(client: try reader.varint(), try ObjectID(from: &reader))
        case Tag.seen:
            self = .seen(
                try reader.array { reader throws(WireError) in try reader.varint() },
                at: Timestamp(microseconds: try reader.zigzag()))
        case Tag.forgetting:
            self = .forgetting(try reader.array { reader throws(WireError) in try reader.varint() })
        case Tag.epoch: self = .epoch(try reader.fixed64())
        case Tag.schema: self = .schema(try Schema(from: &reader))
        case Tag.removal:
            self = .removal(
                classIndex: try reader.position(),
                property: try reader.optional { reader throws(WireError) in try reader.position() })
        case Tag.trim: self = .trim(version: try reader.varint())
        case Tag.mark: self = .mark(try reader.fixed64())
        case Tag.comparison: self = .comparison
        case Tag.job:
            self = .job(try JobRecord(from: &reader))
        case Tag.jobRemoval: self = .jobRemoval(try JobRecord.Key(from: &reader))
        case Tag.rules: self = .rules(try reader.data())
        case Tag.rulesWithOrigin:
            self = .rules(try reader.data(), from: try RulesOrigin(from: &reader))
        case let tag: throw WireError(.malformed, "\(tag) is no kind of step", offset: reader.offset)
        }
    }

    fileprivate mutating func readValues(_ reader: inout ByteReader) throws(WireError) {
        guard case .transaction(var transaction) = self, transaction.creations == nil else { return }
        // The changes must not be shared while they are filled.
        self = .epoch(0)
        var changes = transaction.changes
        transaction.changes = []
        for index in changes.indices {
            let count = changes[index].written.count
            try reader.spend(elements: count)
            guard count <= reader.remaining else {
                throw WireError(
                    .truncated, "\(count) values announced, \(reader.remaining) bytes left", offset: reader.offset)
            }
            var values: [Value] = []
            values.reserveCapacity(count)
            for _ in 0..<count { values.append(try Value(from: &reader)) }
            changes[index].values = values
        }
        transaction.changes = changes
        self = .transaction(transaction)
    }
}

extension ClientVisit {
    fileprivate func encode(into writer: inout ByteWriter) {
        writer.varint(clientID)
        writer.optional(userID) { $0.string($1) }
        nonce.encode(into: &writer)
        offer.encode(into: &writer)
        writer.varint(version)
        writer.zigzag(time.microseconds)
    }

    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            clientID: try reader.varint(),
            userID: try reader.optional { reader throws(WireError) in try reader.string() },
            nonce: try ObjectID(from: &reader), offer: try ObjectID(from: &reader), version: try reader.varint(),
            time: Timestamp(microseconds: try reader.zigzag()))
    }
}

extension JournalTransaction {
    fileprivate func encode(into writer: inout ByteWriter) {
        writer.varint(clientID)
        writer.varint(sequence)
        writer.optional(userID) { $0.string($1) }
        writer.zigzag(timestamp.microseconds)
        writer.varint(kinds.reduce(0) { $0 | 1 << UInt64($1.code) })
        if let creations {
            creations.encode(into: &writer)
        } else {
            writer.array(changes) { $1.encode(into: &$0) }
        }
    }

    /// Reads what a transaction is, without what it did.
    fileprivate init(headerFrom reader: inout ByteReader) throws(WireError) {
        let clientID = try reader.varint()
        let sequence = try reader.varint()
        let userID = try reader.optional { reader throws(WireError) in try reader.string() }
        let timestamp = HybridTimestamp(microseconds: try reader.zigzag())
        let codes = try reader.varint()
        let kinds = OperationKind.allCases.filter { codes >> UInt64($0.code) & 1 == 1 }
        guard codes.nonzeroBitCount == kinds.count else {
            throw WireError(.malformed, "\(codes) are no kinds of operations", offset: reader.offset)
        }
        self.init(
            clientID: clientID, sequence: sequence, userID: userID, timestamp: timestamp, kinds: Set(kinds),
            changes: [])
    }
}

extension JournalChange {
    /// The fewest bytes that a change takes.
    static let byteCountMin = 5

    fileprivate func encode(into writer: inout ByteWriter) {
        object.encode(into: &writer)
        note.encode(into: &writer)
    }

    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        self.init(try ObjectRef(from: &reader), try WriteNote(from: &reader))
    }
}
