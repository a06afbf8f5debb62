internal import Glibc
internal import Sluice

/// `sluice export`: prints all objects of a class.
struct ExportCommand: Command {
    private enum Format: String, CaseIterable { case jsonl, csv }

    static let description = CommandDescription(
        "export", "Print all objects of a class, to be imported elsewhere.",
        arguments: [ServerAccess.argument, ArgumentDescription("CLASS", "the class")],
        options: [
            .choice("format", Format.allCases.map(\.rawValue), "the format; jsonl by default")
        ] + ServerAccess.options,
        notes: [
            "Links are the keys of their targets. JSON lines have the objects' ids too. CSV has only the properties: null is an empty field, an empty string and the string NA are in quotes, collections are JSON."
        ],
        examples: [
            "sluice export ws://127.0.0.1:9080/nyc Plane > planes.jsonl",
            "sluice export ws://127.0.0.1:9080/nyc Flight --format=csv | gzip > flights.csv.gz",
        ])

    private let access: ServerAccess
    private let className: String
    private let format: Format

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        className = arguments.positionals[1]
        format = try arguments.choice("format", as: Format.self) ?? .jsonl
    }

    func run() async throws {
        Signals.onTermination {
            Diagnostics.report("interrupted; the export is not complete")
            _exit(EXIT_FAILURE)
        }
        let store = try await access.open()
        let schema = store.schema
        var results = store.records(ofClass: className)
        // Only the keys of link targets are printed, so the targets themselves are excluded.
        for path in schema.classSchema(named: className)?.pathsBehindLinks(in: schema) ?? [] {
            results = results.excluding(path)
        }
        let records = try await results.synced(timeout: access.timeout)
        try print(records, store.schema.classSchema(named: className))
        StandardOutput.shared.flush()
        await store.close()
    }

    private func print(_ records: [Record], _ classSchema: ClassSchema?) throws {
        let output = StandardOutput.shared
        switch format {
        case .jsonl:
            let renderer = RecordRenderer()
            for record in records { output.append(try renderer.line(record)) }
        case .csv:
            var writer = CSVWriter()
            if let classSchema { writer.writeHeader(classSchema) }
            for record in records {
                writer.write(record)
                output.append(writer.bytes)
                writer.removeAll()
            }
            output.append(writer.bytes)
        }
    }
}

extension ClassSchema {
    /// The paths of all properties of link targets except their primary keys.
    func pathsBehindLinks(in schema: Schema) -> [String] {
        properties.flatMap { property -> [String] in
            guard let target = property.type.targetClass.flatMap(schema.classSchema(named:)) else { return [] }
            return target.properties.map(\.name).filter { $0 != target.primaryKey }.map { "\(property.name).\($0)" }
        }
    }
}
