import CAllocationCounter
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire

/// R12: the memory that a server needs for many different subscriptions that follow no links and have no limit, and how
/// long it takes to start one.
struct SubscriptionsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private struct Run {
        let byteCount: Double
        let microseconds: Double
    }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(100_000, quick: 200)
        let (few, many) = (try run(count / 4), try run(count))
        let title = "\(Double(count).shown) subscriptions of a session by equality"
        return [
            Measurement(
                .subscriptions, "\(title): memory of one", ours: many.byteCount, unit: "bytes", goal: .atMost(300)),
            Measurement(
                .subscriptions, "\(title): to start one, beside a quarter as many", ours: many.microseconds,
                floor: few.microseconds, unit: "µs", goal: .ratioAtMost(1.5)),
        ]
    }

    private func run(_ count: Int) throws -> Run {
        var limits = DatabaseLimits()
        limits.server.subscriptionCountMax = UInt64(count)
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        let engine = DatabaseEngine(name: "flights", storage: storage, limits: limits) { 1 }
        let schema = try Schema([
            ClassSchema(
                "Flight", primaryKey: "number",
                properties: [Property("number", .scalar(.int)), Property("carrier", .scalar(.string))])
        ])
        let now = Timestamp(microseconds: 1)
        let session = SessionID(connection: 1, session: 1)
        let open = ClientMessage.Open(session: 1, path: "flights", schema: schema)
        _ = engine.handle([.open(session, open, User(id: nil, mayExtendSchema: true))], now: now)
        let before = held_byte_count()
        let start = ContinuousClock.now
        for number in 1...UInt64(count) {
            let request = ClientMessage.Subscribe(
                session: 1, subscription: number, query: "Flight WHERE carrier == 'c\(number)'")
            _ = engine.handle([.messages(session, [.subscribe(request), .credit(session: 1, pages: 1)])], now: now)
            while engine.hasWork { _ = engine.step(now: now) }
        }
        let time = ContinuousClock.now - start
        try check(engine.liveViewCount, is: count, "the views")
        return Run(
            byteCount: Double(held_byte_count() - before) / Double(count),
            microseconds: time / .microseconds(1) / Double(count))
    }
}
