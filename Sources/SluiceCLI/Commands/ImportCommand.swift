internal import Glibc
internal import Sluice
internal import Synchronization

/// `sluice import`: imports the rows of a file as objects of a class.
struct ImportCommand: Command {
    static let description = CommandDescription(
        "import", "Import the rows of a file as objects of a class.",
        arguments: [
            ServerAccess.argument,
            ArgumentDescription("CLASS", "the class; created if the database has none of that name"),
            ArgumentDescription("FILE", "a .csv or .jsonl file, or either packed as .gz", completion: .files),
        ],
        options: [
            .value("key", "COLUMN", "the primary key of a new class"),
            .value(
                "link", "COLUMN:CLASS[:PROPERTY]",
                "the column holds primary keys of CLASS: make it a link, named PROPERTY if given; may be repeated",
                isRepeatable: true),
            .value(
                "type", "COLUMN:TYPE", "the type of a new property, such as int, double? or [string]; may be repeated",
                isRepeatable: true),
            .flag("optional", "let all new properties except the key be null, even those with a value in every row"),
            .flag("skip-bad-rows", "report and count rows that cannot be used, instead of stopping at the first"),
        ] + ServerAccess.options,
        notes: [
            "The whole file decides the types of a new class: integers become int, or double if some have a fraction, or decimal if a double would round some of them (whole numbers beyond 2^53); ISO 8601 dates become date, true and false become bool, any other mixture becomes string. In CSV an empty field and NA are null, but text in quotes. NaN, inf and Infinity are numbers. A list or map is never null: without a value it is empty. A class that exists keeps its types, and columns that it lacks are added as optional properties.",
            "A number is taken exactly or its row is refused: a double takes no whole number beyond 2^53 that it would round. Fractions, and numbers such as 6.02e23, are rounded to the nearest. Where a number is an integer, -0, 1.0 and 1e3 are.",
            "If the rows come in several files, the first decides the types: --optional and --type prepare them for the others.",
            "Properties are named like the columns in the file's header, with '_' for spaces and punctuation. With a primary key, rows replace the objects that have the same key, so that importing twice changes nothing. In JSON lines \"@id\" names the object of a class without a primary key.",
            "A database that is not there is made. No other command does that, except 'rules deploy' with --create.",
            "Rows are sent in batches; success means that the server has all of them on disk. A bad row stops the import before anything of its batch is kept.",
        ],
        examples: [
            "sluice import ws://127.0.0.1:9080/nyc Plane planes.csv.gz --key=tailnum",
            "sluice import ws://127.0.0.1:9080/nyc Flight flights.csv.gz --link=tailnum:Plane --link=origin:Airport",
            "sluice import ws://127.0.0.1:9080/cars Car cars.jsonl --key=vin --skip-bad-rows",
        ])

    /// The maximum number of rows in one transaction, and its approximate size in bytes; a single row may be larger.
    private static let batchSize = 2_000
    private static let batchByteCount = 2 << 20
    /// The maximum number of batches that wait for their acknowledgement.
    private static let batchCountMax = 10
    /// The number of batches after which the uploaded objects are removed from memory.
    private static let purgeInterval = 20

    private let access: ServerAccess
    private let request: ImportPlan.Request
    private let file: ImportFile

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        let className = arguments.positionals[1]
        guard PropertyName.make(of: className) == className else {
            throw .usage(
                "'\(className)' cannot name a class: use 1 to 63 ASCII letters, digits and '_', not starting with a digit"
            )
        }
        var links: [LinkOption] = []
        for text in arguments.values("link") { links.append(try LinkOption(text)) }
        var types: [TypeOption] = []
        for text in arguments.values("type") { types.append(try TypeOption(text)) }
        request = ImportPlan.Request(
            className: className, key: arguments.value("key"), links: links, types: types,
            isOptional: arguments.flag("optional"))
        file = try ImportFile(path: arguments.positionals[2], skipsBadRows: arguments.flag("skip-bad-rows"))
    }

    func run() async throws {
        let acknowledged = Mutex(0)
        Signals.onTermination {
            let count = acknowledged.withLock { $0 }
            let were = GroupedNumber.noun(count, "was", "were")
            Diagnostics.report("interrupted; at least \(GroupedNumber.text(count, "row")) \(were) imported")
            _exit(EXIT_FAILURE)
        }
        let store = try await access.open(.readWrite, makesDatabase: true)
        if store.schema.classes.isEmpty {
            Diagnostics.report("note: the database '\(access.url.database)' is new")
        }
        let rejected = RejectedWrites()
        rejected.observe(store)
        let plan = try ImportPlan(request, columns: try inferredColumns(), schema: store.schema)
        if let warning = try file.warning() { Diagnostics.report("warning: \(warning)") }
        for note in plan.notes { Diagnostics.report("note: \(note)") }
        if plan.needsDeclaration {
            // The first upload declares the class, so that an import that fails before it leaves nothing behind.
            try await store.core.perform { try $0.declare([plan.classSchema], isDeferred: true) }
        }
        let rows = try file.rows(plan)
        let progress = ProgressBar("importing")
        defer { progress.finish() }
        var batchSizes: [Int] = []
        var count = 0
        do {
            while true {
                let batch = try rows.batch(upTo: Self.batchSize, byteCount: Self.batchByteCount)
                if batch.isEmpty { break }
                try await write(batch, of: plan, to: store)
                count += batch.count
                batchSizes.append(batch.count)
                progress.update(fraction: rows.source.fraction, count: count)
                let waiting = try await makeRoom(in: store)
                let sent = count - batchSizes.suffix(waiting).reduce(0, +)
                acknowledged.withLock { $0 = max($0, sent) }
                if batchSizes.count % Self.purgeInterval == 0 {
                    try await store.uploaded(timeout: access.timeout)
                    try await store.purgeUnsubscribed()
                }
            }
            try await store.uploaded(timeout: access.timeout)
        } catch {
            progress.finish()
            // After a fault of the file, the batches before it are still uploaded. After a fault of the server there is
            // nothing to wait for.
            if error is CommandError, (try? await store.uploaded(timeout: access.timeout)) != nil {
                Diagnostics.report("the import stops after \(GroupedNumber.text(count, "imported row"))")
            }
            throw error
        }
        progress.finish()
        await store.close()
        try rejected.check()
        report(count, bad: rows.badRowCount)
    }

    private func inferredColumns() throws -> [(name: String, inference: ColumnInference)] {
        let progress = ProgressBar("reading")
        defer { progress.finish() }
        return try file.infer { rows, source in progress.update(fraction: source.fraction, count: rows) }
    }

    /// Waits while too many batches are unacknowledged.
    ///
    /// - Returns: the maximum number that is unacknowledged now.
    private func makeRoom(in store: Store) async throws -> Int {
        let waiting = try await store.unacknowledgedCount()
        guard waiting >= Self.batchCountMax else { return waiting }
        try await store.uploaded(leaving: Self.batchCountMax / 2, timeout: access.timeout)
        return Self.batchCountMax / 2
    }

    private func write(_ batch: [Record], of plan: ImportPlan, to store: Store) async throws {
        let hasKeys = plan.hasKeys
        try await store.write { transaction in
            for record in batch {
                if hasKeys { try transaction.upsert(record) } else { try transaction.insert(record) }
            }
        }
    }

    private func report(_ count: Int, bad: Int) {
        let skipped = bad == 0 ? "" : ", \(GroupedNumber.text(bad, "bad row")) skipped"
        Diagnostics.report(
            "imported \(GroupedNumber.text(count, "row")) into \(request.className)\(skipped)")
    }
}

extension ByteSource {
    /// The part of the file that has been read, from 0 to 1.
    var fraction: Double { size == 0 ? 1 : Double(position) / Double(size) }
}
