import Sluice
import SluiceServer
import Testing

@Suite struct ServerConfigurationTests {
    @Test(.timeLimit(.minutes(5))) func whoeverTakesLessThanTheQueueHoldsIsCutOff() async throws {
        let (lines, found) = AsyncStream.makeStream(of: String.self)
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.queueByteCountMax = 1
        configuration.log = LogSink(level: .warning) { found.yield($0.message) }
        let server = try SyncServer(configuration)
        let sync = SyncConfiguration(url: "ws://127.0.0.1:\(try server.start())/test")
        let store = try await Store.open(StoreConfiguration(sync: sync))
        for await line in lines where line.contains("too slow") { break }
        await store.close()
        await server.stop()
    }
}
