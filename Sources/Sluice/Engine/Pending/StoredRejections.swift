internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// The local writes that the server has rejected, on disk: those that nobody was told of yet, and those whose values stay
/// visible here because the store is opened so.
final class StoredRejections {
    /// A rejected transaction.
    struct Record {
        let number: UInt64
        var reports: [WriteRejection]
        /// What stays visible; empty if everything was reverted.
        var operations: [ObjectOperation]
        var isReported = false

        /// Whether anybody still needs it.
        var isNeeded: Bool { !isReported || !operations.isEmpty }

        /// What stays visible, as a changeset of the record's number.
        var changeset: Changeset {
            Changeset(
                sequence: number, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 0), operations: operations)
        }
    }

    /// The most records of writes that were reverted and not reported.
    private static let unreportedCountMax = 1_000
    private static let name = "refused"

    private let storage: SQLiteClientStorage
    private(set) var records: [Record] = []
    private var lastNumber: UInt64 = 0
    /// What stays visible, by object, in the order in which it was written.
    private var kept: [ObjectRef: [ObjectOperation]] = [:]
    /// Whether the open transaction has changed something.
    private var isChanged = false

    /// Reads what is stored, so that objects show it.
    init(_ storage: SQLiteClientStorage) throws {
        self.storage = storage
        try load()
        guard !kept.isEmpty, storage.obstacle == nil else { return }
        try storage.transaction { try storage.setKeptObjects(Set(kept.keys)) }
    }

    /// What was rejected and nobody was told of, also in earlier processes.
    var unreported: [WriteRejection] { records.filter { !$0.isReported }.flatMap(\.reports) }

    // MARK: What stays visible

    /// The rejected writes whose values stay visible.
    var writes: [RejectedWrite] {
        records.filter { !$0.operations.isEmpty }.map { record in
            let objects = Set(record.operations.map(\.object)).sorted()
            return RejectedWrite(
                id: record.number, rejections: record.reports,
                objects: objects.map { Identity(className: storage.schema[$0.classIndex].name, key: $0.key) })
        }
    }

    /// Whether rejected values of an object stay visible.
    func keeps(_ object: ObjectRef) -> Bool { kept[object] != nil }

    /// What an object shows here on top of an image of the server; nil if there is nothing to show.
    func shown(_ image: Row?, of object: ObjectRef) -> Row? {
        var image = image
        for operation in kept[object] ?? [] {
            let effect = OperationEffect(operation, of: storage.schema[object.classIndex])
            image = effect.applied(to: image, of: object, schema: storage.schema)
        }
        return image
    }

    // MARK: Changing, inside a transaction

    /// Notes a rejected transaction.
    ///
    /// - Parameter operations: what stays visible of it; none to revert it.
    /// - Returns: the reports, by which ``noteReported(_:)`` knows the record.
    func add(_ reports: [WriteRejection], keeping operations: [ObjectOperation]) throws -> [WriteRejection] {
        lastNumber += 1
        let number = lastNumber
        let reports = reports.map { $0.numbered(number) }
        records.append(Record(number: number, reports: reports, operations: operations, isReported: reports.isEmpty))
        if !operations.isEmpty { fileKept() }
        let reverted = records.lazy.filter { $0.operations.isEmpty }
        if reverted.count > Self.unreportedCountMax, let oldest = reverted.first { try remove(oldest.number) }
        try store(number)
        return reports
    }

    /// Drops what an application overwrites: values of the same properties, or whole objects that are written anew.
    func overwrite(_ operations: [ObjectOperation]) throws {
        guard !kept.isEmpty else { return }
        for operation in operations where keeps(operation.object) {
            for index in records.indices
            where records[index].operations.contains(where: { $0.object == operation.object }) {
                records[index].operations = records[index].operations.compactMap { $0.overwritten(by: operation) }
                try store(records[index].number)
            }
        }
        fileKept()
        try dropUnneeded()
    }

    /// Drops what stays visible of objects; nil for all.
    ///
    /// - Returns: the objects that showed something.
    func discard(_ objects: Set<ObjectRef>?) throws -> [ObjectRef] {
        let discarded = kept.keys.filter { objects?.contains($0) ?? true }
        for index in records.indices where !records[index].operations.isEmpty {
            records[index].operations.removeAll { objects?.contains($0.object) ?? true }
            try store(records[index].number)
        }
        fileKept()
        try dropUnneeded()
        return discarded.sorted()
    }

    /// Notes that a handler was told of rejected transactions.
    func noteReported(_ numbers: Set<UInt64>) throws {
        for index in records.indices where numbers.contains(records[index].number) && !records[index].isReported {
            records[index].isReported = true
            try store(records[index].number)
        }
        try dropUnneeded()
    }

    /// Returns to what is stored, after a transaction that failed.
    func rollBack() throws { if isChanged { try load() } }

    func commit() { isChanged = false }

    // MARK: Storing

    private func fileKept() {
        kept = [:]
        for record in records {
            for operation in record.operations { kept[operation.object, default: []].append(operation) }
        }
    }

    private func dropUnneeded() throws {
        for record in records where !record.isNeeded { try remove(record.number) }
        try storage.setKeptObjects(Set(kept.keys))
    }

    private func remove(_ number: UInt64) throws {
        records.removeAll { $0.number == number }
        try storage.setMetadata("\(Self.name).\(number)", nil)
        try storeNumbers()
    }

    private func store(_ number: UInt64) throws {
        guard let record = records.first(where: { $0.number == number }) else { return }
        try storage.setMetadata("\(Self.name).\(number)", record.wireBytes())
        try storeNumbers()
        try storage.setKeptObjects(Set(kept.keys))
    }

    private func storeNumbers() throws {
        isChanged = true
        var writer = ByteWriter()
        writer.varint(lastNumber)
        writer.array(records.map(\.number)) { $0.varint($1) }
        try storage.setMetadata(Self.name, writer.bytes)
    }

    private func load() throws {
        isChanged = false
        records = []
        kept = [:]
        guard let bytes = try storage.metadata(Self.name) else { return }
        do throws(WireError) {
            let numbers = try ByteReader.decode(bytes, limits: .standard) { reader throws(WireError) in
                lastNumber = try reader.varint()
                guard lastNumber <= UInt64(Int64.max) else {
                    throw WireError(.malformed, "the number \(lastNumber)", offset: reader.offset)
                }
                return try reader.array(minimumSize: 1) { reader throws(WireError) in try reader.varint() }
            }
            for number in numbers {
                guard let stored = try? storage.metadata("\(Self.name).\(number)") else { continue }
                let record = try Record(wireBytes: stored)
                guard record.changeset.isPossible(in: storage.schema) else {
                    throw WireError(.malformed, "operations on objects that there cannot be", offset: 0)
                }
                records.append(record)
            }
        } catch {
            throw StorageError(.damaged, "the store's rejected writes cannot be read: \(error.message)")
        }
        fileKept()
    }
}

extension StoredRejections.Record: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(number)
        writer.bool(isReported)
        writer.array(reports) { writer, report in
            writer.optional(report.object) { writer, object in
                writer.string(object.className)
                object.key.encode(into: &writer)
            }
            writer.string(report.reason.code.description)
            writer.string(report.reason.message)
            writer.array(report.rejectedValues.sorted { $0.key < $1.key }) { writer, entry in
                writer.string(entry.key)
                entry.value.encode(into: &writer)
            }
        }
        writer.data(changeset.wireBytes())
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.varint()
        let isReported = try reader.bool()
        let reports = try reader.array(minimumSize: 4) { reader throws(WireError) in
            let object = try reader.optional { reader throws(WireError) in
                Identity(className: try reader.string(), key: try ObjectKey(from: &reader))
            }
            let reason = SyncError(SyncError.Code(description: try reader.string()), try reader.string())
            let values = try reader.array(minimumSize: 2) { reader throws(WireError) in
                (try reader.string(), try Value(from: &reader))
            }
            return WriteRejection(
                object: object, reason: reason, rejectedValues: Dictionary(values) { $1 }
            ).numbered(number)
        }
        let changeset = try Changeset(wireBytes: try reader.data())
        self.init(number: number, reports: reports, operations: changeset.operations, isReported: isReported)
    }
}

extension ObjectOperation {
    /// What is left of an operation that stays visible after a later one of the application; nil if nothing is.
    fileprivate func overwritten(by later: ObjectOperation) -> ObjectOperation? {
        guard object == later.object else { return self }
        guard case .update(let fields) = later.action else { return nil }
        let written = fields.filter(\.change.isAssignment)
        func left(_ own: [FieldOperation]) -> [FieldOperation] {
            own.filter { field in !written.contains { $0.property == field.property } }
        }
        switch action {
        case .delete: return nil
        case .update(let own):
            let rest = left(own)
            return rest.isEmpty ? nil : ObjectOperation(object, .update(rest))
        // The server has no such object, so what the application writes to it has no effect there.
        case .create(let own): return ObjectOperation(object, .create(left(own) + written))
        }
    }
}
