internal import Sluice
internal import SluiceExchange
internal import SluiceJSON
internal import SluiceViews

/// `sluice explain`: prints what a query means to a server, and what it costs there.
struct ExplainCommand: Command {
    static let description = CommandDescription(
        "explain", "Print what a query means to the server and costs there: SQL, indexes, the live view, writes.",
        arguments: [ServerAccess.argument, QueryArgument.argument],
        options: [
            .choice(
                "format", Format.allCases.map(\.rawValue),
                "how to print; by default text on a terminal and JSON elsewhere"),
            QueryArgument.option,
            .value("as", "USER", "explain what the query means to this user, - for nobody; needs the right 'reports'"),
            AskedUser.claimsOption,
        ] + ServerAccess.options,
        notes: [
            "The query is neither run nor subscribed to. The JSON is one line: {\"query\":…,\"hash\":…,\"plan\":{\"sql\":…,\"parameters\":[…],\"steps\":[…],\"indexes\":[…]},\"view\":{…},\"wantedIndexes\":[…],\"wantedIndexRemark\":…,\"writes\":[{\"className\":…,\"property\":…,\"effects\":[…]}]}. OBJECT(ID) has no plan."
        ],
        examples: [
            "sluice explain ws://127.0.0.1:9080/nyc \"Flight WHERE dep_delay > 60 SORT(dep_delay DESC) LIMIT(5)\"",
            "sluice explain ws://127.0.0.1:9080/nyc \"Flight WHERE origin == 'JFK'\" --format=json",
            "sluice explain wss://db.example.com:9443/app Document --as=ada --user=root",
        ])

    private enum Format: String, CaseIterable {
        case text, json
    }

    private let access: ServerAccess
    private let query: QueryArgument
    private let format: Format
    private let user: AskedUser?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        query = try QueryArgument(arguments)
        user = try arguments.value("as").map { (name) throws(CommandError) in try AskedUser(name, arguments) }
        if user == nil, arguments.has("claims") { throw .usage("--claims needs --as=USER") }
        format = try arguments.choice("format", as: Format.self) ?? (Terminal.isOutput ? .text : .json)
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let explanation = try await explanation(store)
        switch format {
        case .text: StandardOutput.shared.write(line: explanation.description)
        case .json: StandardOutput.shared.write(line: try explanation.json)
        }
        await store.close()
    }

    private func explanation(_ store: Store) async throws -> QueryExplanation {
        let text = try query.text(in: store.schema)
        guard let user else { return try await store.records(text).explainOnServer(timeout: access.timeout) }
        let question = JSONValue.object(user.members + [.init(name: "query", value: .string(text))])
        let report = try await store.core.report(.explainAs(question.text), timeout: access.timeout)
        do { return try QueryExplanation(json: report.utf8) } catch {
            throw CommandError.failure("the server's explanation cannot be read")
        }
    }
}
