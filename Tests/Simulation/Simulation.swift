internal import FoundationEssentials
import Sluice
import SluiceModel
import SluiceQuery
package import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
internal import TestSupport

/// Runs several clients and one server on one thread, over a simulated network and clock, and checks them after every
/// step.
///
/// The plan alone determines a run. ``SimulationPlan`` describes what happens, and `Simulation+Checks` what must hold.
package final class Simulation {
    package let plan: SimulationPlan
    var network = SimulatedNetwork()
    var server: SimulatedServer
    var clients: [SimulatedClient] = []
    let queryTexts: [String]
    /// What each client may read, by client.
    private let conditions: [[String]]
    private let clock: SimulatedClock
    let problems = ProblemLog()
    private let folder: String?
    private var timers: [(at: Int64, client: Int, life: Int, event: ClientEvent)] = []
    /// What happened, as lines that are made when somebody reads them.
    private var trace: [() -> String] = []
    /// Makes the users' tokens, where there are rules.
    let issuer = SimulatedIssuer()
    /// How many times clients were checked.
    var checkCount = 0
    let jobs: SimulatedJobs
    /// The version of the server of which jobs were told last.
    var rungVersion: UInt64 = 0

    /// The time from which all clocks of the simulation derive.
    private final class SimulatedClock {
        /// Microseconds since 1970.
        var now = SimulationWorld.startTime.microseconds
    }

    package init(_ plan: SimulationPlan) throws {
        self.plan = plan
        let options = plan.options
        let clock = SimulatedClock()
        self.clock = clock
        var generator = SeededGenerator(seed: plan.seed ^ 0xC0FFEE)
        let texts = (0..<options.queryCount).map { _ in
            SimulationWorld.queryText(clientCount: options.clientCount, readsTime: options.readsTime, &generator)
        }
        queryTexts = texts + texts.compactMap(SimulationWorld.grown)
        var rules = SeededGenerator(seed: plan.seed ^ 0x5EC5E7)
        issuer.lifetime = options.tokenLifetime
        conditions = (0..<options.clientCount).map { index in
            index < options.clientCount - options.limitedClientCount ? [] : SimulationWorld.conditions(&rules)
        }
        jobs = SimulatedJobs(try Self.specs(plan, queries: queryTexts), plan)
        if options.usesFiles {
            let folder = "/dev/shm/sluice-simulation-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            self.folder = folder
        } else {
            folder = nil
        }
        func random() -> () -> UInt64 {
            var source = SeededGenerator(seed: generator.next())
            return { source.next() }
        }
        server = try SimulatedServer(
            options, path: folder.map { "\($0)/server.sluicedb" }, conditions: conditions, problems: problems,
            issuer: issuer, random: random())
        for index in 0..<options.clientCount {
            let skew =
                options.clockSkewMax == 0
                ? 0 : Int64.random(in: -options.clockSkewMax...options.clockSkewMax, using: &generator)
            // Some share a user, and some have none.
            let user = !options.isRuled || index % 5 == 4 ? nil : Int64(index / 2 + index % 2 * 2)
            clients.append(
                try SimulatedClient(
                    index, user: user, options: options, path: folder.map { "\($0)/client\(index).sluice" },
                    problems: problems,
                    clock: { Timestamp(microseconds: clock.now + skew) }, random: random()))
        }
    }

    /// Lets time pass.
    func pass(microseconds: Int64) { clock.now += microseconds }

    deinit {
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// How the server has started subscriptions so far.
    package var starts: StartCounts { server.starts }

    /// The server's work for pages that clients share.
    package var sharedPages: SharedPageCounts { server.sharedPages }

    /// What the engine that follows the server's journal has met.
    package var follower: FollowerCounts { server.follower.counts }

    /// How many times a backup of the server was put back.
    package var putBackCount: Int { server.putBackCount }

    /// What has happened to the journal that nodes share.
    package var journal: JournalCounts {
        var counts = server.journalCounts
        (counts.lateGroups, counts.refusedLateGroups) = server.journal?.lateCounts ?? (0, 0)
        return counts
    }

    /// How many times clients began anew, since the server had another history.
    package var resetCount: Int { clients.reduce(0) { $0 + $1.resetCount } }

    /// What observers and writers in the server's processes have met.
    package var backendCounts: BackendCounts { server.backendCounts }

    /// What jobs have met.
    package var jobCounts: JobCounts { jobs.counts }

    /// What the simulation met that concerns permissions.
    package var access: AccessCounts { server.watch.counts }

    /// The engines, views and stores of the product that take part, to see whether any outlives the simulation.
    package var parts: [AnyObject] { server.parts + clients.flatMap { [$0.engine, $0.storage as AnyObject] } }

    /// What a client may read.
    func conditions(on client: SimulatedClient) -> [String] { conditions[client.index] }

    var now: Timestamp { Timestamp(microseconds: clock.now) }

    func note(_ line: String) { trace.append { line } }

    /// Notes messages, whose text takes longer to make than the messages take to handle.
    func noteMessages(_ line: @escaping () -> String) { trace.append(line) }

    /// How many lines of what happened a failure has: `SLUICE_TRACE`, and 120 if the environment does not say.
    private static let traceLengthMax =
        ProcessInfo.processInfo.environment["SLUICE_TRACE"].flatMap { Int($0) } ?? 120

    /// Runs the plan, then repairs all connections and continues until nothing is left to do.
    ///
    /// - Throws: ``SimulationFailure`` when an invariant does not hold.
    package func run() throws(SimulationFailure) {
        defer { jobs.kill { _ in true } }
        do {
            try setRules()
            for client in clients { try handle(.start, of: client) }
            for (number, action) in plan.actions.enumerated() {
                note("\(number): \(action)")
                clock.now += 1_000
                try perform(action)
                try throwProblems()
            }
            try comeToRest()
            try throwProblems()
        } catch {
            var failure = error as? SimulationFailure ?? SimulationFailure("an error: \(error)")
            failure.seed = plan.seed
            failure.actionCount = plan.actions.count
            failure.trace = trace.suffix(Self.traceLengthMax).map { $0() }
            throw failure
        }
    }

    func throwProblems() throws {
        if let problem = problems.first { throw SimulationFailure(problem) }
    }

    // MARK: Clients

    func handle(_ event: ClientEvent, of client: SimulatedClient, crashing: Bool = false) throws {
        passTime(of: client)
        client.step = Self.step(of: event)
        client.engine.handle(event)
        if crashing { return try crash(client) }
        try carryOutActions(of: client)
    }

    /// Lets a client's timer fire that is due, before something else happens.
    private func passTime(of client: SimulatedClient) {
        client.step = .other
        client.engine.passTime()
    }

    private static func step(of event: ClientEvent) -> ObservationMirror.Step {
        // Whatever a frame changes here, the server has caused.
        if case .received = event { .content } else { .other }
    }

    /// Carries out the actions that a client wants, and checks the client.
    func carryOutActions(of client: SimulatedClient) throws {
        client.engine.passTime()
        client.readyObservers()
        for action in client.engine.takeActions() { carryOut(action, of: client) }
        client.step = .other
        try client.rebindQueries()
        try client.noteIdentity(server.history)
        try check(client)
    }

    private func carryOut(_ action: ClientAction, of client: SimulatedClient) {
        switch action {
        case .connect:
            if client.isRenewable { client.engine.handle(.credentials(credentials(of: client))) }
            client.connection = network.connect(client.index, isReachable: client.isReachable)
        case .disconnect:
            hangUp(client)
        case .send(let frame):
            if let connection = client.connection { network.post(.frame(frame), to: .toServer, of: connection) }
        case .reconnect(let delay):
            hangUp(client)
            set(.reconnect, after: delay, for: client)
        case .probe: break
        case .renew(let delay): if client.isRenewable { set(.renew([]), after: delay, for: client) }
        case .storePostponed(let delay):
            set(.storePostponed, after: delay, for: client)
        }
    }

    private func set(_ event: ClientEvent, after delay: Duration, for client: SimulatedClient) {
        timers.append((clock.now + Int64(delay / .microseconds(1)), client.index, client.life, event))
    }

    private func hangUp(_ client: SimulatedClient) {
        guard let connection = client.connection else { return }
        client.connection = nil
        network.post(.closed, to: .toServer, of: connection)
    }

    func crash(_ client: SimulatedClient) throws {
        note("  client \(client.index) crashes")
        if let connection = client.connection {
            var generator = SeededGenerator(seed: UInt64(client.life))
            network.lose(.toClient, of: connection, &generator)
        }
        jobs.kill { $0.place == .client(client.index) }
        try client.crash()
        try check(client)
        if client.wantsSync { try handle(.start, of: client) }
    }

    // MARK: Delivery

    /// Delivers one item, or lets the server do one step of its own work.
    ///
    /// - Returns: false when there is nothing to do.
    func deliver(
        _ generator: inout SeededGenerator, crashingServer: Bool = false, crashingClient: Bool = false
    ) throws -> Bool {
        let deliveries = network.deliveries.filter { connection, direction in
            guard direction == .toClient, let index = network.connections[connection]?.client else { return true }
            return !clients[index].isPaused
        }
        let workCount = server.hasWork ? 1 : 0
        guard deliveries.count + workCount > 0 else { return false }
        clock.now += Int64(1 + generator.below(5_000))
        let choice = generator.below(deliveries.count + workCount)
        guard choice < deliveries.count else {
            note("  server sends pages")
            carryOut(try server.step(now: now))
            return true
        }
        let (connection, direction) = deliveries[choice]
        switch direction {
        case .toClient:
            try deliverToClient(connection, crashing: crashingClient)
        case .toServer:
            var batch: [(connection: UInt64, item: SimulatedNetwork.Item)] = []
            for (other, direction) in deliveries where direction == .toServer {
                guard other == connection || generator.chance(40) else { continue }
                if let item = network.takeFirst(.toServer, of: other) { batch.append((other, item)) }
            }
            try deliverToServer(batch, crashing: crashingServer)
        }
        network.sweep { id in server.isConnected(id) || clients.contains { $0.connection == id } }
        return true
    }

    private func deliverToServer(
        _ batch: [(connection: UInt64, item: SimulatedNetwork.Item)], crashing: Bool
    ) throws {
        noteMessages {
            "  server takes \(batch.map { "\($0.connection): \(Self.describe($0.item, as: ClientMessage.self))" })"
        }
        for case (let connection, .request) in batch { network.post(.opened, to: .toClient, of: connection) }
        let outputs = try server.handle(batch, from: { network.connections[$0]?.client }, now: now)
        if crashing {
            // What the nodes have made of it is lost.
            let nodes = server.nodes.filter { node in batch.contains { server.node(of: $0.connection) === node } }
            for node in nodes { try crash(node, SeededGenerator(seed: 0)) }
            return
        }
        carryOut(outputs)
    }

    func carryOut(_ outputs: [SimulatedServer.Output]) {
        for output in outputs {
            switch output {
            case .send(let frame, let connection): network.post(.frame(frame), to: .toClient, of: connection)
            case .expel(let frame, let connection):
                var generator = SeededGenerator(seed: UInt64(clock.now))
                network.expel(connection, frame, &generator)
            }
        }
    }

    private func deliverToClient(_ connection: UInt64, crashing: Bool) throws {
        guard let index = network.connections[connection]?.client,
            let item = network.takeFirst(.toClient, of: connection)
        else { return }
        let client = clients[index]
        guard client.connection == connection else { return }
        noteMessages { "  client \(index) takes \(Self.describe(item, as: ServerMessage.self))" }
        switch item {
        case .request: break
        case .opened: try handle(.opened(), of: client)
        case .closed:
            client.connection = nil
            network.post(.closed, to: .toServer, of: connection)
            try handle(.closed(reason: "cut"), of: client)
        case .frame(let frame):
            if plan.options.losesHistory { try client.noteAcknowledgements(in: frame) }
            try handle(.received(frame), of: client, crashing: crashing)
        }
    }

    /// Has a client read everything at once that waits for it.
    func deliverTogether(to client: SimulatedClient) throws {
        guard let connection = client.connection else { return }
        var frames: [[UInt8]] = []
        while case .frame(let frame)? = network.connections[connection]?.toClient.first {
            _ = network.takeFirst(.toClient, of: connection)
            if plan.options.losesHistory { try client.noteAcknowledgements(in: frame) }
            frames.append(frame)
        }
        guard !frames.isEmpty else { return }
        noteMessages { [frames] in
            let messages = frames.map { Self.describe(.frame($0), as: ServerMessage.self) }
            return "  client \(client.index) takes together \(messages.joined(separator: " | "))"
        }
        passTime(of: client)
        client.step = .content
        client.engine.receive(frames)
        try carryOutActions(of: client)
    }

    /// Lets the next timer fire.
    ///
    /// - Returns: false when no timer is waiting.
    func advance() throws -> Bool {
        timers.removeAll { clients[$0.client].life != $0.life }
        guard let next = timers.indices.min(by: { timers[$0].at < timers[$1].at }) else { return false }
        let timer = timers.remove(at: next)
        clock.now = max(clock.now, timer.at)
        note("  client \(timer.client): \(timer.event)")
        let client = clients[timer.client]
        if case .renew = timer.event {
            try handle(.renew(credentials(of: client)), of: client)
        } else {
            try handle(timer.event, of: client)
        }
        return true
    }

    /// Lets the next date pass for a query with `$now`.
    ///
    /// - Returns: false when none will.
    func passTime() throws -> Bool {
        let ticks = server.nodes.compactMap(\.engine.nextTick) + clients.compactMap { $0.nextTick(at: clock.now) }
        guard let next = ticks.min() else { return false }
        clock.now = max(clock.now, next.microseconds)
        note("  time passes to \(now)")
        carryOut(try server.passTime(now: now))
        for client in clients {
            client.step = .other
            try carryOutActions(of: client)
        }
        return true
    }
}
