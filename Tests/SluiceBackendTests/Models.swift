import Foundation
import SluiceBackend
import Synchronization

@Model struct Flight: Equatable {
    @PrimaryKey var id: String
    var delay = 0
    var gate: String?
    var carrier: Link<Carrier>?
    var due: Date?
}

@Model struct Carrier: Equatable {
    @PrimaryKey var code: String
    var name = ""
    @Inverse(\Flight.carrier) var flights: Backlinks<Flight>
}

@Model struct Alert: Equatable {
    @PrimaryKey var flight: String
    var delay = 0
}

@Model struct Note {
    var text = ""
}

let models: [any Model.Type] = [Flight.self, Carrier.self, Alert.self, Note.self]

extension ServerDatabase {
    func putFlight(_ id: String, delay: Int) async throws {
        try await write { try $0.upsert(Flight(id: id, delay: delay)) }
    }
}

/// A value that several tasks change.
final class Guarded<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try state.withLock { value in
            // The value leaves the lock only as a copy.
            var copy = value
            defer { value = copy }
            return try body(&copy)
        }
    }
}
