import Foundation
import Sluice
import SluiceModel
import SluiceQuery
import SluiceTesting
import Testing

enum LocalTime {
    @Model struct Reminder: Equatable {
        @PrimaryKey var id: String
        var at: Date?
        var isDone = false
    }
}

/// `$now` in a store without a server: its own clock and timer move the time.
@Suite struct LocalTimeTests {
    private typealias Reminder = LocalTime.Reminder

    private let clock = ManualClock()
    private let store: Store

    init() async throws {
        var configuration = StoreConfiguration(models: [Reminder.self])
        let clock = clock
        configuration.environment.now = { clock.timestamp }
        configuration.environment.schedule = { clock.schedule(after: $0, $1) }
        configuration.environment.scheduleUpkeep = { clock.schedule(after: $0, isUpkeep: true, $1) }
        store = try await Store.open(configuration)
    }

    private func reminder(_ id: String, in seconds: Double) -> Reminder {
        Reminder(id: id, at: clock.now.addingTimeInterval(seconds))
    }

    private var due: Results<Reminder> { store.objects(Reminder.self).where { $0.at <= QueryTime.now && !$0.isDone } }

    @Test func anObserverIsToldWhenATimeComes() async throws {
        let (one, two) = (reminder("1", in: 10), reminder("2", in: 20))
        try await store.write { for reminder in [one, two, Reminder(id: "never")] { try $0.insert(reminder) } }
        let recorder = try EventRecorder(due.sorted(by: \.id))
        _ = try await recorder.event { $0.isInitial }
        try await clock.timers(1)
        clock.advance(by: .seconds(9))
        #expect(try due.fetch().isEmpty)
        clock.advance(by: .seconds(1))
        let first = try await recorder.event { $0.results.count == 1 }
        #expect(first.insertions == [0] && first.remote == nil)
        // What was written in between may be due earlier than what was next.
        let soon = reminder("0", in: 5)
        try await store.write { try $0.insert(soon) }
        try await clock.timers(1)
        clock.advance(by: .seconds(5))
        #expect(try await recorder.event { $0.results.count == 2 }.results.map(\.id) == ["0", "1"])
        try await store.write { try $0.update(one) { $0.isDone = true } }
        try await clock.timers(1)
        clock.advance(by: .seconds(100))
        #expect(try await recorder.event { $0.results.map(\.id) == ["0", "2"] }.remote == nil)
    }

    @Test func aReadAndAWriteSeeTheTimeOfTheirCall() async throws {
        let later = reminder("1", in: 60)
        try await store.write { try $0.insert(later) }
        #expect(try due.count() == 0)
        clock.advance(by: .seconds(60))
        #expect(try due.count() == 1)
        let found = try await store.write { try $0.objects(Reminder.self).filter("at <= $now").count() }
        #expect(found == 1)
        #expect(try store.objects(Reminder.self).filter("at < $now - 1s OR at > $now").count() == 0)
    }

    @Test func aWindowIsFilledByWhatTheTimeLeaves() async throws {
        let reminders = (1...6).map { reminder("\($0)", in: Double($0)) }
        try await store.write { for reminder in reminders { try $0.insert(reminder) } }
        let recorder = try EventRecorder(
            store.objects(Reminder.self).where { $0.at > QueryTime.now }.sorted(by: \.at).limit(2))
        #expect(try await recorder.event { $0.isInitial }.results.map(\.id) == ["1", "2"])
        for first in 2...5 {
            try await clock.timers(1)
            clock.advance(by: .seconds(1))
            let change = try await recorder.event { $0.results.first?.id == "\(first)" }
            #expect(change.results.map(\.id) == ["\(first)", "\(first + 1)"])
        }
    }

    private struct Failed: Error {}

    /// Dates that pass within ten milliseconds wait for one moment; what moves the time before it does so for all.
    @Test(arguments: [false, true])
    func `observers are at the time of one that begins, and of a write that fails`(begins: Bool) async throws {
        let (one, two) = (reminder("1", in: 10), reminder("2", in: 10.004))
        try await store.write { for reminder in [one, two] { try $0.insert(reminder) } }
        let recorder = try EventRecorder(due.sorted(by: \.id))
        _ = try await recorder.event { $0.isInitial }
        try await clock.timers(1)
        clock.advance(by: .seconds(10))
        #expect(try await recorder.event { $0.results.count == 1 }.results.map(\.id) == ["1"])
        try await clock.timers(1)
        clock.advance(by: .milliseconds(5))
        if begins {
            let other = try EventRecorder(due.sorted(by: \.id).limit(9))
            #expect(try await other.event { $0.isInitial }.results.map(\.id) == ["1", "2"])
        } else {
            await #expect(throws: Failed.self) { try await store.write { _ in throw Failed() } }
        }
        #expect(try await recorder.event { $0.results.count == 2 }.remote == nil)
    }
}
