import SluiceModel
import Testing

@testable import SluiceServer

/// What calls a server back after a time.
struct ServerClockTests {
    @Test(arguments: ["2400-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
    func `a date that no timer can count to is waited for`(date: String) throws {
        let clock = ServerClock(now: { Timestamp(microseconds: 0) })
        clock.call(at: try #require(Timestamp(iso8601: date))) { Issue.record("it is not time yet") }
        clock.call(at: Timestamp(microseconds: .max)) { Issue.record("it is not time yet") }
    }
}
