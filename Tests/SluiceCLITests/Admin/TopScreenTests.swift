import Sluice
import SluiceJSON
import SluiceModel
import SluiceServer
import TestSupport
import Testing

@testable import SluiceCLI

/// The live table of `sluice top` beside a load that is known.
struct TopScreenTests {
    /// What a row of the table shows.
    private struct Row: Equatable {
        var subscriberCount = ""
        var rowCount = ""
        var foundRate = ""
        var changedRate = ""
        var byteRate = 0

        init(_ lines: [String]) throws {
            #expect(lines.count == 4 && lines[3].hasPrefix("1 of 1 live queries"), "\(lines)")
            let cells = try #require(lines.dropFirst(2).first).split(separator: " ").map(String.init)
            #expect(cells.first == "shop" && cells.last == "Plane", "\(lines)")
            (subscriberCount, rowCount, foundRate, changedRate) = (cells[1], cells[2], cells[3], cells[4])
            byteRate = try #require(Int(cells[5].filter { $0 != "," }), "\(lines)")
        }
    }

    private static func declared(_ name: String) throws -> ClassSchema {
        try ClassSchema(
            name, primaryKey: "tail",
            properties: [Property("tail", .scalar(.string)), Property("seats", .scalar(.int))])
    }

    private func store(_ url: String) async throws -> Store {
        let schema = try Schema(["Plane", "Other"].map(Self.declared))
        return try await Store.open(StoreConfiguration(schema: schema, sync: SyncConfiguration(url: url)))
    }

    @Test func theTableShowsEachLoadByTheSecond() async throws {
        try await withFolder { folder in
            var configuration = ServerConfiguration(dataFolder: folder + "/data", port: 0, isDevelopment: true)
            configuration.administration = Administration(levels: LogLevels(.error, domains: [:])) { "{}" }
            let server = try SyncServer(configuration)
            let url = "ws://127.0.0.1:\(try server.start())/shop"
            let client = AdminClient(folder + "/data", timeout: waitMax)
            let writer = try await store(url)
            /// Adds objects, each in a commit of its own.
            func add(_ className: String, _ numbers: Range<Int>) async throws {
                for number in numbers {
                    let declared = try Self.declared(className)
                    let object = try Record(declared, ["tail": .string("N\(number)"), "seats": .int(7)])
                    try await writer.write { try $0.insert(object) }
                    try await writer.uploaded(timeout: waitMax)
                }
            }
            try await add("Plane", 1000..<1005)
            let watchers = [try await store(url), try await store(url)]
            var observations: [NotificationToken] = []
            for watcher in watchers {
                observations.append(try watcher.records("Plane").observe { _ in })
                _ = try await watcher.records("Plane").synced(timeout: waitMax)
            }

            var loads: [() async throws -> Void] = [
                { try await add("Plane", 2000..<2020) }, { try await add("Plane", 3000..<3020) },
                { try await add("Other", 4000..<4020) },
            ]
            var (shown, time) = ([[String]](), 0.0)
            let screen = TopScreen(
                ask: { try JSONParser.parse(try await client.ask("GET", "/top")).array ?? [] },
                pause: {
                    guard !loads.isEmpty else { return false }
                    try await loads.removeFirst()()
                    time += 2
                    return true
                }, seconds: { time }, show: { shown.append($0) }, table: TopTable(width: nil))
            try await screen.run()
            #expect(shown.count == 4)
            let rows = try shown.map(Row.init)
            #expect(rows[0].subscriberCount == "2" && rows[0].rowCount == "5" && rows[0].foundRate == "0")
            #expect(shown[1].first?.contains("found/s") == true)
            for (row, count) in [(rows[1], "25"), (rows[2], "45")] {
                #expect(row.subscriberCount == "2" && row.rowCount == count)
                #expect(row.foundRate == "10" && row.changedRate == "10")
                // A commit of one object takes more than its key, for each of two subscribers.
                #expect(row.byteRate > 10 * 2 * 5 && row.byteRate < 10 * 2 * 500, "\(row)")
            }
            // The same load, the same bytes.
            #expect(abs(rows[1].byteRate - rows[2].byteRate) * 20 <= rows[1].byteRate)
            // What concerns no query costs it nothing.
            #expect(rows[3].rowCount == "45" && rows[3].foundRate == "0" && rows[3].changedRate == "0")
            #expect(rows[3].byteRate == 0)
            withExtendedLifetime(observations) {}
            for store in watchers + [writer] { await store.close() }
            await server.stop()
        }
    }

    @Test func aDatabaseThatDoesNotAnswerIsNamedAndKeepsWhatItHad() throws {
        func report(_ found: Int) throws -> JSONValue {
            try JSONParser.parse(
                #"{"database":"a","views":1,"queries":[{"query":"Q","hash":"1","found":\#(found)}]}"#)
        }
        let silent = try JSONParser.parse(#"{"database":"a","answers":false}"#)
        let first = try TopSample([try report(100)], at: 2)
        let second = try TopSample([silent], at: 4).completed(by: first)
        #expect(second.silent == ["a"] && second.since(first).costs.map(\.foundCount) == [0])
        #expect(second.viewCount == 1)
        let third = try TopSample([try report(140)], at: 6).completed(by: second)
        #expect(third.since(second).costs.map(\.foundCount) == [40])
        // In the four seconds since it has answered last.
        let cells = TopTable(width: nil).lines(third.since(second), seconds: 2).dropFirst(2).first ?? ""
        #expect(cells.split(separator: " ").dropFirst(3).first == "10", "\(cells)")
        let quiet = TopTable(width: nil).lines(second.since(first), seconds: 2).dropFirst(2).first ?? ""
        #expect(quiet.split(separator: " ").dropFirst(3).first == "0", "\(quiet)")
        let lines = TopTable(width: nil).lines(second, seconds: nil)
        #expect(lines.last == "the database 'a' is too busy to say what its queries cost")
        #expect(
            SessionsCommand.silentDatabases(
                in: #"[{"database":"b","subscriptions":null},{"database":"c","subscriptions":0}]"#) == ["b"])
    }
}
