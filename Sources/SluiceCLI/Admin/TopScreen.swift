internal import SluiceExchange
internal import SluiceJSON

/// Shows what queries cost, and after each pause what has been added, by the second.
struct TopScreen {
    /// Asks for the reports, one for each database.
    let ask: () async throws -> [JSONValue]
    /// Waits until it is time for the next table; false ends.
    let pause: () async throws -> Bool
    /// A clock that only goes forward.
    let seconds: () -> Double
    /// Shows a table in the place of the one before.
    let show: ([String]) -> Void
    var table = TopTable()

    func run() async throws {
        var time = seconds()
        var sample = try TopSample(try await ask(), at: time)
        show(table.lines(sample.since(TopSample()), seconds: nil))
        while try await pause() {
            let now = seconds()
            let next = try TopSample(try await ask(), at: now).completed(by: sample)
            show(table.lines(next.since(sample), seconds: now - time))
            (sample, time) = (next, now)
        }
    }
}
