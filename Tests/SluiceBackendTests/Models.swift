import SluiceBackend

@Model struct Flight: Equatable {
    @PrimaryKey var id: String
    var delay = 0
    var gate: String?
    var carrier: Link<Carrier>?
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
