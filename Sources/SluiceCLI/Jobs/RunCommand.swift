internal import Glibc
internal import Sluice
internal import SluiceExchange
internal import SluiceModel
internal import Synchronization

/// `sluice run`: runs a program for each row of a query, or for each change.
struct RunCommand: Command {
    static let description = CommandDescription(
        "run", "Run a program for each object that a query finds, once for each, or for every change.",
        arguments: [ServerAccess.argument, QueryArgument.argument],
        options: [
            .value("name", "NAME", "names the job on the server, where it keeps what is done; required"),
            .flag("changes", "give the program every change of the results, instead of rows that are to be done"),
            .flag("once", "end when nothing is left to do"),
            .flag("standby", "with --changes, wait while another one has the name, and take over when it has ended"),
            .value("batch", "N", "how many objects the program is given at a time", default: "100"),
            .value("workers", "N", "how many programs run at a time; one with --changes", default: "1"),
            .value(
                "lease", "TIME", "how long rows are held by a command that does not answer any more", default: "30s"),
            .value("attempts", "N", "how often a row is tried before it is dead", default: "8"),
            QueryArgument.option,
        ] + ServerAccess.options,
        program: ArgumentDescription("COMMAND", "the program and its arguments", completion: .files),
        notes: [
            "The rows that the query finds are the work: COMMAND gets them as JSON lines on its standard input, as 'sluice query' prints them. With exit code 0 they are done, and what it prints, lines of 'sluice write', is written in the same transaction; it must change the rows so that the query no longer finds them, or delete them. Exit code 75 puts the rows off without counting an attempt; every other one counts as a failure. Rows that have failed are tried again alone, after a while, and are dead after --attempts: 'sluice queues' lists them.",
            "With --changes COMMAND gets first all results and then every change, in batches: {\"upsert\":{…}} or {\"remove\":{\"key\":…,\"reason\":…}}. Each is handled once; a batch that fails is tried again, and an object that always fails is put aside: 'sluice consumers' lists them. A line {\"reset\":true} says that what came before has lost its meaning, and that all results follow.",
            "COMMAND finds the name of the job in SLUICE_JOB, and in SLUICE_BATCH an id that is the same whenever the same batch comes again, and another one for every other. What is written is written exactly once, wherever this command, COMMAND or the server is killed; other effects happen at least once. Several commands with one name share the rows; with --changes the last one takes over and the one before ends with 1, but one with --once leaves the name to one that is at work, and one with --standby waits until it has ended, or has not been heard of for a minute. SIGTERM and SIGINT end it in order: COMMAND gets SIGTERM, and SIGKILL ten seconds later, and so it does when this command is killed itself.",
            "Exit code 75 of COMMAND with --changes has the same batch come again after a while, however often.",
            "The command ends with 0 when it was told to end, or with --once when nothing is left to do; with 2 when rows have failed in a run with --once, or were put aside; with 75 when --once finds that another one has the name and is at work; with 64 when it was called wrongly, and with 1 otherwise. What fails is said on standard error, and that the connection is lost.",
        ],
        examples: [
            "sluice run ws://127.0.0.1:9080/shop 'Mail WHERE isSent == false SORT(id ASC)' --name=mail --workers=4 -- ./send-mails",
            "sluice run ws://127.0.0.1:9080/nyc 'Flight WHERE dep_delay >= 60' --name=alerts --changes --once -- ./page",
        ])

    private let access: ServerAccess
    private let query: QueryArgument
    private let name: String
    private let isOfChanges: Bool
    private let isOnce: Bool
    private let isStandby: Bool
    private let batch: Int
    private let workers: Int
    private let lease: Duration
    private let attempts: Int
    private let program: WorkerProgram
    private static let batchMax = JobWrite.countMax

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        query = try QueryArgument(arguments)
        guard let name = arguments.value("name") else {
            throw .usage("--name is missing: it names the job on the server, where it keeps what is done")
        }
        self.name = name
        isOfChanges = arguments.flag("changes")
        do { try JobError.check(name: name, of: isOfChanges ? "consumer" : "queue") } catch {
            throw .usage((error as? JobError)?.message ?? "\(error)")
        }
        guard !query.computesFigures else {
            throw .usage(
                "AGGREGATE computes figures and finds no objects to run a program for; 'sluice query' prints them")
        }
        isOnce = arguments.flag("once")
        isStandby = arguments.flag("standby")
        batch = try arguments.wholeNumber("batch") ?? 100
        workers = try arguments.wholeNumber("workers") ?? 1
        lease = try arguments.duration("lease") ?? .seconds(30)
        attempts = try arguments.wholeNumber("attempts") ?? 8
        program = try WorkerProgram(arguments.program)
        guard isOfChanges || batch <= Self.batchMax else {
            throw .usage("--batch is at most \(Self.batchMax): so many rows are ended in one transaction")
        }
        guard !isStandby || isOfChanges else {
            throw .usage("--standby is for --changes: without it, commands with one name share the rows")
        }
        guard !isOfChanges || !arguments.has("workers") && !arguments.has("lease") else {
            throw .usage("--changes come one after the other: --workers and --lease are for rows")
        }
    }

    func run() async throws {
        let store = try await access.open(.readWrite)
        try await ConnectionReporter().observe(store)
        let results = try store.records(query.text(in: store.schema))
        let job = JobPrograms(
            store: store, program: program, guardian: ProgramGuard(), name: name, timeout: access.timeout,
            upkeep: StoreUpkeep(store))
        let tally = RunTally("running \(name)")
        let work = Task {
            if isOfChanges {
                try await follow(results, in: store, job, tally)
            } else {
                try await workThrough(results, in: store, job, tally)
            }
        }
        Signals.onTermination { work.cancel() }
        do { try await work.value } catch is CancellationError {} catch {
            tally.finish()
            throw error
        }
        tally.finish()
        await store.close()
        guard isOnce, !work.isCancelled, let problem = tally.problem else { return }
        throw CommandError.unfinished(problem)
    }

    private func workThrough(
        _ results: Results<Record>, in store: Store, _ job: JobPrograms, _ tally: RunTally
    ) async throws {
        var options = WorkQueue<Record>.Options()
        options.lease = lease
        options.attempts = attempts
        let queue = store.queue(name, of: results, options: options)
        try await queue.work(
            workers, batch: batch, untilDone: isOnce,
            onEnd: { claims, error in
                let id = JobBatchName.of(claims.map(\.id))
                await job.upkeep.end(id)
                guard let error else { return tally.note(claims.count, of: nil) }
                tally.note(error, of: claims.count == 1 ? claims[0].id : id, count: claims.count)
            }
        ) { rows in try await job.done(rows.map(\.element), id: JobBatchName.of(rows.map(\.claim.id))) }
    }

    private func follow(
        _ results: Results<Record>, in store: Store, _ job: JobPrograms, _ tally: RunTally
    ) async throws {
        var options = Consumer<Record>.Options()
        options.limit = batch
        options.attempts = attempts
        options.onNameHeld = isStandby ? .standBy : isOnce ? .stop : .takeOver
        let consumer = store.consumer(name, of: results, options: options)
        let before = Set(try await store.jobs.deadLetters(ofConsumer: name))
        @Sendable func handle(_ batch: ConsumerBatch<Record>) async throws {
            let id = batch.id
            do {
                let completion = try await job.handled(batch, id: id)
                try await batch.commit(completion)
                await job.upkeep.end(id)
                tally.note(batch.count, of: batch.isReading ? batch.progress.known : nil)
            } catch {
                await job.upkeep.end(id)
                // It is tried again, and what is put aside in the end is counted then.
                tally.note(error, of: id, count: 0)
                throw error
            }
        }
        guard isOnce else { return try await consumer.run(handle) }
        try await consumer.runOnce(handle)
        let parked = try await store.jobs.deadLetters(ofConsumer: name).filter { !before.contains($0) }
        tally.note(parked: parked.count)
    }
}

/// What a run has done, and what it has not.
private final class RunTally: Sendable {
    private struct Counts {
        var done = 0
        var failed = 0
        var parked = 0
    }

    private let counts = Mutex(Counts())
    private let bar: ProgressBar

    init(_ title: String) { bar = ProgressBar(title) }

    /// Counts objects that are done.
    func note(_ count: Int, of known: Int?) {
        let done = counts.withLock { counts in
            counts.done += count
            return counts.done
        }
        bar.update(fraction: known.map { $0 == 0 ? 1 : Double(done) / Double($0) }, count: done, unit: "objects")
    }

    /// Says and counts that objects are not done. Where the job keeps it, nobody looks while it runs.
    func note(_ error: any Error, of id: String, count: Int) {
        guard !Task.isCancelled else { return }
        Diagnostics.report("\(id): \(CommandError(error).message)")
        if (error as? JobError)?.code != .tryAgain { counts.withLock { $0.failed += count } }
    }

    /// Counts objects that were put aside.
    func note(parked count: Int) { counts.withLock { $0.parked += count } }

    /// What is not done; nil if everything is.
    var problem: String? {
        let counts = counts.withLock { $0 }
        if counts.failed > 0 {
            return
                "\(GroupedNumber.text(counts.failed)) attempts at rows have failed; 'sluice queues' lists what is given up"
        }
        if counts.parked > 0 {
            return "\(GroupedNumber.text(counts.parked)) objects were put aside; 'sluice consumers' lists them"
        }
        return nil
    }

    func finish() {
        bar.finish()
        Diagnostics.report("\(GroupedNumber.text(counts.withLock { $0.done })) objects are done")
    }
}

/// The runs of a program that a job consists of.
private struct JobPrograms: Sendable {
    let store: Store
    let program: WorkerProgram
    let guardian: ProgramGuard
    let name: String
    let timeout: Duration
    let upkeep: StoreUpkeep
    /// `EX_TEMPFAIL` of sysexits.h.
    private static let tryAgain: Int32 = 75

    /// Has the program do rows.
    ///
    /// - Parameter id: names the rows.
    /// - Returns: what is written.
    func done(_ rows: [Record], id: String) async throws -> WorkQueue<Record>.Completion {
        try await completion(of: rows.flatMap { try RecordRenderer().line($0) }, id: id)
    }

    /// Has the program handle a batch of changes.
    ///
    /// - Returns: what is written.
    func handled(_ batch: ConsumerBatch<Record>, id: String) async throws -> WorkQueue<Record>.Completion {
        var input = JSONWriter()
        if batch.isReset {
            input.raw("{\"reset\":true}")
            input.endLine()
        }
        for item in batch.upserts {
            input.raw("{\"upsert\":")
            try RecordRenderer().write(item.value, to: &input)
            input.raw("}")
            input.endLine()
        }
        for gone in batch.removals {
            input.raw("{\"remove\":{\"@id\":")
            input.string(gone.identity.objectID.description)
            input.raw(",\"key\":")
            input.write(gone.key)
            input.raw(",\"reason\":")
            input.string(gone.reason.rawValue)
            input.raw("}}")
            input.endLine()
        }
        return try await completion(of: input.bytes, id: id)
    }

    private func completion(of input: [UInt8], id: String) async throws -> WorkQueue<Record>.Completion {
        let exit = try await program.run(
            input, environment: [("SLUICE_JOB", name), ("SLUICE_BATCH", id)], guardedBy: guardian)
        try Task.checkCancellation()
        switch exit.code {
        case 0: break
        case Self.tryAgain: throw JobError.tryAgain("the program has put it off with exit code \(Self.tryAgain)")
        default: throw CommandError.failure("the program ended with exit code \(exit.code)")
        }
        let parser = WriteRequestParser(schema: store.schema)
        var requests: [WriteRequest] = []
        for (index, bytes) in exit.output.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
        where !bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
            guard let line = String(validating: bytes, as: UTF8.self) else {
                throw CommandError.failure("line \(index + 1) of the program's output is not UTF-8")
            }
            do throws(WriteRequestError) { requests.append(try parser.parse(line)) } catch {
                throw CommandError.failure("line \(index + 1) of the program's output: \(error.message)")
            }
        }
        await upkeep.begin(id)
        await upkeep.note(requests.count)
        let identities = try await TargetFetcher(store: store, timeout: timeout).fetch(requests)
        let made = requests
        return { transaction in for request in made { try request.perform(identities, in: transaction) } }
    }
}

extension ParsedArguments {
    /// The value of an option that is a whole number above 0.
    func wholeNumber(_ name: String) throws(CommandError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), number > 0 else {
            throw .usage("--\(name) is a whole number above 0, and '\(DisplayText.shortened(text))' is none")
        }
        return number
    }
}
