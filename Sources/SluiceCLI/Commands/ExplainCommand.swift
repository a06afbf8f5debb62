internal import Sluice

/// `sluice explain`: prints what a query means to a server, and what it costs there.
struct ExplainCommand: Command {
    static let description = CommandDescription(
        "explain", "Print what a query means to the server and costs there: SQL, indexes, the live view, writes.",
        arguments: [ServerAccess.argument, QueryText.argument],
        options: [
            .choice(
                "format", Format.allCases.map(\.rawValue),
                "how to print; by default text on a terminal and JSON elsewhere"),
            QueryText.option,
        ] + ServerAccess.options,
        notes: [
            "The query is neither run nor subscribed to. The JSON is one line: {\"query\":…,\"hash\":…,\"plan\":{\"sql\":…,\"parameters\":[…],\"steps\":[…],\"indexes\":[…]},\"view\":{…},\"wantedIndexes\":[…],\"wantedIndexRemark\":…,\"writes\":[{\"className\":…,\"property\":…,\"effects\":[…]}]}. OBJECT(ID) has no plan."
        ],
        examples: [
            "sluice explain ws://127.0.0.1:9080/nyc \"Flight WHERE dep_delay > 60 SORT(dep_delay DESC) LIMIT(5)\"",
            "sluice explain ws://127.0.0.1:9080/nyc \"Flight WHERE origin == 'JFK'\" --format=json",
        ])

    private enum Format: String, CaseIterable {
        case text, json
    }

    private let access: ServerAccess
    private let query: QueryText
    private let format: Format

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        query = try QueryText(arguments)
        format = try arguments.choice("format", as: Format.self) ?? (Terminal.isOutput ? .text : .json)
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let explanation = try await store.records(query.text(in: store.schema)).explainOnServer(timeout: access.timeout)
        switch format {
        case .text: StandardOutput.shared.write(line: explanation.description)
        case .json: StandardOutput.shared.write(line: try explanation.json)
        }
        await store.close()
    }
}
