import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport

/// Rules that change, and users who log in, change, and are sent away.
extension Simulation {
    var isRuled: Bool { plan.options.isRuled }

    /// Gives the clients their users' tokens, and the database its first rules.
    func setRules() throws {
        guard isRuled else { return }
        var generator = SeededGenerator(seed: plan.seed ^ 0x70CE)
        for client in clients {
            issuer.set(Self.identity(of: client.user, &generator))
            client.present { [unowned self] in credentials(of: $0) }
        }
        issuer.set(SimulatedIdentity(user: clients[0].user, role: "admin"))
        // In some the rules come later.
        if generator.chance(80) { try deploy(&generator) }
    }

    func deploy(_ generator: inout SeededGenerator) throws {
        guard isRuled else { return }
        let (rules, outputs) = try server.deploy(&generator, now: now)
        carryOut(outputs)
        note("  rules \(rules.number): \(rules.text)")
    }

    /// Has a user's next token say something else. The client gets it when it renews its login; half of the time the
    /// server knows at once, as it does of its own users.
    func changeClaims(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard isRuled else { return }
        issuer.set(Self.identity(of: client.user, &generator))
        let isKnown = client.user != nil && generator.chance(50)
        note("  \(issuer.identity(of: client.user))\(isKnown ? ", which the server knows" : "")")
        if isKnown { carryOut(try server.adopt(issuer.identity(of: client.user), now: now)) }
    }

    static func identity(of user: Int64?, _ generator: inout SeededGenerator) -> SimulatedIdentity {
        SimulatedIdentity(
            user: user, role: generator.pick(["admin", "admin", "a", "b", nil]),
            level: generator.pick([3, 8, nil]))
    }

    /// Ends what a user has logged in to, and makes all tokens void that the user has.
    func revoke(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard isRuled else { return }
        note("  revokes user \(client.user.map { "\($0)" } ?? "nobody")")
        issuer.revoke(client.user)
        carryOut(try server.expel(userID: client.user.map { "\($0)" }, now: now))
    }

    /// Lets so much time pass that tokens expire.
    func expire(_ generator: inout SeededGenerator) throws {
        guard isRuled else { return }
        pass(microseconds: generator.pick([30_000_000, 120_000_000]))
        carryOut(try server.expire(now: now))
    }

    /// Gives a client credentials that hold, in the session that is open or for the next one.
    func logIn(_ client: SimulatedClient) throws {
        guard isRuled else { return }
        client.impersonated = nil
        try authenticate(client)
    }

    /// Gives a client the credentials of another user, which its store must not be synced for.
    func impersonate(_ client: SimulatedClient, _ generator: inout SeededGenerator) throws {
        guard isRuled, !client.clientIDs.isEmpty, let other = client.user.map({ ($0 + 1) % 7 }) else { return }
        client.impersonated = other
        note("  client \(client.index) pretends to be user \(other)")
        try authenticate(client)
    }

    private func authenticate(_ client: SimulatedClient) throws {
        let credentials = credentials(of: client)
        client.engine.handle(.credentials(credentials))
        if client.engine.isSessionOpen {
            try handle(.renew(credentials), of: client)
        } else if client.wantsSync {
            try handle(.start, of: client)
        }
    }

    /// What a client presents now.
    func credentials(of client: SimulatedClient) -> [WireCredentials] {
        guard isRuled else { return [] }
        let owner = server.watch.owners[client.index] ?? client.user
        return [issuer.token(of: client.impersonated ?? owner, now: now).credentials]
    }

    /// Lets the clients begin again whose logins have ended.
    ///
    /// - Returns: false if there is none.
    func logInAgain() throws -> Bool {
        guard isRuled else { return false }
        let ended = clients.filter { !$0.engine.isSessionOpen }
        for client in ended { try logIn(client) }
        return !ended.isEmpty
    }

    // MARK: What clients may have

    /// What a client may have at a state of the server, in each way in which that may be understood; empty if that is not
    /// known before the server has answered.
    func readable(
        _ state: ServerState, by client: SimulatedClient, hasHoles: Bool
    ) throws -> [ServerState] {
        guard isRuled else { return [try state.readable(by: conditions(on: client))] }
        // The server has still to say what holds in the context that it has named.
        if hasHoles { return [] }
        // Behind the two ids is what is hidden, which the rules of the simulation leave out.
        let context = try client.storage.metadata("context").map { Array($0.prefix(32)) }
        let accesses = server.watch.accesses(of: client.index, in: context)
        guard !accesses.isEmpty else {
            throw SimulationFailure("client \(client.index) has a context that the server never named")
        }
        return accesses.map { state.readable(by: $0) }
    }

    /// What a client must have when nothing is on its way.
    func readableAtRest(by client: SimulatedClient) throws -> ServerState {
        let state = server.history.latest
        guard isRuled else { return try state.readable(by: conditions(on: client)) }
        guard let access = server.watch.access(of: client.index) else {
            throw SimulationFailure("client \(client.index) has no session at rest")
        }
        return state.readable(by: access)
    }
}
