import Sluice
import SluiceModel
import SluiceQuery
import SluiceWire

/// The line of a client of the simulation to the server.
///
/// Sound as `Sendable`: its job runs on the thread of the simulation.
final class SimulatedJobLine: JobLine, @unchecked Sendable {
    private unowned let simulation: Simulation
    private unowned let client: SimulatedClient
    private let gates: JobGates

    init(_ simulation: Simulation, _ client: SimulatedClient, _ gates: JobGates) {
        self.simulation = simulation
        self.client = client
        self.gates = gates
    }

    var time: Timestamp { client.time }

    /// By the client's clock, which may be wrong.
    func sleep(until time: Timestamp) async {
        let skew = client.time.microseconds - simulation.now.microseconds
        await gates.sleep(until: time.advanced(by: -skew), now: simulation.now)
    }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        simulation.note("  job of client \(client.index): \(message) \(details)")
    }

    var schema: Schema { client.engine.schema }

    func ask(_ question: ClientMessage.JobCall.Question) async throws -> (bytes: [UInt8], schema: Schema) {
        try await gates.wait(Self.label(of: question)) { [self] reply in
            if case .apply(let writes) = question { try? simulation.watchJob(writes, by: gates) }
            simulation.perform(on: client) {
                _ = client.engine.ask(question) { result in reply(result.mapError { $0 as any Error }) }
            }
        }
    }

    private static func label(of question: ClientMessage.JobCall.Question) -> String {
        String("\(question)".prefix { $0 != "(" })
    }

    func write<Result: Sendable>(
        _ jobs: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await gates.wait("write") { [self] (reply: @escaping (Swift.Result<Result, any Error>) -> Void) in
            try? simulation.watchJob(jobs, by: gates)
            simulation.perform(on: client) {
                do {
                    var made: (result: Result, receipt: WriteReceipt)?
                    client.step = .local
                    try client.write { writer in
                        writer.jobs = jobs
                        let transaction = WriteTransaction(writer: writer, scope: JobScope(writer.schema))
                        made = (try body(transaction), transaction.receipt)
                    }
                    guard let (result, receipt) = made else { return }
                    _ = client.engine.whenUploaded(receipt) { outcome in
                        switch outcome {
                        case .success(false): return false
                        case .success(true): reply(.success(result))
                        case .failure(let error): reply(.failure(error))
                        }
                        return true
                    }
                } catch { reply(.failure(error)) }
            }
        }
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, in schema: Schema) throws -> ElementBinding {
        try ElementBinding(element, className: schema[classIndex].name, schema: schema)
    }
}
