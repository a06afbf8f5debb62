import SluiceBackend
import SluiceModel
import SluiceStorage
import SluiceTesting
import Testing

@testable import SluiceServer

/// Which clock gives the times of commits.
struct ClusterClockTests {
    @Test(arguments: [3_600_000_000, -3_600_000_000, 0] as [Int64])
    func `times of a node are those of its journals, whatever its own clock says`(offset: Int64) async throws {
        let journals = try MemoryJournals()
        journals.clockOffset = offset
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.journals = journals
        configuration.now = { Timestamp(microseconds: 10_000_000_000) }
        let server = try SyncServer(configuration)
        let database = try await server.database("flights", models: models)
        try await database.write { try $0.insert(Flight(id: "a")) }
        let last = try #require(journals.root(ofDatabase: "flights").records.last)
        #expect(try JournalGroup.decode(last.bytes).acceptedAt.microseconds == 10_000_000_000 + offset)
        await server.stop()
    }
}
