internal import Sluice

/// `sluice schema`: prints the classes of a database, or removes a class or property that is empty.
struct SchemaCommand: Command {
    static let description = CommandDescription(
        "schema", "Print the classes and properties of a database, or remove one that is empty.",
        arguments: [ServerAccess.argument],
        options: [
            .value(
                "remove", "CLASS[.PROPERTY]",
                "remove a class without objects, or a property that has its default in every object"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "The name of a removed class or property may be declared again, with another type. A class that a property links to can be removed once that property is.",
            "Connected programs learn of the removal at once. A program whose models declare what was removed adds it again, without objects; change that program first.",
        ],
        examples: [
            "sluice schema ws://127.0.0.1:9080/nyc", "sluice schema ws://127.0.0.1:9080/nyc --format=jsonl",
            "sluice schema ws://127.0.0.1:9080/nyc --remove=Flight.delay",
        ])

    private let access: ServerAccess
    private let format: OutputFormat
    private let removed: (className: String, property: String?)?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
        removed = try arguments.value("remove").map { (text) throws(CommandError) in
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count <= 2, parts.allSatisfy({ PropertyName.make(of: $0) == $0 }) else {
                throw .usage("--remove=\(text): name a class, or a property as CLASS.PROPERTY")
            }
            return (parts[0], parts.count == 2 ? parts[1] : nil)
        }
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open(removed == nil ? .readOnly : .readWrite)
        if let removed {
            _ = try await store.core.removeFromSchema(
                class: removed.className, property: removed.property, timeout: access.timeout)
            let name = removed.className + (removed.property.map { "." + $0 } ?? "")
            Diagnostics.report("removed \(name) from the schema")
        } else {
            try ReportPrinter.print(try await store.core.report(.schema, timeout: access.timeout), format: format)
        }
        await store.close()
    }
}
