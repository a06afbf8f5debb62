import Sluice
import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What users, their programs and the server's operator do in a ``RuledWorld``.
extension RuledWorld {
    func connect(_ user: String) {
        self[user].isReachable = true
        self[user].engine.handle(.start)
        self[user].engine.handle(.reconnect)
        settle()
    }

    func disconnect(_ user: String) {
        self[user].isReachable = false
        lose(self[user])
    }

    func lose(_ client: Client) {
        let sessions = client.connection?.sessions.keys.sorted() ?? []
        client.connection = nil
        for session in sessions {
            deliver(engine.handle([.closed(SessionID(connection: client.number, session: session))], now: now))
        }
        client.engine.handle(.closed(reason: "lost"))
    }

    /// Kills the server, which comes back with what it has stored. Clients come again.
    func crashServer() throws {
        let connected = clients.values.filter { $0.connection != nil }.map(\.user).sorted()
        for client in clients.values { client.connection = nil }
        engine = try makeServer()
        for user in connected {
            self[user].engine.handle(.closed(reason: "lost"))
            connect(user)
        }
    }

    /// Kills a user's program, which comes back with what it has stored, without observing anything, and away.
    func crash(_ user: String) throws {
        disconnect(user)
        self[user].results = [:]
        self[user].ready = []
        self[user].observations = [:]
        self[user].engine = try makeEngine(self[user].storage)
        self[user].engine.onRejection = { [unowned client = self[user]] in client.rejections.append($0) }
    }

    /// Has the server send a digest that is due.
    func checkSessions() {
        deliver(engine.checkSessions(now: now))
        settle()
    }

    /// Has the server send the digests that are due.
    func sendDigests() {
        for _ in 0..<50 {
            time += 120_000_000
            deliver(engine.checkSessions(now: now))
        }
        settle()
    }

    func write(_ user: String, _ body: (LocalWriter) throws -> Void) throws {
        try self[user].engine.write(body)
        settle()
    }

    func observe(_ user: String, _ text: String) throws {
        let client = self[user]
        let query = try Query.parse(text, schema: client.engine.schema)
        let observation = Observation()
        observation.id = try client.engine.observe(query) { [unowned client] event in
            for (object, deletion) in zip(event.removed, event.change.deletions) {
                client.removals[object.key] = deletion.reason
            }
            client.results[text] = event.list.visible.map(\.object)
            client.errors[text] = event.status.error?.code
            client.ready.append(observation)
        }
        client.observations[text] = observation
        settle()
    }

    /// The session that a user's client has open.
    func session(of user: String) -> SessionID? {
        self[user].connection?.sessions.keys.first.map { SessionID(connection: self[user].number, session: $0) }
    }

    /// Stops observing a query, whose objects stay.
    func stop(_ user: String, _ text: String) throws {
        let observation = try #require(self[user].observations[text])
        self[user].observations[text] = nil
        self[user].ready.removeAll { $0 === observation }
        try self[user].engine.endObservation(observation.id, keeping: false, purging: false)
        settle()
    }

    /// Changes how clients work that are made from now on.
    func configure(_ body: (inout ClientOptions) -> Void) { body(&options) }

    /// Kills a user's program, which comes back and connects.
    func restart(_ user: String) throws {
        try crash(user)
        connect(user)
    }

    /// Chooses other values of `$client`.
    func choose(_ user: String, _ variables: ValueMap) {
        self[user].engine.setVariables(variables)
        settle()
    }

    /// Proves other claims of a user in the session that is open.
    func renew(_ user: String, claims: JSONValue) {
        let client = self[user]
        client.claims = claims
        for session in client.connection?.sessions.keys.sorted() ?? [] {
            let id = SessionID(connection: client.number, session: session)
            deliver(engine.handle([.renewed(id, identity(client))], now: now))
        }
        settle()
    }

    func identity(_ client: Client) -> User {
        User(
            LoginIdentity(userID: client.user, method: .custom, claims: client.claims), mayExtendSchema: false)
    }

    /// Sends a message that the client's engine would not send.
    func inject(_ message: ClientMessage, from session: SessionID) { inject([message], from: session) }

    /// Handles several messages in one turn.
    func inject(_ messages: [ClientMessage], from session: SessionID) {
        deliver(engine.handle([.messages(session, messages)], now: now))
        settle()
    }

    /// Stores rules that the oracle reads differently from now on.
    ///
    /// - Parameter page: a page of the administrator that stores them; nil has the server's operator do it.
    func deploy(_ other: RuledRegime, of rules: String, by page: JSONReader? = nil) throws {
        regime = other
        guard let page else { return deploy(try RulesFile(other.rules(of: rules))) }
        page.deploy(other.rules(of: rules))
        settle()
    }

    /// Stores other rules.
    func deploy(_ file: RulesFile) {
        do { _ = try engine.deploy(file) } catch { problems.append("\(error)") }
        deliver(engine.handle([], now: now))
        settle()
    }
}
