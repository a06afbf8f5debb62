import Sluice
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire

/// What a job handles. The names of objects are enough.
struct JobRow: ResultElement {
    static var declaredClass: DeclaredClass? { nil }
    var objectMetadata: ObjectMetadata { ObjectMetadata.keyed }

    init(from row: borrowing RowDecoder) throws {}
    func encode(to row: inout RowEncoder) throws {}
}

/// A transaction as a job writes it: by its writer alone.
final class JobScope: ResultScope, @unchecked Sendable {
    let schema: Schema
    let inverses = InverseNames()

    init(_ schema: Schema) { self.schema = schema }

    func classIndex(of className: String) throws -> Int {
        guard let index = schema.index(of: className) else { throw StoreError(.unknownClass, className) }
        return index
    }

    func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding {
        try ElementBinding(element, className: schema[classIndex].name, schema: schema)
    }

    func writer() throws -> (writer: LocalWriter, isAlone: Bool) { throw StoreError.outsideWrite }
}

/// A node of the simulated server, as jobs of its process use it.
///
/// Sound as `Sendable`: its job runs on the thread of the simulation.
final class SimulatedJobHost: JobHost, @unchecked Sendable {
    private unowned let simulation: Simulation
    private let nodeIndex: Int
    private let gates: JobGates
    private let bells: JobBells

    init(_ simulation: Simulation, node: Int, _ gates: JobGates, _ bells: JobBells) {
        self.simulation = simulation
        nodeIndex = node
        self.gates = gates
        self.bells = bells
    }

    private var node: SimulatedNode { simulation.server.nodes[nodeIndex] }

    var time: Timestamp { simulation.now }

    func sleep(until time: Timestamp) async { await gates.sleep(until: time, now: simulation.now) }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        simulation.note("  job: \(message) \(details)")
    }

    func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void { bells.add(bell) }

    func text(of query: @escaping JobQuery) async throws -> String {
        try await perform("text") { node, _ in try query(node.storage.schema).canonicalText }
    }

    private func perform<Result: Sendable>(
        _ label: String, _ body: @escaping (SimulatedNode, Timestamp) throws -> Result
    ) async throws -> Result {
        try await gates.pass(label) { [self] in
            try simulation.performJob(on: node) { try body($0, $1) }
        }
    }

    // MARK: Reading

    func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery
    ) async throws -> ConsumerChunk {
        let pending = try await perform("chunk") { node, now in
            try node.engine.chunk(after: checkpoint, sizes, readBy: nil, of: query, now: now)
        }
        switch pending {
        case .done(let chunk): return chunk
        case .beside(let taken, let read):
            return try await gates.pass("page") {
                defer { taken.snapshot.close() }
                return try read(taken.snapshot)
            }
        }
    }

    func count(of query: @escaping JobQuery) async throws -> Int {
        try await perform("count") { node, now in
            try node.storage.count(matching: node.engine.jobQuery(readBy: nil, query, now: now))
        }
    }

    func rows(
        after key: ObjectKey?, countMax: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows {
        let pageRowCount = simulation.plan.options.pageRowCount
        let (found, schema) = try await perform("rows") { node, now in
            let query = try node.engine.jobQuery(readBy: nil, query, now: now)
            // Few at a time, so that queues go on behind them.
            let found = try node.storage.rows(
                of: query, after: key, countMax: min(countMax, pageRowCount))
            return (found, node.storage.schema)
        }
        return try await perform("claims") { node, now in
            try node.storage.queueRows(
                found, schema, name, at: now, node.storage.epochs, withPartitions: withPartitions)
        }
    }

    func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]? {
        try await perform("list") { node, now in
            let query = try node.engine.jobQuery(readBy: nil, query, now: now)
            return query.isListed ? try node.storage.refs(matching: query).map(\.key) : nil
        }
    }

    func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows {
        try await perform("rows") { node, now in
            let query = try node.engine.jobQuery(readBy: nil, query, now: now)
            let found = try node.storage.rows(keys, of: query)
            return JobRows(
                found.rows, schema: node.storage.schema, classIndex: found.classIndex, epochs: node.storage.epochs)
        }
    }

    // MARK: Records

    func record(_ key: JobRecord.Key) async throws -> JobRecord? {
        try await perform("record") { node, _ in try node.storage.job(key) }
    }

    func records(ofSpace space: String) async throws -> [JobRecord] {
        try await perform("records") { node, _ in try node.storage.jobs(ofSpace: space, after: nil, countMax: 1_000) }
    }

    func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)] {
        try await perform("spaces") { node, _ in
            try node.storage.jobSpaces(withPrefix: prefix).map { ($0, try node.storage.jobCount(ofSpace: $0)) }
        }
    }

    func version() async throws -> UInt64 { try await perform("version") { node, _ in node.storage.version } }

    /// Lets the job write something, or not.
    private func change<Result: Sendable>(
        _ label: String, _ writes: [JobWrite], _ body: @escaping (SimulatedNode, Timestamp) throws -> Result
    ) async throws -> Result {
        try await gates.pass(label) { [self] in
            try simulation.watchJob(writes, by: gates)
            return try simulation.jobs.trouble.write(for: gates) {
                try simulation.performJob(on: node) { try body($0, $1) }
            }
        }
    }

    func apply(_ writes: [JobWrite]) async throws -> [Bool] {
        try await change("apply", writes) { node, now in try node.engine.applyJobs(writes, as: nil, now: now) }
    }

    func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await change("write", writes) { node, now in
                try node.engine.write(by: 2, now: now) { objects, time in
                    let writer = LocalWriter(
                        PendingObjects(objects), schema: objects.schema, limits: .standard, isRecording: true
                    ) {
                        let ids = ObjectIDGenerator.process
                        return ListEdits.Author(origin: ids.origin, time: max(1, time.microseconds), ids: ids)
                    }
                    let result = try body(WriteTransaction(writer: writer, scope: JobScope(objects.schema)))
                    return OwnTransaction(result, writer.operations, writes)
                }
            }
        } catch let conflict as JobConflict {
            throw conflict.code == .jobUnfinished ? JobWriteRejection.unfinished : .moved
        }
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        try ElementBinding(element, className: schema[classIndex].name, schema: schema)
    }

    func meaning(of error: any Error) -> JobErrorMeaning { ServerError.jobMeaning(of: error) }
}

/// Who is to be told of commits.
///
/// Sound as `Sendable`: it is used on the thread of the simulation.
final class JobBells: @unchecked Sendable {
    private var bells: [Int: @Sendable () -> Void] = [:]
    private var lastNumber = 0

    func add(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        lastNumber += 1
        let number = lastNumber
        bells[number] = bell
        return { [self] in bells[number] = nil }
    }

    func ring() { for (_, bell) in bells.sorted(by: { $0.key < $1.key }) { bell() } }
}
