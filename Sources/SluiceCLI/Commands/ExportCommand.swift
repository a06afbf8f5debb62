internal import Glibc
internal import Sluice
internal import SluiceExchange

/// `sluice export`: prints all objects of a class.
struct ExportCommand: Command {
    private enum Format: String, CaseIterable { case jsonl, csv }

    static let description = CommandDescription(
        "export", "Print all objects of a class, to be imported elsewhere.",
        arguments: [ServerAccess.argument, ArgumentDescription("CLASS", "the class")],
        options: [
            .choice("format", Format.allCases.map(\.rawValue), "the format; jsonl by default"),
            .value(
                "since", "FILE", "print only what has changed since the last export with this file", completion: .files),
            .value("expand", "a,b.c", "print the targets of these links instead of their keys"),
        ] + ServerAccess.options,
        notes: [
            "The objects come in the order of their keys, in pages: memory does not grow with their number. What is written meanwhile behind the place of the export is not in it; --since brings it the next time.",
            "With --since the first export prints everything and makes FILE, which says how far it came; each further one prints what has changed since: an object that is new or was changed as it is, and one that is gone as {\"@id\":…,\"@removed\":\"deleted\",\"key\":…}. The line {\"@reset\":true} says that the log did not reach back, or that a backup was put back, and that everything follows. FILE is replaced when all is written, so after an interruption the same comes again. A FILE of another class or database is refused. It is for JSON lines.",
            "Links are the keys of their targets; with --expand, which is for JSON lines, their targets as they are when their page is printed. JSON lines have the objects' ids too. CSV has only the properties: null is an empty field, an empty string and the string NA are in quotes, collections are JSON.",
        ],
        examples: [
            "sluice export ws://127.0.0.1:9080/nyc Plane > planes.jsonl",
            "sluice export ws://127.0.0.1:9080/nyc Flight --format=csv | gzip > flights.csv.gz",
            "sluice export ws://127.0.0.1:9080/nyc Flight --since=flights.place >> flights.jsonl",
        ])

    private let access: ServerAccess
    private let className: String
    private let format: Format
    private let since: String?
    private let expansionPaths: String?
    /// How many objects are in memory at a time.
    private static let pageRowCount = 1_000

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        className = arguments.positionals[1]
        guard PropertyName.make(of: className) == className else {
            throw .usage(
                "CLASS is the name of a class, and '\(DisplayText.shortened(className))' is none; 'sluice query' takes queries"
            )
        }
        format = try arguments.choice("format", as: Format.self) ?? .jsonl
        since = arguments.value("since")
        expansionPaths = arguments.value("expand")
        guard expansionPaths == nil || format == .jsonl else { throw CSVWriter.expansionError }
        guard since == nil || format == .jsonl else {
            throw .usage("--since is for --format=jsonl: CSV has no lines for objects that are gone")
        }
    }

    func run() async throws {
        Signals.onTermination {
            Diagnostics.report("interrupted; the export is not complete")
            _exit(EXIT_FAILURE)
        }
        let place = try since.map { try ExportPlace($0, of: className, in: access.url.text) }
        let store = try await access.open()
        let results = store.records(ofClass: className)
        // Says which classes there are.
        _ = try results.canonicalText
        await ReadingRight.check(results, in: store, within: access.timeout)
        let expansion = try expansionPaths.map { paths in
            try Expansion(paths, className: className, schema: store.schema)
        }
        let printer = ExpandingPrinter(store, expansion ?? .none)
        if let place {
            do { try await printChanges(of: results, place, printer) } catch let error as JobError
                where error.code == .foreignCheckpoint
            { throw place.foreign }
        } else {
            try await printAll(results, in: store, printer)
        }
        await store.close()
    }

    private func printAll(
        _ results: Results<Record>, in store: Store, _ printer: ExpandingPrinter
    ) async throws {
        let output = StandardOutput.shared
        var printer = printer
        var writer = try format == .csv ? CSVWriter(store.schema[results.query().classIndex]) : nil
        let rows = try results.rows(page: Self.pageRowCount)
        let bar = try await CountedProgress("exporting", of: rows)
        for try await record in rows {
            writer?.write(record)
            writer?.flush(to: output)
            if writer == nil { try await printer.print(record) }
            bar.advance()
        }
        bar.finish()
        try await printer.flush()
        writer?.flush(to: output)
        output.flush()
    }

    private func printChanges(
        of results: Results<Record>, _ place: ExportPlace, _ printer: ExpandingPrinter
    ) async throws {
        let output = StandardOutput.shared
        var printer = printer
        var last = place.checkpoint
        for try await batch in try results.changes(since: place.checkpoint, limit: Self.pageRowCount) {
            if batch.isReset { output.append(Array("{\"@reset\":true}\n".utf8)) }
            for item in batch.upserts { try await printer.print(item.value) }
            try await printer.flush()
            for gone in batch.removals { output.append(Self.line(gone)) }
            last = batch.checkpoint
        }
        output.flush()
        if let last { try place.replace(by: last) }
    }

    private static func line(_ gone: ConsumerBatch<Record>.Removal) -> [UInt8] {
        var writer = JSONWriter()
        writer.raw("{\"@id\":")
        writer.string(gone.identity.objectID.description)
        writer.raw(",\"@removed\":")
        writer.string(gone.reason.rawValue)
        writer.raw(",\"key\":")
        writer.write(gone.key)
        writer.raw("}")
        writer.endLine()
        return writer.bytes
    }
}
