import Foundation
import Sluice

/// Runs the acts of the demo, one after the other.
struct Show {
    let screen: Screen
    let operations: Store
    let concourse: Store
    let gate: Store
    private let painter = BoardPainter()
    private let tally = Tally()

    init(screen: Screen, operations: Store, concourse: Store, gate: Store) {
        self.screen = screen
        self.operations = operations
        self.concourse = concourse
        self.gate = gate
    }

    mutating func run(_ timetable: Timetable) async throws {
        let board = Self.board(in: concourse)
        let painter = painter
        let screen = screen
        let tally = tally
        let token = try board.observe { change in
            tally.note(change)
            let summary = Self.summary(change, painter: painter)
            let title =
                "EWR DEPARTURES: the next 20, without planes   [\(change.state)]   ◆ from the server  ● made here"
            screen.paint(painter.lines(change, title: title), summary: summary)
        }
        let gateToken = try Self.board(in: gate).observe { tally.noteAtGate($0) }
        let first = try await board.synced(timeout: .seconds(30))
        screen.say(
            "The concourse's store holds \(try Self.objectCount(in: concourse)) objects: 20 flights and what they link to."
        )
        screen.say(
            "The gate is another client, with a store and a connection of its own, that observes the same query: \(try await Self.board(in: gate).synced(timeout: .seconds(30)).count) flights."
        )

        let details = [DetailWatch(at: "concourse", screen: screen), DetailWatch(at: "gate", screen: screen)]
        let detailTokens = try zip([concourse, gate], details).map { store, detail in
            try store.results(of: first[0]).observe { detail.note($0) }
        }
        try await replay(timetable, departures: 40)
        for detail in details { try await detail.untilDeparture(timeout: .seconds(10)) }
        for token in detailTokens { token.stop() }
        screen.say(
            "Both let go of the detail of \(first[0].airlineCode) \(first[0].number), which had news \(details[0].count) times at the concourse and \(details[1].count) times at the gate."
        )
        try await agentAtTheGate()

        gateToken.stop()
        token.stop(stopSyncing: true, purgeLocal: true)
        screen.say(
            "The concourse lets go of its board, and what it held leaves its store: \(try concourse.objects(Flight.self).count()) flights are left there."
        )
        screen.say(
            "The server still has all \(try await Self.flightsOnServer(operations)) flights: a purge deletes nothing there."
        )
        screen.say(tally.summary)
    }

    private static func board(in store: Store) -> Results<Flight> {
        store.objects(Flight.self)
            .where { $0.origin.faa == "EWR" && $0.hasDeparted == false }
            .sorted(by: \.scheduled)
            .limit(20)
            .excluding(\.plane)
    }

    private static func objectCount(in store: Store) throws -> Int {
        try store.objects(Flight.self).count() + store.objects(Airline.self).count()
            + store.objects(Airport.self).count()
            + store.objects(Plane.self).count()
    }

    private static func flightsOnServer(_ store: Store) async throws -> Int {
        try await store.objects(Flight.self).excluding("airline").excluding("plane").excluding("origin")
            .excluding("destination").synced(timeout: .seconds(60)).count
    }

    private static func summary(_ change: Change<Flight>, painter: BoardPainter) -> String {
        let origin = change.isInitial ? "first" : change.remote == nil ? "local ●" : "remote ◆"
        let next = change.results.first.map { painter.time($0.scheduled) } ?? "-"
        return "board [\(change.state)] \(origin): +\(change.insertions.count) -\(change.deletions.count) "
            + "~\(change.modifications.count), \(change.results.count) flights, next at \(next)"
    }

    /// Has the operations desk report delays and departures as they were on the real day.
    private func replay(_ timetable: Timetable, departures count: Int) async throws {
        let leaving = timetable.departures.filter { $0.flight.origin?.key == .string("EWR") }.prefix(count)
        for departure in leaving {
            try await operations.write { transaction in
                try transaction.update(departure.flight) { $0.delay = departure.delay }
            }
            try await Task.sleep(for: .milliseconds(40))
            try await operations.write { transaction in
                try transaction.update(departure.flight) { $0.hasDeparted = true }
            }
            try await Task.sleep(for: .milliseconds(40))
        }
        try await operations.uploaded(timeout: .seconds(30))
    }

    /// Writes to the concourse's own store: its board shows the change at once, as local, before any server has seen
    /// it.
    private func agentAtTheGate() async throws {
        guard let next = try Self.board(in: concourse).first() else { return }
        try await concourse.write { transaction in
            try transaction.update(next) { $0.delay = 25 }
        }
        try await concourse.uploaded(timeout: .seconds(30))
        try await tally.untilGateSaw(next.objectID, timeout: .seconds(10))
        screen.say(
            "An agent at the concourse delays \(next.airlineCode) \(next.number) by 25 minutes: ● here, ◆ at the gate.")
    }
}
