import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport

/// Clients that read late, and queries that end while something is on its way to them.
extension Simulation {
    func goOnReading(_ client: SimulatedClient) throws {
        client.isPaused = false
        try deliverTogether(to: client)
    }

    /// Lets the network and the server take some steps in which a client reads nothing.
    private func deliver(_ count: Int, withoutReading client: SimulatedClient, _ generator: inout SeededGenerator)
        throws
    {
        let wasPaused = client.isPaused
        client.isPaused = true
        defer { client.isPaused = wasPaused }
        for _ in 0..<count { guard try deliver(&generator) else { return } }
    }

    // MARK: Objects that come again

    /// Deletes an object that the client has, and later creates one with its key, which may be the same again.
    func replace(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard !client.isLimited, let object = try pickPresent(client, &generator) else { return }
        guard let former = try client.storage.row(object) else { return }
        let name = client.storage.schema[object.classIndex].name
        note("  replaces \(name) \(object.key)")
        try write(client) { try $0.delete(object) }
        for _ in 0..<generator.below(30) { guard try deliver(&generator) else { break } }
        let author = clients[generator.below(clients.count)]
        guard !author.isLimited, let classIndex = author.storage.schema.index(of: name) else { return }
        let declared = author.storage.schema[classIndex]
        var row = Row(key: object.key, values: declared.defaultValues(for: object.key))
        let isAlike = generator.chance(30) && author === client
        for (index, property) in declared.properties.enumerated() where index != declared.primaryKeyIndex {
            // The program may be of another version by now.
            row.values[index] =
                isAlike && index < former.values.count
                ? former.values[index]
                : SimulationWorld.value(property, clientCount: clients.count, &generator)
        }
        try write(author) { writer in
            guard try writer.row(ObjectRef(classIndex, object.key)) == nil else { return }
            try writer.insert(row, ofClass: classIndex)
        }
        for _ in 0..<generator.below(30) { guard try deliver(&generator) else { break } }
    }

    private func write(_ client: SimulatedClient, _ body: (LocalWriter) throws -> Void) throws {
        client.step = .local
        try client.write(body)
        try carryOutActions(of: client)
    }

    /// Picks an object that a client has; members of its subscriptions first.
    private func pickPresent(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws -> ObjectRef? {
        var objects: [ObjectRef] = []
        for record in client.storage.subscriptions where !record.isDormant {
            for role in MemberRole.allCases {
                try client.storage.forEachMember(of: record.id, role: role) { object in
                    objects.append(object)
                    return true
                }
            }
        }
        return objects.isEmpty ? nil : generator.pick(objects.sorted())
    }

    // MARK: Queries that end early

    /// Observes a query and stops it while its pages are on their way, or some of them are here.
    func stopAmidPages(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard let query = query(of: client, &generator) else { return }
        note("  observes for a moment \(query)")
        try client.observe(query)
        try carryOutActions(of: client)
        for _ in 0..<generator.below(12) { guard try deliver(&generator) else { break } }
        try deliver(generator.below(12), withoutReading: client, &generator)
        try stop(query, of: client, &generator)
    }

    /// Stops a query while a commit is on its way that changes what the query has.
    func stopAmidCommit(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard !client.observations.isEmpty else { return }
        let query = generator.pick(client.observations).query
        let author = clients[generator.below(clients.count)]
        guard author !== client, !author.isLimited else { return }
        let schema = author.storage.schema
        let object = try pickPresent(client, &generator)
        let wasPaused = client.isPaused
        client.isPaused = true
        defer { client.isPaused = wasPaused }
        try write(author) { writer in
            guard let object, let classIndex = schema.index(of: client.storage.schema[object.classIndex].name),
                case let reference = ObjectRef(classIndex, object.key), try writer.row(reference) != nil
            else { return }
            if generator.chance(25) { return try writer.delete(reference) }
            let properties = schema[classIndex].properties
            let writable = properties.indices.filter { $0 != schema[classIndex].primaryKeyIndex }
            let index = generator.pick(Array(writable))
            let value = SimulationWorld.value(properties[index], clientCount: clients.count, &generator)
            try writer.update(reference, [FieldOperation(index, .set(value))])
        }
        for _ in 0..<generator.below(30) { guard try deliver(&generator) else { break } }
        try stop(query, of: client, &generator)
    }

    /// Stops a query, and sometimes observes it again at once, or loses the connection or the process.
    private func stop(_ query: Query, of client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        if generator.chance(15), let connection = client.connection { network.cut(connection, &generator) }
        if generator.chance(8) { return try crash(client) }
        let hash = query.hash
        while let position = client.observations.firstIndex(where: { $0.query.hash == hash }) {
            try stopToken(client, at: position, &generator)
        }
        guard generator.chance(30), let again = try? query.rebound(to: client.engine.schema) else { return }
        note("  observes again \(again)")
        try client.observe(again)
        try carryOutActions(of: client)
    }
}
