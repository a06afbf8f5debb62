import SluiceJSON
import SluiceModel
import SluiceStorage
import SluiceWire

/// What the users of a ``RuledWorld`` may read, by a naive reading of its rules.
extension RuledWorld {
    func judge(_ message: ServerMessage, to client: Client) throws {
        if skipsOracle { return }
        let blocks: [ViewBlock] =
            switch message {
            case .page(let page): [page.content]
            case .commit(let commit): commit.blocks.map(\.content)
            default: []
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
        if object.classIndex == ClassIndex.user {
            return try !veiled.contains(ClassIndex.user) || object.key == .string(client.user)
                || isFellow(client, object.key)
        }
        if object.classIndex == ClassIndex.team { return try isMember(client, of: object.key) }
        if row.values[Field.isPublic] == .bool(true) { return true }
        if row.values[Field.owner] == .link(.string(client.user)),
            try server.row(ObjectRef(ClassIndex.user, .string(client.user))) != nil
        {
            return true
        }
        if case .link(let team) = row.values[Field.team] { return try isMember(client, of: team) }
        return false
    }

    func isMember(_ client: Client, of key: ObjectKey) throws -> Bool {
        guard let team = try server.row(ObjectRef(ClassIndex.team, key)), case .list(let members) = team.values[1]
        else { return false }
        return try members.contains(.link(.string(client.user)))
            && server.row(ObjectRef(ClassIndex.user, .string(client.user))) != nil
    }

    /// Whether a user is in a team with another.
    private func isFellow(_ client: Client, _ key: ObjectKey) throws -> Bool {
        var isFound = false
        try server.forEachRow(ofClass: ClassIndex.team) { row in
            guard case .list(let members) = row.values[1], members.contains(.link(key)) else { return true }
            isFound = try isMember(client, of: row.key)
            return !isFound
        }
        return isFound
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
