internal import Sluice
internal import SluiceJSON
internal import SluiceModel

/// `sluice consumers`: lists the consumers of a database, and what they have given up.
struct ConsumersCommand: Command {
    static let description = CommandDescription(
        "consumers", "Print the consumers of a database: how far they are behind, and what they have given up.",
        arguments: [ServerAccess.argument],
        options: [
            .value("dead", "NAME", "print what this consumer has given up instead"),
            .value("retry", "NAME", "have this consumer handle once more what it has given up"),
            .value("discard", "NAME", "forget what this consumer has given up"),
            .value("remove", "NAME", "remove what is kept of this consumer; one that begins anew reads everything"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "The lag of a consumer is the number of versions that it has not looked at, as it has said within the last 20 seconds; there is none while it reads all results for the first time.",
            "A consumer that runs handles what --retry names when it has nothing else to do; another one the next time that it runs.",
        ],
        examples: [
            "sluice consumers ws://127.0.0.1:9080/nyc", "sluice consumers ws://127.0.0.1:9080/nyc --dead=alerts",
        ])

    private let access: ServerAccess
    private let format: OutputFormat
    private let action: JobAction

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        action = try JobAction(arguments, of: ["dead", "retry", "discard", "remove"])
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open(action.writes ? .readWrite : .readOnly)
        if let name = action.name {
            guard try await store.jobs.consumers().contains(where: { $0.name == name }) else {
                throw CommandError.failure("there is no consumer '\(name)'; 'sluice consumers' lists them")
            }
        }
        switch action {
        case .none: ReportPrinter.print(try await store.jobs.consumers().map(\.json), format: format)
        case .dead(let name):
            ReportPrinter.print(try await store.jobs.deadLetters(ofConsumer: name).map(\.json), format: format)
        case .remove(let name): try await store.jobs.removeConsumer(name)
        case .retry(let name):
            let count = try await JobAction.count(of: store.jobs.deadLetters(ofConsumer: name)) { letter in
                try await store.jobs.retryDeadLetter(letter.object, ofConsumer: name)
            }
            Diagnostics.report("\(GroupedNumber.text(count)) objects are tried again")
        case .discard(let name):
            let count = try await JobAction.count(of: store.jobs.deadLetters(ofConsumer: name)) { letter in
                try await store.jobs.discardDeadLetter(letter.object, ofConsumer: name)
            }
            Diagnostics.report("\(GroupedNumber.text(count)) objects are forgotten")
        }
        await store.close()
    }
}

/// What is to be done about the jobs of a database, and the name of the job.
private enum JobAction {
    case none
    case dead(String)
    case retry(String)
    case discard(String)
    case remove(String)

    /// - Parameter names: the options that there are.
    init(_ arguments: ParsedArguments, of names: [String]) throws(CommandError) {
        let given = names.filter { arguments.has($0) }
        guard given.count <= 1 else {
            throw .usage("\(given.map { "--\($0)" }.joined(separator: " and ")) exclude each other")
        }
        guard let option = given.first, let name = arguments.value(option) else {
            self = .none
            return
        }
        switch option {
        case "dead": self = .dead(name)
        case "retry": self = .retry(name)
        case "discard": self = .discard(name)
        default: self = .remove(name)
        }
    }

    /// Whether it changes something.
    var writes: Bool {
        switch self {
        case .none, .dead: false
        case .retry, .discard, .remove: true
        }
    }

    var name: String? {
        switch self {
        case .none: nil
        case .dead(let name), .retry(let name), .discard(let name), .remove(let name): name
        }
    }

    /// Does something about each of some letters.
    ///
    /// - Returns: of how many that was true.
    static func count(
        of letters: [DeadLetter], _ body: (DeadLetter) async throws -> Bool
    ) async throws -> Int {
        var count = 0
        for letter in letters where try await body(letter) { count += 1 }
        return count
    }
}

/// `sluice queues`: lists the queues of a database, and their dead rows.
struct QueuesCommand: Command {
    static let description = CommandDescription(
        "queues", "Print the queues of a database: rows that wait, are worked at, and have failed for good.",
        arguments: [ServerAccess.argument],
        options: [
            .value("dead", "NAME", "print the dead rows of this queue instead"),
            .value("retry", "NAME", "make the dead rows of this queue due again"),
            .value("discard", "NAME", "list the dead rows of this queue no more; they stay dead until they change"),
            .value("remove", "NAME", "remove what is kept of this queue; dead rows that still match are due again"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "Rows wait that the query finds, as it was when a worker last began, and that nobody works at and that have not failed."
        ],
        examples: [
            "sluice queues ws://127.0.0.1:9080/shop", "sluice queues ws://127.0.0.1:9080/shop --retry=mail",
        ])

    private let access: ServerAccess
    private let format: OutputFormat
    private let action: JobAction

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        action = try JobAction(arguments, of: ["dead", "retry", "discard", "remove"])
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open(action.writes ? .readWrite : .readOnly)
        if let name = action.name, try await !store.jobs.queues().contains(where: { $0.name == name }) {
            throw CommandError.failure("there is no queue '\(name)'; 'sluice queues' lists them")
        }
        switch action {
        case .none: ReportPrinter.print(try await store.jobs.queues().map(\.json), format: format)
        case .remove(let name): try await store.jobs.removeQueue(name)
        case .dead(let name):
            ReportPrinter.print(try await store.jobs.deadRows(ofQueue: name).map(\.json), format: format)
        case .retry(let name):
            let count = try await JobAction.count(of: store.jobs.deadRows(ofQueue: name)) { letter in
                try await store.jobs.retryDeadRow(letter.object, ofQueue: name)
            }
            Diagnostics.report("\(GroupedNumber.text(count)) rows are due again")
        case .discard(let name):
            let count = try await JobAction.count(of: store.jobs.deadRows(ofQueue: name)) { letter in
                try await store.jobs.discardDeadRow(letter.object, ofQueue: name)
            }
            Diagnostics.report("\(GroupedNumber.text(count)) rows are listed no more")
        }
        await store.close()
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
