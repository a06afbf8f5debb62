import Sluice
import SluiceModel
internal import TestSupport

/// Ends of the server's processes, and the end of a simulation.
extension Simulation {
    func crashServer(_ generator: SeededGenerator) throws {
        var generator = generator
        let node = server.nodes.count > 1 ? generator.pick(server.nodes) : server.nodes[0]
        try crash(node, generator)
    }

    func crash(_ node: SimulatedNode, _ generator: SeededGenerator) throws {
        note("  server crashes")
        var generator = generator
        for connection in server.connections where server.node(of: connection) === node {
            network.lose(.toServer, of: connection, &generator)
        }
        for (connection, direction) in network.deliveries
        where direction == .toServer && server.node(of: connection) === node {
            network.lose(.toServer, of: connection, &generator)
        }
        jobs.kill { $0.place == server.nodes.firstIndex { $0 === node }.map { .node($0) } }
        try server.crash(node)
    }

    /// Repairs all connections, and continues until nothing is left to do.
    func comeToRest() throws {
        note("coming to rest")
        issuer.lifetime = nil
        server.catchUp()
        for client in clients {
            client.impersonated = nil
            client.engine.handle(.credentials(credentials(of: client)))
            client.isReachable = true
            client.isPaused = false
            client.wantsSync = true
            for mirror in client.observations { mirror.isLagging = false }
            try handle(.start, of: client)
        }
        var generator = SeededGenerator(seed: plan.seed &+ 1)
        try comeToStandstill(&generator)
        try bringJobsToRest()
        for client in clients { try checkAtRest(client) }
        try server.follower.catchUp(now: now)
    }

    /// Continues until nothing is left to do, but for jobs.
    func comeToStandstill(_ generator: inout SeededGenerator) throws {
        var count = 0
        while true {
            if try !deliver(&generator), try !advance(), try !passTime(), try !logInAgain() { break }
            count += 1
            if count > 20_000 { throw SimulationFailure("the world does not come to rest") }
            try throwProblems()
        }
    }
}
