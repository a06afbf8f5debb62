import Foundation
import SluiceServer
import TestSupport
import Testing

struct ServerConfigurationTests {
    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    func aDevelopmentServerMayListenAtLoopbackAddresses(host: String) throws {
        _ = try SyncServer(ServerConfiguration(host: host, port: 0, isDevelopment: true))
    }

    @Test(arguments: [
        "127.example.org", "127.0.0.1.example.org", "0.0.0.0", "10.0.0.1", "::", "::2", "2001:db8::1", "example.org",
        "localhost.example.org", "*", "", "1.127.0.0",
    ])
    func aDevelopmentServerMayNotListenAnywhereElse(host: String) {
        let error = #expect(throws: ServerError.self) {
            try SyncServer(ServerConfiguration(host: host, port: 0, isDevelopment: true))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    private func failure(ofDataFolder folder: String) -> ServerError? {
        #expect(throws: ServerError.self) {
            try SyncServer(ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true))
        }
    }

    @Test(arguments: [
        ("/etc/passwd", "'/etc/passwd' cannot be made: there is a file"), ("/etc/passwd/a/b", "there is a file"),
        ("/proc/nowhere", "the system takes no folder there"), ("/proc/a/b/", "no folder there for '/proc/a'"),
    ])
    func aDataFolderThatCannotBeMadeIsRefusedInPlainWords(folder: String, message: String) {
        let error = failure(ofDataFolder: folder)
        #expect(error?.code == .dataFolder)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("name another") == true)
    }

    @Test func aDataFolderBelongsToOneServerAsLongAsThatLives() async throws {
        try await withFolder { folder in
            let data = folder + "/a/b"
            let first = try SyncServer(ServerConfiguration(dataFolder: data, port: 0, isDevelopment: true))
            try first.start()
            let error = failure(ofDataFolder: data)
            #expect(error?.code == .dataFolder)
            #expect(error?.message.contains("another server has it open") == true, "\(error?.message ?? "")")
            await first.stop()
            let second = try SyncServer(ServerConfiguration(dataFolder: data, port: 0, isDevelopment: true))
            await second.stop()
            #expect(try FileManager.default.contentsOfDirectory(atPath: data) == ["server.lock"])
        }
    }

    @Test func aServerThatDoesNotKnowItsUsersDoesNotStart() {
        let error = #expect(throws: ServerError.self) { try SyncServer(ServerConfiguration(port: 0)) }
        #expect(error?.code == .invalidConfiguration)
    }
}
