import FoundationEssentials
import Sluice
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceWire

/// The code of a job's user.
///
/// Sound as `Sendable`: it runs on the thread of the simulation.
final class JobWorker: @unchecked Sendable {
    private unowned let jobs: SimulatedJobs
    private unowned let simulation: Simulation
    private let gates: JobGates
    private let name: String

    init(_ jobs: SimulatedJobs, _ gates: JobGates, _ name: String, _ simulation: Simulation) {
        self.jobs = jobs
        self.simulation = simulation
        self.gates = gates
        self.name = name
    }

    /// Whether something always fails, by its state.
    static func isPoison(_ id: String) -> Bool { JobHash.of(id) % 11 == 0 }

    /// Handles what a consumer is given.
    func handle(_ batch: ConsumerBatch<JobRow>) async throws {
        try await gates.pass("body") {}
        let number = jobs.nextNumber()
        let (name, items, removals) = (name, batch.upserts, batch.removals)
        if batch.isReset { jobs.noteReset() }
        let isReset = batch.isReset
        simulation.noteMessages {
            "  batch \(number) of \(name), a reset: \(isReset), has \(items.map(\.id)) and not \(removals.map(\.identity.key))"
        }
        if number % 9 == 0 { throw JobError.tryAgain("the weather") }
        guard !items.contains(where: { Self.isPoison($0.id) }) else {
            jobs.noteParked()
            throw SimulatedJobs.Poison()
        }
        let known = simulation.generation(of: name)
        let generation = batch.isReset ? nil : known
        try await batch.commit { transaction in
            let writer = transaction.writer
            let rows = try JobRows(writer, name, generation ?? "\(number)")
            if generation == nil { try rows.begin() }
            for item in items {
                try rows.copy(item.identity, version: item.version)
                try rows.effect(of: item.id, number)
            }
            for gone in removals { try rows.removeCopy(of: gone.identity) }
        }
        simulation.noteMessages { "  batch \(number) of \(name) is stored" }
        try await gates.pass("handled") {}
    }

    /// Works at a row of a queue.
    func work(_ claim: WorkQueue<JobRow>.Claim) async throws -> WorkQueue<JobRow>.Completion {
        try await gates.pass("work") {}
        let number = jobs.nextNumber()
        guard !Self.isPoison(claim.id) else {
            jobs.noteParked()
            throw SimulatedJobs.Poison()
        }
        if number % 9 == 0 { throw JobError.tryAgain("the weather") }
        try await gates.pass("work") {}
        let name = name
        return { transaction in
            let writer = transaction.writer
            let rows = try JobRows(writer, name, "0")
            try rows.effect(of: claim.id, number)
            guard let tasks = writer.schema.index(of: "Task"), let done = writer.schema[tasks].index(of: "done") else {
                return
            }
            var row = Row(
                key: claim.identity.key, values: writer.schema[tasks].defaultValues(for: claim.identity.key))
            row.values[done] = .int(1)
            try writer.upsert(row, ofClass: tasks, present: PropertySet([done]))
        }
    }

    /// Does a run of a schedule.
    func perform(_ run: ScheduledRun) async throws {
        try await gates.pass("body") {}
        let (name, number) = (name, jobs.nextNumber())
        jobs.noteRun(number, at: simulation.now)
        let time = Int(run.time.timeIntervalSince1970)
        if number % 7 == 0 { throw SimulatedJobs.Poison() }
        try await run.commit { transaction in
            try JobRows(transaction.writer, name, "0").effect(of: "\(name)/\(time)", number)
        }
        try await gates.pass("handled") {}
    }

    /// The rows that a job writes.
    private struct JobRows {
        private let writer: LocalWriter
        private let job: String
        private let generation: String
        private let classIndex: Int

        init(_ writer: LocalWriter, _ job: String, _ generation: String) throws {
            guard let classIndex = writer.schema.index(of: JobWorld.className) else {
                // A node may have a job before anybody has declared it.
                throw JobError.tryAgain("the class for it is not there yet")
            }
            self.classIndex = classIndex
            self.writer = writer
            self.job = job
            self.generation = generation
        }

        private func put(_ id: String, _ version: UInt64) throws {
            let declared = writer.schema[classIndex]
            let key = ObjectKey.string(id)
            var row = Row(key: key, values: declared.defaultValues(for: key))
            let texts = ["job": Value.string(job), "generation": .string(generation), "version": .int(Int64(version))]
            for (name, value) in texts { if let index = declared.index(of: name) { row.values[index] = value } }
            // Of few values, so that what another process has written may come again.
            if let index = declared.index(of: "digit") { row.values[index] = .int(Int64(version % 2)) }
            try writer.upsert(row, ofClass: classIndex, present: PropertySet(all: declared.properties.count))
        }

        /// Begins a generation.
        func begin() throws { try put("head/\(job)", 0) }

        func copy(_ identity: Identity, version: UInt64) throws { try put(id(identity), version) }

        func removeCopy(of identity: Identity) throws {
            try writer.delete(ObjectRef(classIndex, .string(id(identity))))
        }

        private func id(_ identity: Identity) -> String {
            "copy/\(job)/\(generation)/\(identity.className)/\(identity.key)"
        }

        func effect(of state: String, _ number: Int) throws {
            try put("effect/\(generation)/\(state)#\(number)", 0)
        }
    }
}
