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

    private let desk: JobsDesk

    init(_ arguments: ParsedArguments) throws(CommandError) { desk = try JobsDesk(arguments, of: .consumer) }

    func run() async throws { try await desk.run() }
}

/// `sluice queues`: lists the queues of a database, and their dead rows.
struct QueuesCommand: Command {
    static let description = CommandDescription(
        "queues", "Print the queues of a database: rows that wait, are to be tried again, are worked at, and are dead.",
        arguments: [ServerAccess.argument],
        options: [
            .value("dead", "NAME", "print the dead rows of this queue instead"),
            .value("retry", "NAME", "make the dead rows of this queue due again"),
            .value("discard", "NAME", "list the dead rows of this queue no more; they stay dead until they change"),
            .value("remove", "NAME", "remove what is kept of this queue; dead rows that still match are due again"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "'waiting' are the rows that the query finds, as it was when a worker last began, and that nobody works at and that are not dead. 'retries' of them have failed or were put off, and wait for their next try: the first until 'next'. 'claims' are the rows that a worker has; one that was killed has its rows until another one takes them."
        ],
        examples: [
            "sluice queues ws://127.0.0.1:9080/shop", "sluice queues ws://127.0.0.1:9080/shop --retry=mail",
        ])

    private let desk: JobsDesk

    init(_ arguments: ParsedArguments) throws(CommandError) { desk = try JobsDesk(arguments, of: .queue) }

    func run() async throws { try await desk.run() }
}
