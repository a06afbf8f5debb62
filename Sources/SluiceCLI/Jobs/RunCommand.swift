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
                "lease", "TIME", "how long rows are held by a command that does not answer any more, from 1s to 1d",
                default: "30s"),
            .value("attempts", "N", "how often a row is tried before it is dead", default: "8"),
            QueryArgument.option,
        ] + ServerAccess.options,
        program: ArgumentDescription("COMMAND", "the program and its arguments", completion: .files),
        notes: [
            "The rows that the query finds are the work: COMMAND gets them as JSON lines on its standard input, as 'sluice query' prints them. With exit code 0 they are done, and what it prints, lines of 'sluice write', is written in the same transaction; it must change the rows so that the query no longer finds them, or delete them. Exit code 75 puts the rows off without counting an attempt; every other one counts as a failure. Rows that have failed are tried again alone, after a while, and are dead after --attempts: 'sluice queues' lists them.",
            "What COMMAND prints for the objects that it is given is at most one transaction: 12,582,912 bytes and 100,000 lines. If it prints more, it is ended, and has failed: give it fewer objects by --batch. COMMAND has also failed if its standard output is still open five seconds after it has ended, because a child process that it left behind has it: what was printed may be a part, and nothing of it is written. What is left in COMMAND's process group gets SIGTERM then. Start what is to go on with its output elsewhere.",
            "With --changes COMMAND gets first all results and then every change, in batches: {\"upsert\":{…}} or {\"remove\":{\"key\":…,\"reason\":…}}. Each is handled once; a batch that fails is tried again, and an object that always fails is given up: 'sluice consumers' lists them. A line {\"reset\":true} says that what came before has lost its meaning, and that all results follow.",
            "COMMAND finds the name of the job in SLUICE_JOB, and in SLUICE_BATCH an id that is the same whenever the same batch comes again, and another one for every other. What is written is written exactly once, wherever this command, COMMAND or the server is killed; other effects happen at least once. Several commands with one name share the rows; with --changes the last one takes over and the one before ends with 1, but one with --once leaves the name to one that is at work, and one with --standby waits until it has ended, or has not been heard of for a minute. It says on standard error that it stands by and when the other was last heard of, and when it has the name. SIGTERM and SIGINT end it in order: COMMAND gets SIGTERM, and SIGKILL ten seconds later, and so it does when this command is killed itself.",
            "Exit code 75 of COMMAND with --changes has the same batch come again after a while, however often.",
            "The command ends with 0 when it was told to end, or with --once when nothing is left to do; with 2 when attempts have failed in a run with --once, or objects were given up; with 75 when rows are left after --once that wait for another try, because they were put off or failed in an earlier run, or that another run holds, which is at work or has died, or when --once with --changes finds that another one has the name and is at work; with 64 when it was called wrongly, and with 1 otherwise. What fails is said on standard error, by the name of the batch in SLUICE_BATCH and for a single object by its class and key: the first ten failures in full, then every 30 seconds how many there were, and always what is given up. So is how many rows are left, that the connection is lost, and that the rules let the user read nothing of the class.",
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
    private static let rowCountMax = JobWrite.countMax
    private static let changeCountMax = 10_000
    private static let workerCountMax = 1_000
    private static let attemptCountMax = 1_000_000
    private static let leases = Duration.seconds(1)...Duration.seconds(86_400)

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
        batch =
            try arguments.wholeNumber(
                "batch", atMost: isOfChanges ? Self.changeCountMax : Self.rowCountMax,
                isOfChanges ? "so many objects come at a time" : "so many rows are ended in one transaction") ?? 100
        workers =
            try arguments.wholeNumber(
                "workers", atMost: Self.workerCountMax, "each runs a program; several commands share the rows") ?? 1
        lease = try arguments.duration("lease") ?? .seconds(30)
        guard Self.leases.contains(lease) else {
            throw .usage(
                "--lease is from 1s to 1d: a command that is at work extends it, so it says only how long rows are held by "
                    + "one that has died")
        }
        attempts =
            try arguments.wholeNumber(
                "attempts", atMost: Self.attemptCountMax, "that many take years") ?? 8
        program = try WorkerProgram(arguments.program)
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
        await ReadingRight.check(results, in: store, within: access.timeout)
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
        let lister = isOfChanges ? "sluice consumers" : "sluice queues"
        if isOnce, !work.isCancelled, let problem = tally.problem(lister) { throw problem }
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
                tally.note(error, of: BatchLabel(id: id, of: claims.map(\.identity)), count: claims.count)
            }, onIdle: { tally.note(waiting: $0) }, onGivenUp: { tally.note(givenUp: $0) }
        ) { rows in try await job.done(rows.map(\.element), id: JobBatchName.of(rows.map(\.claim.id))) }
    }

    private func follow(
        _ results: Results<Record>, in store: Store, _ job: JobPrograms, _ tally: RunTally
    ) async throws {
        var options = Consumer<Record>.Options()
        options.limit = batch
        options.attempts = attempts
        options.onNameHeld = isStandby ? .standBy : isOnce ? .stop : .takeOver
        options.onNameNews = { [name] in Diagnostics.report($0.text(of: name)) }
        options.onGivenUp = { tally.note(givenUp: $0) }
        let consumer = store.consumer(name, of: results, options: options)
        @Sendable func handle(_ batch: ConsumerBatch<Record>) async throws {
            let id = batch.id
            do {
                let completion = try await job.handled(batch, id: id)
                try await batch.commit(completion)
                await job.upkeep.end(id)
                tally.note(batch.count, of: batch.isReading ? batch.progress.known : nil)
            } catch {
                await job.upkeep.end(id)
                // It is tried again, and what is given up in the end is counted then.
                tally.note(error, of: BatchLabel(batch), count: 0)
                throw error
            }
        }
        guard isOnce else { return try await consumer.run(handle) }
        try await consumer.runOnce(handle)
    }
}

extension ConsumerNameNews {
    /// What is said of it on standard error.
    func text(of name: String) -> String {
        switch self {
        case .standsBy(let holder):
            "another process has the name '\(name)': it \(holder). This one stands by, and goes on when the other has "
                + "ended, or was not heard of for a minute"
        case .taken: "this process has the name '\(name)' now, and goes on"
        case .lost: "another process has taken the name '\(name)'"
        }
    }
}

extension ParsedArguments {
    /// The value of an option that is a whole number above 0.
    ///
    /// - Parameter reason: why it may not be larger.
    func wholeNumber(_ name: String, atMost largest: Int, _ reason: String) throws(CommandError) -> Int? {
        guard let text = value(name) else { return nil }
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), text.contains(where: { $0 != "0" }) else {
            throw .usage("--\(name) is a whole number above 0, and '\(DisplayText.shortened(text))' is none")
        }
        // What is none now has too many digits.
        guard let number = Int(text), number <= largest else {
            throw .usage("--\(name) is at most \(GroupedNumber.text(largest)): \(reason)")
        }
        return number
    }
}
