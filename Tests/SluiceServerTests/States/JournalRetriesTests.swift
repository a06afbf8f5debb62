import SluiceModel
import SluiceStorage
import SluiceTesting
import Testing

@testable import SluiceServer

/// The table of the questions to a silent journal, which the header of `JournalRetries` shows.
struct JournalRetriesTests {
    private let journal = MemoryJournal(databaseID: ObjectID(high: 1, low: 2))

    private func take(_ retries: inout JournalRetries) -> JournalRetry? {
        retries.take { JournalRetry(journal, position: 0, delay: $0) }
    }

    /// Retries of which a question is out.
    private func out() throws -> (JournalRetries, JournalRetry) {
        var retries = JournalRetries()
        retries.noteSilence()
        let retry = try #require(take(&retries))
        return (retries, retry)
    }

    @Test func `without a silence nothing is asked`() {
        var retries = JournalRetries()
        #expect(take(&retries) == nil)
        retries.end()
        #expect(take(&retries) == nil)
    }

    @Test func `a silence makes one question due, after a tenth of a second`() {
        var retries = JournalRetries()
        retries.noteSilence()
        retries.noteSilence()
        #expect(take(&retries)?.delay == .milliseconds(100))
        #expect(take(&retries) == nil)
    }

    @Test func `each answer that does not come doubles the wait, up to five seconds`() throws {
        var retries = JournalRetries()
        var delays: [Duration] = []
        for _ in 0..<8 {
            retries.noteSilence()
            delays.append(try #require(take(&retries)).delay)
        }
        #expect(delays == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { .milliseconds($0) })
    }

    @Test func `a question that is hastened is due at once, whatever the state`() throws {
        var idle = JournalRetries()
        idle.hasten()
        #expect(take(&idle)?.delay == .zero)
        var due = JournalRetries()
        due.noteSilence()
        due.hasten()
        #expect(take(&due)?.delay == .zero)
        var (retries, first) = try out()
        retries.hasten()
        #expect(!retries.isOut(first))
        let second = try #require(take(&retries))
        #expect(second.delay == .zero)
        #expect(retries.isOut(second))
        #expect(!retries.isOut(first))
    }

    @Test func `what has caught up asks no more, and begins with a tenth of a second`() throws {
        var due = JournalRetries()
        due.noteSilence()
        due.end()
        #expect(take(&due) == nil)
        var (retries, retry) = try out()
        retries.end()
        #expect(!retries.isOut(retry))
        retries.noteSilence()
        #expect(take(&retries)?.delay == .milliseconds(100))
    }
}
