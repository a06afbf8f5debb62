internal import Sluice
internal import SluiceJSON
internal import SluiceModel

/// What `sluice consumers` and `sluice queues` do: list the jobs of a kind, or do something about one of them.
struct JobsDesk {
    /// What there is to do about the jobs of a kind.
    struct Kind: Sendable {
        fileprivate let word: String
        /// What is said of letters that were retried, and discarded: of one, and of several.
        fileprivate let retried: (one: String, many: String)
        fileprivate let discarded: (one: String, many: String)
        fileprivate let list: @Sendable (Jobs) async throws -> [(name: String, json: JSONValue)]
        fileprivate let letters: @Sendable (Jobs, String) async throws -> [DeadLetter]
        fileprivate let retry: @Sendable (Jobs, Identity, String) async throws -> Bool
        fileprivate let discard: @Sendable (Jobs, Identity, String) async throws -> Bool
        fileprivate let remove: @Sendable (Jobs, String) async throws -> Void

        static let consumer = Kind(
            word: "consumer", retried: ("object is tried again", "objects are tried again"),
            discarded: ("object is forgotten", "objects are forgotten"),
            list: { try await $0.consumers().map { ($0.name, $0.json) } },
            letters: { try await $0.deadLetters(ofConsumer: $1) },
            retry: { try await $0.retryDeadLetter($1, ofConsumer: $2) },
            discard: { try await $0.discardDeadLetter($1, ofConsumer: $2) },
            remove: { try await $0.removeConsumer($1) })

        static let queue = Kind(
            word: "queue", retried: ("row is due again", "rows are due again"),
            discarded: ("row is listed no more", "rows are listed no more"),
            list: { try await $0.queues().map { ($0.name, $0.json) } },
            letters: { try await $0.deadRows(ofQueue: $1) },
            retry: { try await $0.retryDeadRow($1, ofQueue: $2) },
            discard: { try await $0.discardDeadRow($1, ofQueue: $2) },
            remove: { try await $0.removeQueue($1) })
    }

    private enum Action: String, CaseIterable {
        case dead
        case retry
        case discard
        case remove
    }

    private let access: ServerAccess
    private let format: OutputFormat
    private let kind: Kind
    /// What is to be done, and the name of the job; nil to list all.
    private let order: (action: Action, name: String)?

    init(_ arguments: ParsedArguments, of kind: Kind) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        self.kind = kind
        let given = Action.allCases.compactMap { action in arguments.value(action.rawValue).map { (action, $0) } }
        guard given.count <= 1 else {
            throw .usage("\(given.map { "--\($0.0.rawValue)" }.joined(separator: " and ")) exclude each other")
        }
        order = given.first
    }

    func run() async throws {
        Signals.exitQuietly()
        let writes = order.map { $0.action != .dead } ?? false
        let store = try await access.open(writes ? .readWrite : .readOnly)
        let known = try await kind.list(store.jobs)
        if let (action, name) = order {
            guard known.contains(where: { $0.name == name }) else {
                throw CommandError.failure("there is no \(kind.word) '\(name)'; 'sluice \(kind.word)s' lists them")
            }
            try await perform(action, name, in: store.jobs)
        } else {
            ReportPrinter.print(known.map(\.json), format: format)
        }
        await store.close()
    }

    private func perform(_ action: Action, _ name: String, in jobs: Jobs) async throws {
        switch action {
        case .dead: ReportPrinter.print(try await kind.letters(jobs, name).map(\.json), format: format)
        case .remove: try await kind.remove(jobs, name)
        case .retry: try await settle(name, in: jobs, by: kind.retry, kind.retried)
        case .discard: try await settle(name, in: jobs, by: kind.discard, kind.discarded)
        }
    }

    /// Does something about each letter, and says for how many that was true.
    private func settle(
        _ name: String, in jobs: Jobs, by body: (Jobs, Identity, String) async throws -> Bool,
        _ said: (one: String, many: String)
    ) async throws {
        var count = 0
        for letter in try await kind.letters(jobs, name) where try await body(jobs, letter.object, name) { count += 1 }
        Diagnostics.report(GroupedNumber.text(count, said.one, said.many))
    }
}

extension JSONValue {
    fileprivate init(members: [(String, JSONValue)]) {
        self = .object(members.map { Member(name: $0.0, value: $0.1) })
    }
}

extension ConsumerStatus {
    fileprivate var json: JSONValue {
        JSONValue(members: [
            ("name", .string(name)), ("lag", lag.map { .integer(Int64(clamping: $0)) } ?? .null),
            ("handled", .integer(Int64(clamping: handledCount))), ("dead", .integer(Int64(deadLetterCount))),
            ("committed", committedAt.map { .string(Timestamp($0).description) } ?? .null), ("query", .string(query)),
        ])
    }
}

extension QueueStatus {
    fileprivate var json: JSONValue {
        JSONValue(members: [
            ("name", .string(name)), ("waiting", waitingCount.map { .integer(Int64($0)) } ?? .null),
            ("retries", .integer(Int64(retryCount))),
            ("next", nextRetry.map { .string(Timestamp($0).description) } ?? .null),
            ("claims", .integer(Int64(claimCount))), ("dead", .integer(Int64(deadCount))),
            ("query", query.map { .string($0) } ?? .null),
        ])
    }
}

extension DeadLetter {
    fileprivate var json: JSONValue {
        JSONValue(members: [
            ("class", .string(object.className)), ("key", .string(object.key.description)),
            ("attempts", .integer(Int64(attemptCount))), ("time", .string(Timestamp(time).description)),
            ("error", .string(error)),
        ])
    }
}
