import Sluice
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import TestSupport

/// Jobs of the server's process and of clients, and what must hold of what they derive: at rest it is what their queries
/// find, and each state of each object was handled once.
extension Simulation {
    /// The jobs of a plan.
    static func specs(_ plan: SimulationPlan, queries: [String]) throws -> [SimulatedJobs.Spec] {
        guard plan.options.hasJobs else { return [] }
        var generator = SeededGenerator(seed: plan.seed ^ 0x10B5)
        // Some combinations of clauses are no queries.
        let schema = try SimulationWorld.schema(ofClient: 0, version: 0, options: plan.options)
        let valid = queries.filter { (try? Query.parse($0, schema: schema)) != nil }
        var specs: [SimulatedJobs.Spec] = []
        if !valid.isEmpty {
            specs = (0..<2).map { number in
                SimulatedJobs.Spec(name: "copies\(number)", kind: .consumer(query: generator.pick(valid)))
            }
        }
        specs.append(.init(name: "tasks", kind: .queue))
        specs.append(.init(name: "clock", kind: .schedule))
        return specs
    }

    // MARK: Actions

    func startJob(_ generator: inout SeededGenerator) throws {
        guard !jobs.specs.isEmpty else { return }
        let spec = generator.pick(jobs.specs)
        begin(spec, isOnce: generator.chance(30), &generator)
        if let failure = jobs.failure { throw failure }
    }

    @discardableResult
    private func begin(
        _ spec: SimulatedJobs.Spec, isOnce: Bool, _ generator: inout SeededGenerator
    ) -> SimulatedJobs.Run? {
        var places = server.nodes.indices.map { SimulatedJobs.Place.node($0) }
        if case .schedule = spec.kind {
        } else {
            places += clients.filter { !$0.isLimited && knowsJobs($0) }.map { .client($0.index) }
        }
        let place = generator.pick(places)
        note("  starts job \(spec.name) at \(place), once: \(isOnce)")
        return jobs.start(spec, on: place, of: self, isOnce: isOnce)
    }

    /// Whether a program has the classes that jobs write.
    private func knowsJobs(_ client: SimulatedClient) -> Bool {
        client.engine.schema.index(of: JobWorld.className) != nil
    }

    func stepJobs(_ generator: inout SeededGenerator) throws {
        for _ in 0...generator.below(12) { guard try stepJob(&generator) else { return } }
    }

    func stepJob(_ generator: inout SeededGenerator) throws -> Bool {
        if server.history.latest.version != rungVersion {
            rungVersion = server.history.latest.version
            jobs.bells.ring()
        }
        return try jobs.step(at: now, &generator) { name, place, label in
            noteMessages { "  job \(name) at \(place) goes on: \(label)" }
        }
    }

    func killJob(_ generator: inout SeededGenerator) throws {
        guard !jobs.runs.isEmpty else { return }
        let run = generator.pick(jobs.runs)
        note("  kills job \(run.spec.name) at \(run.place), at \(run.gates.gates.map(\.label))")
        jobs.kill { $0 === run }
        if let failure = jobs.failure { throw failure }
    }

    // MARK: What jobs do

    /// Lets a job do something in the process of a node.
    func performJob<Result>(
        on node: SimulatedNode, _ body: (SimulatedNode, Timestamp) throws -> Result
    ) throws -> Result {
        do {
            let (result, outputs) = try server.perform(on: node, now: now, body)
            carryOut(outputs)
            return try result.get()
        } catch let failure as SimulationFailure {
            jobs.failure = jobs.failure ?? failure
            throw failure
        }
    }

    /// Looks at what a job is about to write.
    func watchJob(_ writes: [JobWrite], by gates: JobGates) throws {
        do { try jobs.trouble.watch(writes, by: gates) } catch {
            jobs.failure = jobs.failure ?? error
            throw error
        }
    }

    /// Lets a job do something in the process of a client.
    func perform(on client: SimulatedClient, _ body: () -> Void) {
        do {
            client.step = .local
            body()
            try carryOutActions(of: client)
        } catch { jobs.failure = jobs.failure ?? error }
    }

    /// The generation of what a consumer derives; nil before the first.
    func generation(of job: String) -> String? {
        guard let row = server.history.latest.objects(named: JobWorld.className)[.string("head/\(job)")] else {
            return nil
        }
        return derived(row)["generation"]
    }

    private func derived(_ row: Row) -> [String: String] {
        let schema = server.history.latest.schema
        guard let classIndex = schema.index(of: JobWorld.className) else { return [:] }
        var texts: [String: String] = [:]
        for (property, value) in zip(schema[classIndex].properties, row.values) {
            switch value {
            case .string(let text): texts[property.name] = text
            case .int(let number): texts[property.name] = "\(number)"
            default: break
            }
        }
        return texts
    }

    // MARK: Rest

    /// Kills all jobs, and runs each once more until nothing is left to do.
    func bringJobsToRest() throws {
        guard !jobs.specs.isEmpty else { return }
        jobs.kill { _ in true }
        var generator = SeededGenerator(seed: plan.seed &+ 2)
        // When the last run of each began, and at which version; the runs of others let time pass.
        var begun: [String: (time: Timestamp, version: UInt64)] = [:]
        for spec in jobs.specs {
            // A schedule has no end, and a queue whose rows somebody held waits for the ends of leases.
            var attemptCount = 0
            while true {
                begun[spec.name] = (now, server.history.latest.version)
                guard let run = begin(spec, isOnce: true, &generator) else { break }
                try settle(run, &generator)
                if case .failure(let error)? = run.outcome { throw SimulationFailure("\(spec.name) ended: \(error)") }
                // What a run puts off it leaves for the next.
                guard case .queue = spec.kind, attemptCount < 6 else { break }
                // Leases end.
                pass(microseconds: plan.options.jobLease + 40_000)
                jobs.trouble.leasesHaveEnded()
                attemptCount += 1
            }
        }
        try comeToStandstill(&generator)
        for spec in jobs.specs {
            guard let (time, version) = begun[spec.name] else { continue }
            try check(spec, begun: time, at: version)
        }
    }

    /// Lets the world go on until a run has ended.
    private func settle(_ run: SimulatedJobs.Run, _ generator: inout SeededGenerator) throws {
        var count = 0
        while run.outcome == nil {
            count += 1
            if count > 30_000 {
                throw SimulationFailure("\(run.spec.name) does not end: \(run.gates.gates.map(\.label))")
            }
            if generator.chance(50), try stepJob(&generator) { continue }
            if try deliver(&generator) { continue }
            if try stepJob(&generator) { continue }
            if case .schedule = run.spec.kind { break }
            // Its last step may have come with an answer, and stands at no gate.
            guard run.outcome == nil else { break }
            if try advance() { continue }
            guard let next = jobs.runs.compactMap(\.gates.nextTime).min() else {
                throw SimulationFailure("\(run.spec.name) waits for nothing: \(run.gates.gates.map(\.label))")
            }
            pass(microseconds: max(1, next.microseconds - now.microseconds))
        }
        jobs.kill { $0 === run }
        if let failure = jobs.failure { throw failure }
    }

    private func check(_ spec: SimulatedJobs.Spec, begun: Timestamp, at version: UInt64) throws {
        let state = server.history.latest
        let rows = state.objects(named: JobWorld.className).values.map { derived($0) }
            .filter { $0["job"] == spec.name }
        switch spec.kind {
        case .consumer(let text):
            let query = try Query.parse(text, schema: state.schema)
            guard query.readsTime else { return try check(spec.name, text, rows, in: state) }
            // Time has passed since. The consumer has what it found, which is not older than what was when it began.
            let record = try server.storage.job(ConsumerState.key(spec.name)).map { try ConsumerState($0) }
            let seen = max(version, record?.checkpoint?.version ?? 0)
            guard let found = server.history.state(at: seen) else {
                throw SimulationFailure("the consumer \(spec.name) has seen version \(seen), which never was")
            }
            try check(spec.name, text, rows, in: found)
        case .queue: try checkQueue(spec.name, rows, in: state, dueAt: begun)
        case .schedule: try checkSchedule(spec.name, rows)
        }
    }

    private func check(
        _ name: String, _ text: String, _ rows: [[String: String]], in state: ServerState
    ) throws {
        let generation = generation(of: name) ?? ""
        let (query, snapshot) = try state.view(text)
        var parked: [String: UInt64] = [:]
        for record in try server.storage.jobs(
            ofSpace: ConsumerState.deadSpace(name), after: nil, countMax: 1_000)
        {
            let identity = try DeadLetterRecord.identity(of: record.key.name)
            parked["\(identity.className)/\(identity.key)"] = try DeadLetterRecord(wireBytes: record.value).version
        }
        let prefix = "copy/\(name)/\(generation)/"
        var copies: [String: String] = [:]
        for row in rows {
            guard let id = row["id"], id.hasPrefix(prefix) else { continue }
            copies[String(id.dropFirst(prefix.count))] = row["version"]
        }
        for root in snapshot.roots {
            guard let row = state.row(root) else { continue }
            let id = "\(state.schema[root.classIndex].name)/\(root.key)"
            let copy = copies.removeValue(forKey: id)
            if let version = parked[id], version == row.version { continue }
            if !query.isGivenOnce, copy == nil, let version = parked[id],
                isAlike(root, row, atVersion: version, for: query)
            {
                continue
            }
            if !query.isGivenOnce, let version = copy.flatMap({ UInt64($0) }),
                isAlike(root, row, atVersion: version, for: query)
            {
                continue
            }
            guard copy == "\(row.version)" else {
                throw SimulationFailure(
                    "the consumer \(name) of '\(query)' has \(id) of version \(copy ?? "none"), not \(row.version)")
            }
        }
        // A result that was poison when it left keeps what was derived before.
        for (id, version) in copies where parked[id] == nil {
            throw SimulationFailure(
                "the consumer \(name) of '\(query)' has \(id) of version \(version), which is no result")
        }
        guard query.isGivenOnce else { return }
        try checkEffects(name, rows, "effect/\(generation)/")
    }

    /// Whether an object had the values that it has at an earlier version, too, but for properties that the query
    /// excludes. Where results are compared as a whole, a write that changed nothing else is not given.
    private func isAlike(_ object: ObjectRef, _ row: Row, atVersion version: UInt64, for query: Query) -> Bool {
        let excluded = query.exclusions.excludedRootProperties
        guard let former = server.history.state(at: version)?.row(object) else { return false }
        return former.values.count == row.values.count
            && zip(former.values, row.values).enumerated().allSatisfy { property, values in
                excluded.contains(property) || values.0.isIdentical(to: values.1)
            }
    }

    /// Checks that each state was handled once.
    private func checkEffects(_ name: String, _ rows: [[String: String]], _ prefix: String) throws {
        var numbers: [Substring: Substring] = [:]
        for row in rows {
            guard let id = row["id"], id.hasPrefix(prefix), let end = id.lastIndex(of: "#") else { continue }
            let state = id[..<end]
            if let other = numbers.updateValue(id[end...], forKey: state) {
                throw SimulationFailure("\(name) has handled \(state) twice: \(other) and \(id[end...])")
            }
        }
    }

    private func checkQueue(
        _ name: String, _ rows: [[String: String]], in state: ServerState, dueAt begun: Timestamp
    ) throws {
        try checkEffects(name, rows, "effect/0/")
        guard let classIndex = state.schema.index(of: "Task"), let done = state.schema[classIndex].index(of: "done")
        else { return }
        let due = state.schema[classIndex].index(of: "due")
        try checkClaims(name, in: state) { row in
            guard row.values[done] == .int(0), let due else { return row.values[done] == .int(0) }
            if case .date(let time) = row.values[due] { return time <= now }
            return false
        }
        for row in state.objects(named: "Task").values where row.values[done] == .int(0) {
            if let due {
                guard case .date(let time) = row.values[due], time <= begun else { continue }
            }
            let key = DeadLetterRecord.key(Identity(className: "Task", key: row.key), in: QueueClaim.deadSpace(name))
            let dead = try server.storage.job(key).map { try DeadLetterRecord(wireBytes: $0.value) }
            guard dead?.version == row.version else {
                throw SimulationFailure("the queue \(name) has left \(row.key) of version \(row.version)")
            }
            let id = StateName.of(row, ofClass: "Task", server.storage.epochs, for: name)
            // One that was killed each time that it was tried is given up as well.
            guard JobWorker.isPoison(id) || dead?.error.hasPrefix("its worker ended") == true else {
                throw SimulationFailure("the queue \(name) has given up \(row.key): \(dead?.error ?? "")")
            }
        }
    }

    /// Checks that no claim has outlived its lease and the row's being a result.
    private func checkClaims(_ name: String, in state: ServerState, _ isResult: (Row) -> Bool) throws {
        for record in try server.storage.jobs(ofSpace: QueueClaim.space(name), after: nil, countMax: 1_000) {
            let identity = try DeadLetterRecord.identity(of: record.key.name)
            let row = state.objects(named: identity.className)[identity.key]
            if row.map(isResult) ?? false { continue }
            throw SimulationFailure(
                "the queue \(name) keeps a claim of \(identity.key), which is no result: \(record.value)")
        }
    }

    private func checkSchedule(_ name: String, _ rows: [[String: String]]) throws {
        try checkEffects(name, rows, "effect/0/")
        let runs = rows.compactMap { row -> (time: Int, number: Int)? in
            guard let parts = row["id"]?.split(separator: "/").last?.split(separator: "#"), parts.count == 2,
                let time = Int(parts[0]), let number = Int(parts[1])
            else { return nil }
            return (time, number)
        }.sorted { $0.time < $1.time }
        for (run, next) in zip(runs, runs.dropFirst()) where next.time != run.time + 1 {
            // Of more than a thousand that were missed, only the last thousand are done.
            if let begun = jobs.runTimes[next.number], begun.microseconds > (Int64(run.time) + 1_000) * 1_000_000 {
                continue
            }
            throw SimulationFailure("the schedule \(name) was done at \(run.time), and then at \(next.time)")
        }
    }
}

extension Query {
    /// Whether a consumer is given each state of an object once: what is compared as a whole may come again.
    fileprivate var isGivenOnce: Bool {
        object == nil && !isPartial && !hasSection && !readsTime && stages.isEmpty
            && predicateDependencies.linkPaths.isEmpty && !predicateDependencies.readsBacklinks
    }
}
