internal import Sluice

/// `sluice schema`: prints the classes of a database, or removes a class or property that is empty.
struct SchemaCommand: Command {
    static let description = CommandDescription(
        "schema", "Print the classes and properties of a database, or remove one that is empty.",
        arguments: [ServerAccess.argument],
        options: [
            .value(
                "remove", "CLASS[.PROPERTY]",
                "remove a class without objects, or a property for which no object has a value but its default"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "A removed name is free: what is declared by it afterwards may be of another type. What objects link to stays until the linking property is removed.",
            "Programs that are connected are told at once. One whose models declare what was removed adds it again, without objects; remove it there first.",
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
