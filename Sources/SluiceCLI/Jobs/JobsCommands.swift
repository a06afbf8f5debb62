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
            .value("remove", "NAME", "remove what is kept of this consumer; one that begins anew reads everything"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "The lag of a consumer is the number of versions that it has not looked at; there is none while it reads all results for the first time."
        ],
        examples: [
            "sluice consumers ws://127.0.0.1:9080/nyc", "sluice consumers ws://127.0.0.1:9080/nyc --dead=alerts",
        ])

    private let access: ServerAccess
    private let format: OutputFormat
    private let dead: String?
    private let removed: String?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        dead = arguments.value("dead")
        removed = arguments.value("remove")
        guard dead == nil || removed == nil else { throw .usage("--dead and --remove exclude each other") }
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open(removed == nil ? .readOnly : .readWrite)
        if let removed {
            guard try await store.consumers().contains(where: { $0.name == removed }) else {
                throw CommandError.failure("there is no consumer '\(removed)'; 'sluice consumers' lists them")
            }
            try await store.removeConsumer(removed)
        } else if let dead {
            ReportPrinter.print(try await store.deadLetters(ofConsumer: dead).map(\.json), format: format)
        } else {
            ReportPrinter.print(try await store.consumers().map(\.json), format: format)
        }
        await store.close()
    }
}

/// `sluice queues`: lists the queues of a database, and their dead rows.
struct QueuesCommand: Command {
    static let description = CommandDescription(
        "queues", "Print the queues of a database: rows that somebody works at, and rows that have failed for good.",
        arguments: [ServerAccess.argument],
        options: [
            .value("dead", "NAME", "print the dead rows of this queue instead"),
            .value("retry", "NAME", "make the dead rows of this queue due again"), OutputFormat.option,
        ] + ServerAccess.options,
        notes: ["A queue of which no row is held, waits to be tried again or is dead leaves nothing to be listed."],
        examples: [
            "sluice queues ws://127.0.0.1:9080/shop", "sluice queues ws://127.0.0.1:9080/shop --retry=mail",
        ])

    private let access: ServerAccess
    private let format: OutputFormat
    private let dead: String?
    private let retried: String?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        dead = arguments.value("dead")
        retried = arguments.value("retry")
        guard dead == nil || retried == nil else { throw .usage("--dead and --retry exclude each other") }
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open(retried == nil ? .readOnly : .readWrite)
        if let retried {
            let letters = try await store.deadRows(ofQueue: retried)
            for letter in letters { try await store.retryDeadRow(letter.object, ofQueue: retried) }
            Diagnostics.report("\(GroupedNumber.text(letters.count)) rows are due again")
        } else if let dead {
            ReportPrinter.print(try await store.deadRows(ofQueue: dead).map(\.json), format: format)
        } else {
            ReportPrinter.print(try await store.queues().map(\.json), format: format)
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
            ("name", .string(name)), ("claims", .integer(Int64(claimCount))), ("dead", .integer(Int64(deadCount))),
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
