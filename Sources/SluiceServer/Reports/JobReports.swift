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

    /// The queues of which something is kept, by name: claims, and rows that have failed for good.
    func queues() throws -> JSONText {
        var counts: [String: (claims: Int, dead: Int)] = [:]
        for space in try storage.jobSpaces(withPrefix: QueueClaim.prefix) {
            let name = String(space.dropFirst(QueueClaim.prefix.count))
            counts[name, default: (0, 0)].claims = try storage.jobCount(ofSpace: space)
        }
        for space in try storage.jobSpaces(withPrefix: QueueClaim.deadPrefix) {
            let name = String(space.dropFirst(QueueClaim.deadPrefix.count))
            counts[name, default: (0, 0)].dead = try storage.jobCount(ofSpace: space)
        }
        return .array(
            counts.sorted { UTF8Order.less($0.key, $1.key) }.map { name, count in
                .object([
                    ("name", .string(name)), ("claims", .number(UInt64(count.claims))),
                    ("dead", .number(UInt64(count.dead))),
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
