package import SluiceModel

/// The spaces of records that a client may change, and what their records are.
package enum JobSpace: Sendable, CaseIterable {
    case consumer
    case consumerDeadLetters
    case queue
    case queueDeadLetters
    case queueDiscarded
    case queuePartitions
    case queueQuery

    /// What the names of the spaces begin with.
    package var prefix: String {
        switch self {
        case .consumer: ConsumerState.prefix
        case .consumerDeadLetters: ConsumerState.deadPrefix
        case .queue: QueueClaim.prefix
        case .queueDeadLetters: QueueClaim.deadPrefix
        case .queueDiscarded: QueueClaim.discardedPrefix
        case .queuePartitions: QueueClaim.partitionPrefix
        case .queueQuery: QueueClaim.queryPrefix
        }
    }

    /// The kind of a space; nil if a client may not change it.
    package init?(of space: String) {
        guard let kind = Self.allCases.first(where: { space.hasPrefix($0.prefix) }) else { return nil }
        self = kind
    }

    /// The longest name of a job, in bytes.
    package static let nameByteCountMax = 200

    /// Whether a consumer or a queue can have a name.
    package static func isName(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && name.utf8.count <= nameByteCountMax && !name.contains { $0 == "/" || $0.isNewline }
    }

    /// Why nobody may make a change, since its record would be too large for a journal to take; nil if it is not.
    package static func sizeProblem(with write: JobWrite) -> String? {
        guard let record = write.record(at: Timestamp(microseconds: 0)), record.byteCount > JobRecord.byteCountMax
        else { return nil }
        return "a record of a job has \(record.byteCount) bytes; at most \(JobRecord.byteCountMax)"
    }

    /// Why a client may not make a change; nil if it may.
    package static func problem(with write: JobWrite) -> String? {
        let space = write.key.space
        guard let kind = JobSpace(of: space) else {
            return "'\(space.prefix(40))' is no space of a consumer or a queue"
        }
        guard isName(space.dropFirst(kind.prefix.count)) else {
            return
                "'\(space.prefix(40))' does not name a job: a name has 1 to \(nameByteCountMax) bytes, and no slashes"
        }
        guard let record = write.record(at: Timestamp(microseconds: 0)) else { return nil }
        if let problem = sizeProblem(with: write) { return problem }
        do throws(WireError) {
            switch kind {
            case .consumer: _ = try ConsumerState(wireBytes: record.value)
            case .queue, .queuePartitions: _ = try QueueClaim(wireBytes: record.value)
            case .queueQuery:
                guard String(validating: record.value, as: UTF8.self) != nil else {
                    return "the query of a queue in '\(space)' is no text"
                }
            case .consumerDeadLetters, .queueDeadLetters, .queueDiscarded:
                _ = try DeadLetterRecord.identity(of: record.key.name)
                _ = try DeadLetterRecord(wireBytes: record.value)
            }
        } catch {
            return "the record of a job in '\(space)' cannot be read: \(error.message)"
        }
        return nil
    }
}
