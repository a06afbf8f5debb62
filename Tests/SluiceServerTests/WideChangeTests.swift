import Foundation
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// One small write that moves very many results: it keeps nobody else waiting, whatever leads to what it changes.
@Suite(.ownThread) struct WideChangeTests {
    static let queries = [
        "Spoke WHERE hub.n == 7", "Spoke WHERE hub.n == 7 LIMIT(5)", "Spoke WHERE hub.n == 7 SORT(id ASC) LIMIT(5)",
        "Spoke WHERE hub.n == 7 SORT(id DESC) LIMIT(5)", "Spoke WHERE hub.n == 7 SORT(x ASC) LIMIT(5)",
        "Spoke WHERE hub.n == 7 AND id < 0", "Spoke WHERE hub.n == 7 SORT(x ASC) DISTINCT(y)",
        "Spoke WHERE hub.n == 7 SORT(x ASC) LIMIT(9) SORT(id DESC)", "Spoke SORT(hub.n DESC, x ASC) LIMIT(5)",
        "Hub WHERE @links.Spoke.hub.@count > 2 OR n == 7",
    ]

    /// An engine over a file in which very many objects link to a hub, with three sessions: a writer's, a reader's and
    /// another's.
    private final class Bench {
        let engine: DatabaseEngine
        let storage: SQLiteServerStorage
        let limits: DatabaseLimits
        private let folder: URL
        private var sequence: UInt64 = 0
        private var now: Int64 = 0
        /// The results of the reader's subscriptions, and how often each was interrupted and complete.
        private(set) var results: [UInt64: Set<ObjectKey>] = [:]
        private(set) var interruptionCount = 0
        private(set) var completeCount: [UInt64: Int] = [:]
        private(set) var acknowledged: UInt64 = 0
        private(set) var kinds: Set<ServerMessage.Complete.Kind> = []
        /// The subscriptions whose members the server has asked for.
        private var asked: [(session: UInt64, subscription: UInt64)] = []

        static let (hub, spoke) = (0, 1)

        init(
            spokeCount: Int64, _ configure: (inout DatabaseLimits) -> Void = { _ in }
        ) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            storage = try SQLiteServerStorage.open(.file(folder.path + "/hubs"), databaseID: ObjectID(high: 7, low: 7))
            var limits = DatabaseLimits()
            limits.followStepCountMax = 20_000
            limits.pageRowCount = 500
            limits.server.pageCreditMax = 1_000
            configure(&limits)
            self.limits = limits
            var state: UInt64 = 0
            engine = DatabaseEngine(name: "hubs", storage: storage, limits: limits) {
                state += 1
                return state
            }
            let schema = try Schema([
                ClassSchema(
                    "Hub", primaryKey: "id",
                    properties: [Property("id", .scalar(.string)), Property("n", .scalar(.int))]),
                ClassSchema(
                    "Spoke", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("hub", .link("Hub")), Property("x", .scalar(.int)),
                        Property("y", .scalar(.int)),
                    ]),
            ])
            for connection in 1...3 as ClosedRange<UInt64> {
                let open = ClientMessage.Open(session: 1, path: "hubs", schema: schema)
                try handle(.open(session(connection), open, User(id: nil, mayExtendSchema: true)))
            }
            try write(
                ["h", "g"].map { ObjectOperation(hub($0), .create([FieldOperation(1, .set(.int(1)))])) })
            try write((0..<spokeCount).map { spoke($0, of: "h", in: spokeCount) })
        }

        deinit {
            engine.close()
            try? FileManager.default.removeItem(at: folder)
        }

        private func session(_ connection: UInt64) -> SessionID { SessionID(connection: connection, session: 1) }

        private func hub(_ name: String) -> ObjectRef { ObjectRef(Self.hub, .string(name)) }

        func spoke(_ key: Int64, of hub: String, in count: Int64) -> ObjectOperation {
            ObjectOperation(
                ObjectRef(Self.spoke, .int(key)),
                .create([
                    FieldOperation(1, .set(.link(.string(hub)))), FieldOperation(2, .set(.int(key * 7_919 % count))),
                    FieldOperation(3, .set(.int(key % 3))),
                ]))
        }

        func write(_ operations: [ObjectOperation]) throws {
            sequence += 1
            let changeset = Changeset(
                sequence: sequence, baseVersion: storage.version,
                timestamp: HybridTimestamp(microseconds: Int64(sequence)), operations: operations)
            try handle(.messages(session(1), [.upload(session: 1, changesets: [changeset])]))
            #expect(acknowledged == sequence, "a write waits")
        }

        func set(_ name: String, to n: Int64) throws {
            try write([ObjectOperation(hub(name), .update([FieldOperation(1, .set(.int(n)))]))])
        }

        func delete(_ object: ObjectRef) throws { try write([ObjectOperation(object, .delete)]) }

        func subscribe(_ number: UInt64, _ query: String) throws {
            let request = ClientMessage.Subscribe(session: 1, subscription: number, query: query)
            try handle(.messages(session(2), [.subscribe(request)]))
        }

        func unsubscribe(_ number: UInt64) throws {
            try handle(.messages(session(2), [.unsubscribe(session: 1, subscription: number)]))
        }

        private func handle(_ event: DatabaseEvent) throws {
            now += 1
            try take(engine.handle([event], now: Timestamp(microseconds: now)))
        }

        /// Does one turn of the engine's work.
        private func step() throws { try take(engine.step(now: Timestamp(microseconds: now))) }

        /// Makes the engine do everything; `meanwhile` is called after each piece of work beside the writer, before its
        /// end is known.
        func work(meanwhile: (Int) throws -> Void = { _ in }) throws {
            var count = 0
            while true {
                if let work = engine.takePreparation() ?? engine.takeReading() {
                    work.run()
                    try meanwhile(count)
                    count += 1
                    try handle(.prepared(work))
                } else if engine.hasWork {
                    try step()
                } else if let (number, id) = asked.popLast() {
                    try handle(.messages(session(2), [.members(members(of: id, in: number))]))
                } else {
                    return
                }
                try #require(count < 2_000, "the engine comes to no end")
            }
        }

        /// What the reader has of a subscription, at a version that nothing of it is older than.
        private func members(of id: UInt64, in number: UInt64) -> ClientMessage.Members {
            var content = ObjectBlock()
            for key in results[id] ?? [] {
                let classIndex = if case .string = key { Self.hub } else { Self.spoke }
                content.append(ObjectRef(classIndex, key), version: 1, role: .root)
            }
            return .init(session: number, subscription: id, isContinued: false, content: content)
        }

        private func take(_ actions: [DatabaseAction]) throws {
            for action in actions {
                switch action {
                case .send(let frame, let connection):
                    try take(Frame.decode(frame, as: ServerMessage.self), of: connection)
                case .broadcast(let frame, let connections), .offer(let frame, let connections):
                    for connection in connections {
                        try take(Frame.decode(frame, as: ServerMessage.self), of: connection)
                    }
                case .consult: break
                case .end(let id, let reason): Issue.record("\(id) has ended: \(reason)")
                }
            }
        }

        private func take(_ messages: [ServerMessage], of connection: UInt64) throws {
            for message in messages {
                switch message {
                case .commit(let commit):
                    if connection == 1 { acknowledged = max(acknowledged, commit.header.acknowledged ?? 0) }
                    for block in commit.blocks { for id in block.subscriptions { take(block.content, of: id) } }
                case .page(let page):
                    for id in page.subscriptions {
                        if page.progress == 0, page.content.isEmpty, completeCount[id] != nil {
                            interruptionCount += 1
                            if page.kind == .bootstrap { results[id] = [] }
                        }
                        take(page.content, of: id)
                    }
                case .listMembers(let number, let id):
                    asked.append((number, id))
                case .complete(let complete):
                    completeCount[complete.subscription, default: 0] += 1
                    kinds.insert(complete.kind)
                case .error, .subscriptionError: Issue.record("\(message)")
                default: break
                }
            }
        }

        private func take(_ block: ViewBlock, of subscription: UInt64) {
            for departure in block.departures { results[subscription]?.remove(departure.object.key) }
            for group in block.objects.groups where group.role == .root {
                results[subscription, default: []].formUnion(group.keys)
            }
        }

        /// What a query finds now.
        func found(_ text: String) throws -> Set<ObjectKey> {
            Set(try storage.refs(matching: Query.parse(text, schema: storage.schema)).map(\.key))
        }

        func check(_ queries: [(number: UInt64, text: String)], sourceLocation: SourceLocation = #_sourceLocation)
            throws
        {
            for (number, text) in queries {
                #expect(try results[number] ?? [] == found(text), "\(text)", sourceLocation: sourceLocation)
            }
        }
    }

    /// The query without linked objects, where it can be asked so.
    private static func plain(_ query: String) -> String {
        query.hasPrefix("Hub") || query.contains("SORT(hub") ? query : query + " EXCLUDE(hub)"
    }

    /// With four times as many objects a commit does no more in the database's turn: others' writes go on at once, and the
    /// reader ends with what the query finds.
    @Test(arguments: queries) func aWriteThatMovesVeryManyKeepsNobodyWaiting(query: String) throws {
        let query = Self.plain(query)
        for count in [1_500, 6_000] as [Int64] {
            let bench = try Bench(spokeCount: count)
            try bench.subscribe(1, query)
            try bench.work()
            for n in [7, 8, 7] as [Int64] {
                let before = bench.engine.hub.followedStepCount
                try bench.set("h", to: n)
                let stepCount = bench.engine.hub.followedStepCount - before
                // The limit, and one look of the progress handler.
                #expect(stepCount <= bench.limits.followStepCountMax * 9 / 8, "\(count): \(stepCount)")
                try bench.set("g", to: n + 100)
                try bench.work()
                try bench.check([(1, query)])
            }
            #expect(bench.completeCount[1] == bench.interruptionCount + 1)
        }
    }

    /// A window in an order that an index has costs what it shows, and is never set aside.
    @Test func aWindowInAnIndexedOrderIsReadWithTheCommit() throws {
        let query = Self.plain("Spoke WHERE hub.n == 7 SORT(id ASC) LIMIT(5)")
        let bench = try Bench(spokeCount: 6_000) { $0.followStepCountMax = DatabaseLimits().followStepCountMax }
        try bench.subscribe(1, query)
        try bench.work()
        try bench.set("h", to: 7)
        #expect(bench.interruptionCount == 0)
        try bench.check([(1, query)])
        #expect(bench.results[1]?.count == 5)
    }

    /// What is written while a view is brought up to date, other wide changes included, is in what its subscribers have in
    /// the end; subscriptions that come and go meanwhile have theirs.
    @Test(arguments: queries) func whatIsWrittenMeanwhileIsNotLost(query: String) throws {
        let query = Self.plain(query)
        let bench = try Bench(spokeCount: 1_500) { $0.pageRowCount = 100 }
        let narrow = "Hub WHERE id == 'g'"
        try bench.subscribe(1, query)
        try bench.subscribe(2, query)
        try bench.subscribe(3, narrow)
        try bench.work()
        try bench.set("h", to: 7)
        try bench.set("g", to: 7)
        let writes: [() throws -> Void] = [
            { try bench.delete(ObjectRef(Bench.spoke, .int(1))) },
            { try bench.set("h", to: 9) },
            { try bench.subscribe(4, query) },
            { try bench.set("h", to: 7) },
            { try bench.write([bench.spoke(2_000, of: "g", in: 1_500), bench.spoke(2_001, of: "h", in: 1_500)]) },
            { try bench.unsubscribe(2) },
            { try bench.set("h", to: 10) },
            { try bench.set("h", to: 7) },
        ]
        var next = 0
        while next < writes.count {
            // Where little is done beside the writer, the rest is written once that has ended.
            try writes[next]()
            next += 1
            try bench.work { _ in
                guard next < writes.count else { return }
                try writes[next]()
                next += 1
            }
        }
        try bench.check([(1, query), (3, narrow), (4, query)])
        #expect(bench.completeCount[3] == 1, "a subscription that the change does not concern was interrupted")
    }

    /// Many views share the steps of a commit. Those for which none are left are brought up to date beside the writer.
    @Test func manyViewsShareTheStepsOfACommit() throws {
        let count = 60
        let bench = try Bench(spokeCount: 1_500)
        let queries = (0..<count).map { Self.plain("Spoke WHERE hub.n == 7 AND x >= \($0) SORT(x ASC) LIMIT(3)") }
        for (number, query) in queries.enumerated() { try bench.subscribe(UInt64(number + 1), query) }
        try bench.work()
        let before = bench.engine.hub.followedStepCount
        try bench.set("h", to: 7)
        let stepCount = bench.engine.hub.followedStepCount - before
        let limits = bench.limits
        #expect(stepCount <= (limits.followStepCountMax + count * limits.followStepCountMin) * 9 / 8)
        #expect(bench.interruptionCount > count / 2)
        try bench.work()
        try bench.check(queries.enumerated().map { (UInt64($0.offset + 1), $0.element) })
    }
}
