internal import Sluice
internal import SluiceExchange
internal import SluiceViews

/// `sluice query`: prints the results of a query once, or their changes until it is stopped.
struct QueryCommand: Command {
    static let description = CommandDescription(
        "query", "Print the objects that a query asks for, once or as they change.",
        arguments: [ServerAccess.argument, QueryArgument.argument],
        options: [
            .flag("once", "print the results when they are complete, and end; this is the default"),
            .flag("watch", "print every change until stopped"), QueryFormat.option,
            QueryArgument.option, .value("expand", "a,b.c", "print the targets of these links instead of their keys"),
        ] + ServerAccess.options,
        notes: [
            "JSON lines hold one object each, in result order: \"@id\" first, then the properties in the order of the schema. Links print their target's key. Excluded properties are left out. NaN and infinite numbers are the strings \"NaN\", \"Infinity\" and \"-Infinity\"; data is base64; dates are ISO 8601.",
            "A query with TOTAL also prints how many objects it finds without its limit: \"20 of 12,304 objects\" below a table, and as the last of the JSON lines {\"@total\":12304}; with CSV on stderr.",
            "A query with AGGREGATE prints what it computes and no objects: a row for each group, or as JSON lines {\"carrier\":\"UA\",\"@count\":12}. With --watch each line is {\"type\":\"initial\"|\"update\",\"state\":…,\"figures\":[{…}],\"exact\":true|false}.",
            "CSV has a header, and then a line for each object as `export` prints it, without what the query excludes, or for each group.",
            "With --watch each line is one change event: {\"type\":\"initial\"|\"update\",\"state\":…,\"inserted\":[…],\"updated\":[…],\"removed\":[{\"@id\":…,\"reason\":…}],\"count\":…,\"total\":null|…,\"exact\":null|true|false,\"remote\":null|{…}}. Without a connection a total may be inexact. A lost connection is tried again until it is back; stderr reports both. SIGTERM, SIGINT and a closed pipe end it with exit code 0.",
            "The exit code is 64 for a query or a value of --arg that is wrong as it was written, and 1 for a class or property that is not there. A class of which the rules let the user read nothing has no objects, which is said on stderr.",
        ],
        examples: [
            "sluice query ws://127.0.0.1:9080/nyc \"Flight WHERE origin.faa == 'JFK' SORT(dep_delay DESC) LIMIT(5)\"",
            "sluice query ws://127.0.0.1:9080/nyc \"Flight WHERE dep_delay > 60 SORT(dep_delay DESC) LIMIT(20) TOTAL\"",
            "sluice query ws://127.0.0.1:9080/nyc \"Flight GROUP(carrier) AGGREGATE(@count, @avg.dep_delay) SORT(@count DESC) LIMIT(5)\" --watch",
            "sluice query ws://127.0.0.1:9080/nyc \"Flight LIMIT(3)\" --expand=tailnum,dest --format=jsonl",
            "sluice query ws://127.0.0.1:9080/cars \"Car WHERE price < 9000\" --watch",
            "sluice query ws://127.0.0.1:9080/cars 'Car WHERE price < $0 AND name == $1' --arg=9000 --arg=Toyota",
        ])

    private let access: ServerAccess
    private let query: QueryArgument
    private let isWatching: Bool
    private let format: QueryFormat
    private let expansionPaths: String?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard !(arguments.flag("once") && arguments.flag("watch")) else {
            throw .usage("--once and --watch exclude each other")
        }
        access = try ServerAccess(arguments)
        isWatching = arguments.flag("watch")
        format = try QueryFormat.chosen(arguments)
        expansionPaths = arguments.value("expand")
        guard format != .csv || !isWatching else {
            throw .usage("--format=csv has no lines for what changes: use --format=jsonl with --watch")
        }
        guard format != .csv || expansionPaths == nil else { throw CSVWriter.expansionError }
        query = try QueryArgument(arguments)
        guard expansionPaths == nil || !query.computesFigures else {
            throw .usage("--expand prints the targets of objects' links, and AGGREGATE finds no objects")
        }
        guard expansionPaths == nil || query.namesClass else {
            throw .usage("--expand needs a query that names a class")
        }
        guard format != .csv || query.namesClass else {
            throw .usage("--format=csv needs a query that names a class: its header has the properties")
        }
        if let expansionPaths, let path = Expansion.paths(expansionPaths, excludedBy: query.syntax).first {
            throw .usage("--expand=\(path): the query excludes it, so that there is nothing to print")
        }
    }

    func run() async throws {
        Signals.exitQuietly()
        if isWatching { StandardOutput.shared.exitWhenReaderLeaves() }
        let store = try await access.open()
        let results = try store.records(query.text(in: store.schema))
        let isOfObjects = try results.query().aggregates == nil
        await ReadingRight.check(results, in: store, within: access.timeout)
        guard isOfObjects else {
            try await printFigures(of: results.aggregates, in: store)
            return await store.close()
        }
        let expansion = try expansion(of: results, in: store.schema)
        let renderer = RecordRenderer(expansion: expansion, resolve: store.resolver)
        if isWatching {
            try await ConnectionReporter().observe(store)
            try await watch(results, in: store, renderer)
        } else if format == .csv {
            try await printCSV(results, in: store.schema)
        } else if format == .jsonl, !query.excludes, try !results.query().hasTotal {
            try await stream(results, ExpandingPrinter(store, expansion))
        } else {
            let records = try await results.synced(timeout: access.timeout)
            try print(records, of: try results.query().hasTotal ? results.snapshot().total : nil, renderer)
        }
        await store.close()
    }

    private func printFigures(
        of aggregates: AggregateResults<Record, AggregateTable>, in store: Store
    ) async throws {
        let output = StandardOutput.shared
        func show(_ table: AggregateTable) {
            switch format {
            case .jsonl: for line in FigureRenderer(table).lines() { output.append(line) }
            case .table: FigureRenderer(table).print(to: output)
            case .csv: output.append(FigureRenderer(table).commaSeparated())
            }
        }
        guard isWatching else {
            show(try await aggregates.synced(timeout: access.timeout))
            return output.flush()
        }
        try await ConnectionReporter().observe(store)
        for try await change in aggregates.changes {
            switch format {
            case .jsonl: output.append(FigureRenderer(change.value).line(of: change))
            case .table, .csv:
                output.append(Array("── \(change.state.rawValue)\(change.isExact ? "" : ", not exact")\n".utf8))
                show(change.value)
            }
            output.flush()
        }
    }

    private func expansion(of results: Results<Record>, in schema: Schema) throws -> Expansion {
        guard let expansionPaths else { return .none }
        return try Expansion(expansionPaths, className: schema[results.query().classIndex].name, schema: schema)
    }

    /// - Parameter total: how many objects match, whatever the limit; nil if the query does not ask for that.
    private func print(_ records: [Record], of total: Int?, _ renderer: RecordRenderer) throws {
        let output = StandardOutput.shared
        switch format {
        case .jsonl:
            for record in records { output.append(try renderer.line(record)) }
            if let total { output.append(JSONWriter.line(ofTotal: total)) }
        case .table, .csv: RecordTable.print(records, of: total, to: output)
        }
        output.flush()
    }

    /// Prints the results as they come, without having all of them.
    private func stream(_ results: Results<Record>, _ printer: ExpandingPrinter) async throws {
        var printer = printer
        let rows = try results.rows()
        let bar = try await CountedProgress("reading", of: rows)
        for try await record in rows {
            try await printer.print(record)
            bar.advance()
        }
        bar.finish()
        try await printer.flush()
        StandardOutput.shared.flush()
    }

    private func printCSV(_ results: Results<Record>, in schema: Schema) async throws {
        let bound = try results.query()
        var writer = CSVWriter(schema[bound.classIndex], without: bound.exclusions.excludedRootProperties)
        let output = StandardOutput.shared
        if bound.hasTotal {
            let records = try await results.synced(timeout: access.timeout)
            for record in records { writer.write(record) }
            writer.flush(to: output)
            // A line of it would be taken for an object.
            return Diagnostics.report(RecordTable.count(records.count, of: try results.snapshot().total))
        }
        if bound.exclusions.isEmpty {
            let rows = try results.rows()
            let bar = try await CountedProgress("reading", of: rows)
            for try await record in rows {
                writer.write(record)
                writer.flush(to: output)
                bar.advance()
            }
            bar.finish()
        } else {
            for record in try await results.synced(timeout: access.timeout) { writer.write(record) }
        }
        writer.flush(to: output)
        output.flush()
    }

    private func watch(_ results: Results<Record>, in store: Store, _ renderer: RecordRenderer) async throws {
        for try await change in results.changes {
            let line = ChangeLine(change)
            switch format {
            case .jsonl: StandardOutput.shared.append(try line.bytes(renderer))
            case .table, .csv: RecordTable.print(line, to: .shared)
            }
            StandardOutput.shared.flush()
            // A store that comes back after the rules have changed is not told why objects are gone.
            if change.results.isEmpty, change.removals.contains(where: { [.permission, .unknown].contains($0.reason) })
            {
                await ReadingRight.check(results, in: store, within: access.timeout)
            }
        }
    }
}

extension ChangeLine {
    /// Makes the line of a change event. Objects that only moved are listed as updated.
    init(_ change: Change<Record>) {
        let results = change.results
        let updated = Set(change.modifications).union(change.moves.map(\.to)).subtracting(change.insertions).sorted()
        self.init(
            isInitial: change.isInitial, state: change.state.rawValue,
            inserted: change.insertions.map { results[$0] }, updated: updated.map { results[$0] },
            removed: change.removals.map { ($0.identity.objectID, $0.reason.rawValue) }, count: results.count,
            total: change.total, isTotalExact: change.isTotalExact,
            remote: change.remote.map { remote in
                Remote(
                    userID: remote.userID,
                    operations: OperationKind.allCases.filter(remote.operations.contains).map(\.rawValue),
                    acceptedAt: Timestamp(remote.acceptedAt), receivedAt: Timestamp(remote.receivedAt),
                    workerID: remote.workerID)
            })
    }
}
