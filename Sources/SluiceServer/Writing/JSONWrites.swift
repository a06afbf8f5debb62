internal import SluiceExchange
internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Makes operations of transactions that come as lines of JSON, of sessions that keep no store.
///
/// A line says what is to become of an object as it is, so a transaction that concerns an object of one that was gathered
/// and not committed waits until that is.
final class JSONWrites {
    private let database: Database
    private let committer: Committer
    private let random: () -> UInt64
    /// How many of the gathered transactions came as JSON.
    private var gatheredCount = 0
    /// The objects that they concern.
    private var gatheredObjects: Set<ObjectRef> = []

    /// - Parameter random: makes random numbers for the identities of list elements.
    init(_ database: Database, _ committer: Committer, random: @escaping () -> UInt64) {
        self.database = database
        self.committer = committer
        self.random = random
    }

    /// The operations of a transaction.
    ///
    /// - Parameter commit: commits the transactions that were gathered.
    /// - Throws: `WriteRequestError` when it cannot be made, such as an insert of what is there.
    func operations(
        of write: ClientMessage.Write, as access: AccessBinding, now: Timestamp, commit: () -> Void
    ) throws -> [ObjectOperation] {
        let requests = try requests(of: write)
        if committer.hasUploads {
            let conversion = conversion(access, now: now)
            let objects = requests.compactMap { try? conversion.object(of: $0) }
            // What stores have uploaded may concern any object.
            if committer.uploadCount != gatheredCount || objects.contains(where: gatheredObjects.contains) { commit() }
        } else {
            forgetGathered()
        }
        return try operations(of: requests, as: access, now: now)
    }

    /// The operations of a transaction that was gathered, at the present state. Those that were gathered with it concern
    /// other objects.
    ///
    /// - Throws: as ``operations(of:as:now:commit:)``.
    func operations(
        of write: ClientMessage.Write, as access: AccessBinding, now: Timestamp
    ) throws -> [ObjectOperation] {
        try operations(of: requests(of: write), as: access, now: now)
    }

    private func requests(of write: ClientMessage.Write) throws(WriteRequestError) -> [WriteRequest] {
        if let fault = write.fault { throw WriteRequestError(message: fault) }
        let countMax = Int(database.limits.server.operationCountMax)
        guard write.operationCount <= countMax else {
            throw WriteRequestError(
                message: "the transaction has \(write.operationCount) operations; at most \(countMax) are taken")
        }
        return try WriteConversion.requests(write.operations, database.storage.schema)
    }

    private func operations(
        of requests: [WriteRequest], as access: AccessBinding, now: Timestamp
    ) throws -> [ObjectOperation] {
        var conversion = conversion(access, now: now)
        for (position, request) in requests.enumerated() {
            do { try conversion.add(request) } catch let error as WriteRequestError {
                throw WriteRequestError(message: "operation \(position + 1): \(error.message)")
            }
        }
        return conversion.operations
    }

    /// Notes that a transaction was gathered.
    func noteGathered(_ operations: [ObjectOperation]) {
        gatheredCount += 1
        for operation in operations { gatheredObjects.insert(operation.object) }
    }

    /// Notes that all that was gathered is committed.
    func forgetGathered() {
        gatheredCount = 0
        if !gatheredObjects.isEmpty { gatheredObjects = [] }
    }

    private func conversion(_ access: AccessBinding, now: Timestamp) -> WriteConversion {
        WriteConversion(
            database.storage, as: access,
            by: ListEdits.Author(origin: random(), time: max(1, now.microseconds), ids: .process))
    }
}
