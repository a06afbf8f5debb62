import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport

extension Simulation {
    /// Thrown by transactions that are abandoned half-way.
    private struct Abandoned: Error {}

    func perform(_ action: SimulationAction) throws {
        let client = clients[action.client]
        var generator = SeededGenerator(seed: action.seed)
        switch action.kind {
        case .write where client.isLimited, .abandonWrite where client.isLimited, .evolve where client.isLimited: break
        case .write, .abandonWrite: try write(client, isAbandoned: action.kind == .abandonWrite, &generator)
        case .observe: try observe(client, &generator)
        case .gather: try gather(generator.pick(queryTexts), &generator)
        case .gatherClasses: for text in ["Car", "Dealer", "Note", "User"] { try gather(text, &generator) }
        case .crowd: for _ in 0..<100 { try observe(client, &generator) }
        case .stopToken: try stopToken(client, &generator)
        case .stopSyncing: try stopSyncing(client, &generator)
        case .hold: try hold(client, &generator)
        case .releaseHold: try releaseHold(client, &generator)
        case .lag: if !client.observations.isEmpty { generator.pick(client.observations).isLagging = true }
        case .catchUp:
            for mirror in client.observations { mirror.isLagging = false }
            try carryOutActions(of: client)
        case .purgeUnsubscribed:
            try client.engine.purgeUnsubscribed()
            try carryOutActions(of: client)
            try checkNothingUnheld(client)
        case .startSync:
            client.wantsSync = true
            try handle(.start, of: client)
        case .stopSync:
            client.wantsSync = false
            try handle(.stop, of: client)
        case .deliver:
            for _ in 0..<(1 + generator.below(6)) { guard try deliver(&generator) else { break } }
        case .deliverMuch:
            for _ in 0..<generator.below(80) { guard try deliver(&generator) else { break } }
        case .crashServerAfterHandling: _ = try deliver(&generator, crashingServer: true)
        case .crashClientAfterHandling: _ = try deliver(&generator, crashingClient: true)
        case .advance: _ = try advance()
        case .passTime: _ = try passTime()
        case .cut: if let connection = client.connection { network.cut(connection, &generator) }
        case .unplug:
            client.isReachable = false
            if let connection = client.connection { network.cut(connection, &generator) }
        case .plugIn: client.isReachable = true
        case .crashClient: try crash(client)
        case .crashServer: try crashServer(generator)
        case .evolve: try evolve(client, &generator)
        case .deploy: try deploy(&generator)
        case .changeClaims: try changeClaims(client, &generator)
        case .revoke: try revoke(client, &generator)
        case .expire: try expire(&generator)
        case .logIn: try logIn(client)
        case .impersonate: try impersonate(client, &generator)
        case .serverWrite:
            carryOut(
                try server.write(now: now) {
                    try SimulatedBackend.operations(on: $0, clientCount: clients.count, &generator)
                })
        case .backUp: try backUp()
        case .putBack: try putBack()
        case .forkJournal: try forkJournal(&generator)
        case .trimJournal: try trimJournal(&generator)
        case .lagNodes: server.lag(&generator)
        case .catchUpNodes: server.catchUp()
        case .pauseReading: client.isPaused = true
        case .goOnReading: try goOnReading(client)
        case .replace: try replace(client, &generator)
        case .stopAmidPages: try stopAmidPages(client, &generator)
        case .stopAmidCommit: try stopAmidCommit(client, &generator)
        case .startJob: try startJob(&generator)
        case .stepJobs: try stepJobs(&generator)
        case .killJob: try killJob(&generator)
        case .trimLog: try server.trimLog(keepingVersions: UInt64(generator.below(6)))
        }
    }

    /// Replaces a client's program by its next version: while it runs, as another store of the process may, or with a
    /// restart.
    private func evolve(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard client.version < SimulationWorld.versionMax else { return }
        client.version += 1
        note("  client \(client.index) is of version \(client.version)")
        guard generator.chance(40) else { return try crash(client) }
        client.step = .local
        try client.declare()
        try carryOutActions(of: client)
    }

    // MARK: Subscriptions

    /// Picks one of the simulation's queries and parses it with the client's schema; nil if the client lacks a class or
    /// property of it.
    func query(of client: SimulatedClient, _ generator: inout SeededGenerator) -> Query? {
        try? Query.parse(generator.pick(queryTexts), schema: client.engine.schema)
    }

    private func observe(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard let query = query(of: client, &generator) else { return }
        note("  observes \(query)")
        try client.observe(query)
        try carryOutActions(of: client)
    }

    /// Lets all clients observe the same query. Some of them stop observing something else, so that a query may come
    /// again.
    private func gather(_ text: String, _ generator: inout SeededGenerator) throws {
        note("  all observe \(text)")
        for client in clients {
            if generator.chance(40) { try stopToken(client, &generator) }
            guard let query = try? Query.parse(text, schema: client.engine.schema) else { continue }
            try client.observe(query)
            try carryOutActions(of: client)
        }
    }

    private func stopToken(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard !client.observations.isEmpty else { return }
        try stopToken(client, at: generator.below(client.observations.count), &generator)
    }

    func stopToken(_ client: SimulatedClient, at position: Int, _ generator: inout SeededGenerator) throws {
        let mirror = client.removeObservation(at: position)
        let keeps = generator.chance(25)
        let purges = generator.chance(60)
        note("  stops \(mirror.query) keeping: \(keeps) purging: \(purges)")
        if keeps, !client.kept.contains(mirror.query) { client.kept.append(mirror.query) }
        let isHeldStill =
            client.observations.contains { $0.query == mirror.query }
            || client.holds.contains { $0.query == mirror.query }
        if !keeps, !isHeldStill { client.kept.removeAll { $0 == mirror.query } }
        try ending(mirror.query, of: client, purging: purges && !keeps) {
            client.step = client.stepOfEnding
            try client.engine.endObservation(mirror.id, keeping: keeps, purging: purges && !keeps)
        }
    }

    private func stopSyncing(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard let query = client.kept.first else { return }
        let purges = generator.chance(50)
        note("  stops syncing \(query) purging: \(purges)")
        client.kept.removeFirst()
        try ending(query, of: client, purging: purges) {
            client.step = client.stepOfEnding
            try client.engine.stopSyncing(query, purging: purges)
        }
    }

    private func hold(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard let query = query(of: client, &generator) else { return }
        note("  holds \(query)")
        let waiter = try client.engine.awaitStatus(query) { $0.state == .complete || $0.state == .error }
        client.holds.append(.init(query: query, waiter: waiter))
        try carryOutActions(of: client)
    }

    private func releaseHold(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard !client.holds.isEmpty else { return }
        let hold = client.holds.remove(at: generator.below(client.holds.count))
        note("  releases \(hold.query)")
        try ending(hold.query, of: client, purging: false) {
            client.step = client.stepOfEnding
            try client.engine.releaseStatus(hold.query, waiter: hold.waiter)
        }
    }

    // MARK: Writes

    private func write(
        _ client: SimulatedClient, isAbandoned: Bool, _ generator: inout SeededGenerator
    ) throws {
        let schema = client.engine.schema
        guard SimulationWorld.hasWrittenClass(schema) else { return }
        client.step = .local
        do {
            try client.write { writer in
                // Not drawn from the generator, so that old seeds keep their meaning.
                var aside = generator
                if aside.chance(8) { try operateOnAll(writer, client, &aside) }
                if aside.chance(2) { try importMany(writer, client, &aside) }
                for _ in 0..<generator.pick([1, 1, 1, 2, 3, 5]) {
                    guard let classIndex = SimulationWorld.writtenClass(schema, &generator) else { break }
                    try operate(writer, classIndex, client, &generator)
                }
                if isAbandoned { throw Abandoned() }
            }
        } catch is Abandoned {}
        try carryOutActions(of: client)
    }

    private static func isNumber(_ type: PropertyType) -> Bool {
        !type.isCollection && [.scalar(.int), .scalar(.double), .scalar(.decimal)].contains(type.element)
    }

    /// Creates as many objects as travel by column, some of which others may have created.
    private func importMany(
        _ writer: LocalWriter, _ client: SimulatedClient, _ generator: inout SeededGenerator
    ) throws {
        guard let classIndex = SimulationWorld.writtenClass(writer.schema, &generator) else { return }
        let declared = writer.schema[classIndex]
        let first = generator.below(6)
        let numbers = first..<first + 16 + generator.below(4)
        let named = PropertySet(
            declared.properties.indices.filter { $0 != declared.primaryKeyIndex && generator.chance(70) })
        // An insert names all properties, and says which values are defaults.
        let inserts = generator.chance(50)
        note("  imports \(declared.name) \(numbers) with \(Array(named)) inserting: \(inserts)")
        for number in numbers {
            let key = SimulationWorld.importedKey(ofClass: declared.name, number)
            var row = Row(key: key, values: declared.defaultValues(for: key))
            for index in named where generator.chance(80) {
                row.values[index] = SimulationWorld.value(
                    declared.properties[index], clientCount: clients.count, &generator)
            }
            if inserts, try writer.row(ObjectRef(classIndex, key)) == nil {
                try writer.insert(row, ofClass: classIndex)
            } else {
                try writer.upsert(row, ofClass: classIndex, present: named)
            }
        }
    }

    /// Changes or deletes everything that one of the queries finds, within the transaction.
    private func operateOnAll(
        _ writer: LocalWriter, _ client: SimulatedClient, _ generator: inout SeededGenerator
    ) throws {
        guard let query = query(of: client, &generator) else { return }
        let found = try writer.results(of: query).visible
        note("  changes all \(found.count) of \(query)")
        let deletes = generator.chance(15)
        try writer.forEach(found) { object, row in
            let declared = writer.schema[object.classIndex]
            let properties = declared.properties
            guard !deletes else { return try writer.delete(object) }
            let numbers = properties.indices.filter { Self.isNumber(properties[$0].type) }
            guard let index = numbers.first(where: { $0 != declared.primaryKeyIndex }) else { return }
            let amount = PropertyType(properties[index].type.element).fitting(.int(1)) ?? .int(1)
            try writer.update(object, [FieldOperation(index, .add(amount))])
        }
    }

    /// Inserts, moves, sets or erases an element of a list by its position.
    ///
    /// - Returns: false if the object has no list here.
    private func editList(
        of object: ObjectRef, _ row: Row, _ writer: LocalWriter, _ generator: inout SeededGenerator
    ) throws -> Bool {
        let properties = writer.schema[object.classIndex].properties
        let lists = properties.indices.filter {
            properties[$0].type.container == .list && !properties[$0].isRetired && !row.absent.contains($0)
        }
        guard !lists.isEmpty, case let index = generator.pick(lists), case .list(let values) = row.values[index] else {
            return false
        }
        let sample = SimulationWorld.value(properties[index], clientCount: clients.count, &generator)
        guard case .list(let samples) = sample else { return false }
        let placeCount = values.count + (samples.isEmpty ? 0 : 1)
        guard placeCount > 0 else { return false }
        let position = generator.below(placeCount)
        let kind = values.isEmpty || position == values.count ? 0 : generator.below(4)
        let destination = generator.below(max(1, values.count))
        guard !samples.isEmpty || kind > 1 else { return false }
        var expected = values
        switch kind {
        case 0: expected.insert(contentsOf: samples, at: position)
        case 1: expected[position] = samples[0]
        case 2: expected.insert(expected.remove(at: position), at: destination)
        default: expected.remove(at: position)
        }
        note("  edits list \(index) of \(object.key): \(kind) at \(position), \(destination)")
        try writer.edit(index, of: object) { list, author in
            switch kind {
            case 0: .inserting(samples, at: position, in: list, by: author)
            case 1: .setting(position, to: samples[0], in: list)
            case 2: .moving(from: position, to: destination, in: list, by: author)
            default: .erasing(position..<position + 1, in: list)
            }
        } or: { _ in
            expected
        }
        // The author sees what the operation says.
        guard let shown = try writer.row(object)?.values[index], shown.isIdentical(to: .list(expected)) else {
            throw SimulationFailure("edit \(kind) at \(position), \(destination) of \(values) should make \(expected)")
        }
        return true
    }

    private func operate(
        _ writer: LocalWriter, _ classIndex: Int, _ client: SimulatedClient, _ generator: inout SeededGenerator
    ) throws {
        let declared = writer.schema[classIndex]
        let count = clients.count
        var key = SimulationWorld.key(ofClass: declared.name, clientCount: count, &generator)
        if declared.primaryKey == nil, generator.chance(35) {
            let number = client.keylessCount[declared.name, default: 0] + 1
            client.keylessCount[declared.name] = number
            key = SimulationWorld.keylessKey(ofClass: declared.name, client: client.index, number)
        }
        let object = ObjectRef(classIndex, key)
        let current = try writer.row(object)
        // Not drawn from the generator, so that old seeds keep their meaning.
        var aside = generator
        if let current, aside.chance(20), try editList(of: object, current, writer, &aside) { return }
        if current == nil ? generator.chance(8) : generator.chance(15) {
            note("  deletes \(declared.name) \(key)")
            return try writer.delete(object)
        }
        var row = Row(key: key, values: declared.defaultValues(for: key))
        var named = PropertySet()
        for (index, property) in declared.properties.enumerated()
        where index != declared.primaryKeyIndex && generator.chance(60) {
            row.values[index] = SimulationWorld.value(property, clientCount: count, &generator)
            named.insert(index)
        }
        if current == nil || generator.chance(15) {
            note("  \(current == nil ? "inserts" : "upserts") \(declared.name) \(key) \(row.values) of \(Array(named))")
            if current == nil, generator.chance(50) { return try writer.insert(row, ofClass: classIndex) }
            return try writer.upsert(row, ofClass: classIndex, present: named)
        }
        var fields: [FieldOperation] = []
        for index in named.prefix(2) {
            let type = declared.properties[index].type
            if type == .scalar(.int) || client.version > 0 && Self.isNumber(type), generator.chance(60) {
                let amount = Value.int(Int64(1 + generator.below(3)))
                fields.append(FieldOperation(index, .add(PropertyType(type.element).fitting(amount) ?? amount)))
            } else if let current, !current.absent.contains(index), generator.chance(70) {
                fields.append(writer.difference(from: current, to: row.values[index], of: index))
            } else {
                fields.append(
                    FieldOperation(index, type.isCollection && generator.chance(10) ? .clear : .set(row.values[index])))
            }
        }
        note("  updates \(declared.name) \(key) \(fields)")
        try writer.update(object, fields)
    }
}
