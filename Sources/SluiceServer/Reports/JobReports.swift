internal import SluiceJSON
internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Reports on the consumers and queues of a database. It only reads.
struct JobReports {
    /// The most dead letters that one answer has.
    private static let letterCountMax = 1_000

    let database: Database

    private var storage: SQLiteServerStorage { database.storage }

    /// The consumers, by name: how far each has come, and how many objects it has given up.
    func consumers() throws -> JSONText {
        .array(
            try ConsumerState.all(in: storage).map { name, state in
                var lag = JSONText.null
                if case .changes(let after, _, _, _)? = state.checkpoint?.place {
                    lag = .number(storage.version - min(after, storage.version))
                }
                return .object([
                    ("name", .string(name)), ("query", .string(state.query)), ("lag", lag),
                    ("handled", .number(state.handledCount)),
                    ("committedAt", state.committedAt.map { .string($0.description) } ?? .null),
                    ("dead", .number(UInt64(try storage.jobCount(ofSpace: ConsumerState.deadSpace(name))))),
                ])
            })
    }

    /// The queues that have run, by name: claims, rows that have failed for good, and the query. What waits is not counted
    /// here: that would keep the database's writer.
    func queues() throws -> JSONText {
        func names(_ prefix: String) throws -> [String] {
            try storage.jobSpaces(withPrefix: prefix).map { String($0.dropFirst(prefix.count)) }
        }
        let all = try [QueueClaim.prefix, QueueClaim.deadPrefix, QueueClaim.queryPrefix].flatMap { try names($0) }
        return .array(
            try Set(all).sorted(by: UTF8Order.less).map { name in
                let query = try storage.job(QueueClaim.queryKey(name)).map { String(decoding: $0.value, as: UTF8.self) }
                return .object([
                    ("name", .string(name)),
                    ("claims", .number(UInt64(try storage.jobCount(ofSpace: QueueClaim.space(name))))),
                    ("dead", .number(UInt64(try storage.jobCount(ofSpace: QueueClaim.deadSpace(name))))),
                    ("query", query.map { .string($0) } ?? .null),
                ])
            })
    }

    /// What a queue or a consumer has given up, by key.
    ///
    /// - Parameter argument: `{"queue": NAME}` or `{"consumer": NAME}`.
    /// - Returns: nil if it names neither.
    func dead(_ argument: String) throws -> JSONText? {
        guard let json = try? JSONParser.parse(argument) else { return nil }
        let space: String
        if let queue = json["queue"]?.string {
            space = QueueClaim.deadSpace(queue)
        } else if let consumer = json["consumer"]?.string {
            space = ConsumerState.deadSpace(consumer)
        } else {
            return nil
        }
        let records = try storage.jobs(ofSpace: space, after: nil, countMax: Self.letterCountMax)
        return .array(
            records.compactMap { record in
                guard let object = try? DeadLetterRecord.identity(of: record.key.name),
                    let letter = try? DeadLetterRecord(wireBytes: record.value)
                else { return nil }
                return .object([
                    ("class", .string(object.className)), ("key", .string(object.key.description)),
                    ("error", .string(letter.error)), ("attempts", .number(letter.attemptCount)),
                    ("time", .string(letter.time.description)),
                ])
            })
    }
}
