import SluiceJSON
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport

/// What the users of a ``RuledWorld`` may read, by a naive reading of its rules.
extension RuledWorld {
    func judge(_ message: ServerMessage, to client: Client) throws {
        if skipsOracle { return }
        let blocks: [ViewBlock] =
            switch message {
            case .page(let page): [page.content]
            case .commit(let commit): commit.blocks.map(\.content)
            // They bring no objects of a view. A new message decides here whether it does.
            case .hello, .opened, .schema, .complete, .listMembers, .digest, .login, .context, .withdrawn, .places,
                .subscriptionError, .rejected, .error, .moved, .message, .report, .reportError:
                []
            }
        if case .withdrawn(let withdrawn) = message {
            for group in withdrawn.content.groups {
                for key in group.keys where try mayRead(client, ObjectRef(group.classIndex, key)) {
                    problems.append("\(client.user) is told that \(key) is not there, and may read it")
                }
            }
        }
        if case .message(let message) = message { try judgeUser(message.userID, "who sends", to: client) }
        for block in blocks {
            for author in block.authors {
                try judgeUser(author.userID, "who writes", to: client)
                // The server's own number is 0.
                if veiled.contains(ClassIndex.user), author.userID == nil, author.clientID != 0 {
                    problems.append("\(client.user) is told which client of somebody writes")
                }
            }
            // A linked object that was touched is in the block that says that it is no root.
            let brought = block.objects.groups.flatMap { group in group.keys.map { ObjectRef(group.classIndex, $0) } }
            let known = block.departures.isEmpty ? [] : client.sent.union(brought).union(client.readable)
            for departure in block.departures where !known.contains(departure.object) {
                problems.append("\(client.user) is told that \(departure.object) is gone, and could never read it")
            }
            for group in block.objects.groups {
                if try group.properties.meets(hidden(client)[group.classIndex] ?? []) {
                    problems.append("\(client.user) is sent hidden properties of the class \(group.classIndex)")
                }
                for row in group.keys.indices {
                    for case .string(let text) in group.values(at: row) { client.texts.insert(text) }
                }
                for row in group.keys.indices { try judgeLinks(group, row, to: client) }
                for key in group.keys {
                    let object = ObjectRef(group.classIndex, key)
                    client.sent.insert(object)
                    if try !mayRead(client, object) { problems.append("\(client.user) is sent \(object)") }
                }
            }
        }
    }

    private func judgeUser(_ userID: String?, _ what: String, to client: Client) throws {
        guard veiled.contains(ClassIndex.user), let userID, userID != client.user else { return }
        if try !mayRead(client, ObjectRef(ClassIndex.user, .string(userID))) {
            problems.append("\(client.user) is told \(what): \(userID)")
        }
    }

    private func judgeLinks(_ group: ObjectGroup, _ row: Int, to client: Client) throws {
        for (value, property) in zip(group.values(at: row), group.properties) {
            let name = server.schema[group.classIndex].properties[property].type.targetClass
            guard let target = name.flatMap(server.schema.index(of:)), veiled.contains(target) else { continue }
            try value.forEachLink { key in
                let object = ObjectRef(target, key)
                if try !mayRead(client, object) { problems.append("\(client.user) is told of a link to \(object)") }
            }
        }
    }

    /// A value as a user is shown it, where the class that it links to hides who its objects are.
    func shown(_ value: Value, _ target: Int, to user: String) throws -> Value {
        guard veiled.contains(target), case .link(let key) = value else { return value }
        return try mayRead(self[user], ObjectRef(target, key)) ? value : .null
    }

    /// What the rules mean, read naively.
    func mayRead(_ client: Client, _ object: ObjectRef) throws -> Bool {
        guard let row = try server.row(object) else { return false }
        if let oracle { return try oracle(self, client.user, object, row) }
        if client.claims["role"] == .string("admin") { return true }
        let subject = RuledObject(server.schema[object.classIndex].name, row, in: try objects())
        switch subject.className {
        case "User":
            return !veiled.contains(ClassIndex.user) || subject.key == client.key
                || subject.linking("Team", "members").contains { isMember(client, of: $0) }
        case "Team": return isMember(client, of: subject)
        default:
            return regime.sharesPublic && subject["isPublic"] == .bool(true)
                || subject.target("owner")?.key == client.key
                || regime.sharesWithTeams && subject.target("team").map { isMember(client, of: $0) } ?? false
        }
    }

    func isMember(_ client: Client, of key: ObjectKey) throws -> Bool {
        try objects().object("Team", key).map { isMember(client, of: $0) } ?? false
    }

    private func isMember(_ client: Client, of team: RuledObject) -> Bool {
        team.targets("members").contains { $0.key == client.key }
    }

    /// The server's objects as they are now.
    private func objects() throws -> StoredObjects {
        if let known = storedObjects, known.version == server.version { return known }
        let objects = try StoredObjects(server)
        storedObjects = objects
        return objects
    }

    /// The documents that a user may read, ascending.
    func readable(_ user: String) throws -> [Int64] {
        var keys: [Int64] = []
        try server.forEachRow(ofClass: ClassIndex.document) { row in
            if try mayRead(self[user], ObjectRef(ClassIndex.document, row.key)), case .int(let key) = row.key {
                keys.append(key)
            }
            return true
        }
        return keys.sorted()
    }

    /// The documents in a user's store, ascending.
    func held(_ user: String) throws -> [Int64] {
        var keys: [Int64] = []
        try self[user].storage.forEachRow(ofClass: ClassIndex.document) { row in
            if case .int(let key) = row.key { keys.append(key) }
            return true
        }
        return keys.sorted()
    }
}

/// A server's objects at one version, read naively.
struct StoredObjects: RuledObjects {
    let schema: Schema
    let version: UInt64
    private var rows: [String: [ObjectKey: Row]] = [:]

    init(_ storage: SQLiteServerStorage) throws {
        schema = storage.schema
        version = storage.version
        for (classIndex, declared) in schema.classes.enumerated() {
            var ofClass: [ObjectKey: Row] = [:]
            try storage.forEachRow(ofClass: classIndex) { row in
                ofClass[row.key] = row
                return true
            }
            rows[declared.name] = ofClass
        }
    }

    func objects(named className: String) -> [ObjectKey: Row] { rows[className] ?? [:] }
}
